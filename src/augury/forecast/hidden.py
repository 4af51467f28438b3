"""MODEL: the future of a hidden Markov model, whose states are read as events, and its past.

Rows of a filtered stream say where something is, given what was read so far: a belief for each
step. Two beliefs in a row and the transitions between them say how likely each path was, given the
readings of both: the one before, carried on, and weighed by how the belief differs from that. So
the joint distribution of the hidden state and of what lives is carried exactly; and from now on the
transitions alone go on.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from augury.forecast.arrivals import steps_within
from augury.forecast.chain import Branch, Chain, State
from augury.forecast.machine import ENDLESS, Machine
from augury.forecast.model import NEGLIGIBLE, Context
from augury.forecast.past import (
    Bound,
    Life,
    Outcome,
    PartialLimitError,
    Past,
    Read,
    Wholes,
    Worlds,
    add,
)
from augury.forecast.setting import Setting
from augury.forecast.values import Moment, Moments, World, counted, moments

# How likely each state is, with the event that it is read as.
Belief = Mapping[int, tuple[float, Read | None]]


@dataclass(frozen=True)
class Hidden:
    """States by number: the next ones of each, the symbol that each is read as, one step's length.

    `numbers` has the state of each value of the columns of states; `nowhere` is the state without
    an event, if there is one.
    """

    numbers: Mapping[Hashable, int]
    nowhere: int | None
    symbols: tuple[int, ...]
    onward: tuple[tuple[tuple[int, float], ...], ...]
    step: int

    def belief(self, events: Sequence[Read]) -> Belief:
        """Return what the alternatives of a step say."""
        found: dict[int, tuple[float, Read | None]] = {}
        total = 0.0
        for event in events:
            state = self.numbers[event.value]
            found[state] = event.p, event
            total += event.p
        if self.nowhere is not None and total < 1.0 - NEGLIGIBLE:
            found[self.nowhere] = 1.0 - total, None
            total = 1.0
        return {state: (p / total, event) for state, (p, event) in found.items() if p > 0.0}

    def predicted(self, before: Mapping[int, float]) -> dict[int, float]:
        """Return where it would be a step later, if nothing were read."""
        found: dict[int, float] = {}
        for state, weight in before.items():
            for after, chance in self.onward[state]:
                found[after] = found.get(after, 0.0) + weight * chance
        return found

    def ways(
        self, context: Context, belief: Mapping[int, float], predicted: Mapping[int, float]
    ) -> Iterator[tuple[int, float]]:
        """Yield where it may have gone from a state, with the weight of that given all beliefs."""
        if not context:
            yield from belief.items()
            return
        for after, chance in self.onward[context[0]]:
            if after in belief:
                yield after, chance * belief[after] / predicted[after]


def advance(past: Past, life: Life, events: Sequence[Read], hidden: Hidden) -> None:
    """Read the alternatives of one step: what lives, and where it is, together.

    Steps without a row are of nowhere, for sure.
    """
    time, last = events[0].time, life.time
    if last is not None and hidden.nowhere is not None:
        for missing in range(last + hidden.step, time, hidden.step):
            _step(past, life, missing, {hidden.nowhere: (1.0, None)}, hidden)
    _step(past, life, time, hidden.belief(events), hidden)
    life.time = time


def _step(past: Past, life: Life, time: int, believed: Belief, hidden: Hidden) -> None:
    past.expire(life, time)
    belief = {state: p for state, (p, _) in believed.items()}
    predicted = hidden.predicted(_before(life))
    if predicted and not any(state in belief for state in predicted):
        # What came cannot follow what was: the filter, too, has begun anew.
        fresh, predicted = past.start(), {}
        life.partial, life.whole = fresh.partial, fresh.whole
    outcomes = {
        state: Outcome(() if event is None else (event,), 0, past.span(time))
        for state, (_, event) in believed.items()
    }
    partial: dict[Bound, Worlds] = {}
    for bound, worlds in life.partial.items():
        for (token, context), weight in worlds.items():
            for state, share in hidden.ways(context, belief, predicted):
                for way in past.ways(token, outcomes[state]):
                    own = partial.setdefault((*bound, *way.taken), {})
                    add(own, (way.token, (state,)), weight * share)
    wholes: Wholes = {}
    for (reading, context), weight in life.whole.items():
        for state, share in hidden.ways(context, belief, predicted):
            tokens = [way.token for token in reading for way in past.ways(token, outcomes[state])]
            add(wholes, (past.machine.thinned(tokens), (state,)), weight * share)
    if len(partial) > past.limit:
        raise PartialLimitError(len(partial))
    life.partial, life.whole = partial, wholes


def _before(life: Life) -> dict[int, float]:
    """Return the belief of the step before, which every whole, and the empty part, has."""
    found: dict[int, float] = {}
    contexts = [(context, w) for (_, context), w in life.partial.get((), {}).items()]
    if not contexts:
        contexts = [(context, w) for (_, context), w in life.whole.items()]
    for context, weight in contexts:
        if context:
            found[context[0]] = found.get(context[0], 0.0) + weight
    return found


# What comes -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class HiddenSteps:
    """One step of the chain: the next hidden state, and what it is read as."""

    machine: Machine
    hidden: Hidden
    span: int = ENDLESS

    def onward(self, state: State) -> Iterator[Branch]:
        """Yield what a step may lead to."""
        reading, (now,) = state
        for after, chance in self.hidden.onward[now]:
            ended, alive = self.machine.read(reading, self.hidden.symbols[after], self.span)
            yield chance, ended, (alive, (after,))

    def of_all(self) -> HiddenSteps:
        """Return these steps: events of other partitions do not move them."""
        return self


@dataclass
class HiddenValues:
    """Values under a hidden Markov model: every step of it is one event, or none."""

    setting: Setting
    hidden: Hidden
    machine: Machine
    chains: dict[int, Chain] = field(default_factory=dict)

    def value(self, moment: Moment, worlds: Iterable[World]) -> Moments:
        """Return the forecast and its mean, times the forecast."""
        setting, step = self.setting, self.hidden.step
        horizon, window = setting.horizon, setting.timed_window
        steps = steps_within(horizon.length, step) if horizon.in_time else horizon.length
        span = ENDLESS if setting.window is None else setting.window - 1
        if window is not None:
            span = steps_within(window, step)
        if span not in self.chains:
            own = HiddenSteps(self.machine, self.hidden, span)
            self.chains[span] = Chain(own, steps, setting.state_limit)
        chain, forecast, mean = self.chains[span], 0.0, 0.0
        for reading, context, weight in worlds:
            now = reading
            if window is not None:
                left = (counted(token, moment.now, step) for token in reading)
                now = self.machine.thinned(t for t in left if self.machine.is_alive(t))
            number = chain.number((now, context))
            told = moments(chain.within[:, number])
            forecast, mean = forecast + weight * told[0], mean + weight * told[1]
        return forecast, mean * step if horizon.in_time else mean
