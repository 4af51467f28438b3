"""A plot with two axes, and what can be drawn in it.

Both axes run over given ranges; everything is placed in percent of the plot, so that it stretches
with the page while dots stay round and letters keep their size. Curves go in an inner picture that
is stretched whole; its strokes are not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

Tick = tuple[float, str]
Point = tuple[float, float]
UNIT_TICKS: tuple[Tick, ...] = tuple((k / 5, f"{k / 5:.1f}") for k in range(6))
PERCENT_TICKS: tuple[Tick, ...] = tuple((k / 4, f"{k * 25} %") for k in range(5))


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of values, the marks on it, and what it measures."""

    title: str
    ticks: Sequence[Tick]
    low: float = 0.0
    high: float = 1.0

    def share(self, value: float) -> float:
        """Return where a value lies, in percent."""
        return 100.0 * (value - self.low) / (self.high - self.low)


@dataclass(frozen=True, slots=True)
class Plot:
    """Two axes; the methods return pieces of SVG for `drawn`."""

    x: Axis
    y: Axis
    height: int = 260

    def at(self, point: Point) -> Point:
        return self.x.share(point[0]), 100.0 - self.y.share(point[1])

    def curve(self, points: Iterable[Point], kind: str) -> str:
        """Return a line through points."""
        path = "L".join("{:.2f} {:.2f}".format(*self.at(point)) for point in points)
        return _stretched(f'<path class="curve {kind}" d="M{path}"/>')

    def area(self, points: Iterable[Point], kind: str) -> str:
        """Return a filled outline."""
        path = "L".join("{:.2f} {:.2f}".format(*self.at(point)) for point in points)
        return _stretched(f'<path class="area {kind}" d="M{path}Z"/>')

    def dot(self, point: Point, radius: float, kind: str, tip: str, more: str = "") -> str:
        """Return a round mark that tells more when touched."""
        x, y = self.at(point)
        return (
            f'<circle class="dot {kind}" cx="{x:.2f}%" cy="{y:.2f}%" r="{radius:.1f}" '
            f'data-tip="{escape(tip)}"{more}/>'
        )

    def line(self, first: Point, second: Point, kind: str, more: str = "") -> str:
        (x1, y1), (x2, y2) = self.at(first), self.at(second)
        return (
            f'<line class="{kind}" x1="{x1:.2f}%" y1="{y1:.2f}%" x2="{x2:.2f}%" y2="{y2:.2f}%"'
            f"{more}/>"
        )

    def bar(self, first: Point, second: Point, kind: str, tip: str) -> str:
        """Return a filled rectangle between two corners."""
        (x1, y1), (x2, y2) = self.at(first), self.at(second)
        return (
            f'<rect class="bar {kind}" x="{x1:.2f}%" y="{y2:.2f}%" width="{x2 - x1:.2f}%" '
            f'height="{y1 - y2:.2f}%" data-tip="{escape(tip)}"/>'
        )

    def label(self, point: Point, text: str, kind: str = "", shift: Point = (0, 0)) -> str:
        """Return a text at a point, shifted by some pixels."""
        x, y = self.at(point)
        return (
            f'<text class="{kind}" x="{x:.2f}%" y="{y:.2f}%" dx="{shift[0]}" dy="{shift[1]}">'
            f"{escape(text)}</text>"
        )

    def drawn(self, pieces: Iterable[str], name: str) -> str:
        """Return the whole plot; `name` is for those who cannot see it."""
        return (
            f'<div class="plot" style="height:{self.height}px">'
            f'<svg role="img" aria-label="{escape(name)}">{self._grid()}{"".join(pieces)}</svg>'
            f"{self._numbers()}</div>"
        )

    def _grid(self) -> str:
        lines = [
            self.line((self.x.low, tick), (self.x.high, tick), "grid") for tick, _ in self.y.ticks
        ]
        return "".join(lines)

    def _numbers(self) -> str:
        across = (
            f'<span class="x tick" style="left:{self.x.share(at):.2f}%">{escape(text)}</span>'
            for at, text in self.x.ticks
        )
        upward = (
            f'<span class="y tick" style="bottom:{self.y.share(at):.2f}%">{escape(text)}</span>'
            for at, text in self.y.ticks
        )
        titles = (
            f'<span class="x title">{escape(self.x.title)}</span>'
            f'<span class="y title">{escape(self.y.title)}</span>'
        )
        return "".join((*across, *upward, titles))


def _stretched(inner: str) -> str:
    return (
        '<svg class="stretched" width="100%" height="100%" viewBox="0 0 100 100" '
        f'preserveAspectRatio="none">{inner}</svg>'
    )
