"""Does carrying probabilities find more than deciding first? Lahar's figures 9 and 10, simulated.

Twenty people walk through a building for an hour, read at 60 %. The question: who went into the
coffee room, when. Real time: filtered marginals against the most likely value of each second (MLE).
Archived: smoothed beliefs with their correlation, and without, against the most likely path (MAP).
A detection counts if the truth has one of that person within the tolerance. Calibration: of all
answers near p, a share p must be true, to the second. Run: python benchmarks/lahar/quality.py
"""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import Any

import numpy as np

from augury import Session
from lahar.building import QUERY, SCRIPT, Building
from lahar.lines import draw
from matching.harness import machine, record

THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5)
TOLERANCES = (5, 30, 60)
Answers = dict[str, np.ndarray]
SCENES = {"realtime": ("filtered", "best"), "archived": ("smoothed", "alone", "path")}


def answers(
    building: Building, people: int, seconds: int, seed: int = 7
) -> tuple[dict[str, list[str]], dict[str, Answers]]:
    """Return the truth, and P(into the coffee room at t) by each approach and person."""
    truth, reads = building.walk(people, seconds, seed)
    ag = Session(engine="local")
    ag.sql(SCRIPT)
    streams = {"filtered": "FILTER", "smoothed": "SMOOTH", "path": "VITERBI"}
    for name, method in streams.items():
        prune = " PRUNE 0.001" if method == "SMOOTH" else ""
        ag.sql(f"CREATE STREAM {name} AS {method} reads USING building{prune};")
    ag.sql(f"CREATE STREAM alone AS SMOOTH reads USING building LAG {seconds};")
    ag.sql(
        "CREATE STREAM best (person STRING, place STRING, t LONG, p DOUBLE)"
        " KEY person TIME t ALTERNATIVES place PROBABILITY p;"
    )
    for name, rows in building.tables().items():
        ag.bind(name, rows)
    ag.bind("reads", reads)
    ag.bind("best", most_likely(ag))
    found = {}
    for name in ("filtered", "best", "smoothed", "alone", "path"):
        ag.sql(QUERY.format(name=name))
        found[name] = by_person(ag.table(f"coffee_{name}"), truth)
    return truth, found


def most_likely(ag: Session) -> Any:
    """Return the most likely place of each second by the filter (MLE), as certain rows."""
    table = rows_of(ag, "filtered")
    best = table.loc[table.groupby(["person", "t"])["p"].idxmax()].copy()
    best["p"] = 1.0
    return best


def rows_of(ag: Session, stream: str) -> Any:
    """Return a stream's rows by asking for each event."""
    ag.sql(
        f"CREATE QUERY each_{stream} ON {stream} PATTERN _ x"
        " RETURN x.person AS person, x.place AS place, x.t AS t;"
    )
    found = ag.table(f"each_{stream}").to_pandas()
    return found.rename(columns={"confidence": "p"})[["person", "place", "t", "p"]]


def by_person(table: Any, truth: dict[str, list[str]]) -> Answers:
    """Return the probabilities of each person, second by second."""
    found = {person: np.zeros(len(path)) for person, path in truth.items()}
    rows = table.select(["person", "ts", "probability"]).to_pydict()
    for person, t, p in zip(rows["person"], rows["ts"], rows["probability"], strict=True):
        found[person][t] = p
    return found


def entries(path: list[str]) -> list[int]:
    """Return when a person went in: outside for two seconds, then inside."""
    return [
        t + 2
        for t, ((a, b), (_, c)) in enumerate(pairwise(pairwise(path)))
        if a != "C" and b != "C" and c == "C"
    ]


def scores(
    truth: dict[str, list[str]], found: Answers, threshold: float, tolerance: int
) -> dict[str, float]:
    """Return precision, recall and F1 of what is above the threshold."""
    hits = detected = recalled = real = 0
    for person, path in truth.items():
        there, told = entries(path), np.flatnonzero(found[person] > threshold).tolist()
        hits += sum(any(abs(t - r) <= tolerance for r in there) for t in told)
        recalled += sum(any(abs(t - r) <= tolerance for t in told) for r in there)
        detected, real = detected + len(told), real + len(there)
    precision = hits / detected if detected else 0.0
    recall = recalled / real if real else 0.0
    both = precision + recall
    f1 = 2 * precision * recall / both if both else 0.0
    return {"precision": round(precision, 4), "recall": round(recall, 4), "f1": round(f1, 4)}


def calibration(truth: dict[str, list[str]], found: Answers) -> dict[str, float]:
    """Return how far answers are from the truth: over all, and over those of at least 0.02."""
    p = np.concatenate([found[person] for person in truth])
    real = np.zeros(len(p))
    offset = 0
    for path in truth.values():
        real[[offset + t for t in entries(path)]] = 1.0
        offset += len(path)
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
    people, seconds = (int(a) for a in [*sys.argv[1:], "20", "3600"][:2])
    truth, found = answers(Building(), people, seconds)
    figures: dict[str, Any] = {
        "machine": machine(),
        "people": people,
        "seconds": seconds,
        "entries": sum(len(entries(path)) for path in truth.values()),
        "calibration": {name: calibration(truth, found[name]) for name in ("smoothed", "alone")},
    }
    for tolerance in TOLERANCES:
        figures[f"within {tolerance} s"] = {
            name: {str(t): scores(truth, own, t, tolerance) for t in THRESHOLDS}
            for name, own in found.items()
        }
    record("lahar_quality", figures)
    within = figures["within 30 s"]
    for scene, names in SCENES.items():
        lines = {name: [(t, within[name][str(t)]["f1"]) for t in THRESHOLDS] for name in names}
        draw(f"lahar_quality_{scene}", f"F1 within 30 s, {scene}", "threshold", lines)


if __name__ == "__main__":
    main()
