"""One partial match as it went on: how likely it was to complete within ever more of the horizon.

The forecast is asked again for parts of its horizon, over the same rows and without its threshold.
What is followed is the partial match that came nearest to being complete.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

import pyarrow as pa

from augury.analysis.declarations.forecasts import CheckedForecast
from augury.report import sections
from augury.report.charts.plot import PERCENT_TICKS, Axis, Plot
from augury.report.parts import Section

PARTS = 4
# More rows of a stream, or of the forecast, are not asked again.
MOST_ROWS = 20_000
MOST_MOMENTS = 60
# Components and the ids of their events, in their order.
Items = tuple[tuple[str, str], ...]
Moment = tuple[Any, Items]


@dataclass(frozen=True)
class Fan:
    """Moments of a partial match: when, how many events it had, the chance within each part."""

    parts: tuple[str, ...]
    times: tuple[Any, ...]
    bound: tuple[int, ...]
    chances: tuple[tuple[float, ...], ...]


def fan_of(ag: Any, name: str) -> Fan | None:
    """Return how a partial match of a forecast went on; None where there is none to follow."""
    forecast, _ = ag._declared.forecast(name)
    runner = ag._bound.local_runner()
    if forecast.by_time or any(
        runner.rows(stream.name).num_rows > MOST_ROWS for stream in forecast.query.streams
    ):
        return None
    lengths = sorted({max(1, forecast.horizon.length * k // PARTS) for k in range(1, PARTS + 1)})
    tables = [runner.forecast(_within(forecast, length)) for length in lengths]
    if not 0 < tables[-1].num_rows <= MOST_ROWS:
        return None
    path = _path(tables[-1])
    known = [_chances(table) for table in tables]
    # What cannot be complete so soon has no row.
    chances = {moment: tuple(own.get(moment, 0.0) for own in known) for moment in path}
    chances = {moment: own for moment, own in chances.items() if None not in own}
    if len(chances) < 2:
        return None
    return Fan(
        tuple(_in_words(forecast, length) for length in lengths),
        tuple(at for at, _ in chances),
        tuple(len(items) for _, items in chances),
        tuple(chances.values()),
    )


def _within(forecast: CheckedForecast, length: int) -> CheckedForecast:
    return replace(forecast, horizon=replace(forecast.horizon, length=length), having=None)


def _chances(table: pa.Table) -> dict[Moment, Any]:
    """Return what a table claims, by the time and what is bound."""
    items = [
        tuple((event["component"], event["event_id"]) for event in events)
        for events in table.column("events").to_pylist()
    ]
    moments = zip(table.column("ts").to_pylist(), items, strict=True)
    return dict(zip(moments, table.column("forecast").to_pylist(), strict=True))


def _path(table: pa.Table) -> list[Moment]:
    """Return the moments of the likeliest partial match, from its first event on."""
    chances = {moment: chance for moment, chance in _chances(table).items() if chance}
    if not chances:
        return []
    peak, whole = max(chances, key=lambda moment: (chances[moment], len(moment[1])))
    longest = dict[Any, Items]()
    for at, items in _chances(table):
        if items == whole[: len(items)] and len(items) > len(longest.get(at, ())):
            longest[at] = items
    path = sorted(longest.items(), key=itemgetter(0))
    # A match that waits long is shown around the moment at which it was likeliest.
    at = next(k for k, (moment, _) in enumerate(path) if moment == peak)
    first = max(0, at - MOST_MOMENTS * 3 // 4)
    return path[first : first + MOST_MOMENTS]


def _in_words(forecast: CheckedForecast, length: int) -> str:
    if forecast.horizon.events:
        return sections.counted(length, "event", "events")
    if forecast.query.streams[0].time_is_ticks:
        return sections.counted(length, "tick", "ticks")
    return f"{length / 1_000_000:g} s"


def drawn(fan: Fan, forecast: str) -> Section:
    """Return the chart: an area below the chance within each part, one over the other."""
    across = sections.axis_of(fan.times)
    plot = Plot(across, Axis("", PERCENT_TICKS), 230)
    places = [sections.place(at) for at in fan.times]
    low, high = places[0], places[-1]
    pieces = []
    for part in reversed(range(len(fan.parts))):
        curve = [(at, own[part]) for at, own in zip(places, fan.chances, strict=True)]
        pieces.append(plot.area([(low, 0.0), *curve, (high, 0.0)], "fan"))
    whole = [(at, own[-1]) for at, own in zip(places, fan.chances, strict=True)]
    pieces.append(plot.curve(whole, "precision"))
    for point, at, bound, own in zip(whole, fan.times, fan.bound, fan.chances, strict=True):
        shares = ", ".join(f"{c:.1%} within {p}" for p, c in zip(fan.parts, own, strict=True))
        tip = f"{sections.shown(at)}, {sections.counted(bound, 'event', 'events')} bound: {shares}"
        pieces.append(plot.dot(point, 3.6, "band", tip))
    lead = (
        "The partial match that came nearest to being complete, after each event: how likely it "
        f"was to complete within {', '.join(fan.parts)}, the darkest first."
    )
    name = f"how a partial match of {forecast} went on"
    return Section(f"Forecast {forecast}: one partial match", lead, plot.drawn(pieces, name))
