"""A wearable in a house: rooms from signal strengths, learned on six walks, judged on the other.

Signal strengths at four access points are put into bins; a bin is the value that a sensor reads,
and not being heard is silence. The model is learned by counting from the annotated rooms. Printed:
the share of annotated seconds whose room is found, by the filter, the smoother and Viterbi; and how
well routes such as "from the kitchen through the hall to the living room" are found, second by
second as in the simulated building, by smoothed beliefs and by the most likely path: at each
threshold, and at the one that the other walks choose. For that, each of the six walks that a model
is learned from is judged by a model of the five others, and the threshold with the best F1 over
them is used on the walk that nothing has seen.
Run: python benchmarks/lahar/home.py (needs the recording, and does nothing without it)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from augury import Session
from augury.inference.learning import UNKNOWN, even_model, learn, sensors_of
from augury.inference.model import Model
from augury.inference.readings import Readings, arrange
from augury.inference.smoothing import Belief, decoded, filtered, smoothed
from augury.inference.tables import Columns, alternatives, transitions
from matching.harness import record

PRUNE = 1e-4
INFERRED: dict[str, Callable[[Model, Readings], Belief]] = {
    "filtered": filtered,
    "smoothed": lambda model, readings: smoothed(model, readings, PRUNE),
    "viterbi": decoded,
}
NAMES = ("first", "second", "third")
RECORDING = Path("shared") / "data" / "home_rssi.parquet"
BIN = 6.0
Walk = tuple[list[tuple[Any, int, Any, Any]], dict[int, str]]
Inference = tuple[Model, Belief, Belief]
Told = dict[tuple[Any, int], list[tuple[int, float]]]


def walks(path: Path) -> dict[int, Walk]:
    """Return the readings and the annotated rooms of each walk."""
    table = pq.read_table(path).to_pylist()
    found: dict[int, Walk] = {}
    for row in table:
        rows, rooms = found.setdefault(row["walk"], ([], {}))
        for name, level in row.items():
            if name.endswith("_AP") and level is not None and not np.isnan(level):
                rows.append(((row["walk"],), row["sec"], name, int(level // BIN)))
        if row["room"] is not None:
            rooms[row["sec"]] = row["room"]
    return found


def learned(train: Sequence[Walk]) -> Model:
    """Return the model of some walks."""
    states = sorted({(room,) for _, rooms in train for room in rooms.values()})
    rows = [each for own, _ in train for each in own]
    model = even_model("home", states, sensors_of(rows, len(states)))
    readings = arrange(model, rows, 1)
    told = {key: rooms for (own, rooms) in train for key in {row[0] for row in own}}
    return learn(model, readings, labels(model, readings, told), pseudo=0.5)


def labels(model: Model, readings: Readings, told: dict[Any, dict[int, str]]) -> np.ndarray:
    """Return the annotated state of each step, or -1."""
    number = {state: k for k, state in enumerate(model.states)}
    own = np.repeat(np.arange(len(readings.keys)), np.diff(readings.first))
    return np.array(
        [
            number.get((told[readings.keys[c]].get(t),), UNKNOWN)
            for c, t in zip(own.tolist(), readings.time.tolist(), strict=True)
        ]
    )


DECLARED = """
CREATE STREAM at (walk LONG, room STRING, t LONG, p DOUBLE)
KEY walk TIME t ALTERNATIVES room PROBABILITY p MARKOV moves;
CREATE STREAM moves (walk LONG, t LONG, room_from STRING, room_to STRING, p DOUBLE)
KEY walk TIME t PROBABILITY p;
CREATE STREAM path (walk LONG, room STRING, t LONG, p DOUBLE)
KEY walk TIME t ALTERNATIVES room PROBABILITY p;
"""
ROUTE = """
CREATE QUERY {name} ON {stream} PATTERN SEQ({stream} a, {stream}+ b, {stream} c)
WHERE [walk] AND a.room = '{first}' AFTER WHERE b.room = '{second}' AND c.room = '{third}'
USING SKIP TILL NEXT MATCH GROUP BY walk RETURN PROBABILITY BY TIME;
"""
THRESHOLDS, TOLERANCE = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5), 30
COLUMNS = Columns(("walk",), "t", ("room",))


def passages(rooms: dict[int, str]) -> list[tuple[tuple[str, str, str], int]]:
    """Return every change from room to room to room, with the second of the last arrival."""
    seconds = sorted(rooms)
    changes = [(seconds[0], rooms[seconds[0]])]
    for t in seconds[1:]:
        if rooms[t] != changes[-1][1]:
            changes.append((t, rooms[t]))
    triples = zip(changes, changes[1:], changes[2:], strict=False)
    return [((a, b, c), t) for (_, a), (_, b), (t, c) in triples]


def route_scores(found: dict[int, Walk]) -> dict[str, Any]:
    """Return precision, recall and F1 over all routes that two walks or more have."""
    truth = {walk: passages(rooms) for walk, (_, rooms) in found.items()}
    counts = Counter(route for own in truth.values() for route, _ in own)
    routes = [route for route, n in counts.items() if n > 1]
    told = answers({walk: believed(found, walk) for walk in found}, routes)
    inner = {
        unseen: answers({w: believed(found, w, unseen) for w in found if w != unseen}, routes)
        for unseen in found
    }
    return {
        "routes": len(routes),
        "passages": sum(counts[route] for route in routes),
        **{
            name: {str(t): _scores(told[stream], truth, routes, t) for t in THRESHOLDS}
            for name, stream in (("smoothed", "at"), ("viterbi", "path"))
        },
        "threshold_by_the_other_walks": chosen(told, inner, truth, routes),
    }


def chosen(told: Any, inner: Any, truth: Any, routes: Any) -> dict[str, Any]:
    """Return the scores of each walk at the threshold that the others choose, and of all."""
    own: dict[int, float] = {}
    for unseen, others in inner.items():
        known = {walk: truth[walk] for walk in truth if walk != unseen}
        f1 = {t: _scores(others["at"], known, routes, t)["f1"] for t in THRESHOLDS}
        own[unseen] = max(THRESHOLDS, key=lambda t, f1=f1: (f1[t], t))
    kept = {
        (route, walk): [(t, p) for t, p in rows if p > own[walk]]
        for (route, walk), rows in told["at"].items()
    }
    by_walk = {
        str(walk): {
            "threshold": own[walk],
            "smoothed": _scores(kept, {walk: truth[walk]}, routes, 0.0)["f1"],
            "viterbi": _scores(told["path"], {walk: truth[walk]}, routes, 0.5)["f1"],
        }
        for walk in truth
    }
    return {
        "smoothed": _scores(kept, truth, routes, 0.0),
        "viterbi": _scores(told["path"], truth, routes, 0.5),
        "by_walk": by_walk,
    }


def believed(found: dict[int, Walk], walk: int, unseen: int = -1) -> Inference:
    """Return a walk's beliefs by a model of the others, without the one that is unseen."""
    rows, rooms = found[walk]
    model = learned([other for n, other in found.items() if n not in (walk, unseen)])
    readings = arrange(model, rows, 1, until=max(rooms))
    return model, smoothed(model, readings, PRUNE), decoded(model, readings)


def answers(beliefs: dict[int, Inference], routes: Any) -> dict[str, Told]:
    """Return when each route is told of each walk, and how surely, by stream."""
    ag = session_of(beliefs)
    told: dict[str, Told] = {"at": {}, "path": {}}
    for number, route in enumerate(routes):
        rooms = dict(zip(NAMES, route, strict=True))
        for stream in told:
            ag.sql(ROUTE.format(name=f"{stream}_{number}", stream=stream, **rooms))
    for number, route in enumerate(routes):
        for stream, own in told.items():
            for row in ag.table(f"{stream}_{number}").to_pylist():
                if row["probability"] > 0.0:
                    at = (row["ts"], row["probability"])
                    own.setdefault((route, row["walk"]), []).append(at)
    return told


def session_of(beliefs: dict[int, Inference]) -> Session:
    """Return a session that knows the beliefs about every walk."""
    ag = Session(engine="local")
    ag.sql(DECLARED)
    made = [
        (
            alternatives(model, smooth, COLUMNS),
            transitions(model, smooth, COLUMNS),
            alternatives(model, best, COLUMNS),
        )
        for model, smooth, best in beliefs.values()
    ]
    for name, tables in zip(("at", "moves", "path"), zip(*made, strict=True), strict=True):
        ag.bind(name, pa.concat_tables(tables))
    return ag


def _scores(told: Any, truth: Any, routes: Any, threshold: float) -> dict[str, float]:
    hits = detected = recalled = real = 0
    for walk, own in truth.items():
        for route in routes:
            there = np.array([t for each, t in own if each == route])
            seen = np.array([t for t, p in told.get((route, walk), ()) if p > threshold])
            near = np.abs(seen[:, np.newaxis] - there[np.newaxis, :]) <= TOLERANCE
            hits, recalled = hits + int(near.any(1).sum()), recalled + int(near.any(0).sum())
            detected, real = detected + len(seen), real + len(there)
    precision, recall = hits / max(detected, 1), recalled / max(real, 1)
    f1 = 2 * precision * recall / max(precision + recall, 1e-9)
    return {"precision": round(precision, 4), "recall": round(recall, 4), "f1": round(f1, 4)}


def main() -> None:
    """Print and store the figures."""
    places = [folder / RECORDING for folder in Path.cwd().parents]
    path = next((place for place in places if place.exists()), None)
    if path is None:
        print("the recording is not here; nothing to measure")
        return
    found = walks(path)
    right = dict.fromkeys(("filtered", "smoothed", "viterbi"), 0)
    total = 0
    for walk, (rows, rooms) in found.items():
        model = learned([other for number, other in found.items() if number != walk])
        readings = arrange(model, rows, 1, until=max(rooms))
        truth = labels(model, readings, {readings.keys[0]: rooms})
        known = truth != UNKNOWN
        total += len(rooms)
        made = {n: infer(model, readings) for n, infer in INFERRED.items()}
        for name, belief in made.items():
            best = belief.marginal.argmax(axis=1)
            right[name] += int((best[known] == truth[known]).sum())
    record(
        "lahar_home",
        {
            "annotated_seconds": total,
            "accuracy": {name: round(count / total, 4) for name, count in right.items()},
            "routes_within_30_s": route_scores(found),
        },
    )


if __name__ == "__main__":
    main()
