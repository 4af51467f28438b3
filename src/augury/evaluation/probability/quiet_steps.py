"""Times at which a chain has no rows, but an end that was before still counts (OVER).

A chance that looks back does not end with a chain's last row: it is asked for at the times that are
answered anyway, as far behind a row as ends count. Asking changes nothing in a chain, so that it
does not matter whether its next rows are known already.

Shapes: C chains, S steps of all chains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from augury.evaluation.probability.beliefs import KeyedBeliefs
from augury.matching.marginal import ASKED, NEVER, Beliefs
from augury.records import Words

NONE_BEFORE: Words = np.zeros(0, np.int64)


def with_quiet_steps(
    keyed: KeyedBeliefs,
    length: int,
    groups: Sequence[tuple[Words, Words]],
    last: Words = NONE_BEFORE,
) -> KeyedBeliefs:
    """Return the rows, and one that asks for each time to be answered without rows of a chain.

    `length` is how long an end counts. Each of `groups` are chains, and the times at which they
    are answered. `last` are the times at which the first chains had rows before, or `NEVER`.
    """
    if not groups:
        return keyed
    steps = _steps(keyed.beliefs, last)
    found = [_asked(steps, length, *each) for each in groups]
    asked = _rows(*(np.concatenate(own) for own in zip(*found, strict=True)))
    return replace(keyed, beliefs=Beliefs.joined(keyed.beliefs, asked))


def _steps(rows: Beliefs, last: Words) -> tuple[Words, Words]:
    """Return chain and time of all steps, the last ones of before included, in order."""
    known = np.flatnonzero(last > NEVER)
    chain = np.concatenate([known, rows.chain])
    time = np.concatenate([last[known], rows.time])
    order = np.lexsort((time, chain))
    chain, time = chain[order], time[order]
    first = np.ones(len(order), np.bool_)
    first[1:] = (np.diff(chain) != 0) | (np.diff(time) != 0)
    return chain[first], time[first]


def _asked(
    steps: tuple[Words, Words], length: int, chains: Words, times: Words
) -> tuple[Words, Words]:
    """Return chain and time where to ask: the times between a step and its end or the next one."""
    own = np.isin(steps[0], chains)
    chain, time = steps[0][own], steps[1][own]
    until = time + length
    follows = np.flatnonzero(chain[1:] == chain[:-1])
    until[follows] = np.minimum(until[follows], time[follows + 1])
    begin = np.searchsorted(times, time, side="right")
    count = np.maximum(np.searchsorted(times, until, side="left") - begin, 0)
    first = np.repeat(begin - np.cumsum(count) + count, count)
    return np.repeat(chain, count), times[first + np.arange(count.sum())]


def _rows(chain: Words, time: Words) -> Beliefs:
    none = np.zeros(len(chain), np.int64)
    return Beliefs(chain, time, none - 1, none, none + ASKED, np.zeros(len(chain)), none, none)
