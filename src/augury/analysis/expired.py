"""Partial matches that ran out of time, as queries of their own.

A partial match is the first components of a match, taken as the query selects them, after which
nothing came until the end of the window that fits the next: so it is a match of those components
with the next one negated. What forbids the partial match in between still does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from augury.analysis.clauses.conjuncts import split
from augury.analysis.expressions.walk import walk_into
from augury.errors import AuguryError
from augury.language import expressions as ex
from augury.language.tree import Component, CreateQuery, Group, Not, Pattern

Single = tuple[Component, bool]


@dataclass(frozen=True, slots=True)
class Waiting:
    """The query of the partial matches that waited for a component, which did not come."""

    query: CreateQuery
    component: str


def waiting_of(statement: CreateQuery) -> list[Waiting]:
    """Return a query for each component behind the first; raise where they are not told apart."""
    parts = list(_parts(statement, statement.pattern))
    reason = _unfit(statement)
    if reason:
        raise AuguryError(
            f"partial matches of {statement.name} that ran out of time are not told: {reason}"
        )
    places = [k for k, (_, negated) in enumerate(parts) if not negated]
    found = []
    for place in places[1:]:
        component, _ = parts[place]
        kept = [*parts[:place], (component, True)]
        found.append(Waiting(_query(statement, kept), _name(component)))
    return found


def _parts(statement: CreateQuery, pattern: Pattern) -> Iterator[Single]:
    plain = isinstance(pattern, Group) and pattern.repetition is None
    if plain and isinstance(pattern, Group) and pattern.operator == "SEQ":
        for part in pattern.parts:
            yield from _parts(statement, part)
        return
    inner = pattern.part if isinstance(pattern, Not) and not pattern.neighbour else pattern
    if not isinstance(inner, Component) or inner.repetition is not None:
        raise AuguryError(
            f"partial matches of {statement.name} that ran out of time are not told: its pattern "
            "is more than a SEQ of single events"
        )
    yield inner, isinstance(pattern, Not)


def _unfit(statement: CreateQuery) -> str:
    """Return why partial matches do not run out of time; nothing where they do."""
    returns = statement.returns
    reasons = (
        (statement.within is None or statement.within.events, "it has no window of time"),
        (statement.strategy in ("STRICT", "PARTITION"), "a run of neighbours ends before its time"),
        (statement.allow is not None, "components may have been missed"),
        (statement.correlated_by is not None, "it is CORRELATED BY a table"),
        (statement.after_match is not None, "it has AFTER MATCH SKIP"),
        (statement.after_where is not None, "it has AFTER WHERE"),
        (returns is not None and returns.kind not in ("COLUMNS", "STAR"), "it lists no matches"),
    )
    return next((reason for holds, reason in reasons if holds), "")


def _query(statement: CreateQuery, parts: list[Single]) -> CreateQuery:
    names = {_name(component).lower() for component, _ in parts}
    negated = {_name(component).lower() for component, absent in parts if absent}
    last = _name(parts[-1][0])
    written = () if statement.where is None else split(statement.where)
    kept = [each for each in written if _named(each) <= names]
    for conjunct in kept:
        if len(_named(conjunct) & negated) > 1:
            raise AuguryError(
                f"partial matches of {statement.name} that ran out of time are not told: a "
                f"condition names {last} and a component that is negated"
            )
    where = kept[0] if len(kept) == 1 else ex.Logic("AND", tuple(kept)) if kept else None
    pattern = Group("SEQ", tuple(Not(c) if absent else c for c, absent in parts))
    return replace(
        statement,
        name=f"{statement.name}_without_{last}",
        pattern=pattern,
        where=where,
        returns=None,
        each_event=False,
    )


def _name(component: Component) -> str:
    return component.name or component.word


def _named(conjunct: ex.Expression) -> set[str]:
    nodes = walk_into(conjunct)
    return {n.component.lower() for n in nodes if isinstance(n, ex.Attribute) and n.component}
