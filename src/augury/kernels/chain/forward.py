"""Forward propagation over automaton states (independent), or hidden value x automaton state.

Rows come sorted by chain, then time, then group. `delta[q, s]` is the automaton state reached from
q once the step means symbol s, `done[q, s]` whether a match ends in that step; symbol 0 means that
nothing happened, and leaves every state as it is. A step costs the number of its rows times Q.

Where ends count for a while, a state is what runs wait for and for how many steps more, `left[q]`,
the last end counts. Then `done[q, s]` tells that one counts after the step, and symbol 0 counts
down; steps at which a chain has no rows do so too. `memory` are left, the most of it (0: an end
counts in its own step only), and the time that a step takes. A row whose symbol is negative asks:
it tells what counts at its time, and changes nothing.

Oracle: tests/oracles/worlds.py; slow twin: augury/matching/worlds.py.
"""

from __future__ import annotations

import numpy as np

from augury.kernels.jit import kernel, part

# The last time of a chain that has had none.
NEVER = -(2**62)


@kernel
def independent(rows, p, tables, memory, before, ever, out):
    """Carry the mass (chains, Q) over all rows; write P(a match ends here) at each step's last row.

    `rows` are the columns chain, time, group and symbol, `tables` are delta, done and union, where
    `union[s, z]` is the symbol of both together. Rows of one group exclude each other. `before` are
    the mass and the last time of each chain, which change. `ever` (one flag) makes an ended match
    end the chain: its mass is gone. Other rows of `out` stay.
    """
    chain, time, group, symbol = rows
    delta, done, union = tables
    left, most, unit = memory
    mass, last = before
    n, n_states, n_symbols = chain.shape[0], delta.shape[0], delta.shape[1]
    weight, both = np.zeros(n_symbols), np.zeros(n_symbols)
    own = np.zeros(n_symbols)
    ahead = np.zeros(n_states)
    k = 0
    while k < n:
        c, t = chain[k], time[k]
        if symbol[k] < 0:
            out[k] = _counting(mass[c], left, (t - last[c]) // unit)
            k += 1
            continue
        if most > 0 and last[c] > NEVER:
            _count_down(mass[c], delta, left, (t - last[c]) // unit - 1, ahead)
        weight[:] = 0.0
        weight[0] = 1.0
        while k < n and chain[k] == c and time[k] == t:
            g, rest = group[k], 1.0
            own[:] = 0.0
            while k < n and group[k] == g and chain[k] == c and time[k] == t:
                own[symbol[k]] += p[k]
                rest -= p[k]
                k += 1
            own[0] += max(rest, 0.0)
            _join(weight, own, union, both)
            weight[:] = both
        ended = 0.0
        ahead[:] = 0.0
        for s in range(n_symbols):
            if weight[s] > 0.0:
                for q in range(n_states):
                    moved = mass[c, q] * weight[s]
                    if done[q, s]:
                        ended += moved
                        if ever:
                            moved = 0.0
                    ahead[delta[q, s]] += moved
        mass[c, :] = ahead
        last[c] = t
        out[k - 1] = ended


@part
def _join(weight, own, union, out):
    """Write the distribution of what independent groups mean together into `out`."""
    out[:] = 0.0
    for s in range(weight.shape[0]):
        if weight[s] > 0.0:
            for z in range(weight.shape[0]):
                if own[z] > 0.0:
                    out[union[s, z]] += weight[s] * own[z]


@part
def _counting(mass, left, idle):
    """Return the mass whose last end still counts after so many steps without rows."""
    found = 0.0
    for q in range(mass.shape[0]):
        if left[q] > idle:
            found += mass[q]
    return found


@part
def _count_down(mass, delta, left, idle, room):
    """Let so many steps without rows pass; `room` (Q) is overwritten."""
    if idle <= 0:
        return
    room[:] = 0.0
    for q in range(mass.shape[0]):
        if mass[q] > 0.0:
            target = q
            for _ in range(min(idle, left[q])):
                target = delta[target, 0]
            room[target] += mass[q]
    mass[:] = room


@part
def _over_values(here, live, out):
    """Return the mass by automaton state, whatever the hidden value is, in `out` (Q)."""
    out[:] = 0.0
    for v in live:
        out += here[v]
    return out


@part
def _count_down_all(here, live, delta, left, idle):
    """Let so many steps without rows pass, whatever the hidden value is."""
    room = np.zeros(here.shape[1])
    for v in live:
        _count_down(here[v], delta, left, idle, room)


@kernel
def markovian(rows, p, tables, memory, before, flags, after, out):
    """Carry each chain's mass over (hidden value, automaton state); write as `independent`.

    `rows` are the columns chain, time, origin, value and symbol: the object goes from `origin` to
    `value` with probability p, which means `symbol`. `before` and `after` hold the mass of all
    chains in compressed rows: first, value, mass (entries, Q), and the last time of each chain.
    `flags` are ticks, which tells that a time that is not the next one means that the object was
    nowhere between, and whole, that what an origin leaves to 1 goes nowhere: to value 0. Return the
    number of entries in `after`.
    """
    chain, time, origin, value, symbol = rows
    n, n_states, n_values = chain.shape[0], tables[0].shape[0], _room(before, origin, value)
    here, moved = np.zeros((n_values, n_states)), np.zeros((n_values, n_states))
    given, means = np.zeros(n_values), np.zeros(n_values, np.int64)
    live, fresh = np.zeros(n_values, np.int64), np.zeros(n_values, np.int64)
    is_fresh = np.zeros(n_values, np.bool_)
    left, most, unit = memory
    ticks, whole = flags
    room = np.zeros(n_states)
    k = filled = 0
    for c in range(before[0].shape[0] - 1):
        n_live, last = _load(before, c, here, live), before[3][c]
        while k < n and chain[k] == c:
            t = time[k]
            if symbol[k] < 0:
                out[k] = _counting(
                    _over_values(here, live[:n_live], room), left, (t - last) // unit
                )
                k += 1
                continue
            if most > 0 and last > NEVER:
                _count_down_all(here, live[:n_live], tables[0], left, (t - last) // unit - 1)
            if ticks and last > NEVER and t != last + 1:
                n_live = _scatter(here, live, n_live)
            is_fresh[0], means[0], fresh[0], n_fresh = True, 0, 0, 1
            while k < n and chain[k] == c and time[k] == t:
                i, j, chance = origin[k], value[k], p[k]
                given[i] += chance
                if not is_fresh[j]:
                    is_fresh[j] = True
                    fresh[n_fresh] = j
                    n_fresh += 1
                if j > 0:
                    means[j] = symbol[k]
                for q in range(n_states):
                    moved[j, q] += here[i, q] * chance
                k += 1
            for a in range(n_live):
                i = live[a]
                rest = max(1.0 - given[i], 0.0) if whole else 0.0
                for q in range(n_states):
                    moved[0, q] += here[i, q] * rest
                    here[i, q] = 0.0
            out[k - 1] = _settle(moved, means, tables, fresh[:n_fresh], here)
            for a in range(n_fresh):
                live[a] = fresh[a]
                is_fresh[fresh[a]] = False
            # An origin that had no mass may have been named all the same.
            given[:] = 0.0
            n_live, last = n_fresh, t
        filled = _store(after, c, filled, here, live[:n_live], last)
    return filled


@part
def _room(before, origin, value):
    """Return how many hidden values there are, nowhere and the beginning included."""
    most = 1
    for values in (before[1], origin, value):
        for k in range(values.shape[0]):
            most = max(most, values[k])
    return most + 1


@part
def _load(before, c, here, live):
    """Put a chain's mass in its place; return how many values are live."""
    first, value, mass, _ = before
    n_live = 0
    for e in range(first[c], first[c + 1]):
        here[value[e]] = mass[e]
        live[n_live] = value[e]
        n_live += 1
    return n_live


@part
def _store(after, c, filled, here, live, last):
    """Write a chain's mass behind what is filled already, and clear its place."""
    first, value, mass, times = after
    for v in live:
        if here[v].sum() > 0.0:
            value[filled] = v
            mass[filled] = here[v]
            filled += 1
        here[v] = 0.0
    first[c + 1] = filled
    times[c] = last
    return filled


@part
def _scatter(here, live, n_live):
    """Put all mass nowhere, whatever the object's value was; return how many values are live."""
    for a in range(n_live):
        v = live[a]
        if v != 0:
            for q in range(here.shape[1]):
                here[0, q] += here[v, q]
                here[v, q] = 0.0
    live[0] = 0
    return min(n_live, 1)


@part
def _settle(moved, means, tables, fresh, out):
    """Let each value's meaning move the automaton; return the mass with which a match ended."""
    delta, done = tables
    ended = 0.0
    for j in fresh:
        s = means[j]
        for q in range(moved.shape[1]):
            m = moved[j, q]
            moved[j, q] = 0.0
            if m > 0.0:
                out[j, delta[q, s]] += m
                if done[q, s]:
                    ended += m
    return ended


@kernel
def number_symbols(symbols, known, n_known, out):
    """Write the number of each symbol among `known` into `out`; new ones are added at the end.

    Return how many are known then, or -1 where there is no room for more. Few symbols are in use
    at a time, so looking through them is quicker than sorting.
    """
    last = -1
    for k in range(symbols.shape[0]):
        if last < 0 or known[last] != symbols[k]:
            last = -1
            for s in range(n_known):
                if known[s] == symbols[k]:
                    last = s
                    break
            if last < 0:
                if n_known == known.shape[0]:
                    return -1
                known[n_known] = symbols[k]
                last = n_known
                n_known += 1
        out[k] = last
    return n_known


@kernel
def is_sorted(chain, time, group):
    """Return whether rows come by chain, then time, then group."""
    for k in range(1, chain.shape[0]):
        if chain[k] != chain[k - 1]:
            if chain[k] < chain[k - 1]:
                return False
        elif time[k] != time[k - 1]:
            if time[k] < time[k - 1]:
                return False
        elif group[k] < group[k - 1]:
            return False
    return True


@kernel
def none_of(label, p, out):
    """Multiply `out[label[k]]` by 1 - p[k] for every k: the chance that none of them holds."""
    for k in range(label.shape[0]):
        out[label[k]] *= 1.0 - p[k]
