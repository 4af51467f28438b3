"""Reliability charts: what was claimed across, what came up; the area of a dot is how often."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from augury.evaluation.learning.forecast_scores import Bin
from matching import harness

SIZE, MARGIN = 320, 44


def reliability_chart(name: str, title: str, lines: Mapping[str, Sequence[Bin]]) -> None:
    """Draw the reliability of some forecasts into an SVG."""
    side = SIZE - 2 * MARGIN

    def place(claimed: float, happened: float) -> tuple[float, float]:
        return MARGIN + claimed * side, SIZE - MARGIN - happened * side

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIZE + 120} {SIZE}" '
        'font-family="sans-serif" font-size="11">',
        f'<rect width="{SIZE + 120}" height="{SIZE}" fill="white"/>',
        f'<text x="{MARGIN}" y="20" font-size="13">{title}</text>',
        f'<text x="{MARGIN}" y="{SIZE - 8}">claimed</text>',
        f'<text x="4" y="{MARGIN - 8}">came</text>',
    ]
    (x0, y0), (x1, y1) = place(0, 0), place(1, 1)
    box = f'x="{x0}" y="{y1}" width="{side}" height="{side}"'
    parts.append(f'<rect {box} fill="none" stroke="#bbb"/>')
    parts.append(f'<line x1="{x0}" y1="{y0}" x2="{x1}" y2="{y1}" stroke="#bbb"/>')
    for k, (label, bins) in enumerate(lines.items()):
        colour = harness.COLOURS[k % len(harness.COLOURS)]
        points = [place(b.claimed, b.happened) for b in bins]
        where = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{where}" fill="none" stroke="{colour}"/>')
        total = sum(b.count for b in bins)
        for (x, y), each in zip(points, bins, strict=True):
            radius = 1.5 + 7.0 * (each.count / total) ** 0.5
            spot = f'cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"'
            parts.append(f'<circle {spot} fill="{colour}" fill-opacity="0.5"/>')
        spot = f'x="{SIZE - MARGIN + 8}" y="{MARGIN + 14 * k + 10}"'
        parts.append(f'<text {spot} fill="{colour}">{label}</text>')
    harness.FIGURES.mkdir(parents=True, exist_ok=True)
    (harness.FIGURES / f"{name}.svg").write_text("\n".join([*parts, "</svg>"]) + "\n")
