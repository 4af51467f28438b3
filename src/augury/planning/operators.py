"""The steps of a plan in data order, each with what it does in a sentence.

The sentences are said here once; every form of EXPLAIN repeats them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from augury.analysis.checked import CheckedQuery
from augury.analysis.classes.joins import Extreme, JoinPlan, JoinStep, Product, Projected, Read
from augury.analysis.declarations.catalog import StreamSchema
from augury.language.text.expressions import expression_text
from augury.planning.distribution.movement import is_moved
from augury.planning.distribution.partitioning import Partitioning, shard_columns
from augury.planning.logical import (
    Group,
    Mask,
    Match,
    Node,
    Partition,
    Return,
    Search,
    find,
    scans_of,
    search_of,
)


@dataclass(frozen=True, slots=True)
class Operator:
    """One step: what it is called, where it runs, and what it does in a sentence."""

    name: str
    runs_on: str
    does: str


def operators_of(query: CheckedQuery, logical: Node) -> tuple[Operator, ...]:
    """Return the operators that run a rewritten plan."""
    mask, cut = find(logical, Mask), find(logical, Partition)
    assert mask is not None
    assert cut is not None
    read = Operator("scan", "Spark", _scan(logical)), Operator("mask", "Spark", _mask(query, mask))
    if query.verdict.join is not None:
        answer = Operator("return", "Spark", _answer(query, logical))
        return (*read, *_join_steps(query, query.verdict.join), answer)
    return (
        *read,
        Operator("shuffle", "Spark", _shuffle(query, cut.by)),
        Operator("sort", "Spark", f"order each part by {_order(query.streams)}"),
        _search(search_of(logical)),
        Operator("return", "engine", _answer(query, logical)),
    )


def _join_steps(query: CheckedQuery, plan: JoinPlan) -> tuple[Operator, ...]:
    """Return the steps of a safe plan: what Spark groups, joins and groups again."""
    names = tuple(c.name for c in query.components)
    found: list[Operator] = []

    def visit(step: JoinStep) -> None:
        match step:
            case Read(component):
                kept = ", ".join(v.name for v in plan.variables_of(component)) or "nothing"
                does = f"{names[component]} by {kept}: 1 - prod(1 - p)"
                found.append(Operator("project", "Spark", does))
            case Product(parts):
                for part in parts:
                    visit(part)
                found.append(Operator("join", "Spark", f"{len(parts)} parts: multiply"))
            case Projected(variable, part):
                visit(part)
                found.append(Operator("project", "Spark", f"away {variable}: 1 - prod(1 - p)"))
            case Extreme(component, number, part):
                visit(Read(component))
                visit(part)
                found.append(Operator("weigh", "Spark", _weighed(plan, component, number, names)))

    visit(plan.root)
    return tuple(found)


def _weighed(plan: JoinPlan, component: int, number: int, names: tuple[str, ...]) -> str:
    tie = plan.inequalities[number]
    value = expression_text(tie.left if tie.left_of == component else tie.right)
    (other,) = set(tie.components) - {component}
    return (
        f"sum over the {plan.side(component, number)} {value}: its probability times that of the "
        f"rest, with the {names[other]} that meet it"
    )


def _scan(logical: Node) -> str:
    return "; ".join(f"{s.stream.name} ({', '.join(s.columns)})" for s in scans_of(logical))


def _mask(query: CheckedQuery, mask: Mask) -> str:
    count = len(query.components)
    who = f"test who can play the {count} components" if count > 1 else "test what can play it"
    kept = "; every event is kept, because each counts"
    return who + (", drop the rest" if mask.drops_others else kept)


def _shuffle(query: CheckedQuery, cut: Partitioning) -> str:
    columns = shard_columns(query, cut)
    if columns is not None:
        return f"hash ({', '.join(columns[query.streams[0].name])}) into shards"
    if is_moved(query, cut):
        return "cut time into ranges that overlap by the window"
    return "bring all events to one place"


def _order(streams: Sequence[StreamSchema]) -> str:
    """Return the columns that order events; of each stream, where streams differ in them."""
    by = {s.name: ", ".join(n for n in (s.time, s.order_by) if n) or "time" for s in streams}
    if len(set(by.values())) == 1:
        return by[streams[0].name]
    return "; ".join(f"{columns} of {name}" for name, columns in by.items())


_SEARCHES = {
    "chain": "carry the distribution over automaton states forward, one step at a time",
    "chain per key": "one chain per key, combined as 1 - prod(1 - p)",
    "chain of runs": "carry the distribution over runs and the values they have met forward, one "
    "step at a time",
    "interval plan": "combine interval probabilities by the safe plan",
    "join plan": "project, join and project by the safe plan",
    "lineage": "list all matches, and value their joint lineage exactly",
    "lineage or sampling": "list all matches, and value their joint lineage exactly where it is "
    "small; sample worlds where it is not",
    "sampling": "sample worlds until the error bound holds",
    "worlds": "weigh the worlds of each window",
}


def _search(search: Search) -> Operator:
    if not isinstance(search, Match):
        return Operator("marginalise", "engine", _SEARCHES[search.method])
    pruned = ["window"] if search.window else []
    pruned += ["threshold"] if search.threshold else []
    pruned += ["predicates"] if search.predicates else []
    by = f", pruned by {_listed(pruned)}" if pruned else ""
    return Operator("match", "engine", f"enumerate matches{by}")


def _listed(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]


def _answer(query: CheckedQuery, logical: Node) -> str:
    if query.returns == "COUNT":
        return "the number of matches"
    if query.returns == "MATCHES":
        answer = find(logical, Return)
        outputs = answer.columns if answer else ()
        names = [*(k.name for k in query.keys), *(n for n, _ in outputs)]
        return ", ".join(names) or "the events of each match"
    when = "each time" if query.returns == "PROBABILITY BY TIME" else "each window"
    groups = find(logical, Group)
    by = f" and {', '.join(groups.by)}" if groups else ""
    return f"one probability for {when}{by}"
