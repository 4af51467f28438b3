"""Does carrying probabilities find more than deciding first? Lahar's figures 9 to 11, simulated.

Twenty people walk through a building for an hour, read at 60 %. The question: who went into the
coffee room, when. Real time: filtered marginals against the most likely place of each second (MLE).
Archived: smoothed beliefs with their correlation, and without, against the most likely path (MAP).
As in the paper, a second is detected if its probability is above the threshold, and counts if the
truth has a visit of that person within the tolerance. Several worlds are drawn; figures are means.
Calibration: of all answers near p, a share p must be true, to the second.
Run: python benchmarks/lahar/quality.py [people 20] [seconds 3600] [worlds 5]
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from augury import Session
from augury.demo.building.coffee import coffee, script
from augury.demo.building.people import Building, visits
from lahar.lines import draw
from matching.harness import machine, record

THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5)
TOLERANCES = (5, 30, 60)
# How far ahead the smoother without correlation looks: many times as long as a visit.
AHEAD = 200
Answers = dict[str, np.ndarray]
Truth = dict[str, list[str]]
SCENES = {"realtime": ("filtered", "mle"), "archived": ("smoothed", "alone", "map")}
STREAMS = {
    "filtered": "FILTER reads USING building",
    "mle": "MLE reads USING building",
    "smoothed": "SMOOTH reads USING building PRUNE 0.001",
    "alone": f"SMOOTH reads USING building LAG {AHEAD}",
    "map": "MAP reads USING building",
}


def answers(
    building: Building, people: int, seconds: int, seed: int
) -> tuple[Truth, dict[str, Answers]]:
    """Return the truth, and P(into the coffee room at t) by each approach and person."""
    truth, reads = building.walk(people, seconds, seed)
    ag = Session(engine="local")
    ag.sql(script())
    for name, rows in building.tables().items():
        ag.bind(name, rows)
    ag.bind("reads", reads)
    found = {}
    for name, how in STREAMS.items():
        ag.sql(f"CREATE STREAM {name}_at AS {how};" + coffee(f"{name}_at"))
        found[name] = by_person(ag.table(f"coffee_{name}_at"), truth)
    return truth, found


def by_person(table: Any, truth: Truth) -> Answers:
    """Return the probabilities of each person, second by second."""
    found = {person: np.zeros(len(path)) for person, path in truth.items()}
    rows = table.select(["person", "ts", "probability"]).to_pydict()
    for person, t, p in zip(rows["person"], rows["ts"], rows["probability"], strict=True):
        found[person][t] = p
    return found


def scores(truth: Truth, found: Answers, threshold: float, tolerance: int) -> dict[str, float]:
    """Return precision, recall and F1 of what is above the threshold."""
    hits = detected = recalled = real = 0
    for person, path in truth.items():
        there, told = np.array(visits(path)), np.flatnonzero(found[person] > threshold)
        near = np.abs(told[:, np.newaxis] - there[np.newaxis, :]) <= tolerance
        hits, recalled = hits + int(near.any(axis=1).sum()), recalled + int(near.any(axis=0).sum())
        detected, real = detected + len(told), real + len(there)
    precision = hits / detected if detected else 0.0
    recall = recalled / real if real else 0.0
    both = precision + recall
    return {
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / both if both else 0.0,
    }


def mean_scores(
    worlds: list[tuple[Truth, dict[str, Answers]]], name: str, threshold: float, tolerance: int
) -> dict[str, float]:
    """Return the means over all worlds."""
    own = [scores(truth, found[name], threshold, tolerance) for truth, found in worlds]
    return {key: round(float(np.mean([each[key] for each in own])), 4) for key in own[0]}


def calibration(worlds: list[tuple[Truth, dict[str, Answers]]], name: str) -> dict[str, float]:
    """Return how far answers are from the truth: over all, and over those of at least 0.02."""
    chances, facts = [], []
    for truth, found in worlds:
        for person, path in truth.items():
            real = np.zeros(len(path))
            real[visits(path)] = 1.0
            chances.append(found[name][person])
            facts.append(real)
    p, real = np.concatenate(chances), np.concatenate(facts)
    return {"all": _off(p, real), "of_0.02_and_more": _off(p[p >= 0.02], real[p >= 0.02])}


def _off(p: np.ndarray, real: np.ndarray) -> float:
    if not len(p):
        return 0.0
    bins = np.minimum((p * 10).astype(int), 9)
    parts = [(bins == b) for b in range(10) if (bins == b).any()]
    weighted = sum(own.sum() * abs(p[own].mean() - real[own].mean()) for own in parts)
    return round(float(weighted / len(p)), 5)


def main() -> None:
    """Print and store the figures and charts."""
    people, seconds, n = (
        int(a) for a in [*sys.argv[1:], *("20", "3600", "5")[len(sys.argv) - 1 :]]
    )
    worlds = [answers(Building(), people, seconds, seed) for seed in range(1, n + 1)]
    figures: dict[str, Any] = {
        "machine": machine(),
        "people": people,
        "seconds": seconds,
        "worlds": n,
        "visits": sum(len(visits(path)) for truth, _ in worlds for path in truth.values()),
        "calibration": {name: calibration(worlds, name) for name in ("smoothed", "alone")},
    }
    for tolerance in TOLERANCES:
        figures[f"within {tolerance} s"] = {
            name: {str(t): mean_scores(worlds, name, t, tolerance) for t in THRESHOLDS}
            for name in STREAMS
        }
    within = figures["within 30 s"]
    figures["f1_gains_within_30_s"] = {
        f"{one} over {other}": {
            str(t): round(within[one][str(t)]["f1"] - within[other][str(t)]["f1"], 4)
            for t in THRESHOLDS
        }
        for one, other in (("filtered", "mle"), ("smoothed", "map"), ("smoothed", "alone"))
    }
    record("lahar_quality", figures)
    for scene, names in SCENES.items():
        for measure in ("precision", "recall", "f1"):
            lines = {
                name: [(t, within[name][str(t)][measure]) for t in THRESHOLDS] for name in names
            }
            draw(f"lahar_{scene}_{measure}", f"{measure}, {scene}, 30 s", "threshold", lines)
    draw_person(worlds[0])


def draw_person(world: tuple[Truth, dict[str, Answers]]) -> None:
    """Draw ten minutes of the person with most visits: the probabilities, and the truth."""
    truth, found = world
    person = max(truth, key=lambda each: len(visits(truth[each])))
    first = max(visits(truth[person])[0] - 60, 0)
    span = range(first, min(first + 600, len(truth[person])), 1)
    there = set(visits(truth[person]))
    lines = {
        name: [(float(t), float(found[name][person][t])) for t in span]
        for name in ("smoothed", "filtered", "map")
    }
    lines["truth"] = [(float(t), 1.0 if t in there else 0.0) for t in span]
    draw("lahar_one_person", "P(into the coffee room) of one person", "second", lines)


if __name__ == "__main__":
    main()
