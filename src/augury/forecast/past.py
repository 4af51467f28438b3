"""What has gone by, as forecasts see it: partial matches, and what lives as a whole.

Events of one order are read together. Where events are uncertain, a partial match has a weight for
each token and each run of last symbols that it may have: the worlds in which it is one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

from augury.forecast.machine import ENDLESS, Edge, Machine, Reading, Token
from augury.forecast.model import Context, Value

# (component, number of the event), in the order taken.
Bound = tuple[tuple[int, int], ...]
Worlds = dict[tuple[Token, Context], float]
Wholes = dict[tuple[Reading, Context], float]


class Read(NamedTuple):
    """An event: its number, symbol, time, chance, alternatives (-1: none) and value of BY.

    `seen` are its attributes that conditions over several events look at.
    """

    number: int
    symbol: int
    time: int
    p: float = 1.0
    group: int = -1
    value: Value = None
    seen: tuple[Any, ...] = ()


# What conditions look at of the events of each component, in the order taken.
Items = Mapping[int, Sequence[tuple[Any, ...]]]


@dataclass(frozen=True, slots=True)
class Condition:
    """What several events have to fulfil together: `holds` takes what each component has."""

    components: int
    holds: Callable[[Items], bool]


@dataclass(frozen=True, slots=True)
class Fits:
    """Tells whether more events fit what is bound; `negated` are components, as bits."""

    bound: Bound
    seen: Mapping[int, tuple[Any, ...]]
    conditions: tuple[Condition, ...]
    negated: int

    def __call__(self, added: Bound) -> bool:
        """Return whether all conditions that these decide hold."""
        rows: dict[int, list[tuple[Any, ...]]] = {}
        for component, number in (*self.bound, *added):
            rows.setdefault(component, []).append(self.seen[number])
        own = sum(1 << component for component in rows)
        new = sum(1 << component for component, _ in added)
        return all(
            condition.holds(rows)
            for condition in self.conditions
            if condition.components & new and not condition.components & ~own
        )

    def symbols(self, events: Sequence[Read]) -> int:
        """Return what events fit, negated components only where their conditions hold."""
        found = 0
        for event in events:
            symbol = event.symbol
            for component in range(symbol.bit_length()):
                bit = 1 << component
                if symbol & bit & self.negated and not self(((component, event.number),)):
                    symbol &= ~bit
            found |= symbol
        return found


@dataclass(frozen=True, slots=True)
class Way:
    """What a token becomes: the events it took, and the token after them."""

    taken: Bound
    token: Token


@dataclass
class Life:
    """One partition: its partial matches, and what lives in it as a whole.

    `since` is how many events of the stream it has heard of. `time` is that of its last event, for
    a hidden Markov model. `seen` has the attributes of events that may be bound.
    """

    partial: dict[Bound, Worlds] = field(default_factory=dict)
    whole: Wholes = field(default_factory=dict)
    since: int = 0
    time: int | None = None
    seen: dict[int, tuple[Any, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Past:
    """Follows partial matches; `window` is in time, where the machine does not count events.

    `order` is how many symbols are remembered. `lists` keeps partial matches, `joins` the whole.
    """

    machine: Machine
    order: int
    window: int | None = None
    count_window: int | None = None
    lists: bool = True
    joins: bool = False
    limit: int = 1_000_000
    conditions: tuple[Condition, ...] = ()

    @property
    def empty(self) -> Token:
        """The token before any event; no negated event was ever read."""
        if self.machine.ticks:
            return self.machine.empty
        return Token(clear=(-ENDLESS,) * len(self.machine.leading))

    @property
    def hears_others(self) -> bool:
        """Whether events of other partitions matter."""
        return self.machine.foreign_breaks or self.machine.foreign_ticks

    def start(self) -> Life:
        """Return a partition without any event."""
        life = Life()
        if self.lists:
            life.partial[()] = {(self.empty, ()): 1.0}
        if self.joins:
            life.whole[frozenset([self.empty]), ()] = 1.0
        return life

    def span(self, time: int) -> int:
        """Return what ends a window that begins now: a moment, or a number of events."""
        if self.count_window is not None:
            return self.count_window - 1
        return ENDLESS if self.window is None else time + self.window

    # Events of other partitions ---------------------------------------------------------------

    def hear(self, life: Life, chances: Sequence[float]) -> None:
        """Let events of other partitions pass, one order after the other."""
        for weights in _counted_runs(chances):
            life.partial = {b: self._heard(w, weights) for b, w in life.partial.items()}
            life.partial = {b: w for b, w in life.partial.items() if w}
            wholes: Wholes = {}
            for (reading, context), weight in life.whole.items():
                for count, chance in weights.items():
                    after = self._heard_reading(reading, count)
                    add(wholes, (after, context), weight * chance)
            life.whole = wholes

    def _heard(self, worlds: Worlds, weights: dict[int, float]) -> Worlds:
        found: Worlds = {}
        for (token, context), weight in worlds.items():
            for count, chance in weights.items():
                after = self.machine.passed_by(token, count)
                if after is not None and self.machine.is_alive(after):
                    add(found, (after, context), weight * chance)
        return found

    def _heard_reading(self, reading: Reading, count: int) -> Reading:
        passed = (self.machine.passed_by(token, count) for token in reading)
        alive = [token for token in passed if token is not None and self.machine.is_alive(token)]
        return self.machine.thinned(alive)

    # Own events -------------------------------------------------------------------------------

    def expire(self, life: Life, time: int) -> None:
        """Let go what no event from `time` on can complete."""
        if self.window is None:
            return
        life.partial = {
            bound: worlds
            for bound, worlds in life.partial.items()
            if not bound or next(iter(worlds))[0].left >= time
        }
        wholes: Wholes = {}
        for (reading, context), weight in life.whole.items():
            add(wholes, (frozenset(t for t in reading if t.left >= time), context), weight)
        life.whole = wholes

    def advance(self, life: Life, events: Sequence[Read], others: Sequence[float] = ()) -> None:
        """Read the events of one order; `others` are the chances of those of other partitions."""
        time = events[0].time
        self.expire(life, time)
        self.see(life, events)
        partial: dict[Bound, Worlds] = {}
        wholes: Wholes = {}
        for chance, outcome in self.outcomes(events, others):
            self._list(life, outcome, chance, partial)
            self._join(life, outcome, chance, wholes)
        if len(partial) > self.limit:
            raise PartialLimitError(len(partial))
        life.partial, life.whole = partial, wholes

    def outcomes(
        self, events: Sequence[Read], others: Sequence[float] = ()
    ) -> list[tuple[float, Outcome]]:
        """Return what may have been read at one order, with the probability of each."""
        counts = _count_weights(others) if self.machine.foreign_ticks else {0: 1.0}
        span = self.span(events[0].time)
        return [
            (chance * share, Outcome(tuple(existing), count, span))
            for chance, existing in _outcomes(events)
            for count, share in counts.items()
        ]

    def _list(
        self, life: Life, outcome: Outcome, chance: float, found: dict[Bound, Worlds]
    ) -> None:
        for bound, worlds in life.partial.items():
            fits = self.fits(life, bound)
            for (token, context), weight in worlds.items():
                after = outcome.longer(context, self.order)
                for way in self.told_ways(token, outcome, fits)[1]:
                    own = found.setdefault((*bound, *way.taken), {})
                    add(own, (way.token, after), weight * chance)

    def _join(self, life: Life, outcome: Outcome, chance: float, found: Wholes) -> None:
        for (reading, context), weight in life.whole.items():
            tokens = [way.token for token in reading for way in self.ways(token, outcome)]
            key = self.machine.thinned(tokens), outcome.longer(context, self.order)
            add(found, key, weight * chance)

    def ways(self, token: Token, outcome: Outcome) -> list[Way]:
        """Return what lives of a token after events of one order: extended, and as it is."""
        return self.told_ways(token, outcome)[1]

    def told_ways(
        self, token: Token, outcome: Outcome, fits: Fits | None = None
    ) -> tuple[bool, list[Way]]:
        """Return whether a token was completed, too; an event that does not fit is not taken."""
        if not outcome.events and not outcome.others:
            return False, [Way((), token)]
        found, machine = dict[Bound, Way](), self.machine
        symbols = outcome.symbols if fits is None else fits.symbols(outcome.events)
        for takes, taken in self._takes(token, outcome.events, 0, fits):
            after = machine.taken(token, takes, symbols, outcome.count, outcome.span)
            key = tuple(sorted(taken))
            if after is not None and key not in found:
                found[key] = Way(taken, after)
        ways = [w for w in found.values() if machine.goes_on(w.token) and machine.is_alive(w.token)]
        if not outcome.events:
            passed = machine.passed_by(token, outcome.others)
        elif machine.leaves(token, bool(found)):
            passed = machine.passed(token, symbols, outcome.count, outcome.span)
        else:
            passed = None
        if passed is not None and machine.is_alive(passed):
            ways.append(Way((), passed))
        return any(machine.accepting[way.token.state] for way in found.values()), ways

    def _takes(
        self, at: Token, events: Sequence[Read], used: int, fits: Fits | None = None
    ) -> Iterator[tuple[list[tuple[Edge, int]], Bound]]:
        """Yield every way to take some of the events; only components without an order share one.

        `used` are the components taken so far.
        """
        machine = self.machine
        for event in events:
            for edge in machine.takes(at, event.symbol, _fitting(fits, event.number)):
                own = 1 << edge.component
                if used and not self._may_share(edge.component, used):
                    continue
                rest = [other for other in events if other is not event]
                first = [(edge, event.symbol)], ((edge.component, event.number),)
                onward = at._replace(state=edge.target, bound=at.bound | own)
                more = list(self._takes(onward, rest, used | own, fits)) if rest else []
                for takes, taken in more:
                    yield first[0] + takes, first[1] + taken
                if not more or machine.strategy == "ANY":
                    yield first

    # Conditions over several events -----------------------------------------------------------

    def see(self, life: Life, events: Sequence[Read]) -> None:
        """Remember what conditions look at, of events that may be bound."""
        if not self.conditions:
            return
        if len(life.seen) > 64 + 2 * len(life.partial):
            alive = {number for bound in life.partial for _, number in bound}
            life.seen = {number: own for number, own in life.seen.items() if number in alive}
        life.seen.update((event.number, event.seen) for event in events)

    def fits(self, life: Life, bound: Bound) -> Fits | None:
        """Return what tells whether more events fit what is bound."""
        if not self.conditions:
            return None
        negated = sum(1 << guard.component for guard in self.machine.guards)
        return Fits(bound, life.seen, self.conditions, negated)

    def _may_share(self, component: int, used: int) -> bool:
        """Return whether a component's event may have the order of those taken already."""
        before = self.machine.before
        after = any(used >> c & 1 and before[c] >> component & 1 for c in range(len(before)))
        return not (before[component] & used or after)


@dataclass(frozen=True)
class Outcome:
    """What was read at one order: the events that happened, and how many others did."""

    events: tuple[Read, ...]
    others: int
    span: int

    @property
    def symbols(self) -> int:
        found = 0
        for event in self.events:
            found |= event.symbol
        return found

    @property
    def count(self) -> int:
        return len(self.events) + self.others

    def longer(self, context: Context, order: int) -> Context:
        """Return the last symbols after these events."""
        if not order:
            return ()
        return (*context, *(event.symbol for event in self.events))[-order:]


class PartialLimitError(Exception):
    """There are more partial matches than the limit allows."""


class RowLimitError(Exception):
    """More rows would be told at once than the limit allows."""


def _fitting(fits: Fits | None, number: int) -> Callable[[int], bool] | None:
    """Return whether an event fits as a component."""
    return None if fits is None else lambda component: fits(((component, number),))


def add(found: dict, key: Hashable, weight: float) -> None:  # type: ignore[type-arg]
    """Add to a weight, unless there is nothing to add."""
    if weight > 0.0:
        found[key] = found.get(key, 0.0) + weight


def _outcomes(events: Sequence[Read]) -> Iterator[tuple[float, list[Read]]]:
    """Yield which of the events happened, with the probability of that."""
    groups: dict[Hashable, list[Read]] = {}
    for at, event in enumerate(events):
        groups.setdefault(("of", event.group) if event.group >= 0 else at, []).append(event)
    choices = [_choices(own) for own in groups.values()]
    for chosen in product(*choices):
        weight = 1.0
        for chance, _ in chosen:
            weight *= chance
        if weight > 0.0:
            happened = {event.number for _, event in chosen if event is not None}
            yield weight, [event for event in events if event.number in happened]


def _choices(alternatives: list[Read]) -> list[tuple[float, Read | None]]:
    none = 1.0 - sum(event.p for event in alternatives)
    found: list[tuple[float, Read | None]] = [(event.p, event) for event in alternatives]
    return [*found, (none, None)] if none > 1e-12 else found


def _count_weights(chances: Sequence[float]) -> dict[int, float]:
    """Return how many of some events happened, as a distribution."""
    found = {0: 1.0}
    for p in chances:
        after: dict[int, float] = {}
        for count, weight in found.items():
            add(after, count + 1, weight * p)
            add(after, count, weight * (1.0 - p))
        found = after
    return found


def _counted_runs(chances: Sequence[float]) -> Iterator[dict[int, float]]:
    """Yield how many events happened, runs of certain ones at once."""
    certain = 0
    for p in chances:
        if p >= 1.0:
            certain += 1
            continue
        if certain:
            yield {certain: 1.0}
            certain = 0
        yield _count_weights([p])
    if certain:
        yield {certain: 1.0}
