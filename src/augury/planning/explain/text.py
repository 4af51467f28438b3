"""EXPLAIN for people: one screen that says what a query is, how it runs, and what to look at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from augury.analysis.declarations.catalog import Catalog
from augury.analysis.unread import can_be_missed
from augury.language.text.expressions import expression_text
from augury.planning.distribution.movement import Priced
from augury.planning.distribution.partitioning import Partitioning
from augury.planning.evaluated import unevaluated_note
from augury.planning.explain.estimates import share_of_rows, state_text
from augury.planning.explain.movement import movement_lines
from augury.planning.explain.network import network_of, tree_lines
from augury.planning.explain.stages import plan_steps
from augury.planning.explain.words import (
    STRATEGIES,
    after_match_text,
    automaton_title,
    guard_text,
    lack_text,
    length_text,
    played_text,
    removed_text,
    shape_text,
    skip_text,
    threshold_of,
    transition_text,
    window_text,
)
from augury.planning.logical import Marginalise
from augury.planning.missed.unreachable import unreachable
from augury.planning.pattern.automaton import Automaton
from augury.planning.physical import PhysicalPlan
from augury.planning.predicates import Predicate, last_bound

WIDTH = 88
# A large automaton is counted, not listed.
MOST_STATES = 40

Lines = list[str]


def explain_as_text(
    plan: PhysicalPlan, catalog: Catalog | None = None, priced: Priced | None = None
) -> str:
    """Return the explanation as text."""
    sections = (
        ("", _head(plan)),
        ("Plan", _plan(plan, catalog)),
        ("Automaton", _automaton(plan)),
        ("Predicates", _predicates(plan)),
        ("Partitioning", _partitioning(plan)),
        ("Movement", [line for text in movement_lines(plan, priced) for line in _wrapped(text, 4)]),
        ("State", _wrapped(state_text(plan), 2)),
        ("Missed events", _missed(plan)),
        ("Network", _network(plan, catalog)),
        ("Warnings", _warnings(plan)),
    )
    return "\n\n".join(_section(title, lines) for title, lines in sections if lines) + "\n"


def _section(title: str, lines: Lines) -> str:
    body = "\n".join(f"  {line}".rstrip() for line in lines)
    return f"{title}\n{body}" if title else "\n".join(lines)


# What it is ----------------------------------------------------------------------------------


def _head(plan: PhysicalPlan) -> Lines:
    query = plan.query
    verdict = query.verdict
    lines = [f"{query.name}: {verdict.kind}"]
    for reason in verdict.reasons:
        lines += _wrapped(f"  because {reason}", 10)
    if verdict.plan:
        lines.append(f"  safe plan: {verdict.plan}")
    if note := unevaluated_note(query):
        lines += _wrapped(f"  {note}", 10)
    return [*lines, "", *(f"  {line}" for line in _summary(plan))]


def _summary(plan: PhysicalPlan) -> Iterator[str]:
    query = plan.query
    yield shape_text(query.shape, query.components)
    width = max(len(c.name) for c in query.components)
    for part in query.components:
        filters = [
            p.text
            for play in plan.plays
            if play.component == part.index
            for p in (*play.pushed, *play.on_arrival)
        ]
        where = f", {' and '.join(dict.fromkeys(filters))}" if filters else ""
        yield f"  {part.name:<{width}}  {played_text(part)}{where}"
    yield "; ".join(_terms(plan))


def _terms(plan: PhysicalPlan) -> Iterator[str]:
    query = plan.query
    yield STRATEGIES[query.strategy]
    if query.after_match is not None:
        yield after_match_text(query)
    if query.within is not None:
        yield f"within {window_text(query.within, query)}"
    if query.every is not None:
        yield f"every {window_text(query.every, query)}"
    if query.over is not None:
        yield f"over the last {length_text(query.over, query)}"
    if query.allow:
        yield f"up to {query.allow} missed"
    having = threshold_of(query)
    if having is not None:
        sign = ">" if having.strict else ">="
        yield f"{having.measure.lower()} {sign} {having.threshold:g}"


# How it runs ---------------------------------------------------------------------------------


def _plan(plan: PhysicalPlan, catalog: Catalog | None) -> Lines:
    steps = plan_steps(plan, catalog)
    width = max(len(o.name) for o in steps)
    lines = [f"{o.name:<{width}}  {o.runs_on:<6}  {o.does}" for o in steps]
    return [line for text in lines for line in _wrapped(text, width + 10)]


def _automaton(plan: PhysicalPlan) -> Lines:
    automaton, query = plan.automaton, plan.query
    names = [c.name for c in query.components]
    lines = [automaton_title(automaton)]
    if len(automaton.states) <= MOST_STATES:
        lines += _states(plan, names)
    lines += [guard_text(guard, query.components) for guard in automaton.guards]
    return lines


def _states(plan: PhysicalPlan, names: Sequence[str]) -> Lines:
    automaton = plan.automaton
    width = max(len(s.label) for s in automaton.states if len(s.label) <= 30) + 1
    lines: Lines = []
    for state in automaton.states:
        mark = ">" if state.index == 0 else " "
        accepts = "*" if state.accepting else " "
        edges = [*_edges(automaton, state.index, names), *_skips(plan, state.index, names)]
        lines.append(
            f"{mark}{accepts} {state.index:>2}  {state.label:<{width}} {edges[0] if edges else ''}"
        )
        lines += [" " * (8 + width) + edge for edge in edges[1:]]
    return lines


def _edges(automaton: Automaton, source: int, names: Sequence[str]) -> Lines:
    return [
        f"── {transition_text(t, names)} ──▶ {t.target}"
        for t in automaton.transitions
        if t.source == source
    ]


def _skips(plan: PhysicalPlan, source: int, names: Sequence[str]) -> Lines:
    return [
        f"╌╌ {skip_text(s, names)} ╌╌▶ {s.target}"
        + (f"  ({removed_text(s, plan.query, names)})" if s.removed else "")
        for s in plan.automaton.skips
        if s.source == source
    ]


# Where predicates are tested -----------------------------------------------------------------


def _predicates(plan: PhysicalPlan) -> Lines:
    return [
        *_titled("to Spark", _to_spark(plan)),
        *_titled("to the queues", _to_queues(plan)),
        *_titled("to the search", _to_search(plan)),
        *(_titled("active", _active(plan)) if plan.query.lookups else []),
    ]


def _active(plan: PhysicalPlan) -> Lines:
    return [
        f"{expression_text(each.expression)}: tested on the whole match, at its moment"
        for each in plan.query.lookups
    ]


def _titled(title: str, lines: Lines) -> Lines:
    margin = " " * 15
    first, *rest = lines or ["nothing"]
    return [f"{title:<15}{first}", *(margin + line for line in rest)]


def _to_spark(plan: PhysicalPlan) -> Lines:
    names = {c.index: c.name for c in plan.query.components}
    width = max(len(n) for n in names.values())
    return [
        f"{names[play.component]:<{width}}  {play.sql}" for play in plan.plays if play.sql != "true"
    ]


def _to_queues(plan: PhysicalPlan) -> Lines:
    cut = plan.partitioning
    lines = [f"{name} equal over all components: one set of queues per key" for name in cut.key]
    arriving = [p for play in plan.plays for p in play.on_arrival]
    return lines + [f"{p.text}: tested as the event arrives" for p in dict.fromkeys(arriving)]


def _to_search(plan: PhysicalPlan) -> Lines:
    return [f"{p.text}, {_when(p, plan)}" for p in plan.search.predicates]


def _when(predicate: Predicate, plan: PhysicalPlan) -> str:
    components = plan.query.components
    if predicate.conjunct.after:
        return "once the candidate is chosen"
    if predicate.reads_one_event:
        return f"where {components[predicate.components[0]].name} holds no event"
    guarded = [components[c].name for c in predicate.components if components[c].negated]
    if guarded:
        return f"for each {' and '.join(guarded)} that could break the match"
    last = [components[c] for c in last_bound(predicate, plan.automaton)]
    if not last:
        return "at the start"
    if len(last) > 1:
        return f"when {' and '.join(c.name for c in last)} are bound"
    return f"when {last[0].name} is {'complete' if last[0].repeats else 'bound'}"


# What is moved and kept ----------------------------------------------------------------------


def _partitioning(plan: PhysicalPlan) -> Lines:
    cut, moved = plan.partitioning, plan.moved
    if plan.query.verdict.join is not None:
        return ["by what is joined: Spark moves what its own joins and groups need"]
    columns = ", ".join(f"{name} {size}" for name, size in moved.columns)
    lines = [f"{_cut_text(plan, cut)}: {cut.reason}"]
    lines.append(f"moves {moved.bytes_per_row} bytes a row: {columns}")
    for stream in plan.query.streams:
        share = share_of_rows(plan, stream.name)
        guess = "every row" if share >= 0.995 else f"about {share:.0%} of the rows (a guess)"
        lines.append(f"of {stream.name}: {guess}")
    return [line for text in lines for line in _wrapped(text, 4)]


def _cut_text(plan: PhysicalPlan, cut: Partitioning) -> str:
    if cut.kind == "key":
        return f"by key ({', '.join(cut.key)})"
    if cut.kind == "time":
        ahead = f" and {length_text(cut.lookahead, plan.query)} ahead" if cut.lookahead else ""
        return f"by time, ranges that look {length_text(cut.lookback, plan.query)} back{ahead}"
    return "none, one place for all events"


def _missed(plan: PhysicalPlan) -> Lines:
    query = plan.query
    if not query.allow and not query.gaps:
        return []
    lines = [f"{c.name}: {_missed_text(plan, c.index)}" for c in query.components]
    skips = plan.automaton.skips
    if query.allow and skips and all(skip.removed for skip in skips):
        lines.append("no missed component can reach the threshold, so ALLOW adds no match")
    return lines


def _missed_text(plan: PhysicalPlan, component: int) -> str:
    query = plan.query
    part, rate = query.components[component], query.miss_rates[component]
    known = can_be_missed(query, component) or query.learn_gaps_from is not None
    if part.negated:
        return f"may have been missed ({rate:g})" if known and rate else "taken as read"
    if component not in query.may_miss:
        return "must be seen"
    if not known:
        return f"must be seen: it has {lack_text(query, component)}"
    return f"may be missed ({rate:g})" if rate is not None else "may be missed"


def _network(plan: PhysicalPlan, catalog: Catalog | None) -> Lines:
    if all(stream.query is None for stream in plan.query.streams):
        return []
    return tree_lines(plan.query.name, network_of(plan.query, catalog))


def _warnings(plan: PhysicalPlan) -> Lines:
    lines = []
    warnings = [(w.code, w.message, w.hint) for w in plan.query.warnings]
    warnings += unreachable(plan.query)
    for code, message, hint in warnings:
        lines += _wrapped(f"{code}  {message}", 6)
        lines += _wrapped(f"      {hint}", 6) if hint else []
    if isinstance(plan.search, Marginalise) and "sampling" in plan.search.method:
        lines += ["answers that are sampled carry their error bound"]
    return lines


def _wrapped(text: str, indent: int) -> Lines:
    """Break a line at spaces; continuation lines are indented."""
    lines: Lines = []
    while len(text) > WIDTH:
        at = text.rfind(" ", indent + 1, WIDTH)
        if at <= indent:
            break
        lines.append(text[:at])
        text = " " * indent + text[at + 1 :]
    return [*lines, text]
