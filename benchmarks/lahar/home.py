"""A wearable in a house: rooms from signal strengths, learned on six walks, judged on the other.

Signal strengths at four access points are put into bins; a bin is the value that a sensor reads,
and not being heard is silence. The model is learned by counting from the annotated rooms. Printed:
the share of annotated seconds whose room is found, by the filter, the smoother and Viterbi.
Run: python benchmarks/lahar/home.py (needs the recording, and does nothing without it)
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from augury.inference.learning import UNKNOWN, even_model, learn, sensors_of
from augury.inference.model import Model
from augury.inference.readings import Readings, arrange
from augury.inference.smoothing import decoded, filtered, smoothed
from matching.harness import record

RECORDING = Path("shared") / "data" / "home_rssi.parquet"
BIN = 6.0
Walk = tuple[list[tuple[Any, int, Any, Any]], dict[int, str]]


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
        for name, infer in (("filtered", filtered), ("smoothed", smoothed), ("viterbi", decoded)):
            best = infer(model, readings).marginal.argmax(axis=1)
            right[name] += int((best[known] == truth[known]).sum())
    record(
        "lahar_home",
        {
            "annotated_seconds": total,
            "accuracy": {name: round(count / total, 4) for name, count in right.items()},
        },
    )


if __name__ == "__main__":
    main()
