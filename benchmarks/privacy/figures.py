"""Figures 4.8 and 4.9 of Wang's thesis, over simulated wards: what methods keep of the utility.

    python benchmarks/privacy/figures.py [seeds]

Settings were chosen on the seeds 1000 to 1015, as some in which the methods differ, and written
down here before the first run over the seeds 0 to 39 that is reported. Ratios are of sums over
seeds; their intervals hold 95 % of ratios over seeds drawn again. A last part draws settings, too.
Writes docs/benchmarks/privacy.md, privacy-figures.json and charts.
"""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from functools import cache
from typing import Any

import numpy as np

from lahar.lines import draw
from matching import harness
from privacy.page import page
from privacy.rounds import METHODS, Setting, by_patience, matches_left, period_found, run

SEEDS, RESAMPLED, DRAWN = harness.sized(40, 2), 2000, harness.sized(30, 2)
# Seeds by which it is told what holds the periodic hybrid back, for each that is reported.
MANY = 5
# Irregular: acts come by themselves.
DAY = Setting(0.0, lengths=(4, 4))
# Regular: the rounds of a night, twelve private patterns, and heavy weights.
NIGHT = Setting(0.95, private=12, lengths=(3, 5), windows=(2_000, 6_000), cost=100.0)
LONG = Setting(0.9, private=10, lengths=(4, 6), windows=(10_000, 20_000))
MIXED = Setting(0.4)
PERIODICITIES = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0)
LENGTHS = (2, 3, 4, 5)
COUNTS = (0, 2, 4, 8)
COSTS = (0.0, 1.0, 10.0, 100.0, 1000.0)

Sums = dict[str, np.ndarray]


def measured(setting: Setting, seeds: range, methods: tuple[str, ...] = METHODS) -> Sums:
    """Return the utilities of each method, one per seed."""
    found = [run(setting, seed, methods) for seed in seeds]
    return {name: np.array([each[name] for each in found]) for name in found[0]}


def ratio(one: np.ndarray, other: np.ndarray) -> dict[str, float]:
    """Return the ratio of sums, and what it lies between for seeds drawn again."""
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, len(one), (RESAMPLED, len(one)))
    below = other[drawn].sum(1)
    many = one[drawn].sum(1)[below != 0.0] / below[below != 0.0]
    low, high = np.percentile(many, [2.5, 97.5]) if len(many) else (0.0, 0.0)
    whole = other.sum()
    return {
        "ratio": round(float(one.sum() / whole), 3) if whole else 1.0,
        "from": round(float(low), 3),
        "to": round(float(high), 3),
    }


def compared(sums: Sums) -> dict[str, Any]:
    """Return the utilities of all seeds together, and the ratios that are asked for."""
    return {
        "utility": {name: round(float(own.sum()), 1) for name, own in sums.items()},
        "rates_over_types": ratio(sums["rates"], sums["types"]),
        "periodic_over_rates": ratio(sums["periodic"], sums["rates"]),
        "periodic_over_true": ratio(sums["periodic"], sums["true"]),
        "periodic_over_greedy": ratio(sums["periodic"], sums["greedy"]),
    }


def learned(setting: Setting, seeds: range, sums: Sums) -> dict[str, Any]:
    """Return what PATIENCE LEARNED keeps, against PATIENCE 1."""
    methods = ("rates", "periodic")
    own = measured(replace(setting, patience=None), seeds, methods)
    return {name: ratio(own[name], sums[name]) for name in methods}


@cache
def result(setting: Setting, seeds: range) -> dict[str, Any]:
    """Return all that is told of a setting."""
    sums = measured(setting, seeds)
    return compared(sums) | {"learned": learned(setting, seeds, sums)}


def settings() -> dict[str, Setting]:
    """Return all settings but those that are drawn, by name."""
    found = {"day": DAY, "night": NIGHT, "night, weight 1000": replace(NIGHT, cost=1000.0)}
    found["long"] = LONG
    for each in PERIODICITIES:
        found[f"periodicity {each:g}"] = replace(NIGHT, periodicity=each)
    for each in LENGTHS:
        found[f"length {each}"] = replace(MIXED, lengths=(each, each))
    for each in COUNTS:
        found[f"{each} private"] = replace(MIXED, private=each)
    for each in COSTS:
        found[f"weight {each:g}"] = replace(MIXED, cost=each)
    # Whether more of the past would help: the cycle is known five times as well.
    for name in ("periodicity 0.9", "weight 100"):
        found[f"{name}, history of 100 cycles"] = replace(found[name], history=5)
    return found


def drawn_settings() -> list[Setting]:
    """Return settings of which everything is drawn."""
    rng, found = np.random.default_rng(49), []
    for _ in range(DRAWN):
        short, shortest = int(rng.integers(500, 4_000)), int(rng.integers(2, 4))
        found.append(
            Setting(
                periodicity=round(float(rng.random()), 2),
                types=int(rng.integers(5, 13)),
                acts=int(rng.integers(10, 31)),
                public=int(rng.integers(4, 13)),
                private=int(rng.integers(1, 9)),
                lengths=(shortest, shortest + int(rng.integers(0, 3))),
                windows=(short, short + int(rng.integers(500, 4_000))),
                cost=float(rng.choice([3.0, 10.0, 30.0, 100.0])),
            )
        )
    return found


def at_random(seeds: range) -> dict[str, Any]:
    """Return how often one method keeps more than another by a fiftieth, over drawn settings."""
    every = [measured(setting, seeds) for setting in drawn_settings()]
    pairs = (("rates", "types"), ("periodic", "rates"), ("periodic", "greedy"))
    found: dict[str, Any] = {"settings": len(every), "seeds_each": len(seeds)}
    for one, other in pairs:
        gains = [(own[one].sum(), own[other].sum()) for own in every]
        found[f"{one} over {other}"] = {
            "more": sum(bool(a > b + 0.02 * abs(b)) for a, b in gains),
            "less": sum(bool(a < b - 0.02 * abs(b)) for a, b in gains),
        }
    return found


def limits(seeds: range) -> dict[str, dict[str, Any]]:
    """Return what holds the periodic hybrid back where a target is missed, over more seeds."""
    found, many = dict[str, dict[str, Any]](), range(MANY * len(seeds))
    for name in ("periodicity 0.9", "weight 100"):
        setting = settings()[name]
        sums = measured(setting, many, ("periodic", "true"))
        learning = measured(replace(setting, patience=None), many, ("periodic", "true"))
        other = [by_patience(setting, seed) for seed in many]
        long = measured(replace(setting, history=20), seeds, ("periodic", "true"))
        one = sums["periodic"]
        found[name] = {
            "seeds": len(many),
            "periodic_over_true": ratio(one, sums["true"]),
            "of_400_cycles_over_true": ratio(long["periodic"], long["true"]),
            "learned_over_true": ratio(learning["periodic"], sums["true"]),
            "learned_over_true_learned": ratio(learning["periodic"], learning["true"]),
            "learned_over_one": ratio(learning["periodic"], one),
        }
        for how in ("half", "hindsight"):
            found[name][f"{how}_over_one"] = ratio(np.array([each[how] for each in other]), one)
    return found


def periods(seeds: range) -> dict[str, Any]:
    """Return in how many streams the period is found, and by how much twenty cycles miss it."""
    found: dict[str, Any] = {}
    for each in PERIODICITIES:
        own = [period_found(replace(NIGHT, periodicity=each), seed) for seed in seeds]
        right = [p for p in own if p is not None and abs(p - NIGHT.cycle) <= 0.01 * NIGHT.cycle]
        off = [20 * abs(period - NIGHT.cycle) for period in right]
        found[f"{each:g}"] = {
            "streams": len(own),
            "found": len(right),
            "another": sum(period is not None for period in own) - len(right),
            "ticks_off_after_20_cycles": max(off, default=0),
        }
    return found


def by_weight(seeds: range) -> dict[str, dict[str, float]]:
    """Return the matches that are left as the private weight grows."""
    found = {}
    for cost in COSTS:
        left = [matches_left(replace(MIXED, cost=cost), seed) for seed in seeds]
        public, private = np.array(left).sum(0).tolist()
        found[f"{cost:g}"] = {"public": public, "private": private}
    return found


def main() -> None:
    """Measure everything, and write the page."""
    seeds = range(int(sys.argv[1]) if sys.argv[1:] else SEEDS)
    figures: dict[str, Any] = {"seeds": len(seeds), "settings": {}, "results": {}}
    for name, setting in settings().items():
        figures["settings"][name] = asdict(setting)
        figures["results"][name] = result(setting, seeds)
    figures["drawn"] = at_random(range(len(seeds) // 5 + 1))
    figures["limits"] = limits(seeds)
    figures["periods"] = periods(seeds)
    figures["by_weight"] = by_weight(seeds)
    harness.record("privacy-figures", figures)
    charts(figures["results"])
    (harness.FIGURES / "privacy.md").write_text(page(figures))


def charts(results: dict[str, Any]) -> None:
    """Draw the utilities by periodicity, length and number of private patterns."""
    axes = {
        "periodicity": [(each, f"periodicity {each:g}") for each in PERIODICITIES],
        "length": [(each, f"length {each}") for each in LENGTHS],
        "private": [(each, f"{each} private") for each in COUNTS],
    }
    for axis, places in axes.items():
        lines = {
            name: [(x, max(0.0, results[key]["utility"][name])) for x, key in places]
            for name in METHODS[1:]
        }
        draw(f"privacy_{axis}", f"utility by {axis}", axis, lines)


if __name__ == "__main__":
    main()
