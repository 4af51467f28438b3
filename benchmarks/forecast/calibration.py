"""Whether 80 % of all forecasts of about .8 come true, where the model is right.

    python benchmarks/forecast/calibration.py

Settings. Streams are drawn from a chain of order 0, 1 or 2 over the types A, B, C and X, whose rows
of chances are drawn from a Dirichlet distribution of weight 1, once for each order (seed 2026);
events are of 50 keys, each a chain of its own, and come as a Poisson process, on the average one a
key every 1,000 ticks.
The query is SEQ(A, B, C) within a key under next match. A forecast learns from one stream of so
many events and is judged on another: MARKOV k where the stream is of order k, EDGES where it is of
order 0 (there a partial match goes on by chance alone), by time and by match, for horizons of 2, 10
and 30 events and of 10,000 ticks. Nothing else was tried; events to judge on were doubled once,
since half as many begin only 120,000 partial matches where the stream is of order 0.

Writes docs/benchmarks/forecast_calibration.json and charts of claims against what came.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

from augury import Session
from forecast.reliability import reliability_chart
from matching.harness import on_one_core, record, sized

EVENTS = sized(520_000, 600)
HISTORY = sized(400_000, 900)
KEYS = 50
GAP = 1_000
HORIZONS = ("2 EVENTS", "10 EVENTS", "30 EVENTS", "10000")
MODELS = {"MARKOV 0": 0, "MARKOV 1": 1, "MARKOV 2": 2, "EDGES": 0}
TYPES = np.array(["A", "B", "C", "X"])
SEED = 2026


def chances(order: int) -> np.ndarray:
    """Return the chances of the next type after each run of the last ones."""
    rng = np.random.default_rng([SEED, order])
    return rng.dirichlet(np.ones(len(TYPES)), len(TYPES) ** order)


def stream(order: int, events: int, seed: int) -> pa.Table:
    """Return events of all keys, each key a chain of its own."""
    rng = np.random.default_rng([SEED, order, seed])
    table, each = np.cumsum(chances(order), axis=1), events // KEYS
    context, drawn = np.zeros(KEYS, np.int64), np.empty((each, KEYS), np.int64)
    for k in range(each):
        kinds = (rng.random(KEYS)[:, None] > table[context]).sum(axis=1).clip(0, len(TYPES) - 1)
        drawn[k] = kinds
        context = (context * len(TYPES) + kinds) % len(TYPES) ** order if order else context
    at = np.cumsum(rng.exponential(GAP, (each, KEYS)), axis=0).astype(np.int64)
    key = np.broadcast_to(np.arange(KEYS), (each, KEYS))
    found = pa.table({"k": key.ravel(), "kind": TYPES[drawn].ravel(), "t": at.ravel()})
    found = found.sort_by("t")
    return found.append_column("id", pa.array(np.arange(found.num_rows)))


def session(model: str, horizon: str, by: str, history: pa.Table) -> Session:
    """Return a session with the forecast."""
    columns = "(id LONG, k LONG, kind STRING, t LONG) ID id KEY k TIME t ORDER BY id TYPE kind"
    ag = Session(engine="local")
    ag.sql(f"""
    CREATE STREAM s {columns};
    CREATE STREAM history {columns};
    CREATE QUERY q ON s PATTERN SEQ(A a, B b, C c) WHERE [k] USING SKIP TILL NEXT MATCH;
    CREATE FORECAST f ON q WITHIN {horizon} USING {model} LEARN FROM history
    RETURN FORECAST {by};
    """)
    ag.bind("history", history)
    return ag


def main() -> None:
    """Measure, print and write."""
    on_one_core()
    figures: dict[str, Any] = {}
    for by in ("BY TIME", "BY MATCH"):
        lines: dict[str, Any] = {}
        for model, horizon in product(MODELS, HORIZONS):
            order = MODELS[model]
            rows, history = stream(order, EVENTS, 1), stream(order, HISTORY, 2)
            found = session(model, horizon, by, history).score("f", rows)
            figures[f"{model}, {horizon}, {by}"] = {
                "forecasts": found.judged,
                "calibration_error": round(found.calibration_error, 5),
                "log_loss": round(found.log_loss, 5),
                "base_log_loss": round(found.base_log_loss, 5),
            }
            if horizon == "10 EVENTS":
                lines[model] = found.reliability
        name = f"forecast_calibration_{by.split()[1].lower()}"
        reliability_chart(name, f"Within 10 events, {by.lower()}", lines)
    errors = [each["calibration_error"] for each in figures.values()]
    record("forecast_calibration", {"largest_calibration_error": max(errors), **figures})


if __name__ == "__main__":
    main()
