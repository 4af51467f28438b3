"""Bed exits in a clinical room, by a passive RFID tag: on the bed, then walking.

Reads carry the activity that people labelled. What a monitor is told is when someone is last seen
on the bed, and first seen walking; a quarter of these tellings is lost. An exit is a time on the
bed that is followed by walking. Gaps and miss rates are learned from the other trials, misses
included, and so is the threshold: each trial is judged by what was learned without it. Which
tellings are lost is drawn several times.
"""

from __future__ import annotations

import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from augury import Session

FOLDS, RATE, WINDOW = 5, 0.25, 60_000
DRAWS = (4, 5, 6)
THRESHOLDS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
BED, WALKING = (1, 3), 4
NAMES = (("BED", "b"), ("WALK", "w"))
STREAMS = """
CREATE STREAM told (trial LONG, kind STRING, t LONG) KEY trial TIME t TYPE kind MISS RATE {rate};
CREATE STREAM history (trial LONG, kind STRING, t LONG) KEY trial TIME t TYPE kind;
CREATE QUERY exits ON told PATTERN SEQ(BED b, WALK w) WHERE [trial] WITHIN {window}
{clauses} RETURN b.t AS b, w.t AS w;
"""

# A telling: trial, kind, time in milliseconds, and the number of the exit it belongs to (-1: none).
Telling = tuple[int, str, int, int]


def tellings(path: str) -> list[Telling]:
    """Return when people were last seen on the bed and first seen walking, with the exits."""
    table = pq.read_table(path, columns=["trial", "t", "label"]).to_pandas()
    found: list[Telling] = []
    exits = 0
    for number, (_, rows) in enumerate(table.sort_values("t").groupby("trial")):
        state = np.where(rows.label.isin(BED), 1, np.where(rows.label == WALKING, 2, 0))
        starts = np.flatnonzero(np.concatenate([[True], state[1:] != state[:-1]]))
        ends = np.append(starts[1:], len(state)) - 1
        at = (rows.t.to_numpy() * 1000).round().astype(int)
        for k, (first, last) in enumerate(zip(starts, ends, strict=True)):
            following = state[starts[k + 1]] if k + 1 < len(starts) else -1
            if state[first] == 1:
                leaves = following == 2
                found.append((number, "BED", int(at[last]), exits if leaves else -1))
            elif state[first] == 2:
                came = k > 0 and state[starts[k - 1]] == 1
                found.append((number, "WALK", int(at[first]), exits if came else -1))
                exits += came
    return found


def as_table(rows: list[Telling]) -> pa.Table:
    """Return tellings as rows of a stream."""
    columns = {
        "trial": [r[0] for r in rows],
        "kind": [r[1] for r in rows],
        "t": [r[2] for r in rows],
    }
    return pa.table(
        columns, pa.schema([("trial", pa.int64()), ("kind", pa.string()), ("t", pa.int64())])
    )


def graded(found: list[dict], kept: list[Telling], exits: set[int]) -> tuple[int, int]:
    """Return how many exits were found, and how many matches are of none."""
    owner = {(r[0], r[1], r[2]): r[3] for r in kept}
    hits, wrong = set(), 0
    for row in found:
        seen = [(kind, row[name]) for kind, name in NAMES if row[name] is not None]
        own = {owner[row["trial"], kind, at] for kind, at in seen}
        if own <= exits and len(own) == 1:
            hits |= own
        else:
            wrong += 1
    return len(hits), wrong


def asked(clauses: str, rows: list[Telling], history: list[Telling] | None) -> list[dict]:
    """Return the matches of the query over the tellings."""
    ag = Session(engine="local")
    learn = "CREATE GAPS g ON exits LEARN FROM history;" if history else ""
    ag.sql(STREAMS.format(rate=RATE, window=WINDOW, clauses=clauses) + learn)
    ag.bind("told", as_table(rows))
    if history:
        ag.bind("history", as_table(history))
    with warnings.catch_warnings():
        # Thresholds are tried until nothing that was missed can reach them.
        warnings.simplefilter("ignore")
        return ag.table("exits").to_pylist()


def bed_exits(path: str) -> dict[str, object]:
    """Return F1 of plain matching and with missed tellings, for several draws of what is lost."""
    every = tellings(path)
    draws = [_drawn(every, seed) for seed in DRAWS]
    plain, own = (round(float(np.mean([d[k] for d in draws])), 4) for k in ("plain", "missed"))
    return {"plain": plain, "one missed": own, "draws": draws}


def _drawn(every: list[Telling], seed: int) -> dict[str, object]:
    rng = np.random.default_rng(seed)
    kept = [row for row in every if rng.random() >= RATE]
    totals = {"plain": np.zeros(2), "missed": np.zeros(2)}
    thresholds = []
    for fold in range(FOLDS):
        rows, exits = _part(every, kept, fold, held_out=True)
        history, known = _part(every, kept, fold, held_out=False)
        threshold = _best_threshold(history, known)
        thresholds.append(threshold)
        totals["plain"] += graded(asked("", rows, None), rows, exits)
        totals["missed"] += graded(asked(_clauses(threshold), rows, history), rows, exits)
    n = len({r[3] for r in every if r[3] >= 0})
    scores = {name: _f1(own, n) for name, own in totals.items()}
    return {"seed": seed, **scores, "thresholds": thresholds}


def _part(
    every: list[Telling], kept: list[Telling], fold: int, *, held_out: bool
) -> tuple[list[Telling], set[int]]:
    """Return the tellings of the trials of a fold, or of all others, and their exits."""

    def belongs(row: Telling) -> bool:
        return (row[0] % FOLDS == fold) == held_out

    exits = {row[3] for row in every if belongs(row) and row[3] >= 0}
    return [row for row in kept if belongs(row)], exits


def _clauses(threshold: float) -> str:
    return f"ALLOW 1 MISSED HAVING CONFIDENCE >= {threshold}"


def _best_threshold(history: list[Telling], exits: set[int]) -> float:
    """Return the threshold of the highest F1 on the trials that are learned from."""
    scores = {
        threshold: _f1(
            np.array(graded(asked(_clauses(threshold), history, history), history, exits)),
            len(exits),
        )
        for threshold in THRESHOLDS
    }
    return max(scores, key=lambda threshold: (scores[threshold], threshold))


def _f1(totals: np.ndarray, n: int) -> float:
    true, wrong = totals
    return round(float(2 * true / (true + wrong + n)), 4)
