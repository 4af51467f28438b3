"""Which queries a policy can weigh: patterns of events of known types within a window of time.

How many matches an event is part of is expected exactly for these. Of a private query only the
positive components count, whatever lies between them.
"""

from __future__ import annotations

from augury.analysis.checked import Branch, CheckedQuery, Leaf, Negated, Shape
from augury.analysis.expressions.walk import walk
from augury.analysis.policies.shapes import (
    Gap,
    beginning,
    companions,
    gaps_of,
    positive,
    rounds_of,
    unordered,
)
from augury.language import expressions as ex


def unweighable(query: CheckedQuery, stream: str, *, private: bool) -> str:
    """Return why a policy on a stream cannot weigh a query; nothing where it can."""
    if [each.name.lower() for each in query.streams] != [stream.lower()]:
        return f"reads {', '.join(each.name for each in query.streams)}, and not {stream} alone"
    if query.returns != "MATCHES":
        return f"returns {query.returns}, and no matches"
    if query.within is None or query.within.events:
        return "has no WITHIN in time"
    if query.allow or (not private and (query.gaps or query.learn_gaps_from)):
        return "lets events be missed"
    if query.correlated_by is not None:
        return f"is CORRELATED BY {query.correlated_by}"
    return _unweighable_pattern(query, private=private)


def _unweighable_pattern(query: CheckedQuery, *, private: bool) -> str:
    positive = [c for c in query.components if not c.negated]
    reasons = [
        (_repeats_much(query), "repeats a group with AND, negations, or conditions on its rounds"),
        (_adds_up_so_far(query), "adds up a repetition as it goes"),
        (query.looks_beside, "reads events outside the match"),
        (query.after_match is not None, "takes matches one after the other, AFTER MATCH"),
        (any(by.type is None for c in positive for by in c.played_by), "takes events of any type"),
        (any(len(c.played_by) != 1 for c in query.components), "has a component of several types"),
    ]
    if not private:
        reasons += [
            (query.strategy not in ("ANY", "NEXT") or _has_next(query.shape), "needs neighbours"),
            (_has_until(query.shape), "has UNTIL"),
            (_negates_composites(query.shape), "negates more than one component"),
            (any(c.after for c in query.conjuncts) and query.strategy == "NEXT", "has AFTER WHERE"),
            (_negates_any(query), "negates events of any type"),
        ]
    found = next((reason for holds, reason in reasons if holds), "")
    if found or private:
        return found
    parts = parts_of(query, private=False)
    return _unfollowable(query) if parts is None else _late_condition(query, parts)


def _repeats_much(query: CheckedQuery) -> bool:
    """Whether a group repeats whose rounds hold more than events in sequence."""
    for group in rounds_of(query.shape):
        own = positive(group)
        if not all(map(_is_in_sequence, group.parts)):
            return True
        for conjunct in query.conjuncts:
            named = frozenset(conjunct.components)
            if named & own and len(named) > 1 and not is_equality(query, named):
                return True
    return False


def is_equality(query: CheckedQuery, named: frozenset[int]) -> bool:
    """Whether a condition on some components follows from an equality of all of them."""
    return any(named <= {c for c, _ in each.members} for each in query.equalities)


def _is_in_sequence(shape: Shape) -> bool:
    if isinstance(shape, Branch):
        plain = shape.operator in ("SEQ", "OR") and shape.times is None
        return plain and all(map(_is_in_sequence, shape.parts))
    return isinstance(shape, Leaf)


def _has_until(shape: Shape) -> bool:
    if isinstance(shape, Negated):
        return shape.within is not None
    return isinstance(shape, Branch) and any(map(_has_until, shape.parts))


def _adds_up_so_far(query: CheckedQuery) -> bool:
    nodes = (node for each in query.conjuncts for node in walk(each.expression))
    return any(isinstance(node, ex.Aggregate) and node.running for node in nodes)


def _has_next(shape: Shape) -> bool:
    if isinstance(shape, Branch):
        return shape.operator == "NEXT" or any(map(_has_next, shape.parts))
    return False


def _negates_composites(shape: Shape) -> bool:
    if isinstance(shape, Negated):
        return not isinstance(shape.part, Leaf)
    return isinstance(shape, Branch) and any(map(_negates_composites, shape.parts))


def _negates_any(query: CheckedQuery) -> bool:
    return any(by.type is None for c in query.components if c.negated for by in c.played_by)


def _unfollowable(query: CheckedQuery) -> str:
    """Say why a pattern that is no plain sequence cannot be followed event by event."""
    shape, components = query.shape, query.components
    # Events of equal order would be taken in either order.
    for parts in unordered(shape) if query.strategy == "NEXT" else ():
        one, other = ({by.type for c in own for by in components[c].played_by} for own in parts)
        if one & other:
            return "takes one type in several parts of an AND, each time the earliest"
    first = beginning(shape, components)
    for gap in gaps_of(shape, components):
        name = components[gap.component].name
        aside = [
            c
            for c in first
            if c not in gap.earlier | gap.later and gap.company & companions(shape, c)
        ]
        kinds = {by.type for c in aside_of(query, gap) for by in components[c].played_by}
        if kinds & {by.type for by in components[gap.component].played_by}:
            return f"negates {name}, whose type a part beside it takes"
        if gap.leads and aside:
            return f"negates {name} at the start of a part, beside others"
        if _looks_ahead(query, gap, first):
            return f"has a condition on {name} that names a component after the gap begins"
    return ""


def aside_of(query: CheckedQuery, gap: Gap) -> frozenset[int]:
    """Return the components that a match may hold inside a gap."""
    own = gap.earlier | gap.later | gap.company
    return frozenset().union(*(companions(query.shape, c) for c in own)) - own


def _looks_ahead(query: CheckedQuery, gap: Gap, first: frozenset[int]) -> bool:
    """Whether a condition on what is negated is not decided when that comes."""
    known = gap.earlier or frozenset()
    if gap.leads:
        own = first & gap.later
        known = known & first if known else (own if len(own) == 1 else frozenset())
    for conjunct in query.conjuncts:
        others = [c for c in conjunct.components if c != gap.component]
        if (
            gap.component in conjunct.components
            and not known.issuperset(others)
            and not is_implied(query, conjunct.components, gap.component, sorted(known | first))
        ):
            return True
    return False


def parts_of(query: CheckedQuery, *, private: bool) -> tuple[Leaf | Negated, ...] | None:
    """Return the parts of a plain sequence, negated ones between them; None of anything else.

    Of a private query negations are left out, and neighbours need not be any.
    """
    found = _parts(query.shape, private=private)
    if found is None or isinstance(found[0], Negated):
        return None
    if any(query.components[part.component].repeats for part in found if isinstance(part, Leaf)):
        return None
    return None if any(conjunct.after for conjunct in query.conjuncts) else found


def _parts(shape: Shape, *, private: bool) -> tuple[Leaf | Negated, ...] | None:
    if isinstance(shape, Leaf):
        return (shape,)
    if isinstance(shape, Negated):
        return () if private else ((shape,) if isinstance(shape.part, Leaf) else None)
    is_sequence = shape.operator == "SEQ" or (private and shape.operator == "NEXT")
    if not is_sequence or shape.times is not None:
        return None
    found: list[Leaf | Negated] = []
    for part in shape.parts:
        own = _parts(part, private=private)
        if own is None or (isinstance(part, Branch) and not private):
            return None
        found += own
    return tuple(found)


def next_positive(parts: tuple[Leaf | Negated, ...], place: int) -> int | None:
    """Return the positive component after a part; None where none follows."""
    later = (part.component for part in parts[place + 1 :] if isinstance(part, Leaf))
    return next(later, None)


def _late_condition(query: CheckedQuery, parts: tuple[Leaf | Negated, ...]) -> str:
    """Say so where it shows only later whether an event was one that is negated."""
    order = {part.component: k for k, part in enumerate(parts) if isinstance(part, Leaf)}
    for place, part in enumerate(parts):
        if not isinstance(part, Negated) or not isinstance(part.part, Leaf):
            continue
        negated = part.part.component
        ahead = next_positive(parts, place)
        known = [c for c, at in order.items() if ahead is None or at <= order[ahead]]
        for conjunct in query.conjuncts:
            others = [c for c in conjunct.components if c not in (negated, *known)]
            if (
                negated in conjunct.components
                and others
                and not is_implied(query, conjunct.components, negated, known)
            ):
                name = query.components[negated].name
                return f"has a condition on {name} that names a component after the next"
    return ""


def is_implied(query: CheckedQuery, named: tuple[int, ...], negated: int, known: list[int]) -> bool:
    """Whether an equality with a later component follows from one with a component held by then."""
    return any(
        {*named} <= {c for c, _ in each.members}
        and negated in {c for c, _ in each.members}
        and any(c in known for c, _ in each.members)
        for each in query.equalities
    )
