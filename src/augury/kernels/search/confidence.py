"""Confidence of one match over independent base events: what must be there times what must not.

Alternatives of one event exclude each other, so the absence of several of them is one minus their
sum, and is implied where another of them is in the match.
"""

from __future__ import annotations

from augury.kernels.jit import part
from augury.kernels.memory import get, get_real, put, put_real
from augury.kernels.search.layout import (
    ABSENT,
    ABSENTS,
    ALWAYS_ABSENT,
    CHANCES,
    COUNT_WINDOW,
    GROUP,
    GROUP_ABSENT,
    GROUP_MASS,
    GROUP_TAKEN,
    IN_MATCH,
    SINCE,
    STAMP,
    WHO,
    P,
    absent_at,
    event_at,
    group_at,
    mark,
    of,
    real_of,
)
from augury.kernels.search.order import follows_some, precedes_some, span_of

# As in `augury.records`, but kernels are compiled from what stands here.
SUM_ERROR = 1e-12


@part
def presence(s, depth):
    """Return the product of the items' probabilities, and mark them and their groups."""
    stamp = get(s.m, STAMP)
    product = 1.0
    for d in range(1, depth + 1):
        event = event_at(s, d)
        mark(s, event, IN_MATCH, stamp)
        if of(s, event, GROUP) >= 0:
            put(s.m, group_at(s, of(s, event, GROUP), GROUP_TAKEN), stamp)
        product *= real_of(s, event, P)
    return product


@part
def absence(s, first_absent):
    """Return the probability that the forbidden events are absent; alternatives add up."""
    stamp = get(s.m, STAMP)
    product = 1.0
    for i in range(first_absent, get(s.m, ABSENTS)):
        event = get(s.out, absent_at(s, i, WHO))
        group = of(s, event, GROUP)
        if get(s.out, absent_at(s, i, SINCE)) != ALWAYS_ABSENT:
            continue
        if group < 0:
            product *= 1.0 - real_of(s, event, P)
        elif get(s.m, group_at(s, group, GROUP_TAKEN)) != stamp:
            mass = (
                get_real(s.m, group_at(s, group, GROUP_MASS))
                if get(s.m, group_at(s, group, GROUP_ABSENT)) == stamp
                else 0.0
            )
            put(s.m, group_at(s, group, GROUP_ABSENT), stamp)
            put_real(s.m, group_at(s, group, GROUP_MASS), mass + real_of(s, event, P))
            left, rest = 1.0 - mass, 1.0 - mass - real_of(s, event, P)
            # Alternatives that are 1 together may be off by rounding: nothing else is possible.
            product *= rest / left if rest > SUM_ERROR else 0.0
    return product


@part
def room_in_count_window(s, depth):
    """Return P(at most n events exist from first to last item | the forbidden are absent)."""
    most = get(s.m, COUNT_WINDOW) - depth
    if most < 0:
        return 0.0
    stamp = get(s.m, STAMP)
    put_real(s.m, get(s.m, CHANCES) + 0, 1.0)
    for n in range(1, most + 1):
        put_real(s.m, get(s.m, CHANCES) + n, 0.0)
    first, last = span_of(s, depth)
    for e in range(first + 1, last):
        if of(s, e, IN_MATCH) == stamp or of(s, e, ABSENT) == stamp:
            continue
        if not (follows_some(s, depth, e) and precedes_some(s, depth, e)):
            continue
        add_chance(s, most, chance_of_one_more(s, depth, e))
    total = 0.0
    for n in range(most + 1):
        total += get_real(s.m, get(s.m, CHANCES) + n)
    return total


@part
def chance_of_one_more(s, depth, event):
    """Return the chance that the event exists; of a group, all free ones count as its first."""
    group = of(s, event, GROUP)
    if group < 0:
        return real_of(s, event, P)
    stamp = get(s.m, STAMP)
    if get(s.m, group_at(s, group, GROUP_TAKEN)) == stamp:
        return 0.0
    left = (
        1.0 - get_real(s.m, group_at(s, group, GROUP_MASS))
        if get(s.m, group_at(s, group, GROUP_ABSENT)) == stamp
        else 1.0
    )
    mass = 0.0
    first, last = span_of(s, depth)
    for e in range(first + 1, last):
        if of(s, e, GROUP) == group and of(s, e, ABSENT) != stamp:
            if follows_some(s, depth, e) and precedes_some(s, depth, e):
                if e < event:
                    return 0.0
                mass += real_of(s, e, P)
    return mass / left if left > 0.0 else 0.0


@part
def add_chance(s, most, p):
    """Convolve the distribution of the count with one event; what is over the limit is lost."""
    for n in range(most, 0, -1):
        put_real(
            s.m,
            get(s.m, CHANCES) + n,
            get_real(s.m, get(s.m, CHANCES) + n) * (1.0 - p)
            + get_real(s.m, get(s.m, CHANCES) + n - 1) * p,
        )
    put_real(s.m, get(s.m, CHANCES), get_real(s.m, get(s.m, CHANCES)) * (1.0 - p))
