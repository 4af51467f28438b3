"""Lahar's figures 12 and 13: objects and subgoals. `safe_plan.py` has figure 14.

12: rows a second for 1 to 100 objects, a regular query (one object is asked for) and an extended
regular one (a chain per object), against deciding first and against sampling at error 0.1, risk
0.1. 13: seconds by subgoals, independent and Markovian.
Run: python benchmarks/lahar/papers_figures.py [steps 200]
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from augury.matching.marginal import Beliefs, Marginaliser
from lahar.lines import draw
from lahar.throughput import (
    LINE,
    carried,
    certain,
    independent,
    line_of,
    markovian,
    sampled_seconds,
    seconds,
)
from matching.harness import machine, on_one_core, record, sized

OBJECTS, SUBGOALS = (1, 5, 10, 25, 50, 100), (1, 2, 3, 4, 5)


def objects_figure(steps: int) -> dict[str, dict[str, float]]:
    """Return rows a second by number of objects."""
    found: dict[str, dict[str, float]] = {}
    plain = Marginaliser(LINE)
    for n in OBJECTS:
        rows = independent(n, steps)
        asked = _only_the_first(rows)
        sampled = sampled_seconds(rows, min(n, 2)).processor * n / min(n, 2)
        timed = {
            "extended regular": seconds(lambda rows=rows: carried(plain, rows)).processor,
            "regular": seconds(lambda asked=asked: carried(plain, asked)).processor,
            "most likely": seconds(lambda rows=rows: carried(plain, certain(rows))).processor,
            "sampled": sampled,
        }
        for name, taken in timed.items():
            found.setdefault(name, {})[str(n)] = round(len(rows) / max(taken, 1e-9))
    return found


def _only_the_first(rows: Beliefs) -> Beliefs:
    """Return the rows as a query about one object sees them: of the others, nothing matches."""
    own = rows.chain == 0
    nothing = np.where(own, rows.matches, 0)
    return Beliefs(
        np.zeros_like(rows.chain),
        rows.time,
        rows.group,
        rows.origin,
        rows.value,
        rows.p,
        nothing,
        nothing,
    ).take(np.flatnonzero(own))


def subgoals_figure(steps: int) -> dict[str, dict[str, float]]:
    """Return seconds by number of subgoals."""
    rows, tables = independent(100, steps), markovian(100, steps)
    found: dict[str, dict[str, float]] = {"independent": {}, "Markovian": {}}
    for k in SUBGOALS:
        plain, linked = Marginaliser(line_of(k)), Marginaliser(line_of(k), is_markovian=True)
        taken = seconds(lambda plain=plain: carried(plain, rows)).processor
        found["independent"][str(k)] = round(taken, 4)
        taken = seconds(lambda linked=linked: carried(linked, tables)).processor
        found["Markovian"][str(k)] = round(taken, 4)
    return found


def main() -> None:
    """Print and store the figures and charts."""
    steps = int([*sys.argv[1:], sized(200, 5)][0])
    on_one_core()
    figures: dict[str, Any] = {
        "machine": machine(),
        "steps": steps,
        "rows_a_second_by_objects": objects_figure(steps),
        "seconds_by_subgoals": subgoals_figure(steps),
    }
    record("lahar_figures", figures)
    for name, title, across in (
        ("rows_a_second_by_objects", "rows a second of one core", "objects"),
        ("seconds_by_subgoals", "seconds of one core", "subgoals"),
    ):
        lines = {
            label: [(float(x), y) for x, y in line.items()] for label, line in figures[name].items()
        }
        draw(f"lahar_{name}", title, across, lines)


if __name__ == "__main__":
    main()
