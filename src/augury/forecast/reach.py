"""Whether a forecast has more states than the limit allows, before any row comes."""

from __future__ import annotations

from augury.forecast import arrivals
from augury.forecast.chain import Chain, State, Steps, TooManyStatesError
from augury.forecast.machine import ENDLESS, Machine
from augury.forecast.model import Model, Value
from augury.forecast.setting import Setting

# Any share but a whole one leads to the same states.
SOME = 0.5


def too_many_states(setting: Setting, machine: Machine, model: Model) -> bool:
    """Return whether symbols of a history lead to more states than are allowed.

    BY TIME these are sets of partial matches; BY MATCH the sets that each may become.
    """
    if not model.knows:
        return False
    try:
        for value in (None, *model.own):
            _explore(setting, machine, model, value)
    except TooManyStatesError:
        return True
    return False


def _explore(setting: Setting, machine: Machine, model: Model, value: Value) -> None:
    span = (setting.window or ENDLESS + 1) - 1 if setting.counts_events else ENDLESS
    if setting.timed_window is not None and setting.steady:
        gap = model.mean_gap(value)
        span = ENDLESS if gap is None else arrivals.steps_within(setting.timed_window, gap)
    share = SOME if setting.needs_shares else 1.0
    steps = Steps(machine, model, value, share, setting.horizon.of_stream, span)
    chain = Chain(steps, 0, setting.state_limit)
    start = frozenset([machine.empty]), model.shortened(())
    if setting.by_time:
        chain.explored(start)
        return
    seen: set[State] = {start}
    waiting: list[State] = [start]
    while waiting:
        for _, _, (reading, context) in steps.onward(waiting.pop()):
            for token in reading:
                state = frozenset([token]), context
                if state not in seen:
                    seen.add(state)
                    waiting.append(state)
                    if token.bound:
                        chain.explored(state)
