"""What has gone by, of a policy that goes on learning, over columns.

Rates change with every event: they are worked out for all events of a stretch at once, of the
counts before each. The type level is solved anew between stretches, by the matches of the raw
stream, which chains of their own count. `augury.privacy.statistics` says the same event by event.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from augury.evaluation.encoding import Codes
from augury.evaluation.policies.chains import Chains
from augury.evaluation.policies.columns import Columns, Ordered, codes_of
from augury.evaluation.policies.learned import who
from augury.kernels.privacy.decide import count, still_there
from augury.kernels.privacy.layout import WAITING, Learned, Weighing
from augury.privacy.policy import GROWTH
from augury.records import Words, as_key

# Rates are worked out for at most so many events at once.
STRETCH = 2048
Stretch = tuple[int, int]


class Online:
    """The counts of a policy that learns as rows come: `seen` events went by, `last` the latest."""

    def __init__(self, columns: Columns) -> None:
        self.columns, patterns = columns, columns.plan.policy.sequences
        self.lengths = [len(pattern) for pattern in patterns]
        shape = len(patterns), max(self.lengths) + 1
        # The mass of what can play each step, and of what ends the wait for it.
        self.steps, self.ends = np.zeros(shape), np.zeros(shape)
        self.is_left = _is_left(columns, shape)
        names = sorted({name for pattern in patterns for name in pattern.equated})
        self.values = {name: Codes() for name in names}
        self.seen, self.first, self.last = 0, 0, 0
        self.solved_at = 0
        # Where the history ends, until the first row comes: one of its order is not after it.
        self.boundary: tuple[int, str] | None = None
        self.raw = Chains(len(patterns), max(self.lengths))
        self.matches = np.zeros(len(patterns))

    @property
    def is_due(self) -> bool:
        """Whether the type level is to be solved anew before the next event."""
        return self.seen >= max(1.0, GROWTH * self.solved_at) and self.seen != self.solved_at

    @property
    def room(self) -> int:
        """How many events may be decided about before that."""
        return min(STRETCH, max(1, math.ceil(GROWTH * self.solved_at) - self.seen))

    def number_of_matches(self, policy: Weighing, events: Ordered) -> np.ndarray:
        """Return how many matches of each pattern the raw stream has so far, as expected."""
        found, chains = self.matches.copy(), self.raw
        if chains.slots.marks[WAITING]:
            # Events of equal order wait for others; what they make is there all the same.
            chains, none = chains.copy(), events.batch._replace(time=events.batch.time[:0])
            kept = np.zeros(0, np.bool_)
            chains.run(policy, found, lambda *own: count(policy, none, kept, *own, found))
        still_there(policy, chains.slots, found)
        return found

    def only(self, policy: Weighing, kept: Sequence[Words]) -> None:
        """Let some equated values go, but not the matches that they have had."""
        still, left = np.zeros_like(self.matches), np.zeros_like(self.matches)
        still_there(policy, self.raw.slots, still)
        self.raw.only(kept)
        still_there(policy, self.raw.slots, left)
        self.matches += still - left

    def known_values(self, events: Ordered, table: pa.Table) -> dict[str, Words]:
        """Return, of each equated column, how many values are known before each event."""
        found = {}
        event = np.repeat(np.arange(len(events)), np.diff(events.batch.begin))
        for name, known in self.values.items():
            before = len(known.known)
            fresh, where = np.unique(codes_of(known, table, name)[events.rows], return_index=True)
            times = np.bincount(event[where[fresh >= before]], minlength=len(events))
            found[name] = before + np.concatenate([[0], np.cumsum(times)])
        return found

    def learn(self, policy: Weighing, events: Ordered, table: pa.Table) -> None:
        """Count the events of a history."""
        self.known_values(events, table)
        for begin in range(0, len(events), STRETCH):
            stretch = begin, min(begin + STRETCH, len(events))
            self.add(policy, events, stretch, Masses(self, events, stretch))

    def add(
        self, policy: Weighing, events: Ordered, stretch: Stretch, masses: Masses | None
    ) -> None:
        """Count the events of a stretch; `policy` has all patterns, TYPES needs no `masses`."""
        begin, end = stretch
        if self.columns.key_count > self.raw.keys:
            self.raw.widen(self.columns.key_count)
        every, until = np.ones(len(events), np.bool_), policy._replace(until=end)
        self.raw.run(
            until,
            self.matches,
            lambda *own: count(until, events.batch, every, *own, self.matches),
            begin,
        )
        if masses is not None:
            self.steps, self.ends = masses.after
        if not self.seen:
            self.first = int(events.batch.time[begin])
        self.seen, self.last = self.seen + end - begin, int(events.batch.time[end - 1])

    def learned(
        self,
        events: Ordered,
        stretch: Stretch,
        masses: Masses,
        known: Mapping[str, Words],
        like: Learned,
    ) -> Learned:
        """Return what is expected at each event of a stretch; `like` has what stays the same."""
        begin, end = stretch
        patterns, time = self.columns.plan.policy.sequences, events.batch.time
        seen = self.seen + np.arange(end - begin)
        last = np.concatenate([[self.last], time[begin : end - 1]])
        first = self.first if self.seen else int(time[begin])
        length = np.where(seen > 1, (last - first) * (seen / np.maximum(seen - 1, 1)), 0.0)
        share = np.repeat(length[None, :], len(patterns), 0)
        for number, pattern in enumerate(patterns):
            for name in pattern.equated:
                share[number] *= np.maximum(1, known[name][begin:end])
        per = np.divide(1.0, share, out=np.zeros_like(share), where=share > 0.0)[:, None, :]
        rates = masses.steps * per
        found = like._replace(
            product=_by_event(self._products(rates)),
            is_left=np.tile(self.is_left, (end - begin, 1)),
            base=begin,
            per_event=len(patterns),
        )
        if not self.is_left.any():
            # Then nothing else of the rates is looked at.
            return found
        leaving = masses.ends * per
        return found._replace(rates=_by_event(rates[:, :-1]), leaving=_by_event(leaving))

    def _products(self, rates: np.ndarray) -> np.ndarray:
        """Return what the rates from each step on come to, over the factorial of their number."""
        found = np.ones_like(rates)
        for number, length in enumerate(self.lengths):
            for place in range(length - 1, -1, -1):
                # Each is the one after it, by a rate more.
                own = rates[number, place] / (length - place)
                np.multiply(found[number, place + 1], own, out=found[number, place])
        return found

    # As arrays --------------------------------------------------------------------------------

    def dump(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the counts as plain values, and as arrays."""
        known = {
            "values": {name: list(own.known) for name, own in self.values.items()},
            "seen": [self.seen, self.first, self.last, self.solved_at],
            "boundary": self.boundary,
        }
        arrays = {f"raw_{name}": own for name, own in self.raw.dump().items()}
        sums = {"steps": self.steps, "ends": self.ends, "matches": self.matches}
        return known, arrays | {f"online_{name}": own for name, own in sums.items()}

    def load(self, known: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        """Become what `dump` was called of."""
        for name, values in known["values"].items():
            for value in values:
                self.values[name].code(as_key(value))
        self.seen, self.first, self.last, self.solved_at = known["seen"]
        self.boundary = known["boundary"] and tuple(known["boundary"])
        self.steps, self.ends, self.matches = (
            np.array(arrays[f"online_{name}"]) for name in ("steps", "ends", "matches")
        )
        self.raw.load(arrays, "raw_")


class Masses:
    """What was counted before each event of a stretch, by pattern and step, and `after` it."""

    def __init__(self, online: Online, events: Ordered, stretch: Stretch) -> None:
        begin, end = stretch
        batch, patterns = events.batch, online.columns.plan.policy.sequences
        own = slice(int(batch.begin[begin]), int(batch.begin[end]))
        event = np.repeat(np.arange(end - begin), np.diff(batch.begin[begin : end + 1]))
        steps = np.zeros((*online.steps.shape, end - begin + 1))
        ends = np.zeros_like(steps)
        steps[:, :, 0], ends[:, :, 0] = online.steps, online.ends
        for (number, is_end, place), rows in who(online.columns, batch, stretch):
            masses = np.bincount(event[rows], batch.chance[own][rows], end - begin)
            if not is_end:
                steps[number, place, 1:] += masses
            # Where the next event that fits is taken, that ends the wait for it as well.
            if is_end or patterns[number].takes_next:
                ends[number, place, 1:] += masses
        np.cumsum(steps, 2, out=steps)
        if online.is_left.any():
            np.cumsum(ends, 2, out=ends)
        self.steps, self.ends = steps[:, :, :-1], ends[:, :, :-1]
        self.after = steps[:, :, -1].copy(), ends[:, :, -1].copy()


def _is_left(columns: Columns, shape: tuple[int, int]) -> np.ndarray:
    """Return whether a wait from a step on may be ended, by pattern and step."""
    found = np.zeros(shape, np.bool_)
    patterns = columns.plan.policy.sequences
    for plays in columns.plays:
        for number, place, is_end, _ in plays:
            if is_end or patterns[number].takes_next:
                found[number, : place + 1] = True
    return found


def _by_event(found: np.ndarray) -> np.ndarray:
    """Return what is known of patterns and steps, event after event, as rows of patterns."""
    patterns, width, size = found.shape
    return np.ascontiguousarray(found.transpose(2, 0, 1)).reshape(size * patterns, width)
