"""What followed rows are worth: look-ups in the tables of the chain, each made once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from augury.forecast import arrivals
from augury.forecast.machine import Reading
from augury.forecast.tables import Tables, firsts
from augury.forecast.values import Moment
from augury.kernels.forecast.arrivals import weigh
from augury.records import Reals, Words


@dataclass(frozen=True)
class Worth:
    """Values rows: a state in a context, for a value of BY, with what is left of a window."""

    tables: Tables
    reading_of: Callable[[int], Reading]

    def of(
        self, value: Words, time: Words, state: Words, context: Words, end: Words | None = None
    ) -> tuple[Reals, Reals]:
        """Return forecast and expected wait of each row, at a time, for a value; NaN is NULL."""
        setting, tables = self.tables.values.setting, self.tables
        key = (value * len(tables.contexts) + context) * (int(state.max(initial=0)) + 1) + state
        if setting.timed_window is None or end is None:
            return self._looked_up(key, (value, context, state))
        left = (end - time).astype(np.float64)
        if setting.steady:
            gaps = np.array([tables.gap(v) or 0.0 for v in range(len(tables.by))])[value]
            known = np.where(gaps > 0.0, gaps, 1.0)
            steps = np.floor(left / known + arrivals.SLACK).astype(np.int64)
            key = key * (int(steps.max(initial=0)) + 1) + steps
            return self._looked_up(key, (value, context, state, time, end, steps))
        return self._weighed(key, (value, context, state), left)

    def _looked_up(self, key: Words, columns: tuple[Words, ...]) -> tuple[Reals, Reals]:
        """Return what rows of equal keys are worth, each looked up once."""
        first, places = firsts(key)
        told = [self.one(*row) for row in zip(*(c[first].tolist() for c in columns), strict=True)]
        found = np.array(told, np.float64).reshape(-1, 2)[places]
        return found[:, 0], found[:, 1]

    def one(
        self, value: int, context: int, state: int, now: int = 0, end: int = -1, steps: int = -1
    ) -> tuple[float, float]:
        """Return what one row is worth."""
        tables, key = self.tables, (value, context, state, steps)
        if key not in tables.worth:
            reading = self.reading_of(state)
            if steps >= 0:
                (token,) = reading
                reading = frozenset([token._replace(left=end)])
            moment = Moment(now, 0, tables.by.things[value])
            own = tables.values.value(moment, [(reading, tables.contexts.things[context], 1.0)])
            tables.worth[key] = _shown(own)
        return tables.worth[key]

    def _weighed(self, key: Words, columns: tuple[Words, ...], left: Reals) -> tuple[Reals, Reals]:
        """Return what rows are worth whose time left is each row's own."""
        first, places = firsts(key)
        within, rates = list[Reals](), list[float]()
        for row in zip(*(column[first].tolist() for column in columns), strict=True):
            table, rate = self._table(*row)
            within.append(table)
            rates.append(rate)
        longest = max((len(table) for table in within), default=1)
        rows = [np.pad(table, (0, longest - len(table)), mode="edge") for table in within]
        stacked = np.array(rows).reshape(-1, longest)
        times = np.arange(1, longest) * np.diff(stacked, axis=1)
        sums = np.concatenate([np.zeros((len(rows), 1)), np.cumsum(times, axis=1)], axis=1)
        horizon, rate_of = self.tables.values.setting.horizon, np.array(rates)[places]
        mean = rate_of * (np.minimum(left, horizon.length) if horizon.in_time else left)
        forecast, waited = np.empty(len(key)), np.empty(len(key))
        weigh(places, mean, (stacked, sums), int(horizon.in_time), forecast, waited)
        with np.errstate(invalid="ignore", divide="ignore"):
            expected = waited / forecast
        if horizon.in_time:
            expected = expected / rate_of
        unknown = rate_of < 0.0
        forecast[unknown], expected[unknown] = np.nan, np.nan
        return np.minimum(forecast, 1.0), expected

    def _table(self, value: int, context: int, state: int) -> tuple[Reals, float]:
        tables = self.tables
        known = tables.values.table_of(
            tables.by.things[value], self.reading_of(state), tables.contexts.things[context]
        )
        # What nothing is known of has no rate.
        return (np.zeros(1), -1.0) if known is None else known


def _shown(found: tuple[float, float] | None) -> tuple[float, float]:
    """Return a forecast and its mean; NaN for what is not known."""
    if found is None:
        return float("nan"), float("nan")
    forecast, mean = found
    return (min(forecast, 1.0), mean / forecast) if forecast > 0.0 else (0.0, float("nan"))
