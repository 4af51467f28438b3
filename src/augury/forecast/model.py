"""Which symbol comes next, learned by counting: MARKOV k with its shorter contexts.

Counts are of (context, next symbol) for contexts of 0 to k symbols of a partition, pooled over
partitions, and of each value of BY by itself. A context that nothing followed falls back to the
next shorter one; a value that was never met takes the counts of all. Beside them stand how long the
gaps between neighbours of a partition are, and which share of all events each partition has.
Uncertain events count by expectation. Where counts fade, an event of time t weighs 2^(t / half
life), from some origin: only how counts compare is asked for, so no count has to be touched again.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from augury.kernels.forecast import counting

if TYPE_CHECKING:
    from augury.forecast.batch import Batch, Passing

Context = tuple[int, ...]
Value = Hashable
# Of a distribution over what may have been the last symbols or times, less than that is left out.
NEGLIGIBLE = 1e-18
# After so many half lives since the origin, another is taken.
MANY_HALF_LIVES = 400
# Runs of symbols that are numbered, each with a count.
MOST_RUNS = 2**18


@dataclass(frozen=True, slots=True)
class Seen:
    """An event of a partition as counting sees it: symbol, time, chance, and its value of BY."""

    symbol: int
    time: int
    p: float = 1.0
    value: Value = None


@dataclass
class Counts:
    """Counts of one value, or of all: what followed each context, and the gaps."""

    after: dict[Context, dict[int, float]] = field(default_factory=dict)
    gaps: float = 0.0
    pairs: float = 0.0

    def scale(self, factor: float) -> None:
        """Weigh all counts anew."""
        self.gaps, self.pairs = self.gaps * factor, self.pairs * factor
        for own in self.after.values():
            for symbol in own:
                own[symbol] *= factor

    def add(self, context: Context, symbol: int, weight: float) -> None:
        """Count what followed a context."""
        own = self.after.setdefault(context, {})
        own[symbol] = own.get(symbol, 0.0) + weight

    @property
    def mean_gap(self) -> float | None:
        """The mean time between neighbours; None where none is known."""
        return self.gaps / self.pairs if self.pairs > 0 and self.gaps > 0 else None


@dataclass
class PartitionPast:
    """What one partition has been: its last symbols and the time of its last event.

    Both are distributions where events are uncertain.
    """

    contexts: dict[Context, float] = field(default_factory=lambda: {(): 1.0})
    times: dict[int | None, float] = field(default_factory=lambda: {None: 1.0})


@dataclass
class Model:
    """Learned counts; `order` is k, `smoothing` is added to every symbol that was met.

    `unit` is what an event weighs now; `origin` is when one weighed 1.
    """

    order: int
    smoothing: float = 0.0
    total: Counts = field(default_factory=Counts)
    own: dict[Value, Counts] = field(default_factory=dict)
    lines: dict[Hashable, PartitionPast] = field(default_factory=dict)
    met: dict[Hashable, float] = field(default_factory=dict)
    events: float = 0.0
    by_value: bool = False
    half_life: int | None = None
    origin: int | None = None
    unit: float = 1.0

    # Learning ---------------------------------------------------------------------------------

    def fade_to(self, time: int) -> float:
        """Let time pass; return by what other counts of the same events have to be scaled."""
        if self.half_life is None:
            return 1.0
        if self.origin is None:
            self.origin = time
        factor, lives = 1.0, (time - self.origin) / self.half_life
        if lives > MANY_HALF_LIVES:
            # What is that much older weighs nothing.
            factor = 2.0**-lives if lives < 2 * MANY_HALF_LIVES else 0.0
            for counts in (self.total, *self.own.values()):
                counts.scale(factor)
            self.met = {partition: n * factor for partition, n in self.met.items()}
            self.events, self.origin, lives = self.events * factor, time, 0.0
        self.unit = 2.0**lives
        return factor

    def learn(self, partition: Hashable, events: Iterable[Seen]) -> None:
        """Count the next events of a partition, in their order."""
        line = self.lines.setdefault(partition, PartitionPast())
        for event in events:
            self._count(line, event)
            self.met[partition] = self.met.get(partition, 0.0) + event.p * self.unit
            self.events += event.p * self.unit

    def learn_at_once(self, batch: Batch) -> None:
        """Count events that are certain and weigh the same, of all partitions, in their order."""
        order = np.argsort(batch.partition, kind="stable")
        partition, time = batch.partition[order], batch.time[order]
        known, symbol = np.unique(batch.symbol[order], return_inverse=True)
        # How many of the partition were before.
        first = np.concatenate([[True], partition[1:] != partition[:-1]])
        starts = np.flatnonzero(first)
        before = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
        code, place = np.zeros(len(order), np.int64), np.arange(len(order))
        for length in range(self.order + 1):
            there = before >= length
            if length:
                # Contexts of one length have numbers, whatever their symbols are.
                code[there] += symbol[place[there] - length] * (int(code.max()) + 1)
                code = np.unique(code, return_inverse=True)[1]
            both = code[there] * len(known) + symbol[there]
            _, where, counts = np.unique(both, return_index=True, return_counts=True)
            turn = np.argsort(where)
            firsts = place[there][where[turn]].tolist()
            for at, count in zip(firsts, counts[turn].tolist(), strict=True):
                context = tuple(known[symbol[at - length : at]].tolist())
                self.total.add(context, int(known[symbol[at]]), float(count))
        self.total.pairs += float(len(order) - len(starts))
        self.total.gaps += float(np.diff(time)[~first[1:]].sum())
        self.events += float(len(order))
        for own, count in zip(*np.unique(partition, return_counts=True), strict=True):
            self.met[int(own)] = self.met.get(int(own), 0.0) + float(count)

    def learn_passing(self, passing: Passing) -> None:
        """Do the same with events of one partition, each alone in its order."""
        there = np.bincount(passing.code, minlength=len(passing.masks)) > 0
        known = sorted({mask for mask, met in zip(passing.masks, there, strict=True) if met})
        lengths = range(1, self.order + 2)
        if len(known) ** (self.order + 1) > MOST_RUNS:
            self.learn_at_once(passing.batch())
            return
        place = {mask: k for k, mask in enumerate(known)}
        number_of = np.array([place.get(mask, 0) for mask in passing.masks], np.int64)
        counts = np.zeros((len(lengths), len(known) ** (self.order + 1)), np.int64)
        first, runs = np.zeros_like(counts), np.zeros(len(lengths), np.int64)
        counting.count_runs(passing.code, number_of, len(known), runs, counts, first)
        for length, own, begins in zip(lengths, counts, first, strict=True):
            met = np.flatnonzero(own)
            met = met[np.argsort(begins[met])]
            digits = met[:, None] // len(known) ** np.arange(length - 1, -1, -1) % len(known)
            for run, count in zip(digits.tolist(), own[met].tolist(), strict=True):
                *context, symbol = (known[digit] for digit in run)
                self.total.add(tuple(context), symbol, float(count))
        events = len(passing.code)
        self.total.pairs += float(events - 1)
        self.total.gaps += float(passing.time[-1] - passing.time[0])
        self.events += float(events)
        self.met[passing.partition] = self.met.get(passing.partition, 0.0) + float(events)

    def _count(self, line: PartitionPast, event: Seen) -> None:
        if event.p <= 0.0:
            return
        counts, p = [self.total], event.p * self.unit
        if self.by_value:
            counts.append(self.own.setdefault(event.value, Counts()))
        for context, weight in line.contexts.items():
            for length in range(len(context) + 1):
                for each in counts:
                    each.add(context[len(context) - length :], event.symbol, weight * p)
        for time, weight in line.times.items():
            if time is not None:
                for each in counts:
                    each.pairs += weight * p
                    each.gaps += weight * p * (event.time - time)
        line.contexts = spread_contexts(line.contexts, event.symbol, event.p, self.order)
        line.times = _spread(line.times, event.time, event.p)

    def begin(self) -> None:
        """Let the contexts of a history end: the stream begins anew."""
        self.lines = {}

    # Asking -----------------------------------------------------------------------------------

    @property
    def knows(self) -> bool:
        """Whether anything was learned."""
        return self.events > 0

    def chances(self, context: Context, value: Value) -> dict[int, float]:
        """Return how likely each symbol comes next."""
        counts = self._counts(value)
        for length in range(min(len(context), self.order), -1, -1):
            found = counts.after.get(context[len(context) - length :], {})
            total = sum(found.values())
            if total > 0:
                return self._smoothed(found, total)
        return {}

    def _smoothed(self, found: dict[int, float], total: float) -> dict[int, float]:
        if not self.smoothing:
            return {symbol: count / total for symbol, count in found.items() if count > 0}
        known = self.total.after[()]
        added = self.smoothing * self.unit
        total += added * len(known)
        return {s: (found.get(s, 0.0) + added) / total for s in known}

    def shortened(self, context: Context) -> Context:
        """Return the longest end of a context that anything followed: it tells as much.

        Whatever the value: what followed one may be counted for another value than the context.
        """
        for length in range(min(len(context), self.order), 0, -1):
            tail = context[len(context) - length :]
            if tail in self.total.after:
                return tail
        return ()

    def _counts(self, value: Value) -> Counts:
        return self.own.get(value, self.total)

    def mean_gap(self, value: Value) -> float | None:
        """Return the mean gap of a value; of all where it has none."""
        own = self._counts(value).mean_gap
        return self.total.mean_gap if own is None else own

    def share(self, partition: Hashable) -> float | None:
        """Return which part of all events a partition has; a new one has the mean of all."""
        if not self.events:
            return None
        own = self.met.get(partition, 0.0)
        return own / self.events if own > 0 else 1.0 / sum(1 for n in self.met.values() if n > 0)


def spread_contexts(
    contexts: dict[Context, float], symbol: int, p: float, order: int
) -> dict[Context, float]:
    """Return what the last symbols are after an event that happened with probability p."""
    found: dict[Context, float] = {}
    for context, weight in contexts.items():
        longer = (*context, symbol)[-order:] if order else ()
        for after, chance in ((longer, p), (context, 1.0 - p)):
            if weight * chance > NEGLIGIBLE:
                found[after] = found.get(after, 0.0) + weight * chance
    return found


def _spread(times: dict[int | None, float], time: int, p: float) -> dict[int | None, float]:
    found = {each: w * (1.0 - p) for each, w in times.items() if w * (1.0 - p) > NEGLIGIBLE}
    found[time] = found.get(time, 0.0) + p
    return found
