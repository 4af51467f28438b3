"""A negation at the end, with Poisson arrivals and a window in time: what completes, and stays.

Of n events that come until the window ends, the k-th comes within a time with a chance that only k
and n tell: the times of n arrivals are n numbers drawn alike. So all that the automaton has to say
is how likely a match that completes with one of the first k of n events is not forbidden by those
after it; and the rest are sums over k and n.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from augury.forecast import arrivals
from augury.forecast.chain import Chain, State
from augury.forecast.machine import PENDING
from augury.forecast.model import NEGLIGIBLE
from augury.records import Reals


@dataclass(frozen=True)
class Staying:
    """How likely a match completes within the first k of n events, and stays.

    `ahead[k]` says how likely each state is after k events, `stays[r]` whether what waits in it
    does r events later, and `done` what is complete for good within k.
    """

    ahead: Reals
    stays: Reals
    done: Reals

    @staticmethod
    def of(chain: Chain, start: State, most: int) -> Staying:
        """Return that of a state, for up to so many events."""
        number = chain.explored(start)
        waiting = [
            (frozenset(token for token in reading if token.state == PENDING), context)
            for reading, context in chain.states
        ]
        alone = np.array([chain.explored(s) if s[0] else -1 for s in waiting], np.int64)
        waits, step = alone >= 0, chain.advance()
        # What waits by itself stays by itself, whatever else may complete.
        kept = np.array([float(any(t.state == PENDING for t in r)) for r, _ in chain.states])
        stays, ahead = np.zeros((most + 1, len(alone))), np.zeros((most + 1, len(chain.states)))
        ahead[0, number], done = 1.0, np.zeros(most + 1)
        for k in range(most):
            stays[k, waits], kept = kept[alone[waits]], step(kept)
            done[k + 1] = done[k] + ahead[k] @ chain.ending
            ahead[k + 1] = chain.forward(ahead[k])
        stays[most, waits] = kept[alone[waits]]
        return Staying(ahead[:, : len(alone)], stays, done)

    def within(self, n: int) -> Reals:
        """Return the chances for k = 0..n."""
        found: Reals = self.done[: n + 1] + np.einsum(
            "ks,ks->k", self.ahead[: n + 1], self.stays[n::-1]
        )
        return found


@dataclass(frozen=True)
class Confirmed:
    """Values where the window ends after the time `left`, and events come at a rate."""

    staying: Staying
    rate: float
    left: float

    @property
    def _likely(self) -> Iterator[tuple[int, float, Reals]]:
        """How many events may come, how likely that is, and what completes of them."""
        weights = arrivals.poisson(self.rate * self.left, len(self.staying.done) - 1)
        for n in np.flatnonzero(weights > NEGLIGIBLE).tolist():
            yield n, float(weights[n]), self.staying.within(n)

    def in_events(self, length: int) -> tuple[float, float]:
        """Return the forecast, and the forecast times its mean number of events."""
        forecast = mean = 0.0
        for n, weight, own in self._likely:
            most = min(length, n)
            forecast += weight * float(own[most])
            mean += weight * float((own[most] - own[:most]).sum())
        return forecast, mean

    def in_time(self, length: float) -> tuple[float, float]:
        """Return the forecast, and the forecast times its mean time."""
        length = min(length, self.left)
        part, forecast, lost = (length / self.left if self.left > 0 else 1.0), 0.0, 0.0
        for n, weight, own in self._likely:
            forecast += weight * float(_binomial(n, part) @ own)
            # The k-th of n arrivals is later than a time as often as fewer of n + 1 are before it.
            above = np.cumsum(_binomial(n + 1, part)[::-1])[::-1][1:]
            lost += weight * self.left / (n + 1) * float(above @ own)
        return forecast, length * forecast - lost


def _binomial(n: int, part: float) -> Reals:
    """Return how likely k of n arrivals come in a part of the time, for k = 0..n."""
    k = np.arange(n + 1)
    if part >= 1.0:
        return np.where(k == n, 1.0, 0.0)
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
    found: Reals = np.exp(
        logs[n] - logs[k] - logs[n - k] + k * np.log(part) + (n - k) * np.log1p(-part)
    )
    return found
