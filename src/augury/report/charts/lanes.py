"""Lanes of people over time: where each may have been, and how likely.

Each lane has a line. Above it stands what was told first, below it what was told last: a piece for
each place, as wide across the lane as it is likely. What was settled later is thin above, and
wide, or gone, below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from augury.report.charts.timeline import clock

LANE, FOOT = 36, 22
HALF = 15.0
COLOURS = 3
# From this share of the width on a piece bears the name of its place.
NAMED = 5.0


@dataclass(frozen=True, slots=True)
class Piece:
    """A person may have been in a place for a while: how likely, as told first and as told last.

    `under` is how much of the lane pieces of other places take, first and last.
    """

    lane: int
    since: Any
    until: Any
    place: str
    first: float
    last: float
    under: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Lanes:
    """Where people may have been, from the first time to the last."""

    people: Sequence[str]
    places: Sequence[str]
    pieces: Sequence[Piece]
    times: tuple[Any, Any]

    @property
    def height(self) -> int:
        return LANE * len(self.people) + FOOT

    def drawn(self, name: str) -> str:
        """Return the lanes as HTML."""
        names = "".join(
            f'<span class="lane" style="top:{self._middle(k):.0f}px">{escape(person)}</span>'
            for k, person in enumerate(self.people)
        )
        lines = "".join(
            f'<line class="grid" x1="0" x2="100%" y1="{self._middle(k)}" y2="{self._middle(k)}"/>'
            for k in range(len(self.people))
        )
        drawn = "".join(self._piece(each) for each in self.pieces)
        return (
            f'{self._key()}<div class="timeline" style="height:{self.height}px">{names}'
            f'<svg role="img" aria-label="{escape(name)}">{lines}{drawn}{self._ends()}</svg></div>'
        )

    def _key(self) -> str:
        marks = "".join(
            f'<span><i class="k l{k % COLOURS}"></i>{escape(place)}</span>'
            for k, place in enumerate(self.places)
        )
        return (
            f'<div class="key">{marks}<span>above: as told first; below: as told last</span></div>'
        )

    def _middle(self, lane: int) -> float:
        return LANE * (lane + 0.5)

    def _share(self, at: Any) -> float:
        first, last = self.times
        return 100.0 * float((at - first) / (last - first)) if last > first else 0.0

    def _piece(self, own: Piece) -> str:
        x, width = self._share(own.since), self._share(own.until) - self._share(own.since)
        middle, colour = self._middle(own.lane), self.places.index(own.place) % COLOURS
        tip = escape(
            f"{self.people[own.lane]} in {own.place}: {own.first:.0%} as told first, "
            f"{own.last:.0%} as told last"
        )
        tops = (middle - HALF * (own.under[0] + own.first), middle + HALF * own.under[1])
        drawn = [
            f'<rect class="bar l{colour}" x="{x:.2f}%" width="{width:.2f}%" y="{top:.1f}" '
            f'height="{HALF * p:.1f}" data-tip="{tip}"/>'
            for top, p in zip(tops, (own.first, own.last), strict=True)
            if p > 0.0
        ]
        if width >= NAMED and own.last > 0.9:
            drawn.append(
                f'<text class="says c4" x="{x + width / 2:.2f}%" y="{middle + 11:.0f}">'
                f"{escape(own.place)}</text>"
            )
        return "".join(drawn)

    def _ends(self) -> str:
        first, last = self.times
        return "".join(
            f'<text class="time" x="{x}%" y="{self.height - 5}">{clock(at, last - first)}</text>'
            for x, at in ((3, first), (97, last))
        )
