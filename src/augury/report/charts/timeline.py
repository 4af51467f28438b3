"""A timeline of one object: lanes of uncertain events, and the matches over them.

Marks are sized by probability; a filled one really happened, a hollow one is a ghost. Matches are
spans above the lanes, coloured by confidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape
from typing import Any

LANE = 30
SPAN = 24
FOOT = 22


@dataclass(frozen=True, slots=True)
class Mark:
    """An event in a lane: how likely it is, and whether it happened."""

    at: Any
    lane: int
    p: float
    real: bool
    tip: str


@dataclass(frozen=True, slots=True)
class Span:
    """A match from its first event to its last."""

    first: Mark
    last: Mark
    confidence: float
    real: bool
    tip: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """What happened to one object."""

    lanes: Sequence[str]
    marks: Sequence[Mark]
    spans: Sequence[Span]

    @property
    def height(self) -> int:
        return SPAN * len(self.spans) + LANE * len(self.lanes) + FOOT

    def share(self, at: Any) -> float:
        """Return where a time lies, in percent; the ends leave room for marks."""
        first, last = self._ends()
        return 6.0 + 88.0 * float((at - first) / (last - first))

    def _ends(self) -> tuple[Any, Any]:
        times = [mark.at for mark in self.marks]
        first, last = min(times), max(times)
        step: Any = timedelta(minutes=1) if isinstance(first, datetime) else 1
        return (first, last) if last > first else (first, first + step)

    def drawn(self, name: str) -> str:
        """Return the timeline as HTML."""
        lanes = "".join(
            f'<span class="lane" style="top:{self._middle(k):.0f}px">{escape(lane)}</span>'
            for k, lane in enumerate(self.lanes)
        )
        pieces = (*self._ground(), *self._spans(), *self._marks(), *self._times())
        return (
            f'<div class="timeline" style="height:{self.height}px">{lanes}'
            f'<svg role="img" aria-label="{escape(name)}">{"".join(pieces)}</svg></div>'
        )

    def _middle(self, lane: int) -> float:
        return SPAN * len(self.spans) + LANE * (lane + 0.5)

    def _ground(self) -> list[str]:
        return [
            f'<line class="grid" x1="0" x2="100%" y1="{self._middle(k)}" y2="{self._middle(k)}"/>'
            for k in range(len(self.lanes))
        ]

    def _spans(self) -> list[str]:
        found = []
        for k, span in enumerate(self.spans):
            left, right = self.share(span.first.at), self.share(span.last.at)
            y = SPAN * k + 3
            shade = f"c{min(int(span.confidence * 5), 4)}"
            for mark in (span.first, span.last):
                x, foot = self.share(mark.at), self._middle(mark.lane)
                found.append(
                    f'<line class="drop {shade}" x1="{x:.2f}%" x2="{x:.2f}%" y1="{y + 8}" '
                    f'y2="{foot}"/>'
                )
            found.append(
                f'<rect class="span {shade}" x="{left:.2f}%" width="{right - left:.2f}%" y="{y}" '
                f'height="16" rx="8" data-tip="{escape(span.tip)}"/>'
                f'<text class="says {shade}" x="{(left + right) / 2:.2f}%" y="{y + 12}">'
                f"{span.confidence:.2f}</text>"
            )
        return found

    def _marks(self) -> list[str]:
        return [
            f'<circle class="mark l{mark.lane % 3} {"real" if mark.real else "ghost"}" '
            f'cx="{self.share(mark.at):.2f}%" cy="{self._middle(mark.lane)}" '
            f'r="{3 + 6.5 * mark.p:.1f}" data-tip="{escape(mark.tip)}"/>'
            for mark in self.marks
        ]

    def _times(self) -> list[str]:
        first, last = self._ends()
        return [
            f'<text class="time" x="{self.share(at):.2f}%" y="{self.height - 5}">'
            f"{clock(at, last - first)}</text>"
            for at in (first, last)
        ]


def clock(at: Any, span: Any) -> str:
    """Return a time so far as it tells two ends of a span apart.

    >>> clock(datetime(2026, 1, 2), timedelta(days=1))
    '01-02 00:00'
    >>> clock(datetime(2026, 1, 2), timedelta(seconds=3))
    '00:00:00'
    """
    if not isinstance(at, datetime):
        return str(at)
    if span < timedelta(seconds=1):
        return f"{at:%H:%M:%S.%f}"
    if span < timedelta(minutes=10):
        return f"{at:%H:%M:%S}"
    if span < timedelta(hours=20):
        return f"{at:%H:%M}"
    return f"{at:%m-%d %H:%M}" if span < timedelta(days=60) else f"{at:%Y-%m-%d}"
