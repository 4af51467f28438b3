"""P-ToPSS's Figure 11: heat waves, by the paper's model, by MARKOV k, and by a model made by hand.

    python benchmarks/forecast/heat_waves.py [path of daily_temperature.parquet]

Settings, written before anything was measured. A day is hot above 30 degrees; the query is five hot
days in a row of one city. Cities by name: every second one teaches, with its days before 2001; the
others judge, with their days from 2001 on. Days without a temperature are days that are not hot.
Horizons of 5, 10 and 20 days. All models are judged on the same rows: those of cities that had a
hot day at all, BY TIME (every day) and BY MATCH (every day of a run).

- EDGES, P-ToPSS's generated model; MARKOV 0 to 4 on whether a day was hot;
- MARKOV 1 and 2 BY warmth, the mean of the five days before a day, in steps of two degrees from 20
  to 34: what the model by hand knows of them, in eight values;
- by hand, as in the paper: the last five days in four classes (above 30, 20, 10, and below), which
  are 1 + 4 + ... + 4^5 = 1,365 states, learned by counting the class that follows.

States are counted: runs of hot days in each context of the model, times the values of BY. Writes
docs/benchmarks/forecast_heat_waves.json and charts.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from augury import Session
from augury.evaluation.learning.forecast_scores import judge, scored
from augury.evaluation.stages.forecast import ForecastStage
from forecast.reliability import reliability_chart
from matching.harness import on_one_core, record

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "daily_temperature.parquet"
HOT, CUTS, DAYS = 30.0, (10.0, 20.0, 30.0), 5
SPLIT = "2001"
HORIZONS = (5, 10, 20)
MODELS = {
    "EDGES": "USING EDGES",
    **{f"MARKOV {k}": f"USING MARKOV {k}" for k in range(5)},
    "MARKOV 1 BY warmth": "USING MARKOV 1 BY warmth",
    "MARKOV 2 BY warmth": "USING MARKOV 2 BY warmth",
}
THRESHOLDS = (0.1, 0.3, 0.5, 0.7, 0.9)
# The horizon and the models of the charts.
SHOWN = 10
DRAWN = ("EDGES", "MARKOV 1", "MARKOV 4", "MARKOV 2 BY warmth", "by hand")
# What was claimed, and whether it came.
Claims = tuple[np.ndarray, np.ndarray]
Cells = tuple[dict[str, Any], dict[str, Any]]


def days(path: Path) -> dict[str, np.ndarray]:
    """Return cities, days since 1970, temperatures and warmth, by city and day."""
    table = pq.read_table(path).to_pandas()
    table = table[table.day >= "1995"].drop_duplicates(["city", "day"]).sort_values(["city", "day"])
    warm = table.celsius.groupby(table.city).transform(
        lambda own: own.rolling(DAYS, min_periods=1).mean().shift(1)
    )
    step = ((warm.fillna(0.0).clip(20.0, 33.9) - 20.0) // 2.0).astype(int)
    return {
        "city": table.city.to_numpy(),
        "year": table.day.str[:4].to_numpy(),
        "t": table.day.astype("datetime64[ns]").to_numpy().astype("datetime64[D]").astype(int),
        "celsius": table.celsius.to_numpy(),
        "warmth": step.to_numpy(),
    }


def parted(own: dict[str, np.ndarray]) -> tuple[pa.Table, pa.Table]:
    """Return the rows that teach and those that judge."""
    cities = np.unique(own["city"])
    hot = {c for c in cities if (own["celsius"][own["city"] == c] > HOT).any()}
    teaching = np.isin(own["city"], cities[::2]) & (own["year"] < SPLIT)
    judging = np.isin(own["city"], [c for c in cities[1::2] if c in hot]) & (own["year"] >= SPLIT)
    return rows_of(own, teaching), rows_of(own, judging)


def rows_of(own: dict[str, np.ndarray], chosen: np.ndarray) -> pa.Table:
    """Return rows in the order of time."""
    celsius = own["celsius"][chosen]
    kind = np.where(np.nan_to_num(celsius, nan=-99.0) > HOT, "H", "N")
    columns = {name: own[name][chosen] for name in ("city", "t", "warmth")}
    table = pa.table({**columns, "kind": kind, "celsius": pa.array(celsius, from_pandas=True)})
    return table.sort_by([("t", "ascending"), ("city", "ascending")])


def session(clauses: str, horizon: int, by: str, history: pa.Table) -> Session:
    """Return a session with the forecast."""
    columns = "(city STRING, t LONG, warmth LONG, kind STRING) KEY city TIME t TYPE kind"
    hot = ", ".join(f"H d{k}" for k in range(1, DAYS + 1))
    ag = Session(engine="local")
    ag.sql(f"""
    CREATE STREAM days {columns};
    CREATE STREAM history {columns};
    CREATE QUERY wave ON days PATTERN SEQ({hot}) USING PARTITION CONTIGUITY;
    CREATE FORECAST f ON wave WITHIN {horizon} EVENTS {clauses} LEARN FROM history
    RETURN FORECAST {by};
    """)
    ag.bind("history", history.select(["city", "t", "warmth", "kind"]))
    return ag


def claims_of(ag: Session, rows: pa.Table) -> tuple[Claims, int]:
    """Return what the engine claims of rows and what came, and the states of its model."""
    ag.bind("days", rows)
    forecast, _ = ag._declared.forecasts["f"]
    runner = ag._bound.local_runner()
    stage = runner._forecast_stage(forecast)
    found = judge(stage, runner._ordered("days"), lambda: runner.table("wave", ["events"]))
    return found[:2], states_of(stage)


def states_of(stage: ForecastStage) -> int:
    """Return how many states a model has: those of EDGES are which components are bound."""
    taught = stage._known.taught
    if stage.plan.setting.kind == "EDGES":
        return len(taught.edges.total.moves) + 1
    model = taught.model
    contexts = [c for c in model.total.after if len(c) <= model.order]
    runs = {min(_run(c), DAYS - 1) for c in contexts} | set(range(DAYS))
    # A context tells the run but where all of it was hot.
    full = max(model.order, 1)
    states = sum(1 for c in contexts if len(c) == model.order and _run(c) < full)
    states += sum(1 for r in runs if r >= full)
    return states * max(1, len(model.own))


def _run(context: tuple[int, ...]) -> int:
    count = 0
    for symbol in reversed(context):
        if not symbol:
            break
        count += 1
    return count


# The model by hand ----------------------------------------------------------------------------


class ByHand:
    """The last five days in four classes, and how often each class followed."""

    def __init__(self, history: pa.Table) -> None:
        self.states = sum(4**k for k in range(DAYS + 1))
        self.counts = [np.zeros((4**k, 4)) for k in range(DAYS + 1)]
        for _, classes in by_city(history):
            for k in range(DAYS + 1):
                code = codes_of(classes, k)
                np.add.at(self.counts[k], (code[k : len(classes)], classes[k:]), 1.0)
        chances = np.full((4**DAYS, 4), np.nan)
        for k in range(DAYS, -1, -1):
            own = self.counts[k][np.arange(4**DAYS) % 4**k]
            total = own.sum(axis=1, keepdims=True)
            with np.errstate(invalid="ignore"):
                fill = np.where(total > 0, own / total, np.nan)
            chances = np.where(np.isnan(chances), fill, chances)
        self.chances = chances

    def within(self, horizon: int) -> np.ndarray:
        """Return P(five hot days in a row end within the horizon), by the last five days.

        A run of five that has just ended does not count again before the next hot day.
        """
        code = np.arange(4**DAYS)
        after = (code[:, None] * 4 + np.arange(4)[None, :]) % 4**DAYS
        ends = after == 4**DAYS - 1
        found = np.zeros(4**DAYS)
        for _ in range(horizon):
            found = (self.chances * np.where(ends, 1.0, found[after])).sum(axis=1)
        return found


def by_city(rows: pa.Table) -> list[tuple[str, np.ndarray]]:
    """Return the classes of the days of each city, in their order."""
    city = rows.column("city").to_numpy()
    celsius = rows.column("celsius").to_numpy(zero_copy_only=False).astype(float)
    classes = np.digitize(np.nan_to_num(celsius, nan=0.0), np.nextafter(CUTS, np.inf))
    return [(name, classes[city == name]) for name in np.unique(city)]


def codes_of(classes: np.ndarray, k: int) -> np.ndarray:
    """Return the code of the k days before each day."""
    code = np.zeros(len(classes) + 1, np.int64)
    for back in range(1, k + 1):
        code[back:] += classes[: len(classes) + 1 - back] * 4 ** (back - 1)
    return code


def by_hand(model: ByHand, rows: pa.Table, horizon: int) -> Claims:
    """Return what the model by hand claims of every day that can be judged, and what came."""
    table, claims, came = model.within(horizon), [], []
    for _, classes in by_city(rows):
        hot = classes == 3
        run = np.zeros(len(hot), np.int64)
        for k in range(len(hot)):
            run[k] = run[k - 1] + 1 if hot[k] and k else int(hot[k])
        ends = np.concatenate([[0], np.cumsum(run >= DAYS)])
        last = len(hot) - horizon
        days_judged = np.arange(max(last, 0))
        code = codes_of(classes, DAYS)[1:]
        claims.append(table[code[days_judged]])
        came.append(ends[days_judged + 1 + horizon] > ends[days_judged + 1])
    return np.concatenate(claims), np.concatenate(came)


# Measuring ------------------------------------------------------------------------------------


def told(claims: Claims, states: int, seconds: float) -> dict[str, Any]:
    """Return what is written down of one model."""
    score = scored(*claims)
    return {
        "states": states,
        "log_loss": round(score.log_loss, 5),
        "base_log_loss": round(score.base_log_loss, 5),
        "brier": round(score.brier, 5),
        "calibration_error": round(score.calibration_error, 5),
        "judged": score.judged,
        "milliseconds": round(1_000 * seconds),
        "precision_and_recall": {str(t): alarms(claims, t) for t in THRESHOLDS},
    }


def alarms(claims: Claims, threshold: float) -> list[float | None]:
    """Return which part of the alarms above a threshold came true, and of what came, had one."""
    claimed, came = claims
    raised = claimed > threshold
    true = float((raised & came).sum())
    precision = round(true / raised.sum(), 3) if raised.any() else None
    return [precision, round(true / came.sum(), 3) if came.any() else None]


def measured(by: str, horizon: int, hand: ByHand, parts: tuple[pa.Table, pa.Table]) -> Cells:
    """Return the figures of all models for one horizon, and their reliability."""
    history, rows = parts
    engine_rows, cells = rows.select(["city", "t", "warmth", "kind"]), {}
    lines: dict[str, Any] = {}
    for name, clauses in MODELS.items():
        ag = session(clauses, horizon, by, history)
        before = time.process_time()
        claims, states = claims_of(ag, engine_rows)
        cells[name] = told(claims, states, time.process_time() - before)
        lines[name] = scored(*claims).reliability
    if by == "BY TIME":
        before = time.process_time()
        claims = by_hand(hand, rows, horizon)
        cells["by hand"] = told(claims, hand.states, time.process_time() - before)
        lines["by hand"] = scored(*claims).reliability
    return cells, lines


def main() -> None:
    """Measure, print and write."""
    on_one_core()
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else DATA
    parts = parted(days(path))
    hand = ByHand(parts[0])
    figures: dict[str, Any] = {"history": parts[0].num_rows, "rows": parts[1].num_rows}
    for by in ("BY TIME", "BY MATCH"):
        for horizon in HORIZONS:
            cells, lines = measured(by, horizon, hand, parts)
            figures[f"{by}, {horizon} days"] = cells
            if horizon == SHOWN:
                name = f"forecast_heat_waves_{by.split()[1].lower()}"
                title = f"Five hot days, within {horizon} days, {by.lower()}"
                reliability_chart(name, title, {n: lines[n] for n in DRAWN if n in lines})
    record("forecast_heat_waves", figures)


if __name__ == "__main__":
    main()
