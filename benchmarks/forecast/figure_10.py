"""P-ToPSS's Figures 9 and 10, what runs: many standing forecasts together, and their precision.

    python benchmarks/forecast/figure_10.py

Settings of the paper: subscriptions of 10 primitives, each of one of a pool of 50 events, two
`;` among nine operators. The stream: with probability .5 a run of 1 to 100 irrelevant events, else
the first 1 to 9 primitives of a subscription, or all of them; of each subscription so many partial
and as many full matches that are drawn evenly or, "shifted", with lengths around 5 by a normal
distribution and twice as many partial ones. A stream drawn alike teaches. The paper has 1,000
subscriptions and 20 of each; here are 50 and 2. Partial matches that wait at `;` wait without end,
and each meets all that begins behind it, so that they grow with the square of the stream: at 10 of
each, 50 forecasts take more than ten gigabytes.

- Speed: forecasts of the first subscriptions together, in one executor over the stream of all, a
  row for every partial match above .5 within 20 events; tables are mostly there once a first tenth
  of the stream has gone by. Each is followed by itself, so that time grows with their number.
- Precision: of forecasts above a threshold, how many came true, as `Session.score` judges them;
  over the first subscriptions, in a stream of all.

Writes docs/benchmarks/forecast_figure_10.json.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from augury import Session
from augury.evaluation.asked import Asked
from augury.evaluation.executor import Executor
from augury.evaluation.learning.forecast_scores import judge
from augury.evaluation.network import Network
from augury.evaluation.stages.forecasting import taught
from augury.matching.matcher import ALWAYS
from forecast.standing import APART, LENGTH, POOL, subscription
from matching.harness import on_one_core, record, sized

SUBSCRIPTIONS = sized(50, 5)
# Partial and full matches of each subscription in a stream.
EACH = 2
# So many forecasts are made together.
STANDING = (sized(5), sized(20))
HORIZON, ALARM = 20, 0.5
HORIZONS, THRESHOLDS = (5, 20), (0.1, 0.3, 0.5, 0.7, 0.9)
# So many forecasts are judged.
MODELS = {"MARKOV 1": sized(5), "MARKOV 3": sized(5), "EDGES": sized(2)}
COLUMNS = "(kind STRING, t LONG) TIME t TYPE kind"


def texts(seed: int = 11) -> list[str]:
    """Return the subscriptions."""
    rng = np.random.default_rng(seed)
    return [subscription(rng, LENGTH, POOL, APART, normal=False) for _ in range(SUBSCRIPTIONS)]


def stream(seed: int, each: int, *, shifted: bool = False) -> pa.Table:
    """Return a stream of all subscriptions."""
    rng = np.random.default_rng(seed)
    parts = [text.replace(";", ",").split(", ") for text in texts()]
    begun = np.repeat(np.arange(len(parts)), each * (2 if shifted else 1))
    full = np.repeat(np.arange(len(parts)), each)
    order = rng.permutation(len(begun) + len(full))
    kinds = list[str]()
    for number in order.tolist():
        while rng.random() < 0.5:
            kinds += ["other"] * int(rng.integers(1, 101))
        if number >= len(begun):
            kinds += parts[full[number - len(begun)]]
            continue
        length = rng.normal(LENGTH / 2, 1.5) if shifted else rng.integers(1, LENGTH)
        kinds += parts[begun[number]][: int(np.clip(length, 1, LENGTH - 1))]
    return pa.table({"kind": kinds, "t": np.arange(len(kinds))})


def session(
    chosen: list[str], clauses: str, horizon: int, history: pa.Table, having: str = ""
) -> Session:
    """Return a session with a forecast of each subscription."""
    ag = Session(engine="local")
    lines = [f"CREATE STREAM s {COLUMNS}; CREATE STREAM history {COLUMNS};"]
    for number, text in enumerate(chosen):
        lines.append(f"CREATE QUERY q{number} ON s SUBSCRIPTION {text};")
        lines.append(
            f"CREATE FORECAST f{number} ON q{number} WITHIN {horizon} EVENTS {clauses}"
            f" LEARN FROM history {having};"
        )
    ag.sql("\n".join(lines))
    ag.bind("history", history)
    return ag


# Speed ------------------------------------------------------------------------------------------


def speed(clauses: str, chosen: int) -> dict[str, Any]:
    """Return how fast so many forecasts are made together, and how many rows they tell."""
    ag = session(texts()[:chosen], clauses, HORIZON, stream(1, EACH), f"HAVING FORECAST > {ALARM}")
    declared, rows = ag._declared, stream(2, EACH)
    asked = [Asked("forecast", name) for name in declared.checked_forecasts]
    network = Network.of([], declared.checked_queries, declared.catalog).only([], asked)
    network = replace(network, forecasts=declared.checked_forecasts, tables=dict(ag._bound.rows))
    before = time.process_time()
    network = replace(network, taught=taught(network))
    learning = time.process_time() - before
    executor = Executor(replace(network, tables={}))
    state, warm = executor.start(), rows.num_rows // 10
    travelling = executor.schemas["s"]
    ids = pa.array([str(t) for t in range(rows.num_rows)])
    rows = rows.append_column(travelling.names[-1], ids).select(travelling.names)
    state, _ = executor.advance(state, {"s": rows.slice(0, warm)}, warm)
    before = time.process_time()
    state, answers = executor.advance(state, {"s": rows.slice(warm)}, ALWAYS)
    seconds = time.process_time() - before
    told = sum(table.num_rows for table in answers.found.values())
    return {
        "forecasts": chosen,
        "events": rows.num_rows - warm,
        "events_per_second": round((rows.num_rows - warm) / seconds),
        "rows_told": told,
        "seconds_of_learning": round(learning, 1),
        "events_that_teach": stream(1, EACH).num_rows,
    }


# Precision --------------------------------------------------------------------------------------


def precision(clauses: str, chosen: int, *, shifted: bool) -> dict[str, Any]:
    """Return the part of forecasts above each threshold that came true, by horizon."""
    history, judging = stream(3, EACH), stream(4, EACH, shifted=shifted)
    found: dict[str, Any] = {}
    for horizon in HORIZONS:
        ag = session(texts()[:chosen], clauses, horizon, history)
        ag.bind("s", judging)
        runner, claims = ag._bound.local_runner(), list[tuple[Any, Any]]()
        for number in range(chosen):
            forecast, _ = ag._declared.forecasts[f"f{number}"]
            stage = runner._forecast_stage(forecast)
            matches = partial(runner.table, forecast.query.name, ["events"])
            claims.append(judge(stage, runner._ordered("s"), matches)[:2])
        claimed, came = (np.concatenate(each) for each in zip(*claims, strict=True))
        found[str(horizon)] = {str(t): true_part(claimed > t, came) for t in THRESHOLDS}
    return found


def true_part(raised: np.ndarray, came: np.ndarray) -> list[Any]:
    """Return how many were raised, and the part of these that came true."""
    count = int(raised.sum())
    return [count, round(float((raised & came).sum()) / count, 3) if count else None]


def main() -> None:
    """Measure, print and write."""
    on_one_core()
    figures: dict[str, Any] = {"subscriptions": SUBSCRIPTIONS, "of_each": EACH, "pool": POOL}
    figures["horizon"] = HORIZON
    figures["speed"] = {str(n): speed("USING MARKOV 3", n) for n in STANDING}
    for name, chosen in MODELS.items():
        for drawn in ("same", "shifted"):
            found = precision(f"USING {name}", chosen, shifted=drawn == "shifted")
            figures[f"{name}, {drawn}"] = {"forecasts": chosen, "by_horizon": found}
    record("forecast_figure_10", figures)


if __name__ == "__main__":
    main()
