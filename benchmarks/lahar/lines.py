"""Lines with linear axes, as SVG files beside the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matching.harness import BOTTOM, COLOURS, FIGURES, HEIGHT, LEFT, WIDTH

RIGHT, TOP = 150, 40


def draw(
    name: str, title: str, across: str, series: Mapping[str, Sequence[tuple[float, float]]]
) -> None:
    """Draw lines of (x, y), y from 0 to the largest."""
    xs = sorted({x for line in series.values() for x, _ in line})
    most = max([y for line in series.values() for _, y in line] + [1e-9])

    def place(x: float, y: float) -> tuple[float, float]:
        share = (x - xs[0]) / ((xs[-1] - xs[0]) or 1.0)
        up = HEIGHT - BOTTOM - y / most * (HEIGHT - BOTTOM - TOP)
        return LEFT + share * (WIDTH - LEFT - RIGHT), up

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="22" font-size="14">{title}</text>',
        f'<text x="{LEFT}" y="{HEIGHT - 12}">{across}</text>',
    ]
    for y in (0.0, most / 2, most):
        _, up = place(xs[0], y)
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{up:.1f}" y2="{up:.1f}" stroke="#ddd"/>'
            f'<text x="{LEFT - 8}" y="{up + 4:.1f}" text-anchor="end">{y:.3g}</text>'
        )
    for x in xs[:: max(1, len(xs) // 8)]:
        at, _ = place(x, 0.0)
        parts.append(
            f'<text x="{at:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{x:g}</text>'
        )
    for k, (label, line) in enumerate(series.items()):
        colour = COLOURS[k % len(COLOURS)]
        where = " ".join(f"{a:.1f},{b:.1f}" for a, b in (place(*point) for point in line))
        last = place(*line[-1])
        parts.append(
            f'<polyline points="{where}" fill="none" stroke="{colour}" stroke-width="2"/>'
            f'<text x="{last[0] + 6:.1f}" y="{last[1] + 4:.1f}" fill="{colour}">{label}</text>'
        )
    FIGURES.mkdir(parents=True, exist_ok=True)
    (FIGURES / f"{name}.svg").write_text("\n".join([*parts, "</svg>"]) + "\n")
