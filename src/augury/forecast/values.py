"""What a forecast is worth: the chain's tables, weighed by worlds and by arrivals.

Under POISSON a window in time ends a partial match at a moment that no event tells. BY MATCH there
is one such moment, and the Erlang probabilities weigh the table. BY TIME the partial matches alive
now end one after the other; between two ends the chain goes on as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field

import numpy as np

from augury.forecast import arrivals
from augury.forecast.chain import Chain, State, Steps
from augury.forecast.confirmed import Confirmed, Staying
from augury.forecast.edges import START, Edges, EdgeTables, place_of
from augury.forecast.machine import ENDLESS, Machine, Reading, Token
from augury.forecast.model import Context, Model, Value
from augury.forecast.setting import Partition, Setting
from augury.records import Reals

# The forecast, and the forecast times its mean.
Moments = tuple[float, float]
World = tuple[Reading, Context, float]


@dataclass(frozen=True, slots=True)
class Moment:
    """When and for whom a forecast is made."""

    now: int
    partition: Partition
    value: Value


@dataclass
class SymbolValues:
    """Values under a model of symbols, which does not change while its tables are kept."""

    setting: Setting
    model: Model
    machine: Machine
    chains: dict[Hashable, Chain] = field(default_factory=dict)

    def value(self, moment: Moment, worlds: Iterable[World]) -> tuple[float, float] | None:
        """Return the forecast and its mean, times the forecast; None where nothing is known."""
        if not self.model.knows:
            return None
        gap = self.model.mean_gap(moment.value) if self.setting.needs_gaps else None
        if gap is None and self.setting.needs_gaps:
            return None
        forecast, mean = 0.0, 0.0
        for reading, context, weight in worlds:
            own = self._of(moment, reading, self.model.shortened(context), gap)
            forecast, mean = forecast + weight * own[0], mean + weight * own[1]
        return forecast, mean

    def table_of(
        self, value: Value, reading: Reading, context: Context
    ) -> tuple[Reals, float] | None:
        """Return the table of a partial match that no window ends, and how fast events come.

        None where nothing is known.
        """
        gap = self.model.mean_gap(value) if self.model.knows else None
        if gap is None:
            return None
        horizon, rate = self.setting.horizon, 1.0 / gap
        most = arrivals.most_events(rate * horizon.length) if horizon.in_time else horizon.length
        state = reading, self.model.shortened(context)
        return self._table(Moment(0, 0, value), state, most, ENDLESS), rate

    def _of(self, moment: Moment, reading: Reading, context: Context, gap: float | None) -> Moments:
        setting, horizon = self.setting, self.setting.horizon
        if gap is None:
            span = (setting.window or ENDLESS + 1) - 1
            return moments(self._table(moment, (reading, context), horizon.length, span))
        if setting.steady:
            return self._steady(moment, reading, context, gap)
        if setting.by_time and setting.timed_window is not None:
            return self._expiring(moment, reading, context, gap)
        return self._poisson(moment, reading, context, gap)

    def _steps(self, moment: Moment, span: int) -> Steps:
        setting = self.setting
        share = self.model.share(moment.partition) if setting.needs_shares else 1.0
        assert share is not None
        counts_all = setting.horizon.of_stream
        return Steps(self.machine, self.model, moment.value, share, counts_all, span)

    def _table(self, moment: Moment, state: State, length: int, span: int) -> Reals:
        steps = self._steps(moment, span)
        value = moment.value if moment.value in self.model.own else None
        key = value, steps.share, length, span
        if key not in self.chains:
            self.chains[key] = Chain(steps, length, self.setting.state_limit)
        chain = self.chains[key]
        number = chain.number(state)
        found: Reals = chain.within[:, number]
        return found

    # Steady arrivals --------------------------------------------------------------------------

    def _steady(self, moment: Moment, reading: Reading, context: Context, gap: float) -> Moments:
        """Return the value where events come each gap: times are steps."""
        setting, horizon, window = self.setting, self.setting.horizon, self.setting.timed_window
        steps = arrivals.steps_within(horizon.length, gap) if horizon.in_time else horizon.length
        span = (setting.window or ENDLESS + 1) - 1
        if window is not None:
            span = arrivals.steps_within(window, gap)
            steps_left = (counted(token, moment.now, gap) for token in reading)
            reading = self.machine.thinned(t for t in steps_left if self.machine.is_alive(t))
        forecast, mean = moments(self._table(moment, (reading, context), steps, span))
        return forecast, mean * gap if horizon.in_time else mean

    # Poisson arrivals -------------------------------------------------------------------------

    def _poisson(self, moment: Moment, reading: Reading, context: Context, gap: float) -> Moments:
        """Return the value where nothing expires but what is asked for, as a whole."""
        setting, horizon, rate = self.setting, self.setting.horizon, 1.0 / gap
        span = ENDLESS
        left = float("inf")
        if setting.timed_window is not None:
            (token,) = reading
            left, reading = token.left - moment.now, frozenset([token._replace(left=ENDLESS)])
        elif setting.counts_events:
            span = (setting.window or 1) - 1
        if setting.waits_in_time:
            return self._confirmed(moment, (reading, context), left, rate)
        if not horizon.in_time:
            table = self._table(moment, (reading, context), horizon.length, span)
            return _weighed(arrivals.in_events(table, rate, left))
        most = arrivals.most_events(rate * horizon.length)
        table = self._table(moment, (reading, context), most, span)
        return _weighed(arrivals.in_time(table, rate, min(left, horizon.length)))

    def _confirmed(self, moment: Moment, state: State, left: float, rate: float) -> Moments:
        """Return the value of a partial match whose negation is waited for until its end."""
        if left < 0:
            return 0.0, 0.0
        most = arrivals.most_events(rate * left)
        value = moment.value if moment.value in self.model.own else None
        key = "confirmed", value, self._steps(moment, ENDLESS).share
        if key not in self.chains:
            self.chains[key] = Chain(self._steps(moment, ENDLESS), 0, self.setting.state_limit)
        found = Confirmed(Staying.of(self.chains[key], state, most), rate, left)
        horizon = self.setting.horizon
        return (found.in_time if horizon.in_time else found.in_events)(horizon.length)

    def _expiring(self, moment: Moment, reading: Reading, context: Context, gap: float) -> Moments:
        """Return the value of a whole whose partial matches expire one after the other."""
        length, rate = self.setting.horizon.length, 1.0 / gap
        ends = sorted({t.left - moment.now for t in reading if t.left - moment.now < length})
        ranks = {end: rank for rank, end in enumerate(ends, 1)}
        ranked = frozenset(
            t._replace(left=ranks.get(t.left - moment.now, ENDLESS)) for t in reading
        )
        # Which moments the ranks stand for is this row's own.
        chain = Chain(self._steps(moment, ENDLESS), 0, self.setting.state_limit)
        start = chain.number((self.machine.thinned(ranked), context))
        for rank in range(1, len(ends) + 1):
            for state in list(chain.states):
                chain.number((self.machine.unexpired(state[0], rank), state[1]))
        return _piecewise(chain, start, [*ends, length], rate)


def _piecewise(chain: Chain, start: int, ends: list[float], rate: float) -> Moments:
    """Return the value at the start, going back from the last piece of time to the first."""
    step, count = chain.advance(), len(chain.states)
    forecast, mean = np.zeros(count), np.zeros(count)
    for rank in range(len(ends), 0, -1):
        begin = ends[rank - 2] if rank > 1 else 0.0
        duration = ends[rank - 1] - begin
        if rank < len(ends):
            after = [
                chain.numbers[chain.steps.machine.unexpired(s[0], rank), s[1]] for s in chain.states
            ]
            forecast, mean = forecast[after], mean[after]
        later = mean + duration * forecast
        forecast, mean = _one_piece(chain.ending, step, forecast, later, rate, duration)
    return float(forecast[start]), float(mean[start])


def _one_piece(
    ending: Reals,
    step: Callable[[Reals], Reals],
    forecast: Reals,
    later: Reals,
    rate: float,
    duration: float,
) -> tuple[Reals, Reals]:
    """Return forecasts and times at the start of a piece, given those at its end."""
    most = arrivals.most_events(rate * duration)
    exactly = arrivals.poisson(rate * duration, most)
    at_least = arrivals.erlang(rate * duration, most + 1)
    found, times = exactly[0] * forecast, exactly[0] * later
    first = ending
    for i in range(1, most + 1):
        found = found + at_least[i] * first
        times = times + (i / rate) * at_least[i + 1] * first
        first, forecast, later = step(first), step(forecast), step(later)
        found, times = found + exactly[i] * forecast, times + exactly[i] * later
    return found, times


@dataclass
class EdgeValues:
    """Values under EDGES."""

    setting: Setting
    model: Model
    edges: Edges
    tables: dict[Hashable, EdgeTables] = field(default_factory=dict)

    def value(self, moment: Moment, worlds: Iterable[World]) -> tuple[float, float] | None:
        """Return the forecast and its mean, times the forecast; None where nothing is known."""
        gap = self.model.mean_gap(moment.value) if self.setting.needs_gaps else None
        if gap is None and self.setting.needs_gaps:
            return None
        forecast, mean = 0.0, 0.0
        for reading, _, weight in worlds:
            own = self._of(moment, reading, gap)
            if own is None:
                return None
            forecast, mean = forecast + weight * own[0], mean + weight * own[1]
        return forecast, mean

    def _of(self, moment: Moment, reading: Reading, gap: float | None) -> Moments | None:
        found = [self._token(moment, token, gap) for token in reading]
        known = [each for each in found if each is not None]
        return max(known) if known else None

    def _token(self, moment: Moment, token: Token, gap: float | None) -> Moments | None:
        setting, horizon = self.setting, self.setting.horizon
        length = horizon.length
        if horizon.in_time:
            assert gap is not None
            steady = arrivals.steps_within(length, gap)
            length = steady if setting.steady else arrivals.most_events(length / gap)
        within = self._table(moment, length).of(place_of(token) if token.bound else START)
        if within is None:
            return None
        if setting.counts_events and token.bound:
            within = within[: token.left + 1]
        if gap is None:
            return moments(within)
        left = token.left - moment.now if setting.timed_window and token.bound else float("inf")
        if setting.steady:
            cut = within if left == float("inf") else within[: arrivals.steps_within(left, gap) + 1]
            forecast, mean = moments(cut)
            return forecast, mean * gap if horizon.in_time else mean
        if horizon.in_time:
            return _weighed(arrivals.in_time(within, 1 / gap, min(left, horizon.length)))
        return _weighed(arrivals.in_events(within, 1 / gap, left))

    def _table(self, moment: Moment, length: int) -> EdgeTables:
        key = moment.value if moment.value in self.edges.own else None, length
        if key not in self.tables:
            trials = self.edges.of(moment.value)
            self.tables[key] = EdgeTables(trials, length, self.setting.by_time)
        return self.tables[key]


def counted(token: Token, now: int, gap: float) -> Token:
    """Return a token whose ends, by the clock, are numbers of steps."""
    left = token.left
    if token.bound:
        left = arrivals.steps_within(token.left - now, gap) if token.left >= now else -1
    clear = tuple(
        max(0, arrivals.steps_within(c - now, gap) + 1) if c >= now else 0 for c in token.clear
    )
    return token._replace(left=left, clear=clear)


def moments(within: Reals) -> Moments:
    """Return a forecast, and the sum of j P(complete with the j-th event), by parts."""
    last = len(within) - 1
    return float(within[-1]), float(last * within[-1] - within[:-1].sum())


def _weighed(found: tuple[float, float | None]) -> Moments:
    forecast, mean = found
    return forecast, forecast * (mean or 0.0)
