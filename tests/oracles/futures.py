"""What an event is worth to any pattern, by definition: every world, every future, every match.

An event is worth the expected number of matches that hold it. The future is Poisson: cut into units
of time, so that windows end between units only, and listed up to a few events. Nothing here is
shared with the engine; matches are those of `selection.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement, groupby, product
from typing import Any

from oracles.model import And, Comp, Event, Next, Not, Or, Query, Rounds, Seq
from oracles.plan import prepare
from oracles.selection import answers, everything
from oracles.worlds import possible_worlds as worlds

# A kind of event: its type and its v.
Kind = tuple[str, int]


def positive(pattern: Any) -> Any:
    """Return a pattern without negations, in which neighbours need not be any."""
    if isinstance(pattern, Comp):
        return pattern
    if isinstance(pattern, Rounds):
        return replace(pattern, part=positive(pattern.part))
    parts = tuple(positive(part) for part in pattern.parts if not isinstance(part, Not))
    return type(pattern)(parts) if isinstance(pattern, And | Or) else Seq(parts)


def private(query: Query) -> Query:
    """Return a private query as a policy counts it."""
    return replace(query, pattern=positive(query.pattern), strategy="any", threshold=None)


def names(pattern: Any) -> Iterator[str]:
    """Yield the names of the components of a pattern."""
    if isinstance(pattern, Comp):
        yield pattern.name
    else:
        parts = (pattern.part,) if isinstance(pattern, Not) else pattern.parts
        for part in parts:
            yield from names(part)


def matches_with(query: Query, world: Sequence[Event], event: Event) -> int:
    """Return how many matches of one world hold an event."""
    found = answers(prepare(query), world)
    return sum(any(e.id == event.id for e in everything(match.bound)) for match in found)


def worth_now(query: Query, kept: Sequence[Event], event: Event) -> float:
    """Return the expected matches that hold an event, if nothing comes after it."""
    return sum(
        weight * matches_with(query, world, event) for weight, world in worlds([*kept, event])
    )


def worth_by_rates(
    query: Query,
    kept: Sequence[Event],
    event: Event,
    rates: Mapping[Kind, float],
    most: int,
) -> float:
    """Return the same if events come at rates, but for futures of more than some events."""
    assert query.within is not None
    length, whole = query.within[1], sum(rates.values())
    past, total = list(worlds([*kept, event])), 0.0
    for number in range(most + 1):
        for units in combinations_with_replacement(range(length), number):
            # Within a unit every order is equally likely, and counts of its own.
            sizes = [len(list(own)) for _, own in groupby(units)]
            share = math.exp(-whole * length) / math.prod(map(math.factorial, sizes))
            for kinds in product(rates, repeat=number):
                chance = share * math.prod(rates[kind] for kind in kinds)
                future = list(_placed(event.ts, units, kinds, most))
                total += chance * sum(
                    weight * matches_with(query, [*world, *future], event) for weight, world in past
                )
    return total


def _placed(now: int, units: Sequence[int], kinds: Sequence[Kind], most: int) -> Iterator[Event]:
    for place, (unit, (kind, v)) in enumerate(zip(units, kinds, strict=True)):
        time = now + unit + (place + 1) / (most + 1)
        yield Event(("future", place), time, kind, attrs={"v": v})  # type: ignore[arg-type]


def worth_in_cycles(
    query: Query,
    kept: Sequence[Event],
    event: Event,
    history: Sequence[Event],
    period: int,
    dropped: set[str],
) -> float | None:
    """Return the same if what comes is what came in the same stretch of earlier cycles."""
    assert query.within is not None
    length, times, found = query.within[1], [e.ts for e in history], list[float]()
    for back in range(1, 100):
        begin = event.ts - back * period
        if begin >= min(times) and begin + length <= max(times):
            stretch = [
                replace(e, id=("future", e.id), ts=e.ts + back * period)
                for e in history
                if begin < e.ts <= begin + length and e.type not in dropped
            ]
            both = worlds([*kept, event, *stretch])
            found.append(sum(w * matches_with(query, world, event) for w, world in both))
    return sum(found) / len(found) if found else None


# As text ----------------------------------------------------------------------------------------


def pattern_text(pattern: Any) -> str:
    """Return a pattern as the language writes it."""
    if isinstance(pattern, Comp | Rounds):
        count = {(1, 1): "", (1, None): "+", (0, None): "*", (0, 1): "?"}.get(
            (pattern.minimum, pattern.maximum), f"{{{pattern.minimum},{pattern.maximum}}}"
        )
    if isinstance(pattern, Rounds):
        return f"({pattern_text(pattern.part)}){count} {pattern.name}"
    if isinstance(pattern, Comp):
        return f"{pattern.type}{count} {pattern.name}"
    if isinstance(pattern, Not):
        return f"!{pattern_text(pattern.part)}"
    operator = {Seq: "SEQ", And: "AND", Or: "OR", Next: "NEXT"}[type(pattern)]
    return f"{operator}({', '.join(map(pattern_text, pattern.parts))})"
