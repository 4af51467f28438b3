"""EXPLAIN as a picture of the automaton, drawn here: no system package, no fonts to install.

Solid edges are events seen, dashed ones events missed; what must not happen is struck through below
the edge that it guards. States stand in layers (see `layout`), the start at the left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from augury.analysis.declarations.catalog import Catalog
from augury.planning.distribution.movement import Priced
from augury.planning.explain.layout import Layout, lay_out
from augury.planning.explain.words import (
    STRATEGIES,
    after_match_text,
    automaton_title,
    shape_text,
    skip_text,
    threshold_of,
    transition_text,
    window_text,
)
from augury.planning.pattern.automaton import Automaton, Guard
from augury.planning.physical import PhysicalPlan

RADIUS = 22
ROW_HEIGHT = 104
LEFT, TOP, BOTTOM = 64, 104, 76
MOST_STATES = 200
CHARACTER = 7.2  # the mean width of a character of a label, in pixels

_STYLE = """
  .paper { fill: #ffffff; }
  text { font-family: system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2937; }
  .title { font-size: 17px; font-weight: 600; }
  .note { font-size: 12px; fill: #6b7280; }
  .state { fill: #eef2ff; stroke: #4338ca; stroke-width: 1.6; }
  .final { fill: #ecfdf5; stroke: #047857; }
  .ring { fill: none; stroke: #047857; stroke-width: 1.2; }
  .number { font-size: 14px; font-weight: 600; text-anchor: middle; }
  .residual { font-size: 11px; fill: #6b7280; text-anchor: middle; }
  .edge { fill: none; stroke: #374151; stroke-width: 1.6; }
  .edge.missed { stroke: #b45309; stroke-dasharray: 6 4; }
  .edge.removed { stroke: #d1d5db; stroke-dasharray: 2 4; }
  .label { font-size: 13px; text-anchor: middle; fill: #1f2937; }
  .halo { stroke: #ffffff; stroke-width: 5px; stroke-linejoin: round; }
  .label.missed { fill: #b45309; }
  .label.removed { fill: #9ca3af; }
  .label.guard { fill: #b91c1c; }
  .strike { stroke: #b91c1c; stroke-width: 1.6; }
"""


def explain_as_svg(
    plan: PhysicalPlan, catalog: Catalog | None = None, priced: Priced | None = None
) -> str:
    """Return the automaton as an SVG document."""
    if len(plan.automaton.states) > MOST_STATES:
        return _document(plan, 640, 130, [_too_large(plan)])
    canvas = _Canvas.of(plan)
    lines = [*canvas.skips(), *canvas.edges()]
    pieces = [
        *(path for path, _ in lines),
        *canvas.states(),
        *(label for _, label in lines),
        *canvas.guards(),
        *canvas.legend(),
    ]
    return _document(plan, canvas.width, canvas.height, pieces)


def _document(plan: PhysicalPlan, width: float, height: float, pieces: list[str]) -> str:
    query = plan.query
    terms = [STRATEGIES[query.strategy]]
    if query.within is not None:
        terms.append(f"within {window_text(query.within, query)}")
    if query.after_match is not None:
        terms.append(after_match_text(query))
    having = threshold_of(query)
    if having is not None:
        terms.append(f"{having.measure.lower()} at least {having.threshold:g}")
    title = f"{query.name}: {shape_text(query.shape, query.components)}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
            f'width="{width:g}" height="{height:g}" role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>{_STYLE}</style>",
            _ARROWS,
            f'<rect class="paper" width="{width:g}" height="{height:g}" rx="12"/>',
            _text(24, 34, "title", title),
            _text(24, 55, "note", "; ".join(terms)),
            *pieces,
            "</svg>\n",
        ]
    )


_ARROWS = (
    "<defs>"
    + "".join(
        f'<marker id="arrow-{name}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" '
        f'markerHeight="7" orient="auto-start-reverse">'
        f'<path d="M0 0L10 5L0 10z" fill="{colour}"/></marker>'
        for name, colour in (("seen", "#374151"), ("missed", "#b45309"), ("removed", "#d1d5db"))
    )
    + "</defs>"
)


def _too_large(plan: PhysicalPlan) -> str:
    return _text(24, 90, "note", f"{automaton_title(plan.automaton)}: too many to draw")


def _text(x: float, y: float, kind: str, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{escape(text)}</text>'


def _label(x: float, y: float, kind: str, text: str) -> str:
    # The halo is drawn as a text of its own: not every viewer knows `paint-order`.
    return _text(x, y, "label halo", text) + _text(x, y, f"label {kind}", text)


def _struck(x: float, y: float, text: str) -> str:
    # A line of its own, because not every viewer knows `text-decoration`.
    half = len(text) * CHARACTER / 2 + 3
    line = f'<path class="strike" d="M{x - half:.1f} {y - 4.5:.1f}h{2 * half:.1f}"/>'
    return _label(x, y, "guard", text) + line


def _clipped(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "\N{HORIZONTAL ELLIPSIS}"


Point = tuple[float, float]
Line = tuple[str, str]  # the path and its label


@dataclass(frozen=True)
class _Canvas:
    plan: PhysicalPlan
    layout: Layout
    names: tuple[str, ...]
    step: float  # between layers

    @classmethod
    def of(cls, plan: PhysicalPlan) -> _Canvas:
        names = tuple(c.name for c in plan.query.components)
        labels = [transition_text(t, names) for t in plan.automaton.transitions]
        labels += [skip_text(s, names) for s in plan.automaton.skips]
        widest = max((len(label) for label in labels), default=0)
        return cls(plan, lay_out(plan.automaton), names, max(150.0, widest * CHARACTER + 76))

    @property
    def automaton(self) -> Automaton:
        return self.plan.automaton

    @property
    def left(self) -> float:
        return max(LEFT, len(self._shown(self.automaton.states[0].label)) * 3.1 + 20)

    @property
    def below(self) -> float:
        """How far the edges over missed events hang below the last row."""
        return max((self._hang(s.source, s.target) for s in self.automaton.skips), default=0.0)

    @property
    def width(self) -> float:
        drawn = self.left + LEFT + (self.layout.layers - 1) * self.step + 40
        heading = f"{self.plan.query.name}: {self._pattern()}"
        return max(drawn, len(heading) * 9.0 + 48, 560.0)

    @property
    def height(self) -> float:
        return TOP + self.above + self.layout.rows * ROW_HEIGHT + self.below + BOTTOM

    @property
    def above(self) -> float:
        """How far edges over other states reach above the first row."""
        bends = [self._bend(t.source, t.target) for t in self.automaton.transitions]
        return max(0.0, -min(bends, default=0.0) - 40.0)

    def _shown(self, label: str) -> str:
        return _clipped(label, int((self.step - 20) / 6.2))

    def _pattern(self) -> str:
        return shape_text(self.plan.query.shape, self.plan.query.components)

    def at(self, state: int) -> Point:
        return (
            self.left + self.layout.layer[state] * self.step,
            TOP + self.above + self.layout.row[state] * ROW_HEIGHT + 34,
        )

    # Edges -------------------------------------------------------------------------------------

    def edges(self) -> Iterator[Line]:
        joined: dict[tuple[int, int], list[str]] = {}
        for t in self.automaton.transitions:
            joined.setdefault((t.source, t.target), []).append(transition_text(t, self.names))
        for (source, target), labels in joined.items():
            text = " | ".join(labels)
            if source == target:
                yield self._loop(source, text)
            else:
                yield self._curve(source, target, self._bend(source, target), "seen", text)

    def _bend(self, source: int, target: int) -> float:
        # An edge over a layer goes round the states that stand in between.
        span = self.layout.layer[target] - self.layout.layer[source]
        return 0.0 if span <= 1 else -30.0 - 16.0 * span

    def skips(self) -> Iterator[Line]:
        for skip in sorted(self.automaton.skips, key=lambda s: not s.removed):
            kind = "removed" if skip.removed else "missed"
            hang = self._hang(skip.source, skip.target)
            yield self._curve(skip.source, skip.target, hang, kind, skip_text(skip, self.names))

    def _hang(self, source: int, target: int) -> float:
        span = self.layout.layer[target] - self.layout.layer[source]
        return 34.0 + 52.0 * (span - 1)

    def _curve(self, source: int, target: int, bend: float, kind: str, label: str) -> Line:
        (x1, y1), (x2, y2) = self.at(source), self.at(target)
        (ax, ay), (bx, by) = _rim(x1, y1, bend), _rim(x2, y2, bend, left=True)
        third = (bx - ax) / 3
        first, second = ay + bend * 1.2, by + bend * 1.2
        path = (
            f'<path class="edge {kind}" marker-end="url(#arrow-{kind})" d="M{ax:.1f} {ay:.1f}'
            f'C{ax + third:.1f} {first:.1f} {bx - third:.1f} {second:.1f} {bx:.1f} {by:.1f}"/>'
        )
        # Edges that fan out are labelled near their source, where they do not cross yet.
        along = 0.5 if bend or y1 == y2 else 0.3
        x, y = ax + (bx - ax) * along, _cubic((ay, first, second, by), along)
        return path, _label(x, y + (17 if bend > 0 else -8), kind, label)

    def _loop(self, state: int, label: str) -> Line:
        x, y = self.at(state)
        path = (
            f'<path class="edge seen" marker-end="url(#arrow-seen)" d="M{x - 11:.1f} {y - 20:.1f}'
            f'C{x - 30:.1f} {y - 62:.1f} {x + 30:.1f} {y - 62:.1f} {x + 11:.1f} {y - 20:.1f}"/>'
        )
        return path, _label(x, y - 58, "seen", label)

    # States ------------------------------------------------------------------------------------

    def states(self) -> Iterator[str]:
        for state in self.automaton.states:
            x, y = self.at(state.index)
            kind = "state final" if state.accepting else "state"
            yield f"<g><title>{escape(state.label)}</title>"
            yield f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS}"/>'
            if state.accepting:
                yield f'<circle class="ring" cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS - 4}"/>'
            yield _text(x, y + 5, "number", str(state.index))
            under = y + RADIUS + 16 if not self.automaton.skips else self._above(state.index, y)
            yield _text(x, under, "residual", self._shown(state.label)) + "</g>"

    def _above(self, state: int, y: float) -> float:
        # Edges over missed events hang below, so residuals go above, over a loop if there is one.
        loops = any(t.source == t.target == state for t in self.automaton.transitions)
        return y - RADIUS - (56 if loops else 10)

    # Guards ------------------------------------------------------------------------------------

    def guards(self) -> Iterator[str]:
        taken: dict[Point, int] = {}
        for guard in self.automaton.guards:
            for place in self._places(guard):
                line = taken.get(place, 0)
                taken[place] = line + 1
                text = shape_text(guard.part, self.plan.query.components)
                yield _struck(place[0], place[1] + 17 * line, text)

    def _places(self, guard: Guard) -> Sequence[Point]:
        if guard.is_trailing:
            finals = [s.index for s in self.automaton.states if s.accepting]
            return [(x, y + RADIUS + 34) for x, y in map(self.at, finals)]
        later = set(guard.later[0])
        found = [
            self._middle(t.source, t.target)
            for t in self.automaton.transitions
            if t.component in later and not t.again and t.source != t.target
        ]
        return list(dict.fromkeys(found))

    def _middle(self, source: int, target: int) -> Point:
        (x1, y1), (x2, y2) = self.at(source), self.at(target)
        return (x1 + x2) / 2, (y1 + y2) / 2 + 18 + self._bend(source, target) * 0.75

    # Legend ------------------------------------------------------------------------------------

    def legend(self) -> Iterator[str]:
        y, x = self.height - 26, 24.0
        yield f'<path class="edge seen" marker-end="url(#arrow-seen)" d="M{x} {y - 4}h34"/>'
        yield _text(x + 42, y, "note", "an event is seen")
        x += 160
        if self.automaton.skips:
            yield f'<path class="edge missed" marker-end="url(#arrow-missed)" d="M{x} {y - 4}h34"/>'
            yield _text(x + 42, y, "note", "it was missed")
            x += 144
        if self.automaton.guards:
            yield _struck(x + 18, y, "name")
            yield _text(x + 46, y, "note", "must not happen here")


def _cubic(points: tuple[float, float, float, float], t: float) -> float:
    """Return one coordinate of a Bezier curve."""
    a, b, c, d = points
    return a * (1 - t) ** 3 + 3 * b * t * (1 - t) ** 2 + 3 * c * t * t * (1 - t) + d * t**3


def _rim(x: float, y: float, bend: float, *, left: bool = False) -> Point:
    """Return where an edge leaves or meets the circle of a state."""
    side = -1 if left else 1
    if bend == 0.0:
        return x + side * (RADIUS + (3 if left else 0)), y
    tilt = 0.75 if bend > 0 else -0.75
    return x + side * RADIUS * 0.68, y + RADIUS * tilt * (1.08 if left else 1.0)
