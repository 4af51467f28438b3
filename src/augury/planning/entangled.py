"""Queries over matches with unread parts: where these may be the same, nothing says how likely.

A match that takes a component as missed, or as absent though a read of it may have been missed, is
scored by what was not read in its own stretch. Stretches of two matches may overlap, in one query
or across two: the same unread event then decides both, but each was scored on another condition,
so their confidences do not tell how likely both are true. A query whose every answer rests on one
such match is exact, and so is one whose matches are kept apart, by time or by key; others are
refused.

Oracle: tests/planning/test_entangled.py draws from the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

from augury.analysis.checked import Branch, CheckedQuery, Leaf, Negated, Shape
from augury.analysis.declarations.catalog import Unread
from augury.analysis.findings import listing
from augury.analysis.unread import reading_unread
from augury.language.expressions import Attribute, Binary, Expression
from augury.planning.refusal import Refused

_MIRRORED = {">": "<", ">=": "<="}
Pair = tuple[int, int]


def entangled(query: CheckedQuery) -> Refused | None:
    """Return why answers of a query may rest on unread parts that are the same; None if not."""
    unread = set(reading_unread(query))
    if not unread:
        return None
    what = _many_at_once(query, unread)
    if what is not None:
        return Refused(f"{what} {_lower(query)}, which may take the same event as unread", _ONE)
    for pair in _together(query.shape):
        if unread >= set(pair) and not _are_apart(query, pair):
            one, two = (query.components[c].name for c in pair)
            return Refused(
                f"{one} and {two} of {_lower(query)}, which may take the same event as unread",
                _apart(query, pair),
            )
    return None


_ONE = "return matches under SKIP TILL ANY MATCH, with one such component that is not negated"


def _lower(query: CheckedQuery) -> str:
    return listing([stream.name for stream in query.streams if stream.unread is not None])


def _many_at_once(query: CheckedQuery, unread: set[int]) -> str | None:
    """Return how one answer comes to rest on any number of the lower matches, or None."""
    if query.returns not in ("MATCHES", "COUNT"):
        return f"RETURN {query.returns} of matches of"
    components = [query.components[c] for c in sorted(unread)]
    if any(component.negated for component in components):
        return "a negation of matches of"
    if any(component.repeats for component in components):
        return "a repetition of matches of"
    if query.allow and unread & set(query.may_miss):
        return "ALLOW ... MISSED of matches of"
    if len(query.components) > 1 and _passes_over(query):
        return "a selection, or a window of events, that passes over matches of"
    return None


def _passes_over(query: CheckedQuery) -> bool:
    """Whether an answer says of events that it does not take that they did not happen."""
    counts = query.within is not None and query.within.events
    return query.strategy != "ANY" or counts or _has_next(query.shape)


def _has_next(shape: Shape) -> bool:
    if isinstance(shape, Negated):
        return _has_next(shape.part)
    if isinstance(shape, Leaf):
        return False
    return shape.operator == "NEXT" or any(map(_has_next, shape.parts))


def _together(shape: Shape) -> Iterator[Pair]:
    """Yield the pairs of positive components that one match may bind."""
    if not isinstance(shape, Branch):
        return
    for part in shape.parts:
        yield from _together(part)
    if shape.operator != "OR":
        for one, two in combinations(shape.parts, 2):
            yield from product(_positive(one), _positive(two))


def _positive(shape: Shape) -> Iterator[int]:
    if isinstance(shape, Leaf):
        yield shape.component
    elif isinstance(shape, Branch):
        for part in shape.parts:
            yield from _positive(part)


# What keeps matches apart -----------------------------------------------------------------------


def _are_apart(query: CheckedQuery, pair: Pair) -> bool:
    """Whether WHERE says that the two matches take no event in common as unread."""
    rules = [c.expression for c in query.conjuncts if set(c.components) == set(pair)]
    return any(_differ_in_key(query, rule) or _follow(query, rule) for rule in rules)


def _differ_in_key(query: CheckedQuery, rule: Expression) -> bool:
    if not (isinstance(rule, Binary) and rule.operator == "<>"):
        return False
    left, right = rule.left, rule.right
    if not (isinstance(left, Attribute) and isinstance(right, Attribute)):
        return False
    return left.name == right.name and all(_is_key(query, side) for side in (left, right))


def _is_key(query: CheckedQuery, side: Attribute) -> bool:
    own = reading_unread(query)[query.component_of(side)]
    return all(side.name in unread.keys for unread in own)


def _follow(query: CheckedQuery, rule: Expression) -> bool:
    """Whether the rule says that one match begins where the other has ended, or later."""
    if not isinstance(rule, Binary):
        return False
    first, then = rule.left, rule.right
    if rule.operator in _MIRRORED:
        first, then = then, first
    elif rule.operator not in _MIRRORED.values():
        return False
    return _is_time(query, first, "end_ts") and _is_time(query, then, "start_ts")


def _is_time(query: CheckedQuery, side: Expression, name: str) -> bool:
    if not (isinstance(side, Attribute) and side.name == name):
        return False
    return all(unread.inside for unread in reading_unread(query)[query.component_of(side)])


def _apart(query: CheckedQuery, pair: Pair) -> str:
    """Return what to write so that the two are kept apart, or why nothing does."""
    one, two = (query.components[c].name for c in pair)
    unread = reading_unread(query)
    own = [each for c in pair for each in unread[c]]
    ways = [f"{two}.start_ts >= {one}.end_ts"] if all(each.inside for each in own) else []
    ways += [f"{one}.{key} <> {two}.{key}" for key in sorted(_shared_keys(own))]
    if not ways:
        return "take one such match for each answer: they may be unread beyond their own events"
    return f"keep them apart: WHERE {' or '.join(ways)}; or take one such match for each answer"


def _shared_keys(unread: list[Unread]) -> set[str]:
    return set.intersection(*(set(each.keys) for each in unread))
