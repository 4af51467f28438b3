"""How many matches are expected of a thread, if events come by themselves at known rates.

The expected number of threads in each state follows a linear equation: an event that a state takes
adds one to another state (and under next-match selection leaves its own), an event that breaks
something moves it. So what comes of a state within a span is an entry of the exponential of a
matrix. Where something banned may lie before the first event, it counts when a match ends: the span
is cut where such events leave the window, and threads are told apart by the cut at which they last
grew.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from augury.privacy.machine import Machine
from augury.privacy.threads import Thread

# Terms of the series, for a matrix whose norm is at most one.
TERMS = 20
# So many spans are remembered.
MANY = 4096


class Foresight:
    """What is expected of the states of a machine at some rates, without types that are dropped."""

    def __init__(self, machine: Machine, rates: Sequence[float], dropped: frozenset[str]) -> None:
        self.machine = machine
        size = len(machine.states)
        self.grows, self.stays = np.zeros((size, size)), np.zeros((size, size))
        numbers = machine.slot_numbers
        for k, state in enumerate(machine.states):
            for way, take in enumerate(state.takes):
                rate = rates[numbers[machine.take_slot(state, way)]]
                if take.player.type in dropped:
                    continue
                if take.target is not None:
                    self.grows[k, take.target] += rate
                if machine.takes_next:
                    self.stays[k, k] -= rate
            for broken, target in state.spoiled.items():
                rate = rates[numbers[machine.ban_slot(state, broken)]]
                self.stays[k, k] -= rate
                if target is not None:
                    self.stays[k, target] += rate
        self.accepts = np.array([state.accepts for state in machine.states], float)
        self._known: dict[float, tuple[np.ndarray, np.ndarray]] = {}

    def expected(self, thread: Thread, span: float) -> tuple[float, float]:
        """Return how often a thread is a match as it is, and how many more come of it."""
        own, all_of_it = self._within(thread, span) if thread.early else self._plain(span)
        whole = float(own[thread.state])
        return whole, float(all_of_it[thread.state]) - whole

    def _plain(self, span: float) -> tuple[np.ndarray, np.ndarray]:
        if span not in self._known:
            if len(self._known) >= MANY:
                self._known.clear()
            own = exponential(self.stays * span) @ self.accepts
            all_of_it = exponential((self.stays + self.grows) * span) @ self.accepts
            self._known[span] = own, all_of_it
        return self._known[span]

    def _within(self, thread: Thread, span: float) -> tuple[np.ndarray, np.ndarray]:
        """Return both where something banned lies before the first event.

        What leaves the window now harms the match that ends now, and none that ends later.
        """
        machine, now = self.machine, thread.last
        leaves = sorted(
            {t + machine.window - now for t, _ in thread.early if t + machine.window >= now}
        )
        cuts = [0.0, *(float(each) for each in leaves if each < span), span]
        # A match that ends in piece k is unharmed by what has left the window before it.
        harm = [thread.unharmed(now, machine.window)]
        harm += [_unharmed_after(thread, cut + now, machine.window) for cut in cuts[1:-1]]
        size, pieces = len(machine.states), len(cuts) - 1
        value = np.concatenate([self.accepts * each for each in harm])
        own = self.accepts * harm[0]
        for piece in reversed(range(pieces)):
            length = cuts[piece + 1] - cuts[piece]
            matrix = np.kron(np.eye(pieces), self.stays)
            for label in range(pieces):
                rows = slice(label * size, (label + 1) * size)
                matrix[rows, piece * size : (piece + 1) * size] += self.grows
            value = exponential(matrix * length) @ value
            own = exponential(self.stays * length) @ own
        return own, value[:size]


def _unharmed_after(thread: Thread, time: float, window: int) -> float:
    """Return how likely it is that nothing banned lies before a match that ends after a time."""
    return math.prod(1.0 - mass for banned, mass in thread.early if banned > time - window)


def exponential(matrix: np.ndarray) -> np.ndarray:
    """Return the exponential of a matrix with no negative entry beside its diagonal.

    Shifted by the least of its diagonal no term is negative: nothing cancels.
    """
    shift = min(0.0, float(matrix.diagonal().min()))
    shifted = matrix - shift * np.eye(len(matrix))
    norm = float(shifted.sum(axis=1).max())
    doublings = max(0, math.ceil(math.log2(norm))) if norm > 1.0 else 0
    small = shifted / 2.0**doublings
    total, term = np.eye(len(matrix)), np.eye(len(matrix))
    for number in range(1, TERMS + 1):
        term = term @ small / number
        total += term
    total *= math.exp(shift / 2.0**doublings)
    for _ in range(doublings):
        total = total @ total
    return total
