"""Forecasts by enumeration: every past, every future, and the matches in each of these worlds.

Written from the language's own words. A future is a run of events, as likely as the model says; the
matches of past and future together are those of `selection`, and a partial match completes where
one of them has its completing event within the horizon, and exactly it as its part in the past.
Only what is told after the last events of a stream is worked out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise, product
from math import comb, exp, factorial, inf
from typing import Any, Literal

from oracles.model import Event, Next, Query
from oracles.plan import Plan, can_finish, prepare
from oracles.selection import Match, answers, before

Symbol = frozenset[str]
Part = frozenset[tuple[str, tuple[Any, ...]]]
# (forecast, expected); expected is None where the forecast is 0.
Told = tuple[float, float | None]
OTHER = "another partition"


@dataclass(frozen=True, eq=False)
class Ask:
    """A forecast: of which query, how far ahead, and how the stream goes on.

    `kinds` are the types of all events there are. `unit` is what the horizon counts: events of the
    partition, of the stream, or time. `by` names the attribute whose values have counts of their
    own. What was counted weighs half as much after `half_life`.
    """

    query: Query
    length: int
    kinds: tuple[str, ...]
    unit: Literal["events", "stream", "time"] = "events"
    order: int = 0
    smoothing: float = 0.0
    learns: Literal["history", "online", "both"] = "history"
    by: str | None = None
    steady: bool = False
    half_life: int | None = None


@dataclass(frozen=True)
class Answer:
    """What is told: of the query, and of each partial match with its confidence."""

    whole: Told | None
    partial: dict[Part, tuple[float, float, float | None]]


def forecast(ask: Ask, history: Sequence[Event], stream: Sequence[Event]) -> Answer:
    """Return what is told after the last events of a stream."""
    return _Enumeration(ask, prepare(ask.query), history, stream).answer()


class _Enumeration:
    def __init__(
        self, ask: Ask, plan: Plan, history: Sequence[Event], stream: Sequence[Event]
    ) -> None:
        self.ask, self.plan = ask, plan
        self.stream = sorted(stream, key=lambda e: e.ts)
        self.last = self.stream[-1]
        self.own = self.partition(self.last)
        taught = list(history) if ask.learns != "online" else []
        gone = [e for e in self.stream if before(e, self.last)] if ask.learns != "history" else []
        self.lessons = [taught, gone]
        self.counts = self._counted()

    def faded(self, event: Event) -> float:
        """Return what an event weighs at the time of the last one."""
        half_life = self.ask.half_life
        return 1.0 if half_life is None else 0.5 ** ((self.last.ts - event.ts) / half_life)

    def partition(self, event: Event) -> Any:
        """Return what tells partitions apart."""
        by_key = self.ask.query.strategy == "partition" or isinstance(self.ask.query.pattern, Next)
        equated = tuple(event.attrs.get(name) for name in self.ask.query.equate)
        return (*equated, event.key) if by_key else equated

    def symbol(self, kind: str | None) -> Symbol:
        """Return the components that an event fits by itself."""
        places = self.plan.places.items()
        return frozenset(n for n, place in places if place.comp.type in (None, kind))

    # --- the model ---

    def _counted(self) -> dict[tuple[Symbol, ...], dict[Symbol, float]]:
        """Return what followed each context in every world of what is learned from."""
        every = [e for lesson in self.lessons for e in lesson]
        self.met = {self.symbol(e.type) for e in every if e.p > 0}
        value = self.last.attrs.get(self.ask.by) if self.ask.by else None
        is_met = any(e.attrs.get(self.ask.by) == value for e in every) if self.ask.by else False
        counts: dict[tuple[Symbol, ...], dict[Symbol, float]] = {}
        for lesson in self.lessons:
            for weight, world in worlds(lesson):
                for run in self._runs(world):
                    for at, event in enumerate(run):
                        if is_met and event.attrs.get(self.ask.by) != value:
                            continue
                        symbols = [self.symbol(e.type) for e in run[:at]]
                        for length in range(min(at, self.ask.order) + 1):
                            context = tuple(symbols[at - length :])
                            own = counts.setdefault(context, {})
                            symbol = self.symbol(event.type)
                            own[symbol] = own.get(symbol, 0.0) + weight * self.faded(event)
        return counts

    def _runs(self, world: Sequence[Event]) -> list[list[Event]]:
        runs: dict[Any, list[Event]] = {}
        for event in sorted(world, key=lambda e: e.ts):
            runs.setdefault(self.partition(event), []).append(event)
        return list(runs.values())

    def chances(self, context: tuple[Symbol, ...]) -> dict[Symbol, float]:
        """Return how likely each symbol comes next: by the longest context that has a follower."""
        for length in range(min(len(context), self.ask.order), -1, -1):
            found = self.counts.get(context[len(context) - length :])
            if found:
                total = sum(found.values()) + self.ask.smoothing * len(self.met)
                return {s: (found.get(s, 0.0) + self.ask.smoothing) / total for s in self.met}
        return {}

    @property
    def share(self) -> float:
        """Return which part of all events is of this partition; the mean one of a new partition."""
        counts: dict[Any, float] = {}
        for event in (e for lesson in self.lessons for e in lesson):
            own = self.partition(event)
            counts[own] = counts.get(own, 0.0) + event.p * self.faded(event)
        total = sum(counts.values())
        return counts.get(self.own, total / len(counts)) / total

    @property
    def gap(self) -> Fraction | None:
        """Return the mean time between neighbours of a partition."""
        gaps = [
            b.ts - a.ts
            for lesson in self.lessons
            for run in self._runs(lesson)
            for a, b in pairwise(run)
        ]
        return Fraction(sum(gaps), len(gaps)) if gaps and sum(gaps) else None

    # --- futures ---

    def _event(self, number: int, time: Any, symbol: Symbol | None) -> Event:
        """Return an event to come; None is one of another partition."""
        if symbol is None:
            attrs = dict.fromkeys(self.ask.query.equate, OTHER)
            return Event(f"future {number}", time, "none", attrs=attrs, key=(OTHER,))
        kind = next(k for k in (*self.ask.kinds, "none") if self.symbol(k) == symbol)
        return Event(f"future {number}", time, kind, attrs=self.last.attrs, key=self.last.key)

    def words(
        self, steps: int, context: tuple[Symbol, ...]
    ) -> Iterator[tuple[float, list[tuple[int, Symbol | None]]]]:
        """Yield runs of symbols to come, each with its step, and their probability."""
        if steps == 0:
            yield 1.0, []
            return
        for weight, foreign in self._foreign():
            for symbol, chance in self._next(context).items():
                if weight * chance <= 0:
                    continue
                longer = context if symbol is None else (*context, symbol)
                for rest, word in self.words(steps - 1, longer):
                    others: list[tuple[int, Symbol | None]] = [(0, None)] * foreign
                    yield weight * chance * rest, [*others, (1, symbol), *word]

    def _next(self, context: tuple[Symbol, ...]) -> dict[Symbol | None, float]:
        own = self.chances(context)
        if self.ask.unit != "stream" or not self._is_parted:
            return dict(own)
        found: dict[Symbol | None, float] = {s: self.share * p for s, p in own.items()}
        return {**found, None: 1.0 - self.share}

    @property
    def _is_parted(self) -> bool:
        return self.own != ()

    def _foreign(self) -> list[tuple[float, int]]:
        """Return how many events of others come first, and how likely that is.

        More of them than can matter are as many as can: one ends contiguity, a window's worth of
        them ends a window.
        """
        query = self.ask.query
        counted = query.within[1] if query.within and query.within[0] == "events" else 0
        most = max(counted, 1 if query.strategy == "strict" else 0)
        if not self._is_parted or self.ask.unit == "stream" or not most:
            return [(1.0, 0)]
        s = self.share
        return [*(((1 - s) ** k * s, k) for k in range(most)), ((1 - s) ** most, most)]

    def _beyond(self) -> int:
        """Return how many steps after the horizon may decide a negation at the end."""
        within = self.ask.query.within
        trailing = any(not n.after for n in self.plan.negations.get((), []))
        if within is None or not trailing:
            return 0
        if within[0] == "events":
            return within[1] - 1
        assert self.gap is not None
        return int(within[1] / self.gap)

    # --- completing ---

    def _completions(
        self, seen: list[Event], future: list[tuple[int, Event]]
    ) -> Iterator[tuple[Part, int]]:
        """Yield the past part of each match that completes in the future, and with which step."""
        steps, count = {}, 0
        for step, event in future:
            count += step
            steps[event.id] = count
        for match in answers(self.plan, [*seen, *(event for _, event in future)]):
            last = self._completing(match)
            if last.id in steps and self._is_own(match):
                past = [
                    (name, tuple(e.id for e in taken if e.id not in steps))
                    for name, taken in match.bound.items()
                ]
                yield frozenset((name, ids) for name, ids in past if ids), steps[last.id]

    def _is_own(self, match: Match) -> bool:
        return all(self.partition(e) == self.own for e in match.events)

    def _completing(self, match: Match) -> Event:
        """Return the last event; of a run, the one that gives every repetition its minimum."""
        if self.ask.query.strategy == "any":
            return match.events[-1]
        needed = []
        for name, taken in match.bound.items():
            least = self.plan.bounds[name][0]
            needed += list(taken[:least])
        order = {e.id: k for k, e in enumerate(match.events)}
        return max(needed, key=lambda e: order[e.id])

    def _is_complete(self, part: Part) -> bool:
        return can_finish(self.plan, self.plan.root, dict(part))

    # --- answers ---

    def answer(self) -> Answer:
        """Return what is told, summed over the worlds of the past."""
        if not self.counts or (self._needs_gap and self.gap is None):
            return Answer(None, {})
        whole, partial = _Sum(), dict[Part, _Sum]()
        confidence: dict[Part, float] = {}
        for weight, seen in worlds(self.stream):
            for chance, first in self._firsts(seen):
                for part, (share, step) in first.items():
                    own = whole if part is None else partial.setdefault(part, _Sum())
                    own.add(weight * chance * share, step)
            for part in self._conceivable(seen):
                confidence[part] = confidence.get(part, 0.0) + weight
        return Answer(
            whole.told,
            {p: (confidence[p], *own.told) for p, own in partial.items() if own.total > 0},
        )

    @property
    def _needs_gap(self) -> bool:
        within = self.ask.query.within
        return self.ask.unit == "time" or bool(within and within[0] == "time")

    def _firsts(
        self, seen: list[Event]
    ) -> Iterator[tuple[float, dict[Part | None, tuple[float, float]]]]:
        """Yield for each future the first completion: of every partial match, and of any match."""
        symbols = tuple(self.symbol(e.type) for e in seen if self.partition(e) == self.own)
        context = symbols[len(symbols) - self.ask.order :] if self.ask.order else ()
        gap = self.gap if self._needs_gap else Fraction(1)
        assert gap is not None
        steps = self.ask.length
        if self.ask.unit == "time":
            steps = int(self.ask.length / gap)
        for weight, word in self.words(steps + self._beyond(), context):
            future = self._placed(word, gap)
            first: dict[Part | None, tuple[float, float]] = {}
            for part, step in self._completions(seen, future):
                if step > steps:
                    continue
                told = float(step * gap) if self.ask.unit == "time" else float(step)
                for own in (None, part):
                    if own is None or (own and not self._is_complete(own)):
                        best = first.get(own, (1.0, told))[1]
                        first[own] = (1.0, min(best, told))
            yield weight, first

    def _placed(
        self, word: list[tuple[int, Symbol | None]], gap: Fraction
    ) -> list[tuple[int, Event]]:
        """Return a run to come as events: each step a gap later, others just before their step."""
        future, place = [], 0
        for number, (step, symbol) in enumerate(word):
            place += step
            early = 0 if step else Fraction(len(word) - number, 1000 * len(word))
            time = self.last.ts + (place + 1 - step) * gap - early * gap
            future.append((step, self._event(number, time, symbol)))
        return future

    def _conceivable(self, seen: list[Event]) -> set[Part]:
        """Return the partial matches of a certain past: some future completes them."""
        within = self.ask.query.within
        most = 3 if within is None else max(3, within[1] if within[0] == "events" else 3)
        found: set[Part] = set()
        kinds = [self.symbol(kind) for kind in self.ask.kinds]
        for word in product(dict.fromkeys(kinds), repeat=min(most, 4)):
            small = Fraction(1, 1000)
            future = [
                (1, self._event(k, self.last.ts + small * (k + 1), s)) for k, s in enumerate(word)
            ]
            found |= {part for part, _ in self._completions(seen, future)}
        return {part for part in found if part and not self._is_complete(part)}


class _Sum:
    def __init__(self) -> None:
        self.total, self.mean = 0.0, 0.0

    def add(self, weight: float, step: float) -> None:
        self.total += weight
        self.mean += weight * step

    @property
    def told(self) -> Told:
        return (self.total, self.mean / self.total) if self.total > 0 else (0.0, None)


def worlds(events: Sequence[Event]) -> Iterator[tuple[float, list[Event]]]:
    """Yield which of some events happened, with the probability of that."""
    if not events:
        yield 1.0, []
        return
    *rest, last = events
    for weight, world in worlds(rest):
        if last.p > 0:
            yield weight * last.p, [*world, last]
        if last.p < 1:
            yield weight * (1 - last.p), world


def erlang(mean: float, count: int) -> float:
    """Return P(at least `count` arrivals), where `mean` of them are expected."""
    if mean == inf:
        return 1.0
    return sum(exp(-mean) * mean**j / factorial(j) for j in range(count, count + 60))


def with_poisson(ask: Ask, gap: float, left: float, first: Sequence[float]) -> Told:
    """Return what is told where the k-th event of the future completes with chance first[k - 1].

    `left` is how much time the window leaves. Arrivals are Poisson, with a mean gap.
    """
    within = min(left, ask.length) if ask.unit == "time" else left
    total = mean = 0.0
    for k, chance in enumerate(first, 1):
        if ask.unit == "events" and k > ask.length:
            break
        total += chance * erlang(within / gap, k)
        # The mean of the k-th arrival's time, as far as it lies within.
        timed = k * gap * erlang(within / gap, k + 1)
        mean += chance * (timed if ask.unit == "time" else k * erlang(within / gap, k))
    return (total, mean / total) if total > 0 else (0.0, None)


def confirmed(
    ask: Ask, history: Sequence[Event], stream: Sequence[Event], most: int
) -> dict[Part, Told]:
    """Return what is told of partial matches whose negation at the end is waited for.

    Arrivals are Poisson. Until the window of a partial match ends, at most `most` events come, at
    times that are drawn alike; where among them one completes is told by enumeration.
    """
    every = _Enumeration(ask, prepare(ask.query), history, stream)
    window, now = ask.query.within, every.last.ts
    assert window is not None
    found: dict[Part, Told] = {}
    if not every.counts or every.gap is None:
        return found
    symbols = tuple(every.symbol(e.type) for e in every.stream)
    context = symbols[len(symbols) - ask.order :] if ask.order else ()
    for part in every._conceivable(every.stream):
        start = min(e.ts for e in every.stream for _, ids in part if e.id in ids)
        left = start + window[1] - now
        total, mean = 0.0, 0.0
        for count in range(1, most + 1) if left > 0 else ():
            times = [now + Fraction(left * (k + 1), count + 2) for k in range(count)]
            rate = left / float(every.gap)
            arrive = exp(-rate) * rate**count / factorial(count)
            for chance, word in every.words(count, context):
                future = [
                    (1, every._event(k, time, symbol))
                    for k, (time, (_, symbol)) in enumerate(zip(times, word, strict=True))
                ]
                steps = [s for own, s in every._completions(every.stream, future) if own == part]
                if not steps:
                    continue
                first, weight = min(steps), arrive * chance
                if ask.unit == "events":
                    total += weight * (first <= ask.length)
                    mean += weight * first * (first <= ask.length)
                else:
                    share = min(ask.length / left, 1.0)
                    total += weight * _at_least(count, first, share)
                    # The mean of the k-th of n times, as far as it lies within.
                    timed = left * first / (count + 1)
                    mean += weight * timed * _at_least(count + 1, first + 1, share)
        if total > 0:
            found[part] = total, mean / total
    return found


def _at_least(count: int, least: int, share: float) -> float:
    """Return P(at least so many of `count` lie in a share of the time)."""
    ways = (comb(count, k) * share**k * (1 - share) ** (count - k) for k in range(least, count + 1))
    return sum(ways)


def unwindowed(ask: Ask) -> Ask:
    """Return the same forecast of a query without its window."""
    return replace(ask, query=replace(ask.query, within=None))


def expiring(ask: Ask, history: Sequence[Event], stream: Sequence[Event], most: int) -> Told | None:
    """Return what is told of the query as a whole, with Poisson arrivals and a window in time.

    The horizon is no longer than the window, so only what has begun by now can expire, each at its
    own moment. Between two such moments it does not matter when an event comes: at most `most`
    events are placed in the pieces in every way, each way as likely as Poisson numbers have it.
    The mean time is the integral of what is left: it is summed piece by piece.
    """
    every = _Enumeration(ask, prepare(ask.query), history, stream)
    if not every.counts or every.gap is None:
        return None
    now, window = every.last.ts, ask.query.within
    assert window is not None
    ends = sorted(
        {e.ts + window[1] - now for e in stream if 0 <= e.ts + window[1] - now < ask.length}
    )
    cuts = [0, *(end for end in ends if end > 0), ask.length]
    pieces = [(a, b) for a, b in pairwise(cuts) if b > a]
    rate = 1.0 / float(every.gap)
    seen = every.stream
    symbols = tuple(every.symbol(e.type) for e in seen)
    context = symbols[len(symbols) - ask.order :] if ask.order else ()
    total = mean = 0.0
    for counts in product(range(most + 1), repeat=len(pieces)):
        if sum(counts) > most or not sum(counts):
            continue
        weight = 1.0
        for (a, b), count in zip(pieces, counts, strict=True):
            x = rate * (b - a)
            weight *= exp(-x) * x**count / factorial(count)
        # The times of the events: k of n in a piece lie, in the mean, at k / (n + 1) of it.
        times = [
            a + Fraction((b - a) * (k + 1), n + 1)
            for (a, b), n in zip(pieces, counts, strict=True)
            for k in range(n)
        ]
        for chance, word in every.words(sum(counts), context):
            future = [
                (1, every._event(k, now + time, symbol))
                for k, (time, (_, symbol)) in enumerate(zip(times, word, strict=True))
            ]
            steps = [step for _, step in every._completions(seen, future)]
            if steps:
                total += weight * chance
                mean += weight * chance * float(times[min(steps) - 1])
    return (total, mean / total) if total > 0 else (0.0, None)
