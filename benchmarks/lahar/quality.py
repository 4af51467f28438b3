"""Does carrying probabilities find more than deciding first? Lahar's figures 9 to 11, simulated.

Twenty people walk through a building for an hour, read at 60 %. The question: who went into the
coffee room, when. Real time: filtered marginals against the most likely place of each second (MLE).
Archived: smoothed beliefs with their correlation, and without, against the most likely path (MAP).
As in the paper, a second is detected if its probability is above the threshold, and counts if the
truth has a visit of that person within the tolerance. Several worlds are drawn; figures are means.
Beliefs are inferred and carried by the same stages that the language uses, whole columns at a time.
Calibration: of all answers near p, a share p must be true, to the second.
Run: python benchmarks/lahar/quality.py [people 20] [seconds 3600] [worlds 5]
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np

from augury import Session
from augury.demo.building.coffee import coffee, script
from augury.demo.building.people import Building, visits
from augury.inference.model import Model, build
from augury.inference.readings import arrange
from augury.inference.smoothing import Belief, decided, decoded, filtered, smoothed
from augury.matching.line import Line
from augury.matching.marginal import BEGINNING, Beliefs, Marginaliser
from augury.planning.chain_plan import ChainPlan, plan_chain
from lahar.lines import draw
from matching.harness import machine, record

THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5)
TOLERANCES = (5, 30, 60)
PRUNE = 0.001
# A building in which a table is clearly likelier than the office beside the coffee room.
LIKELIER = 0.36
Answers = dict[str, np.ndarray]
Truth = dict[str, list[str]]
SCENES = {"realtime": ("filtered", "mle"), "archived": ("smoothed", "alone", "map")}
APPROACHES = ("filtered", "mle", "smoothed", "alone", "map")


def answers(
    building: Building, people: int, seconds: int, seed: int
) -> tuple[Truth, dict[str, Answers]]:
    """Return the truth, and P(into the coffee room at t) by each approach and person."""
    truth, reads = building.walk(people, seconds, seed)
    model = model_of(building)
    rows = [((read["person"],), read["t"], read["reader"], None) for read in reads]
    readings = arrange(model, rows, 1)
    now, then = filtered(model, readings), smoothed(model, readings, PRUNE)
    apart = replace(then, tables=())
    beliefs = {
        "filtered": now,
        "mle": decided(now),
        "smoothed": then,
        "alone": apart,
        "map": decoded(model, readings),
    }
    line, inside = question(), np.array([s is not None and s[0][0] == "C" for s in model.states])
    return truth, {n: chances(line, own, inside, truth) for n, own in beliefs.items()}


def model_of(building: Building) -> Model:
    """Return the model of the building's tables."""
    tables, names = building.tables(), ("place", "heading")

    def state(row: dict[str, Any], end: str = "") -> tuple[Any, ...]:
        return tuple(row[name + end] for name in names)

    return build(
        "building",
        [state(row) for row in tables["places"]],
        {state(row): row["p"] for row in tables["start"]},
        {(state(row, "_from"), state(row, "_to")): row["p"] for row in tables["steps"]},
        {(state(row), row["reader"], None): row["p"] for row in tables["heard"]},
    )


def question() -> Line:
    """Return the line that the language makes of the coffee query."""
    ag = Session(engine="local")
    ag.sql(script() + "CREATE STREAM at AS FILTER reads USING building;" + coffee("at"))
    plan = plan_chain(ag._queries["coffee_at"][0], ag._catalog)
    assert isinstance(plan, ChainPlan)
    return plan.line


def chances(line: Line, belief: Belief, inside: np.ndarray, truth: Truth) -> Answers:
    """Carry the line over beliefs, with their correlation if they have tables."""
    rows = _linked(belief, inside) if belief.tables else _apart(belief, inside)
    operator = Marginaliser(line, is_markovian=bool(belief.tables))
    _, found = operator.advance(operator.start(rows), rows, 2**61)
    answers = {person: np.zeros(len(path)) for person, path in truth.items()}
    people = [key[0] for key in belief.readings.keys]
    for c, t, p in zip(found.chain, found.time, found.p, strict=True):
        answers[people[c]][t] = p
    return answers


def _meaning(is_inside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what a place matches, and is accepted by: a outside, b outside, c inside."""
    outside = ~is_inside
    return outside * 1 + 6, outside * 3 + is_inside * 4


def _apart(belief: Belief, inside: np.ndarray) -> Beliefs:
    """Return, by step, the chance of being inside and that of being outside."""
    readings, n = belief.readings, len(belief.marginal)
    own = np.repeat(np.arange(len(readings.keys)), np.diff(readings.first))
    p = belief.marginal @ inside
    where = np.repeat([True, False], n)
    none = np.zeros(2 * n, np.int64)
    matches, accepted = _meaning(where)
    step = np.tile(np.arange(n), 2)
    time = np.tile(readings.time, 2)
    both = np.concatenate([p, 1.0 - p])
    return Beliefs(np.tile(own, 2), time, step, none, none, both, matches, accepted)


def _linked(belief: Belief, inside: np.ndarray) -> Beliefs:
    """Return the transitions of every person, step by step."""
    parts, first = [], belief.readings.first
    for c, table in enumerate(belief.tables):
        start = belief.marginal[first[c]]
        j = np.flatnonzero(start)
        parts.append((np.full(len(j), c), 0 * j, 0 * j + BEGINNING, j, start[j], first[c] + 0 * j))
        t, i, k = np.nonzero(table)
        at = first[c] + t + 1
        parts.append((np.full(len(t), c), at, i + 2, k, table[t, i, k], at))
    chain, _, origin, value, p, at = (np.concatenate(each) for each in zip(*parts, strict=True))
    matches, accepted = _meaning(inside[value])
    time = belief.readings.time[at]
    return Beliefs(chain, time, np.arange(len(p)), origin, value + 2, p, matches, accepted)


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


def gains(worlds: list[tuple[Truth, dict[str, Answers]]]) -> dict[str, dict[str, float]]:
    """Return by how much F1 within 30 seconds is better, for each pair and threshold."""
    pairs = (("filtered", "mle"), ("smoothed", "map"), ("smoothed", "alone"))
    found: dict[str, dict[str, float]] = {}
    for one, other in pairs:
        for t in THRESHOLDS:
            more = mean_scores(worlds, one, t, 30)["f1"] - mean_scores(worlds, other, t, 30)["f1"]
            found.setdefault(f"{one} over {other}", {})[str(t)] = round(more, 4)
    return found


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
            for name in APPROACHES
        }
    within = figures["within 30 s"]
    figures["f1_gains_within_30_s"] = gains(worlds)
    figures["f1_gains_where_coffee_is_likelier"] = gains(
        [answers(Building(to_coffee=LIKELIER), people, seconds, seed) for seed in (1, 2)]
    )
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
