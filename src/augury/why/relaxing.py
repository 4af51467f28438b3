"""What may stop a match: the constraints of a query, and the query without some of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from augury.analysis.checked import CheckedQuery
from augury.analysis.clauses.conjuncts import split
from augury.analysis.expressions.walk import walk_into
from augury.language import expressions as ex
from augury.language.printer import skip_text, to_text
from augury.language.text.words import length_text
from augury.language.tree import Component, CreateQuery, Group, Window
from augury.why.patterns import (
    Cut,
    Path,
    beside,
    cut,
    minimum_of,
    name_of,
    names_in,
    negations,
    nodes,
    positives,
    variants,
)

Kind = Literal["threshold", "window", "condition", "negation", "selection", "skip", "component"]
Clause = Literal["", "WHERE", "AFTER WHERE", "FILTER", "UNTIL"]


@dataclass(frozen=True, slots=True)
class Constraint:
    """One thing that a match must satisfy.

    A condition is the `number`-th conjunct of its clause, or stands in the component at `path`; a
    component keeps `number` of its events, of a repetition, and has `missing` too few.
    """

    kind: Kind
    says: str
    path: Path = ()
    number: int = 0
    clause: Clause = ""
    missing: int = 0

    @property
    def cost(self) -> int:
        """How far from a match one is who breaks it: an event that is not there is the farthest."""
        return _COSTS[self.kind] + self.missing


_COSTS: dict[Kind, int] = {
    "threshold": 0,
    "window": 1,
    "condition": 2,
    "negation": 3,
    "selection": 4,
    "skip": 5,
    "component": 6,
}


def constraints_of(query: CreateQuery, fixed: Iterable[str]) -> list[Constraint]:
    """Return all that may stop a match, the nearest first; `fixed` equalities are not loosened."""
    found = [*_clauses(query), *_conditions(query, {name.lower() for name in fixed})]
    found += [
        Constraint("negation", to_text(part), path) for path, part in negations(query.pattern)
    ]
    if _selects(query):
        found.append(Constraint("selection", _selection_text(query)))
    for path, component in positives(query.pattern):
        least = minimum_of(component)
        name = name_of(component)
        found += [
            Constraint("component", name, path, least - missing, missing=missing)
            for missing in range(1, least + 1)
        ]
    return sorted(found, key=lambda each: each.cost)


def _clauses(query: CreateQuery) -> Iterable[Constraint]:
    if query.having is not None:
        yield Constraint("threshold", f"{query.having.measure} of {query.having.threshold:g}")
    if query.within is not None:
        yield Constraint("window", window_text(query.within))
    if query.after_match is not None:
        yield Constraint("skip", skip_text(query.after_match))


def window_text(window: Window) -> str:
    """Return WITHIN as it is written."""
    return f"WITHIN {length_text(window.length)}{' EVENTS' if window.events else ''}"


def _selects(query: CreateQuery) -> bool:
    adjacent = any(
        isinstance(part, Group) and part.operator == "NEXT" for _, part in nodes(query.pattern)
    )
    return adjacent or query.strategy not in (None, "ANY")


def _selection_text(query: CreateQuery) -> str:
    texts = {"NEXT": "SKIP TILL NEXT MATCH", "PARTITION": "PARTITION CONTIGUITY"}
    return texts.get(query.strategy or "", "STRICT" if query.strategy == "STRICT" else "NEXT(...)")


def _conditions(query: CreateQuery, fixed: set[str]) -> Iterable[Constraint]:
    clauses: tuple[tuple[Clause, ex.Expression | None], ...] = (
        ("WHERE", query.where),
        ("AFTER WHERE", query.after_where),
    )
    for clause, where in clauses:
        for k, each in enumerate(conjuncts(where)):
            if not (isinstance(each, ex.Equate) and {a.lower() for a in each.attributes} <= fixed):
                yield Constraint("condition", to_text(each), (), k, clause)
    for path, part in nodes(query.pattern):
        if isinstance(part, Component) and part.filter is not None:
            yield Constraint("condition", to_text(part.filter), path, 0, "FILTER")
        if isinstance(part, Component) and part.until is not None:
            yield Constraint("condition", f"UNTIL {to_text(part.until)}", path, 0, "UNTIL")


def conjuncts(where: ex.Expression | None) -> tuple[ex.Expression, ...]:
    """Return what a condition asks for one by one; `[a, b]` is two."""
    if where is None:
        return ()
    return tuple(
        each
        for part in split(where)
        for each in (
            [ex.Equate((a,)) for a in part.attributes] if isinstance(part, ex.Equate) else [part]
        )
    )


def conjunction(parts: Sequence[ex.Expression]) -> ex.Expression | None:
    """Return conditions as one."""
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else ex.Logic("AND", tuple(parts))


def names_of(expression: ex.Expression) -> set[str]:
    """Return the components that an expression names, in lower case."""
    return {
        node.component.lower()
        for node in walk_into(expression)
        if isinstance(node, ex.Attribute | ex.Aggregate) and node.component
    }


def relaxed(
    query: CreateQuery,
    broken: Iterable[Constraint],
    checked: CheckedQuery,
    window: Window | None,
) -> list[CreateQuery]:
    """Return a query without some of its constraints, one for each choice of the parts of an OR.

    `window` stands in the place of one that is broken. What names a component that is left out is
    left out, but for equalities of others that it brought about.
    """
    broken = tuple(broken)
    lost = [each for each in broken if each.kind == "component"]
    choices = variants(query.pattern) if lost else [Cut()]
    found = [_without(query, broken, _cut(query, broken, way), checked, window) for way in choices]
    return list(dict.fromkeys(each for each in found if each is not None))


def _cut(query: CreateQuery, broken: Sequence[Constraint], way: Cut) -> Cut:
    lost = [each for each in broken if each.kind == "component"]
    gone = {each.path for each in lost if not each.number}
    wider = {path for each in gone for path in beside(query.pattern, each)}
    negated = {each.path for each in broken if each.kind == "negation"}
    return replace(
        way,
        gone=frozenset(gone | wider | negated),
        least=tuple((each.path, each.number) for each in lost if each.number),
        loose=any(each.kind == "selection" for each in broken),
        unfiltered=frozenset(each.path for each in broken if each.clause == "FILTER"),
        endless=frozenset(each.path for each in broken if each.clause == "UNTIL"),
    )


def _without(
    query: CreateQuery,
    broken: Sequence[Constraint],
    what: Cut,
    checked: CheckedQuery,
    window: Window | None,
) -> CreateQuery | None:
    pattern = cut(query.pattern, what)
    if pattern is None:
        return None
    kinds, left = {each.kind for each in broken}, names_in(pattern)
    gone = names_in(query.pattern) - left
    allow = query.allow
    if allow is not None and allow.of:
        of = tuple(name for name in allow.of if name.lower() not in gone)
        allow = replace(allow, of=of) if of else None
    return replace(
        query,
        pattern=pattern,
        where=_kept(query.where, "WHERE", broken, gone, _implied(checked, gone)),
        after_where=_kept(query.after_where, "AFTER WHERE", broken, gone),
        strategy="ANY" if "selection" in kinds else query.strategy,
        after_match=None if "skip" in kinds else query.after_match,
        having=None if "threshold" in kinds else query.having,
        within=window if "window" in kinds else query.within,
        miss_rates=tuple(rate for rate in query.miss_rates if rate.of.lower() not in gone),
        allow=allow,
    )


def _kept(
    where: ex.Expression | None,
    clause: Clause,
    broken: Sequence[Constraint],
    gone: set[str],
    more: Sequence[ex.Expression] = (),
) -> ex.Expression | None:
    dropped = {each.number for each in broken if each.clause == clause}
    own = [
        each
        for k, each in enumerate(conjuncts(where))
        if k not in dropped and not names_of(each) & gone
    ]
    return conjunction([*own, *more])


def _implied(checked: CheckedQuery, gone: set[str]) -> list[ex.Expression]:
    """Return the equalities of the other components that those which are left out bring about."""
    if not gone:
        return []
    found: list[ex.Expression] = []
    for equality in checked.equalities:
        named = [
            (checked.components[k].name, column)
            for k, column in equality.members
            if not checked.components[k].negated and not checked.components[k].repeats
        ]
        if len(named) == len(equality.members) and any(n.lower() in gone for n, _ in named):
            left = [pair for pair in named if pair[0].lower() not in gone]
            found += [
                ex.Binary("=", ex.Attribute(*left[0]), ex.Attribute(*other)) for other in left[1:]
            ]
    return found
