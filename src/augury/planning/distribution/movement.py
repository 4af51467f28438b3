"""What moving events costs, what moving temporal results costs, and which costs less.

Between places, a row is paid for once for every range at another place that takes it. Where events
are moved, all rows of the minority streams of a fragment go to the majority's place, and with them
the entries of queues that lie within a window of the fragment (they may be part of a match that
crosses its border). Where temporal results are moved, the entries of all queues go to the place
that has the most: equation 4.2 of the paper, which takes places to be equally large, with what is
really there. Moved events serve every query over the window; temporal results are moved for each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from augury.analysis.checked import CheckedQuery
from augury.planning.distribution.layout import (
    LEAST_WIDTH,
    MOVEMENTS,
    Layout,
    Movement,
    Moving,
    Sketch,
    Sketches,
    fragment_cuts,
)
from augury.planning.distribution.partitioning import Partitioning


@dataclass(frozen=True, slots=True)
class Price:
    """Rows and bytes that leave the place where they lie."""

    rows: float = 0.0
    bytes: float = 0.0

    def __add__(self, other: Price) -> Price:
        return Price(self.rows + other.rows, self.bytes + other.bytes)


@dataclass(frozen=True)
class Priced:
    """The plans for one query: what each would move, and which is taken and why."""

    sketches: Sketches
    prices: Mapping[Movement, Price]
    fragments: int
    equation: float
    chosen: Movement
    why: str


@dataclass(frozen=True, slots=True)
class Size:
    """The bytes of a packed row, and of what comes with every blob of rows."""

    row: float
    blob: float = 0.0


Sizes = Mapping[str, Size]


def price(moving: Moving, layout: Layout, sketches: Sketches, sizes: Sizes) -> Price:
    """Return what a layout moves; a task packs the rows that it sends to one range together."""
    found = Price()
    for (start, end), place in zip(layout.ranges, layout.places, strict=True):
        for name, sketch in sketches.items():
            if name != place:
                for rows in (_own(moving, sketch, start, end), _near(moving, sketch, start, end)):
                    blobs = min(sketch.tasks, rows)
                    found += Price(rows, rows * sizes[name].row + blobs * sizes[name].blob)
    return found


def _own(moving: Moving, sketch: Sketch, start: float, end: float) -> float:
    if moving.movement == "events":
        return sketch.rows_between(start, end)
    return sketch.entries_between(start, end)


def _near(moving: Moving, sketch: Sketch, start: float, end: float) -> float:
    """Return the entries close enough to be part of a match that ends in the range."""
    before = sketch.entries_between(start - moving.lookback, start)
    return before + sketch.entries_between(end, end + moving.lookahead)


def equation_4_2(sketches: Sketches) -> float:
    """Return the rows that temporal results move by the paper: places hold equal shares."""
    n = len(sketches)
    return sum(sketch.entries for sketch in sketches.values()) * (n - 1) / n


# A plan for a query ----------------------------------------------------------------------------


def moving_of(cut: Partitioning, movement: Movement, parts: int, *, exactly: bool) -> Moving:
    """Return how a query that is cut by time is moved into about, or exactly, so many parts."""
    least = 0 if exactly else LEAST_WIDTH * (cut.lookback + cut.lookahead)
    return Moving(movement, cut.lookback, cut.lookahead, parts, least, exactly)


def price_query(
    query: CheckedQuery, cut: Partitioning, sketches: Sketches, sizes: Sizes, parts: int
) -> Priced:
    """Return what both plans would move for a query alone, and which of them it takes."""
    prices = {}
    for movement in MOVEMENTS:
        moving = moving_of(cut, movement, asked_parts(query) or parts, exactly=has_parts(query))
        prices[movement] = price(moving, moving.layout(sketches), sketches, sizes)
    asked = asked_movement(query)
    chosen = asked or cheaper(prices["events"], prices["results"])
    why = "OPTIONS asks for it" if asked else "it moves fewer bytes"
    if not asked and prices["events"].bytes == prices["results"].bytes:
        why = "both move the same"
    fragments = len(fragment_cuts(sketches)) + 1
    return Priced(sketches, prices, fragments, equation_4_2(sketches), chosen, why)


def cheaper(events: Price, results: Price) -> Movement:
    """Return the plan that moves fewer bytes; of equals, the one that moves no useless row."""
    return "events" if events.bytes < results.bytes else "results"


def joint(sketches: Sequence[Sketches]) -> dict[str, Sketch]:
    """Return the sketches for several queries over one window; their entries add up at most."""
    first = sketches[0]
    total = {name: sum(each[name].entries for each in sketches) for name in first}
    return {name: replace(s, entries=min(s.rows, total[name])) for name, s in first.items()}


def is_moved(query: CheckedQuery, cut: Partitioning) -> bool:
    """Return whether the rows of a bounded query are moved to ranges of time.

    What ranges cannot tell apart stays together: alternatives, correlations, matches of others.
    """
    plain = all(not s.alternatives and s.query is None for s in query.streams)
    matches = query.returns == "MATCHES" and not query.correlated_by
    return cut.kind == "time" and matches and plain


# Options ---------------------------------------------------------------------------------------


def asked_movement(query: CheckedQuery) -> Movement | None:
    """Return the plan that OPTIONS asks for."""
    found = {option.key.lower(): str(option.value).lower() for option in query.options}
    return next((each for each in MOVEMENTS if each == found.get("movement")), None)


def asked_parts(query: CheckedQuery) -> int | None:
    """Return how many ranges OPTIONS asks for."""
    found = {option.key.lower(): option.value for option in query.options}
    return int(str(found["partitions"])) if "partitions" in found else None


def asks_for_movement(query: CheckedQuery) -> bool:
    """Return whether OPTIONS says how rows are moved, or to how many ranges."""
    return asked_movement(query) is not None or has_parts(query)


def has_parts(query: CheckedQuery) -> bool:
    """Return whether OPTIONS says how many ranges there are."""
    return asked_parts(query) is not None
