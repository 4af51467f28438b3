"""SEQ in plain Python: an order-based automaton that keeps partial matches, event by event.

The way of in-process engines written in Python (OpenCEP and its like): each state holds the
partial matches that wait in it, and an event of the next type extends every one of them that is
still inside the window. A condition is tested when all events that it names are there; the
confidence names all of them. With `early`, a partial match below the threshold is dropped at once,
which such engines do not know to do, but a thoughtful program would. No index, no compiled code.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# An event: its number, type, time, probability, and the attribute that filters it.
Event = tuple[int, str, int, float, float]
# A partial match: when it began, its confidence, and the numbers of its events.
Partial = tuple[int, float, tuple[int, ...]]
Found = list[tuple[tuple[int, ...], float]]


@dataclass(frozen=True)
class PlainSequence:
    """SEQ of some types within a window; events whose `v` is above `most` cannot play."""

    types: Sequence[str]
    window: int
    threshold: float
    most: float
    early: bool = False

    def matches(self, events: Iterable[Event]) -> Found:
        """Return the matches, each with its confidence."""
        place = {kind: k for k, kind in enumerate(self.types)}
        waiting: list[deque[Partial]] = [deque() for _ in self.types]
        found: Found = []
        least = self.threshold if self.early else 0.0
        for number, kind, t, p, v in events:
            k = place.get(kind)
            if k is None or v > self.most or p < least:
                continue
            if k == 0:
                waiting[0].append((t, p, (number,)))
                continue
            longer = self._extended(waiting[k - 1], (number, t, p), least)
            if k == len(self.types) - 1:
                found += [(taken, joint) for _, joint, taken in longer if joint >= self.threshold]
            else:
                waiting[k].extend(longer)
        return found

    def _extended(
        self, before: deque[Partial], event: tuple[int, int, float], least: float
    ) -> list[Partial]:
        """Return the partial matches with one more event; forget those that are too old."""
        number, t, p = event
        oldest = t - self.window
        while before and before[0][0] < oldest:
            before.popleft()
        return [
            (began, confidence * p, (*taken, number))
            for began, confidence, taken in before
            if began >= oldest and confidence * p >= least
        ]
