"""How far a window of events can reach: where so many surely lie between that nothing fits in.

From a start event on, the distribution of how many events exist between it and the next candidate
is carried along. Its share of counts that fit into the window bounds the confidence of every match
with both, and falls with each event; once it cannot pass any more, no later event can be reached.
"""

from __future__ import annotations

from augury.kernels.jit import part
from augury.kernels.memory import get, get_real, put_real
from augury.kernels.search.bounds import is_hopeful
from augury.kernels.search.confidence import add_chance
from augury.kernels.search.layout import (
    CHANCES,
    COUNT_WINDOW,
    FOREVER,
    GROUP,
    INDEPENDENT,
    TIME,
    P,
    of,
    real_of,
)


@part
def most_items(s):
    """Return how many events a match may have at most."""
    return FOREVER if get(s.m, COUNT_WINDOW) == 0 else get(s.m, COUNT_WINDOW)


@part
def counted_end(s, start, stop):
    """Return the first event that no match which starts at `start` can reach."""
    room = get(s.m, COUNT_WINDOW) - 2
    if get(s.m, COUNT_WINDOW) == 0:
        return stop
    if room < 0:
        return start + 1
    put_real(s.m, get(s.m, CHANCES), 1.0)
    for n in range(1, room + 1):
        put_real(s.m, get(s.m, CHANCES) + n, 0.0)
    # What has the time of the candidate does not lie before it.
    counted = start + 1
    for e in range(start + 1, stop):
        while counted < e and of(s, counted, TIME) < of(s, e, TIME):
            if of(s, counted, TIME) > of(s, start, TIME):
                add_chance(s, room, least_chance(s, counted))
            counted += 1
        if not is_hopeful(s, 1.0, share_that_fits(s, room)):
            return e
    return stop


@part
def least_chance(s, event):
    """Return how likely an event adds to the count, whatever the others do.

    Alternatives exclude each other, and derived events hang together: those are left out, unless
    they are certain.
    """
    p = real_of(s, event, P)
    if p >= 1.0 or (get(s.m, INDEPENDENT) and of(s, event, GROUP) < 0):
        return p
    return 0.0


@part
def share_that_fits(s, room):
    """Return P(no more events lie between than there is room for)."""
    total = 0.0
    for n in range(room + 1):
        total += get_real(s.m, get(s.m, CHANCES) + n)
    return total
