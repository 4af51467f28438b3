"""Outlook: what an event can lead to at best, known for a whole partition at once.

Backwards over a partition, each state keeps the events that may be taken from it, as far ahead as a
window reaches, with the most that each can still score. Of two such events the later one leaves the
window first; if it scores no more than the earlier one, it is never needed again. What is left is a
queue whose best entry is its first, so an event costs an amortised constant amount per state,
however long the window is.

The bound of an event looks one window ahead of that event, a match only one ahead of its first: so
it is never too low. A start that cannot reach the threshold is left at once, and so is every event
on a path. An outlook costs a pass over the partition: it is made once the search has looked at as
many events as that, so it never costs more than the search that it spares.

Shapes: T events, L transitions, Q states.
"""

from __future__ import annotations

from augury.kernels.jit import part
from augury.kernels.memory import get, get_real, put, put_real
from augury.kernels.search.bounds import is_hopeful
from augury.kernels.search.layout import (
    ACCEPTING,
    AHEAD,
    AHEAD_FIRST,
    AHEAD_LAST,
    ANY,
    BEGIN,
    BEST_SCORE,
    EDGE_COMPONENT,
    EDGE_ROWS,
    EDGE_TARGET,
    FOREVER,
    INDEPENDENT,
    MASK,
    N_STATES,
    OUTLOOK,
    OUTLOOK_AFTER,
    OUTLOOK_STOP,
    OUTLOOK_WORK,
    SEES_AHEAD,
    STOP,
    STRATEGY,
    TIME,
    WINDOW,
    WORK,
    P,
    entry,
    of,
    real_of,
)


@part
def look_ahead(s, start):
    """Get ready for a start event: make the outlook of its partition if that pays by now."""
    stop = of(s, start, STOP)
    if get(s.m, OUTLOOK_STOP) != stop:
        put(s.m, OUTLOOK_STOP, stop)
        put(s.m, OUTLOOK_WORK, 0)
        put(s.m, SEES_AHEAD, 0)
    after = get(s.m, OUTLOOK_AFTER)
    if get(s.m, SEES_AHEAD) or after < 0 or get(s.m, STRATEGY) != ANY:
        return
    begin, lanes = of(s, start, BEGIN), entry(s, EDGE_ROWS, get(s.m, N_STATES))
    if get(s.m, OUTLOOK_WORK) >= after * (stop - begin) * lanes:
        make_outlook(s, start, stop, lanes)
        put(s.m, SEES_AHEAD, 1)


@part
def count_work(s):
    """Add what the search of a start has looked at."""
    put(s.m, OUTLOOK_WORK, get(s.m, OUTLOOK_WORK) + get(s.m, WORK))


@part
def make_outlook(s, begin, stop, lanes):
    """Write the bounds of all events from `begin` on."""
    states = get(s.m, N_STATES)
    for state in range(states):
        put(s.m, get(s.m, AHEAD_FIRST) + state, 0)
        put(s.m, get(s.m, AHEAD_LAST) + state, 0)
    for event in range(stop - 1, begin - 1, -1):
        if of(s, event, MASK) != 0:
            write_outlook(s, event, lanes)
            for state in range(states):
                keep_ahead(s, state, event)


@part
def write_outlook(s, event, lanes):
    """Write what an event can score at best on each transition."""
    mask = of(s, event, MASK)
    p = real_of(s, event, P)
    if not get(s.m, INDEPENDENT) and p > 0.0:
        p = 1.0
    for lane in range(lanes):
        if (mask >> entry(s, EDGE_COMPONENT, lane)) & 1:
            target = entry(s, EDGE_TARGET, lane)
            rest = 1.0 if entry(s, ACCEPTING, target) else best_ahead(s, target, of(s, event, TIME))
            put_real(s.m, get(s.m, OUTLOOK) + event * lanes + lane, p * rest)


@part
def best_ahead(s, state, time):
    """Return the most that events ahead can score from a state; those out of reach are dropped."""
    first, last = get(s.m, AHEAD_FIRST) + state, get(s.m, AHEAD_LAST) + state
    window = get(s.m, WINDOW)
    while get(s.m, first) < get(s.m, last):
        event = ahead(s, state, get(s.m, first))
        if window == FOREVER or of(s, event, TIME) - time <= window:
            return best_from(s, state, event)
        put(s.m, first, get(s.m, first) + 1)
    return 0.0


@part
def keep_ahead(s, state, event):
    """Keep an event among those that may be taken from a state, and drop what it makes needless."""
    value = best_from(s, state, event)
    if value <= 0.0:
        return
    first, last = get(s.m, AHEAD_FIRST) + state, get(s.m, AHEAD_LAST) + state
    while get(s.m, first) < get(s.m, last):
        if best_from(s, state, ahead(s, state, get(s.m, last) - 1)) > value:
            break
        put(s.m, last, get(s.m, last) - 1)
    put(s.m, get(s.m, AHEAD) + state * s.n_events + get(s.m, last), event)
    put(s.m, last, get(s.m, last) + 1)


@part
def ahead(s, state, number):
    """Return an event of a state's queue; the first one lies farthest ahead."""
    return get(s.m, get(s.m, AHEAD) + state * s.n_events + number)


@part
def best_from(s, state, event):
    """Return the most that an event can score on the transitions of a state."""
    lanes = entry(s, EDGE_ROWS, get(s.m, N_STATES))
    best = 0.0
    for lane in range(entry(s, EDGE_ROWS, state), entry(s, EDGE_ROWS, state + 1)):
        best = max(best, get_real(s.m, get(s.m, OUTLOOK) + event * lanes + lane))
    return best


@part
def may_lead_on(s, lane, event, weight):
    """Whether an event, taken on a transition after a path of this weight, can reach a match."""
    if not get(s.m, SEES_AHEAD):
        return True
    lanes = entry(s, EDGE_ROWS, get(s.m, N_STATES))
    return is_hopeful(s, weight, get_real(s.m, get(s.m, OUTLOOK) + event * lanes + lane))


@part
def may_start(s, lane, event):
    """Whether a match can begin with an event on a transition."""
    return may_lead_on(s, lane, event, get_real(s.m, BEST_SCORE))
