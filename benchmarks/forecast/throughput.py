"""How many events a second one core forecasts, and whether a longer horizon makes it slower.

    python benchmarks/forecast/throughput.py

Writes docs/benchmarks/forecast_throughput.json: for a sequence of three over 10,000 keys, a row
after every event (BY TIME) or for every partial match (BY MATCH), by horizon; and what storing and
loading the state takes. The stage is measured, as runners call it, in batches.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pyarrow as pa

from augury import Session
from augury.evaluation.stages.forecast import ForecastStage
from augury.evaluation.stream_rows import StreamRows
from augury.planning.forecast_plan import plan_forecast
from matching.harness import on_one_core, record, sized

EVENTS = sized(1_000_000, 2_000)
KEYS = sized(10_000, 20)
BATCH = 100_000
ROUNDS = 3
HORIZONS = (10, 100, 1_000)
COLUMNS = "(id LONG, ip LONG, status STRING, t LONG) ID id KEY ip TIME t TYPE status"
WAYS = {
    "by time": ("", "BY TIME"),
    "by match": ("USING SKIP TILL NEXT MATCH", "BY MATCH"),
    "by match, window in time": ("USING SKIP TILL NEXT MATCH WITHIN {window}", "BY MATCH"),
}


def logins(events: int, seed: int) -> pa.Table:
    """Return logins of many addresses, mostly neither denied nor successful."""
    rng = np.random.default_rng(seed)
    status = np.array(["DENIED", "SUCCESS", "OTHER"])[rng.choice(3, events, p=[0.3, 0.1, 0.6])]
    at = np.arange(events)
    return pa.table({"id": at, "ip": rng.integers(0, KEYS, events), "status": status, "t": at})


def stage_of(selection: str, by: str, horizon: int, history: pa.Table) -> ForecastStage:
    """Return the stage of a forecast that has learned."""
    ag = Session(engine="local")
    ag.sql(f"""
    CREATE STREAM logins {COLUMNS};
    CREATE STREAM history {COLUMNS};
    CREATE QUERY intrusion ON logins PATTERN SEQ(DENIED a, DENIED b, SUCCESS c) WHERE [ip]
    {selection.format(window=20 * KEYS)};
    CREATE FORECAST f ON intrusion WITHIN {horizon} EVENTS USING MARKOV 1 LEARN FROM history
    RETURN FORECAST {by};
    """)
    forecast, _ = ag._declared.forecasts["f"]
    taught = StreamRows(ag._declared.catalog.streams["history"], history, history[:0])
    return ForecastStage(plan_forecast(forecast, ag._declared.catalog), {}, taught).learned()


def measure(stage: ForecastStage, rows: pa.Table) -> dict[str, Any]:
    """Return what the best of some rounds took, in processor time."""
    (stream,) = stage.streams
    best, told = float("inf"), 0
    for _ in range(ROUNDS):
        state, told = stage.start(), 0
        before = time.process_time()
        for first in range(0, rows.num_rows, BATCH):
            part = rows.slice(first, BATCH)
            batch = {"logins": StreamRows(stream, part, part[:0])}
            state, answers = stage.advance(state, batch, first + BATCH)
            told += answers.found["f"].num_rows
        best = min(best, time.process_time() - before)
    before = time.process_time()
    data = stage.dump(state)
    stored = time.process_time() - before
    before = time.process_time()
    stage.restore({}, rows.num_rows, data)
    loaded = time.process_time() - before
    return {
        "events_per_core_second": round(rows.num_rows / best),
        "rows_per_event": round(told / rows.num_rows, 2),
        "state_kilobytes": round(len(data) / 1_000),
        "store_ms": round(1_000 * stored),
        "load_ms": round(1_000 * loaded),
    }


def main() -> None:
    """Measure, print and write."""
    on_one_core()
    rows, history = logins(EVENTS, 1), logins(min(EVENTS, 50_000), 2)
    figures: dict[str, Any] = {"events": EVENTS, "keys": KEYS}
    for name, (selection, by) in WAYS.items():
        own = {}
        for horizon in HORIZONS:
            own[str(horizon)] = measure(stage_of(selection, by, horizon, history), rows)
        figures[name] = own
        rates = [each["events_per_core_second"] for each in own.values()]
        figures[f"{name}: shortest horizon against longest"] = round(rates[0] / rates[-1], 2)
    record("forecast_throughput", figures)


if __name__ == "__main__":
    main()
