"""Until: what a negation of one component looks for, and repetitions that such an event ends."""

from __future__ import annotations

from augury.kernels.jit import part
from augury.kernels.memory import get, put
from augury.kernels.search.conditions import hold, rules_hold
from augury.kernels.search.layout import (
    COUNT,
    GUARD_COMPONENT,
    GUARD_EARLIER,
    GUARD_KIND,
    GUARD_ROWS,
    GUARD_RULES,
    HELD,
    HELD_FROM,
    MASK,
    N_GUARDS,
    N_UNTILS,
    TIME,
    UNTIL,
    P,
    entry,
    of,
    real_of,
)
from augury.kernels.search.order import is_before


@part
def is_breaking(s, guard, event):
    """Whether the event would play the guard's negated component beside what is bound."""
    component = entry(s, GUARD_COMPONENT, guard)
    if not (of(s, event, MASK) >> component) & 1:
        return False
    hold(s, component, event)
    first, stop = entry(s, GUARD_ROWS, guard), entry(s, GUARD_ROWS, guard + 1)
    breaks = rules_hold(s, first, stop, GUARD_RULES)
    put(s.m, get(s.m, COUNT) + component, 0)
    return breaks


@part
def has_ended(s, component, event):
    """Whether an event that is sure to exist has ended a repetition before this one."""
    held = get(s.m, get(s.m, COUNT) + component)
    if get(s.m, N_UNTILS) == 0 or held == 0:
        return False
    items = get(s.m, HELD) + entry(s, HELD_FROM, component)
    first, since = get(s.m, items), get(s.m, items + held - 1)
    # What lies before the last item was looked at when that was taken, but for its ties.
    while since > first and of(s, since - 1, TIME) == of(s, since, TIME):
        since -= 1
    for guard in range(get(s.m, N_GUARDS)):
        if entry(s, GUARD_KIND, guard) != UNTIL:
            continue
        if entry(s, GUARD_EARLIER, guard) != 1 << component:
            continue
        for e in range(since, event):
            if real_of(s, e, P) >= 1.0 and is_before(s, first, e) and is_before(s, e, event):
                if is_breaking(s, guard, e):
                    return True
    return False
