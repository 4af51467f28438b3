"""What the confidences of a query owe to what was not read, as queries over it have to know.

Two matches may take the same unread event as missed, or as absent, in stretches that overlap. Each
is scored by what was not read in its own stretch, so nothing says how likely both are true: see
`planning/entangled.py`. What keeps two matches apart is time, where all that they take as unread
lies between their first and their last event, or a key that all components share.
"""

from __future__ import annotations

from collections.abc import Iterator

from augury.analysis.checked import Branch, CheckedGap, CheckedQuery, Leaf, Negated, Shape
from augury.analysis.declarations.catalog import Unread


def gap_of(query: CheckedQuery, component: int) -> CheckedGap | None:
    """Return the gap that times a component: from the one before it, or back from the next."""
    forward = (g for g in query.gaps if not g.backward and g.later == component)
    backward = (g for g in query.gaps if g.backward and g.earlier == component)
    return next(forward, None) or next(backward, None)


def can_be_missed(query: CheckedQuery, component: int) -> bool:
    """Return whether a component has both a gap and a miss rate."""
    return gap_of(query, component) is not None and bool(query.miss_rates[component])


def scores_unseen(query: CheckedQuery) -> bool:
    """Return whether anything that was not read takes part in a confidence."""
    if query.learn_gaps_from is not None:
        return True
    timed = [c.index for c in query.components if can_be_missed(query, c.index)]
    negated = any(query.components[c].negated for c in timed)
    return negated or bool(query.allow and set(timed) & set(query.may_miss))


def unread_of(query: CheckedQuery) -> Unread | None:
    """Return what the matches of a query take as unread; None where they owe nothing to it."""
    lower = reading_unread(query)
    if not lower and not scores_unseen(query):
        return None
    # The time of a derived event is that of its last one, so its own stretches may lie before it.
    return Unread(not lower and _is_inside(query), tuple(_keys(query, lower)))


def reading_unread(query: CheckedQuery) -> dict[int, tuple[Unread, ...]]:
    """Return the components that are played by matches with unread parts, and what they take."""
    unread = {s.name: s.unread for s in query.streams if s.unread is not None}
    found = {
        c.index: tuple(unread[by.stream] for by in c.played_by if by.stream in unread)
        for c in query.components
    }
    return {component: own for component, own in found.items() if own}


def _is_inside(query: CheckedQuery) -> bool:
    """Whether all that may be unread has components before and after it that are always bound."""
    shape = query.shape
    is_sequence = isinstance(shape, Branch) and shape.operator == "SEQ"
    parts = shape.parts if isinstance(shape, Branch) and is_sequence else (shape,)
    bound = [k for k, part in enumerate(parts) if _is_always_bound(query, part)]
    unread = [k for k, part in enumerate(parts) if _may_be_unread(query, part)]
    return bool(bound) and all(bound[0] < k < bound[-1] for k in unread)


def _is_always_bound(query: CheckedQuery, part: Shape) -> bool:
    if isinstance(part, Leaf):
        return query.components[part.component].minimum > 0 and not _may_be_unread(query, part)
    return not isinstance(part, Negated)


def _may_be_unread(query: CheckedQuery, part: Shape) -> bool:
    inner = part.part if isinstance(part, Negated) else part
    if not isinstance(inner, Leaf):
        return False
    learns = query.learn_gaps_from is not None and query.miss_rates[inner.component] != 0.0
    if not (learns or can_be_missed(query, inner.component)):
        return False
    return isinstance(part, Negated) or bool(query.allow and inner.component in query.may_miss)


def _keys(query: CheckedQuery, lower: dict[int, tuple[Unread, ...]]) -> Iterator[str]:
    """Yield the columns that all components share: matches that differ there share no event."""
    names = {key.name for key in query.keys}
    shared = [{column for _, column in e.members} for e in query.equalities if e.covers_all]
    if len(query.components) == 1:
        shared = [{name} for name in names]
    for columns in shared:
        carried = all(columns <= set(own.keys) for each in lower.values() for own in each)
        if len(columns) == 1 and carried:
            yield from names & columns
