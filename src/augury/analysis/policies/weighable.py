"""Which queries a policy can weigh: sequences of single events within a window of time.

How many matches an event is part of is expected exactly for these. Of a private query only the
positive components count, whatever lies between them.
"""

from __future__ import annotations

from augury.analysis.checked import Branch, CheckedQuery, Leaf, Negated, Shape


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
    parts = parts_of(query.shape, private=private)
    reasons = [
        (query.after_match is not None, "takes matches one after the other, AFTER MATCH"),
        (any(c.repeats for c in positive), "repeats a component"),
        (any(by.type is None for c in positive for by in c.played_by), "takes events of any type"),
        (parts is None, "is no sequence of single events"),
    ]
    if not private:
        reasons += [
            (query.strategy not in ("ANY", "NEXT"), "needs neighbours"),
            (any(conjunct.after for conjunct in query.conjuncts), "has AFTER WHERE"),
            (isinstance((parts or (None,))[0], Negated), "begins with a negation"),
        ]
    found = next((reason for holds, reason in reasons if holds), "")
    return found or ("" if private or parts is None else _late_condition(query, parts))


def parts_of(shape: Shape, *, private: bool) -> tuple[Leaf | Negated, ...] | None:
    """Return the parts of a sequence, negated ones between them; None of anything else.

    Of a private query negations are left out, and neighbours need not be any.
    """
    if isinstance(shape, Leaf):
        return (shape,)
    if isinstance(shape, Negated):
        return () if private else ((shape,) if isinstance(shape.part, Leaf) else None)
    if shape.operator != "SEQ" and not (private and shape.operator == "NEXT"):
        return None
    found: list[Leaf | Negated] = []
    for part in shape.parts:
        own = parts_of(part, private=private)
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
