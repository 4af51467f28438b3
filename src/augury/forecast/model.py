"""Which symbol comes next, learned by counting: MARKOV k with its shorter contexts.

Counts are of (context, next symbol) for contexts of 0 to k symbols of a partition, pooled over
partitions, and of each value of BY by itself. A context that nothing followed falls back to the
next shorter one; a value that was never met takes the counts of all. Beside them stand how long the
gaps between neighbours of a partition are, and which share of all events each partition has.
Uncertain events count by expectation.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

Context = tuple[int, ...]
Value = Hashable
# Of a distribution over what may have been the last symbols or times, less than that is left out.
NEGLIGIBLE = 1e-18


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

    def add(self, context: Context, symbol: int, weight: float) -> None:
        """Count what followed a context."""
        own = self.after.setdefault(context, {})
        own[symbol] = own.get(symbol, 0.0) + weight

    @property
    def mean_gap(self) -> float | None:
        """The mean time between neighbours; None where none is known."""
        return self.gaps / self.pairs if self.pairs > 0 and self.gaps > 0 else None


@dataclass
class Line:
    """What one partition has been: its last symbols and the time of its last event.

    Both are distributions where events are uncertain.
    """

    contexts: dict[Context, float] = field(default_factory=lambda: {(): 1.0})
    times: dict[int | None, float] = field(default_factory=lambda: {None: 1.0})


@dataclass
class Model:
    """Learned counts; `order` is k, `smoothing` is added to every symbol that was met."""

    order: int
    smoothing: float = 0.0
    total: Counts = field(default_factory=Counts)
    own: dict[Value, Counts] = field(default_factory=dict)
    lines: dict[Hashable, Line] = field(default_factory=dict)
    met: dict[Hashable, float] = field(default_factory=dict)
    events: float = 0.0
    by_value: bool = False

    # Learning ---------------------------------------------------------------------------------

    def learn(self, partition: Hashable, events: Iterable[Seen]) -> None:
        """Count the next events of a partition, in their order."""
        line = self.lines.setdefault(partition, Line())
        for event in events:
            self._count(line, event)
            self.met[partition] = self.met.get(partition, 0.0) + event.p
            self.events += event.p

    def _count(self, line: Line, event: Seen) -> None:
        if event.p <= 0.0:
            return
        counts = [self.total]
        if self.by_value:
            counts.append(self.own.setdefault(event.value, Counts()))
        for context, weight in line.contexts.items():
            for length in range(len(context) + 1):
                for each in counts:
                    each.add(context[len(context) - length :], event.symbol, weight * event.p)
        for time, weight in line.times.items():
            if time is not None:
                for each in counts:
                    each.pairs += weight * event.p
                    each.gaps += weight * event.p * (event.time - time)
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
        total += self.smoothing * len(known)
        return {s: (found.get(s, 0.0) + self.smoothing) / total for s in known}

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
