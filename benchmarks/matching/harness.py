"""What the matching benchmarks share: medians of three, the machine, figures and charts.

Figures go to docs/benchmarks/<name>.json, with the number of cores, so that they can be compared.
AUGURY_BENCH_SCALE (1 unless set) multiplies what a benchmark is asked to do; figures of a shrunken
run go to the folder AUGURY_BENCH_DOCS (one of its own, unless set), and not to docs.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from math import floor, log10
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from augury.analysis.checked import CheckedQuery
from augury.analysis.script import check_text
from augury.evaluation.evaluator import Evaluator

ROUNDS = 3


def scale() -> float:
    """Return by how much the work of a benchmark is multiplied."""
    return float(os.environ.get("AUGURY_BENCH_SCALE", "1"))


def sized(n: int, least: int = 1) -> int:
    """Return a number after AUGURY_BENCH_SCALE, never below the least that says something."""
    return max(least, round(n * scale()))


def _docs() -> Path:
    """Return the folder of pages: that of the repository is for figures of whole runs."""
    if "AUGURY_BENCH_DOCS" in os.environ:
        return Path(os.environ["AUGURY_BENCH_DOCS"])
    if scale() >= 1:
        return Path(__file__).parents[2] / "docs"
    return Path(tempfile.gettempdir()) / "augury-shrunken-benchmarks"


DOCS = _docs()
FIGURES = DOCS / "benchmarks"


def on_one_core() -> None:
    """Keep Arrow to one thread; kernels have no more."""
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)


class Seconds(NamedTuple):
    """Medians: by the clock, and of this process's processor, which neighbours do not slow down."""

    clock: float
    processor: float


def median_seconds(work: Callable[[], Any]) -> tuple[Seconds, Any]:
    """Return the median time of three rounds, and what the last one gave."""
    clock, processor, result = [], [], None
    for _ in range(ROUNDS):
        result = None
        start, busy = time.perf_counter(), time.process_time()
        result = work()
        clock.append(time.perf_counter() - start)
        processor.append(time.process_time() - busy)
    return Seconds(statistics.median(clock), statistics.median(processor)), result


def rates(name: str, n: int, seconds: Seconds) -> dict[str, int]:
    """Return events per second, by the clock and per second of one core's work."""
    return {
        f"{name}_events_per_second": round(n / seconds.clock),
        f"{name}_events_per_core_second": round(n / seconds.processor),
    }


def machine() -> dict[str, Any]:
    """Return what the figures were measured on."""
    return {
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "machine": platform.machine(),
        "python": platform.python_version(),
    }


def checked(text: str) -> tuple[Any, dict[str, CheckedQuery]]:
    """Return the catalog and the queries of a script."""
    found = check_text(text)
    errors = [d.render() for d in found.diagnostics if d.severity == "error"]
    if errors:
        raise SystemExit("\n".join(errors))
    return found.catalog, {q.name.lower(): q for q in found.queries}


def answer(script: tuple[Any, dict[str, CheckedQuery]], table: pa.Table, name: str) -> pa.Table:
    """Return the result of a query over the stream `s`, from scratch."""
    catalog, queries = script
    return Evaluator(catalog, queries, {"s": table}).table(name)


def record(name: str, figures: Mapping[str, Any]) -> None:
    """Print figures and write them down."""
    whole = {**figures, "measured_on": machine()}
    print(json.dumps(whole, indent=2))
    FIGURES.mkdir(parents=True, exist_ok=True)
    (FIGURES / f"{name}.json").write_text(json.dumps(whole, indent=2) + "\n")


# Charts ---------------------------------------------------------------------------------------

WIDTH, HEIGHT, LEFT, BOTTOM = 640, 360, 70, 50
COLOURS = ("#1f6fb4", "#d1495b", "#4c9f70", "#b8860b", "#6a4c93", "#444444", "#2a9d8f")


def chart(
    name: str, title: str, labels: tuple[str, str], series: Mapping[str, Sequence[tuple]]
) -> None:
    """Draw lines of (x, y) with a logarithmic y axis into an SVG."""
    points = [p for line in series.values() for p in line]
    xs, ys = [p[0] for p in points], [log10(max(p[1], 1e-6)) for p in points]
    low, high = floor(min(ys)), floor(max(ys)) + 1
    span = max(xs) - min(xs) or 1.0

    def place(x: float, y: float) -> tuple[float, float]:
        across = LEFT + (x - min(xs)) / span * (WIDTH - LEFT - 150)
        up = HEIGHT - BOTTOM - (log10(max(y, 1e-6)) - low) / (high - low) * (HEIGHT - BOTTOM - 40)
        return across, up

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="22" font-size="14">{title}</text>',
        f'<text x="{LEFT}" y="{HEIGHT - 12}">{labels[0]}</text>',
        f'<text x="8" y="38">{labels[1]}</text>',
    ]
    for power in range(low, high + 1):
        _, y = place(min(xs), 10.0**power)
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - 150}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
            f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">1e{power}</text>'
        )
    for x in sorted(set(xs)):
        across, _ = place(x, 10.0**low)
        parts.append(
            f'<text x="{across:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{x:g}</text>'
        )
    heights = _apart([place(*line[-1])[1] for line in series.values()])
    for k, (label, line) in enumerate(series.items()):
        where = " ".join(f"{a:.1f},{b:.1f}" for a, b in (place(*p) for p in line))
        last = place(*line[-1])
        parts.append(
            f'<polyline points="{where}" fill="none" stroke="{COLOURS[k]}" stroke-width="2"/>'
            f'<text x="{last[0] + 6:.1f}" y="{heights[k] + 4:.1f}" fill="{COLOURS[k]}">'
            f"{label}</text>"
        )
    FIGURES.mkdir(parents=True, exist_ok=True)
    (FIGURES / f"{name}.svg").write_text("\n".join([*parts, "</svg>"]) + "\n")


def _apart(heights: Sequence[float]) -> list[float]:
    """Return the heights of labels, moved down where they would lie on one another."""
    found, lowest = [0.0] * len(heights), float("-inf")
    for k in sorted(range(len(heights)), key=heights.__getitem__):
        found[k] = lowest = max(heights[k], lowest + 14.0)
    return found
