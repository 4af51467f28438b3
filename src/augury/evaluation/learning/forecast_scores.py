"""How good forecasts are: what they claimed of rows kept apart, against what came of them.

What came is told by the query's own matches over the same rows, and not by the forecast. A row is
judged if all of its horizon lies within the rows; the others are left out, whatever they claimed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from augury.analysis.declarations.forecasts import CheckedForecast
from augury.errors import DataError
from augury.evaluation.stages.forecast import ForecastStage, by_id
from augury.evaluation.stream_rows import StreamRows, event_ids
from augury.forecast.batch import Batch
from augury.forecast.told import Told
from augury.records import Flags, Reals, Words

# A forecast of 0 that comes true costs as much as one of this.
LEAST = 1e-6
BINS = 10
# The last of so many parts are the latest forecasts; so many blocks of them, each of so many
# moments at least, say how far chance goes.
PARTS, BLOCKS, MOMENTS = 4, 16, 10
# By so much, and by so many of its standard errors, a claim is off that is right no more.
OFF, ERRORS = 0.05, 4.0
# (component, number of the event)
Part = frozenset[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Bin:
    """Forecasts of about one size: how many, what they claimed and what came, on average."""

    count: int
    claimed: float
    happened: float


@dataclass(frozen=True, slots=True)
class ForecastScore:
    """What forecasts were worth, against always saying how often it happens (the base rate).

    `calibration_error` is how far claims are from what came, on average over `reliability`, which
    has the forecasts in tenths. `unjudged` rows have a horizon that the rows do not reach.
    `earlier` and `latest` are the first three quarters and the last, by time; `went_off` says
    that the latest claims are off where the earlier ones were not, by more than chance.
    """

    judged: int
    unjudged: int
    base_rate: float
    log_loss: float
    base_log_loss: float
    brier: float
    base_brier: float
    calibration_error: float
    reliability: tuple[Bin, ...]
    earlier: Bin
    latest: Bin
    went_off: bool

    @property
    def skill(self) -> float:
        """Which part of the base rate's log loss is saved; above 0 is better than it."""
        return 1.0 - self.log_loss / self.base_log_loss if self.base_log_loss else 0.0


def scored(
    claimed: Reals, happened: Flags, unjudged: int = 0, moments: Words | None = None
) -> ForecastScore:
    """Return the score of forecasts of which it is known what came.

    `moments` are the times at which they were told; each has its own unless given.
    """
    if not len(claimed):
        raise DataError("no forecast can be judged: the rows end before its horizon does")
    moments = np.arange(len(claimed)) if moments is None else moments
    base = float(happened.mean())
    bins = tuple(_bins(claimed, happened))
    apart = sum(each.count * abs(each.claimed - each.happened) for each in bins)
    return ForecastScore(
        len(claimed),
        unjudged,
        base,
        _log_loss(claimed, happened),
        _log_loss(np.full(len(claimed), base), happened),
        float(((claimed - happened) ** 2).mean()),
        base * (1.0 - base),
        apart / len(claimed),
        bins,
        *_in_time(claimed, happened, moments),
    )


def _in_time(claimed: Reals, happened: Flags, moments: Words) -> tuple[Bin, Bin, bool]:
    """Return the earlier forecasts, the latest, and whether these are calibrated no more.

    Forecasts of one moment, and of some after it, share what comes, so that blocks of moments say
    how far off chance alone lets them be.
    """
    place = np.unique(moments, return_inverse=True)[1]
    count = int(place.max()) + 1
    is_late = place >= count - count // PARTS
    earlier, latest = (_averages(claimed[own], happened[own]) for own in (~is_late, is_late))
    if count < PARTS * BLOCKS * MOMENTS:
        return earlier, latest, False
    block = (place[is_late] - (count - count // PARTS)) * BLOCKS // (count // PARTS)
    wrong = np.bincount(block, (claimed - happened)[is_late], BLOCKS)
    # Blocks may hold many forecasts or few: each counts by what it adds to the whole.
    sizes = np.bincount(block, minlength=BLOCKS)
    mean = wrong.sum() / sizes.sum()
    error = float(np.sqrt(((wrong - mean * sizes) ** 2).sum()) / sizes.sum())
    off, before = (abs(each.claimed - each.happened) for each in (latest, earlier))
    return earlier, latest, off > max(OFF, ERRORS * error, 2.0 * before)


def _averages(claimed: Reals, happened: Flags) -> Bin:
    count = len(claimed)
    return Bin(count, *(float(each.mean()) if count else 0.0 for each in (claimed, happened)))


def off_in_words(score: ForecastScore) -> str:
    """Return what the latest forecasts claimed and what came, beside those before."""
    latest, earlier = score.latest, score.earlier
    return (
        f"the latest {latest.count:,} rows claim {latest.claimed:.1%} on average, and "
        f"{latest.happened:.1%} came true (before that {earlier.claimed:.1%} and "
        f"{earlier.happened:.1%}); let it learn from newer rows, or ONLINE with a HALF LIFE"
    )


def _log_loss(claimed: Reals, happened: Flags) -> float:
    bounded = np.clip(claimed, LEAST, 1.0 - LEAST)
    return float(-np.log(np.where(happened, bounded, 1.0 - bounded)).mean())


def _bins(claimed: Reals, happened: Flags) -> Iterator[Bin]:
    tenth = np.minimum((claimed * BINS).astype(np.int64), BINS - 1)
    for number in range(BINS):
        own = tenth == number
        if own.any():
            yield Bin(int(own.sum()), float(claimed[own].mean()), float(happened[own].mean()))


# What came ------------------------------------------------------------------------------------


def judge(
    stage: ForecastStage, rows: StreamRows, matches: Callable[[], pa.Table]
) -> tuple[Reals, Flags, int, Words]:
    """Return what was claimed of rows, what came, how many could not be judged, and the times.

    `matches` gives those of the query over the same rows.
    """
    forecast = stage.plan.forecast
    if len(stage.streams) != 1 or rows.schema.probability or rows.schema.alternatives:
        raise DataError(
            f"forecast {forecast.name} cannot be scored: what came is known of one stream of "
            "events that are certain"
        )
    rows = by_id(rows)
    batch, forecasts = stage.read(stage.start(), {rows.schema.name.lower(): rows})
    places = _Places.of(batch, forecast)
    ids = {str(value): n for n, value in enumerate(event_ids(rows).to_pylist())}
    listed = matches().column("events").to_pylist()
    found = [_Match.of(events, ids, forecast) for events in listed]
    known = ~np.isnan(forecasts.forecast) & places.is_judged[forecasts.last]
    if forecast.by_time:
        came = _whole_came(found, places, forecasts)
    else:
        came = _parts_came(found, places, forecasts, forecast)
    return forecasts.forecast[known], came[known], int((~known).sum()), forecasts.time[known]


@dataclass(frozen=True)
class _Places:
    """Where each event stands, by its number: its place in its partition or stream, or its time.

    `line` is the partition; the horizon reaches as far as `reach` after an event.
    """

    of_number: Words
    line: Words
    time: Words
    reach: int
    is_judged: Flags

    @staticmethod
    def of(batch: Batch, forecast: CheckedForecast) -> _Places:
        count, reach = len(batch), forecast.horizon.length
        place, line, time = (np.zeros(count, np.int64) for _ in range(3))
        line[batch.number], time[batch.number] = batch.partition, batch.time
        if not forecast.horizon.events:
            last = np.full(count, batch.time.max(initial=0))
            return _Places(time, line, time, reach, time + reach <= last)
        if forecast.of_stream:
            place[batch.number] = np.arange(count)
            return _Places(place, line, time, reach, place + reach < count)
        order = np.argsort(batch.partition, kind="stable")
        sizes = np.bincount(batch.partition)
        begins = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        own = np.arange(count) - begins[batch.partition[order]]
        place[batch.number[order]] = own
        return _Places(place, line, time, reach, place + reach < sizes[line])


@dataclass(frozen=True)
class _Match:
    """A match: its events in their order, and the one with which it is complete."""

    items: tuple[tuple[str, int], ...]
    completed: int

    @staticmethod
    def of(events: list[dict[str, Any]], ids: dict[str, int], forecast: CheckedForecast) -> _Match:
        query = forecast.query
        items = sorted(((e["component"], ids[e["event_id"]]) for e in events), key=lambda i: i[1])
        if query.strategy == "ANY":
            return _Match(tuple(items), items[-1][1])
        needed = {c.name: c.minimum for c in query.components}
        present = {name for name, _ in items}
        counts = dict.fromkeys(present, 0)
        for name, number in items:
            counts[name] += 1
            if all(counts[each] >= needed[each] for each in present):
                return _Match(tuple(items), number)
        return _Match(tuple(items), items[-1][1])


def _whole_came(found: list[_Match], places: _Places, forecasts: Told) -> Flags:
    """Return after which rows some match of the partition was completed in time."""
    numbers = np.array(sorted({match.completed for match in found}), np.int64)
    # One line after the other, each with room for what is beyond its end.
    room = int(places.of_number.max(initial=0)) + places.reach + 2
    ends = np.sort(places.line[numbers] * room + places.of_number[numbers])
    now = places.line[forecasts.last] * room + places.of_number[forecasts.last]
    following = np.searchsorted(ends, now, side="right")
    ends = np.append(ends, np.iinfo(np.int64).max)
    came: Flags = ends[following] <= now + places.reach
    return came


def _parts_came(
    found: list[_Match], places: _Places, forecasts: Told, forecast: CheckedForecast
) -> Flags:
    """Return which partial matches were completed in time, as they were."""
    ahead: dict[Part, list[tuple[int, int]]] = {}
    for match in found:
        for k in range(1, len(match.items)):
            following = match.items[k][1]
            if match.items[k - 1][1] >= match.completed:
                break
            own = ahead.setdefault(frozenset(match.items[:k]), [])
            own.append((int(places.time[following]), int(places.of_number[match.completed])))
    names = [c.name for c in forecast.query.components]
    came = np.zeros(len(forecasts), np.bool_)
    first, component, number = (
        a.tolist() for a in (forecasts.first_item, forecasts.component, forecasts.number)
    )
    for r in range(len(forecasts)):
        items = range(first[r], first[r + 1])
        part = frozenset((names[component[i]], number[i]) for i in items)
        limit = int(places.of_number[forecasts.last[r]]) + places.reach
        time = int(forecasts.time[r])
        came[r] = any(after > time and end <= limit for after, end in ahead.get(part, ()))
    return came
