"""Writes docs/benchmarks/forecasts.md from the figures that were measured.

python benchmarks/forecast/page.py
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from matching import harness

Figures = dict[str, Any]


def read(name: str) -> Figures:
    """Return the figures of a benchmark."""
    found: Figures = json.loads((harness.FIGURES / f"{name}.json").read_text())
    return found


def table(head: tuple[str, ...], rows: list[tuple[Any, ...]]) -> Iterator[str]:
    """Yield a table."""
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(str(each) for each in row)} |"


def calibration(found: Figures) -> Iterator[str]:
    """Yield what was seen where the model is right."""
    cells = {
        name: each for name, each in found.items() if isinstance(each, dict) and "forecasts" in each
    }
    yield "## Where the model is right"
    yield ""
    yield "Streams drawn from a chain of the order that the forecast learns; settings in"
    yield "`benchmarks/forecast/calibration.py`, written before anything was measured."
    yield ""
    yield f"Largest calibration error: {found['largest_calibration_error']}."
    yield ""
    head = (
        "model, horizon, rows",
        "forecasts",
        "calibration error",
        "log loss",
        "of the base rate",
    )
    rows = [
        (
            name,
            each["forecasts"],
            each["calibration_error"],
            each["log_loss"],
            each["base_log_loss"],
        )
        for name, each in cells.items()
    ]
    yield from table(head, rows)
    yield ""
    yield "![by time](forecast_calibration_time.svg) ![by match](forecast_calibration_match.svg)"
    yield ""


def heat_waves(found: Figures) -> Iterator[str]:
    """Yield P-ToPSS's Figure 11."""
    yield "## Heat waves (P-ToPSS, Figure 11)"
    yield ""
    yield f"Five days above 30 degrees in a row; {found['history']:,} days of some cities teach,"
    yield f"{found['rows']:,} later days of others judge. Settings in"
    yield "`benchmarks/forecast/heat_waves.py`. Precision and recall are of alarms above 0.5."
    yield ""
    head = (
        *("rows, horizon", "model", "states", "log loss", "of the base rate", "calibration error"),
        *("precision", "recall", "ms"),
    )
    rows = []
    for cell, models in found.items():
        if not isinstance(models, dict) or cell == "measured_on":
            continue
        for name, each in models.items():
            precision, recall = each["precision_and_recall"]["0.5"]
            figures = (each["states"], each["log_loss"], each["base_log_loss"])
            told = ("-" if value is None else value for value in (precision, recall))
            rows.append(
                (cell, name, *figures, each["calibration_error"], *told, each["milliseconds"])
            )
    yield from table(head, rows)
    yield ""
    yield "![by time](forecast_heat_waves_time.svg) ![by match](forecast_heat_waves_match.svg)"
    yield ""


def throughput(found: Figures) -> Iterator[str]:
    """Yield how fast it is."""
    yield "## Events a second"
    yield ""
    size = f"{found['keys']:,} keys, {found['events']:,} events"
    yield f"A sequence of three over {size}, MARKOV 1 from a history, on one core; the stage as"
    yield "runners call it. Horizons in events."
    yield ""
    rows = [
        (
            name,
            horizon,
            f"{each['events_per_core_second']:,}",
            each["rows_per_event"],
            each["state_kilobytes"],
            f"{each['store_ms']} / {each['load_ms']}",
        )
        for name, cells in found.items()
        if isinstance(cells, dict) and name != "measured_on"
        for horizon, each in cells.items()
    ]
    head = ("rows", "horizon", "events a second", "rows an event", "state, kB", "store / load, ms")
    yield from table(head, rows)
    yield ""


def standing(found: Figures) -> Iterator[str]:
    """Yield the states of P-ToPSS's Figure 9."""
    yield "## Many subscriptions (P-ToPSS, Figure 9: states)"
    yield ""
    yield "Subscriptions of ten primitives from a pool of 50, two `;` among nine operators,"
    yield f"{found['subscriptions_by_default']:,} of them, unless varied; primitives are drawn"
    yield "evenly, or by a normal distribution. States without merging and with it, and the"
    yield "commonality (what merging saves). EXPLAIN says this of forecasts; at run time each has"
    yield "its own states, and shares with others what it reads."
    yield ""
    rows = [
        (name, value, each["states"], each["merged"], each["commonality"])
        for name, cells in found.items()
        if isinstance(cells, dict) and name != "measured_on"
        for value, each in cells.items()
    ]
    yield from table(("varied, drawn", "value", "states", "merged", "commonality"), rows)
    yield ""


def many_at_once(found: Figures) -> Iterator[str]:
    """Yield what P-ToPSS's Figures 9 and 10 show of what runs."""
    yield "## Many subscriptions together (Figures 9 and 10: speed and precision)"
    yield ""
    yield f"A stream of {found['subscriptions']:,} subscriptions, {found['of_each']} partial and"
    yield f"as many full matches of each, and {found['of_each_told']} where rows are told (the"
    yield "paper: 1,000 and 20); settings in"
    yield "`benchmarks/forecast/figure_10.py`. Forecasts by MARKOV 3, in one process on one core:"
    yield f"every partial match above .5 within {found['horizon']} events, after every event."
    yield ""
    yield "Without a window, what waits at `;` waits without end and meets all that begins behind"
    yield "it, so that partial matches above .5 grow with the square of the stream: a row for each"
    yield "would cost more than all else, whoever makes it. *Counted* is how fast forecasts are"
    yield "followed, with all that is above .5 found and counted after every event, and no rows"
    yield "made. With a window in time (a tick is an event), the rows are made: *told*, in steps"
    yield f"of up to {found['step_told']:,} events (counted: {found['step']:,}); each step costs"
    yield "each forecast some milliseconds, so that shorter ones are slower."
    yield "The goal was 50,000 events a second with 1,000 forecasts and a row for each partial"
    yield "match above .5. These figures are of short streams, on a machine with other work to do"
    yield "(its load stands with them)."
    yield ""
    rows = [
        (
            way,
            f"{each['forecasts']:,}",
            f"{each['events']:,}",
            f"{each['events_per_second']:,}",
            f"{each['above']:,}",
            f"{each['seconds_of_learning']:,}",
        )
        for way, cells in found["speed"].items()
        for each in cells.values()
    ]
    head = ("subscriptions", "forecasts", "events", "events a second", "above .5", "learning, s")
    yield from table(head, rows)
    yield ""
    yield "How many forecasts are above a threshold, and the part of them that came true, in a"
    yield f"stream of {found['judged']} subscriptions with {found['of_each_judged']} of each. In a"
    yield "stream that is *shifted*, twice as many matches are partial, of lengths that are normal."
    yield "The history shows each subscription a few times, so that these are few forecasts."
    yield ""
    cells = found["precision"]
    thresholds = next(iter(next(iter(cells.values()))["by_horizon"].values()))
    head = ("model, stream", "subscriptions", "horizon", *(f"above {t}" for t in thresholds))
    lines = [
        (name, own["forecasts"], horizon, *(told(*pair) for pair in by_threshold.values()))
        for name, own in cells.items()
        for horizon, by_threshold in own["by_horizon"].items()
    ]
    yield from table(head, lines)
    yield ""


def streaming(found: Figures) -> Iterator[str]:
    """Yield how fast forecasts are in a stream on Spark, and what a kill leaves."""
    kill, size = found["kill"], f"{found['events_a_batch']:,}"
    yield "## In a stream on Spark"
    yield ""
    yield f"`benchmarks/spark/forecasting.py`: {found['keys']:,} keys, one row an event,"
    yield f"MARKOV 1 from a history, micro-batches of {size} events, {found['cores']} cores:"
    yield f"{found['events_per_second']:,} events a second by the clock. Killed {kill['kills']}"
    yield f"times, the run told {kill['rows']:,} of {kill['expected']:,} rows, each once, as the"
    yield "local engine does."
    yield ""


def told(count: int, part: float | None) -> str:
    """Return how many forecasts there were, and the part that came true."""
    return "none" if part is None else f"{count:,}: {part}"


def main() -> None:
    """Write the page."""
    lines = ["# Forecasts, measured", "", "[What forecasts are](../forecasts.md)", ""]
    lines += calibration(read("forecast_calibration"))
    lines += heat_waves(read("forecast_heat_waves"))
    lines += standing(read("forecast_standing"))
    lines += many_at_once(read("forecast_figure_10"))
    lines += throughput(read("forecast_throughput"))
    lines += streaming(read("forecast_streaming"))
    (harness.FIGURES / "forecasts.md").write_text("\n".join(lines).rstrip() + "\n")


if __name__ == "__main__":
    main()
