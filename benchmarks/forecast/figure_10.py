"""P-ToPSS's Figures 9 and 10, what runs: many standing forecasts together, and their precision.

    python benchmarks/forecast/figure_10.py [speed | precision]

Settings of the paper: subscriptions of 10 primitives, each of one of a pool of 50 events, two
`;` among nine operators. The stream: with probability .5 a run of 1 to 100 irrelevant events, else
the first 1 to 9 primitives of a subscription, or all of them; of each subscription so many partial
and as many full matches that are drawn evenly or, "shifted", with lengths around 5 by a normal
distribution and twice as many partial ones. A stream drawn alike teaches.

- Speed: 1,000 forecasts, those above .5 within 20 events, on one core, in steps of so many events.
  Partial matches that wait at `;` wait without end, and each meets all that begins behind it: how
  many are above .5 grows with the square of the stream, and a row for each would be the cost. So
  without a window it is measured how fast they are followed, with those above .5 counted after
  every event (*counted*); and with a window in time, as many ticks as there are events, how fast
  rows are made, by the executor (*told*). The paper has 20 matches of each subscription; here are
  so many that a run takes minutes.
- Precision: of forecasts above a threshold, how many came true, as `Session.score` judges them;
  over the first subscriptions, in a stream of 50. It follows every partial match by itself.

Writes docs/benchmarks/forecast_figure_10.json.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
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
from augury.evaluation.stages.forecasting import forecast_stage, taught
from augury.evaluation.stages.standing import passing
from augury.evaluation.stream_rows import StreamRows, with_event_ids
from augury.forecast.standing import Standing
from forecast.standing import APART, LENGTH, POOL, subscription
from matching.harness import FIGURES, on_one_core, record, sized

# So many forecasts are made together, each of a subscription of its own.
STANDING = (sized(100, 5), sized(1_000, 5))
SUBSCRIPTIONS, JUDGED = max(STANDING), sized(50, 5)
# Partial and full matches of each subscription in a stream.
EACH, EACH_TOLD, EACH_JUDGED = 2, 8, 2
HORIZON, ALARM = 20, 0.5
# Telling has a cost of its own for each step of each forecast.
STEP, STEP_TOLD, WINDOWS = sized(50_000, 2_000), sized(450_000, 2_000), (1_000,)
HORIZONS, THRESHOLDS = (5, 20), (0.1, 0.3, 0.5, 0.7, 0.9)
# So many forecasts are judged.
MODELS = {"MARKOV 1": sized(5), "MARKOV 3": sized(5), "EDGES": sized(2)}
COLUMNS = "(kind STRING, t LONG) TIME t TYPE kind"


def texts(count: int) -> list[str]:
    """Return so many subscriptions."""
    rng = np.random.default_rng(11)
    return [subscription(rng, LENGTH, POOL, APART, normal=False) for _ in range(count)]


def stream(seed: int, subscriptions: int, each: int, *, shifted: bool = False) -> pa.Table:
    """Return a stream of so many subscriptions."""
    rng = np.random.default_rng(seed)
    parts = [text.replace(";", ",").split(", ") for text in texts(subscriptions)]
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


def learned(chosen: int, window: int | None, each: int) -> tuple[Network, float]:
    """Return the network of so many forecasts that have learned, and how long that took."""
    ends = "" if window is None else f" WITHIN {window}"
    history = stream(1, SUBSCRIPTIONS, each)
    own = [f"{text}{ends}" for text in texts(SUBSCRIPTIONS)[:chosen]]
    ag = session(own, "USING MARKOV 3", HORIZON, history, f"HAVING FORECAST > {ALARM}")
    declared = ag._declared
    asked = [Asked("forecast", name) for name in declared.checked_forecasts]
    network = Network.of([], declared.checked_queries, declared.catalog).only([], asked)
    network = replace(network, forecasts=declared.checked_forecasts, tables=dict(ag._bound.rows))
    before = time.process_time()
    network = replace(network, taught=taught(network), tables={})
    return network, time.process_time() - before


def counted(network: Network) -> tuple[Callable[[pa.Table, int], int], pa.Table]:
    """Return what follows rows from a number on and counts the claims, and the rows."""
    stages = [forecast_stage(network, each) for each in network.forecasts_made]
    states = [stage.start() for stage in stages]
    schema = network.catalog.streams["s"]

    def step(part: pa.Table, first: int) -> int:
        source, found = StreamRows(schema, part, part[:0]), 0
        for state in states:
            followed = state.lives.followed
            assert isinstance(followed, Standing)
            own = passing(state.encoder, source, first)
            found += sum(int(count.sum()) for _, count in followed.slots(own, ALARM))
        return found

    return step, with_event_ids(schema, stream(2, SUBSCRIPTIONS, EACH))


def told_by(network: Network) -> tuple[Callable[[pa.Table, int], int], pa.Table]:
    """Return what makes the answers of rows from a number on, and the rows."""
    executor = Executor(network)
    state, names = executor.start(), executor.schemas["s"].names
    rows = stream(2, SUBSCRIPTIONS, EACH_TOLD)
    ids = pa.array([str(t) for t in range(rows.num_rows)])

    def step(part: pa.Table, first: int) -> int:
        nonlocal state
        state, answers = executor.advance(state, {"s": part}, first + part.num_rows)
        return sum(table.num_rows for table in answers.found.values())

    return step, rows.append_column(names[-1], ids).select(names)


def speed(chosen: int, window: int | None) -> dict[str, Any]:
    """Return how fast so many forecasts are made together, and how many claims are above .5."""
    network, learning = learned(chosen, window, EACH if window is None else EACH_TOLD)
    step, rows = counted(network) if window is None else told_by(network)
    # What happens for the first time does so in the first tenth.
    first, found, seconds = rows.num_rows // 10, 0, 0.0
    step(rows.slice(0, first), 0)
    begun = first
    while first < rows.num_rows:
        part = rows.slice(first, STEP if window is None else STEP_TOLD)
        before = time.process_time()
        found += step(part, first)
        seconds += time.process_time() - before
        first += part.num_rows
    return {
        "forecasts": chosen,
        "events": rows.num_rows - begun,
        "events_per_second": round((rows.num_rows - begun) / seconds),
        "above": found,
        "seconds_of_learning": round(learning, 1),
    }


# Precision --------------------------------------------------------------------------------------


def precision(clauses: str, chosen: int, *, shifted: bool) -> dict[str, Any]:
    """Return the part of forecasts above each threshold that came true, by horizon."""
    history = stream(3, JUDGED, EACH_JUDGED)
    judging = stream(4, JUDGED, EACH_JUDGED, shifted=shifted)
    found: dict[str, Any] = {}
    for horizon in HORIZONS:
        ag = session(texts(JUDGED)[:chosen], clauses, horizon, history)
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


def speeds() -> dict[str, Any]:
    """Return how fast forecasts are followed, and told."""
    ways: dict[str, int | None] = {"without a window, counted": None}
    ways |= {f"WITHIN {window}, told": window for window in WINDOWS}
    return {way: {str(n): speed(n, window) for n in STANDING} for way, window in ways.items()}


def precisions() -> dict[str, Any]:
    """Return how many forecasts came true, by model and stream."""
    found: dict[str, Any] = {}
    for name, chosen in MODELS.items():
        for drawn in ("same", "shifted"):
            own = precision(f"USING {name}", chosen, shifted=drawn == "shifted")
            found[f"{name}, {drawn}"] = {"forecasts": chosen, "by_horizon": own}
    return found


def main(only: str = "") -> None:
    """Measure, print and write; of one part alone, the other is as it was measured before."""
    on_one_core()
    known = json.loads((FIGURES / "forecast_figure_10.json").read_text()) if only else {}
    figures: dict[str, Any] = {"subscriptions": SUBSCRIPTIONS, "of_each": EACH, "pool": POOL}
    figures |= {"of_each_told": EACH_TOLD, "step": STEP, "step_told": STEP_TOLD}
    figures |= {"horizon": HORIZON, "judged": JUDGED, "of_each_judged": EACH_JUDGED}
    figures["speed"] = known["speed"] if only == "precision" else speeds()
    figures["precision"] = known["precision"] if only == "speed" else precisions()
    record("forecast_figure_10", figures)


if __name__ == "__main__":
    main(*sys.argv[1:])
