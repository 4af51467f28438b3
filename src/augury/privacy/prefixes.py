"""The live prefixes of a pattern: what kept events have begun, and what an event would add to it.

A prefix weighs the expected number of times that it is there: the product of its events'
probabilities, of 1 - p for what could have broken it, and under next-match selection of 1 - p for
what would have been taken before. An event costs the prefixes that it can extend.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from augury.privacy.pattern import Event, Face, Forbidden, Held, Key, Order, Pattern, Values
from augury.records import as_key

# Prefixes that are out of the window are looked for when there are twice as many as there were.
FEW = 64


@dataclass(slots=True)
class Prefix:
    """Events that are held, in order. `weight` is for events after `passed`.

    Where one was taken at `passed`, others of equal order still find `before`.
    """

    held: Held
    first: int
    order: Order
    weight: float
    before: float = 0.0
    passed: Order | None = None

    def available(self, order: Order) -> float:
        """Return how much of it an event of that order finds."""
        return self.before if self.passed is not None and self.passed >= order else self.weight

    def pass_by(self, order: Order, mass: float) -> None:
        """Let an event take it, with probability `mass`."""
        if self.passed is None or self.passed < order:
            self.before, self.passed = self.weight, order
        self.weight *= 1.0 - mass


@dataclass
class Prefixes:
    """The prefixes of one pattern by length and equated key, and recent events that may break them.

    With `completes`, whole matches are kept as well, as long as something may still break them.
    """

    pattern: Pattern
    completes: bool = False
    live: list[dict[Key, list[Prefix]]] = field(default_factory=list)
    guards: list[Event] = field(default_factory=list)
    count: int = 0
    limit: int = FEW

    def __post_init__(self) -> None:
        if not self.live:
            self.live = [{} for _ in range(len(self.pattern) + 1)]

    # Looking ----------------------------------------------------------------------------------

    def touched(self, event: Event) -> Iterator[Prefix]:
        """Yield the prefixes that end in the event, each with one step more than it extends."""
        for at, step in enumerate(self.pattern.steps):
            if step.type != event.type:
                continue
            for face in event.faces:
                if face.chance <= 0.0 or not step.fits(face.values):
                    continue
                if at == 0:
                    yield Prefix((face.values,), event.time, event.order, face.chance)
                    continue
                for prefix in self.live[at].get(self.pattern.key(face.values), ()):
                    if self._follows(prefix, event):
                        held = (*prefix.held, face.values)
                        if all(condition(held) for condition in self.pattern.conditions[at]):
                            kept = prefix.available(event.order) * self._unbroken(
                                prefix, event, held
                            )
                            if kept > 0.0 or not (self.pattern.takes_next or self.pattern.guards):
                                weight = kept * face.chance
                                yield Prefix(held, prefix.first, event.order, weight)

    def _follows(self, prefix: Prefix, event: Event) -> bool:
        return event.time - prefix.first <= self.pattern.window and prefix.order < event.order

    def _unbroken(self, prefix: Prefix, event: Event, held: Held) -> float:
        """Return how likely it is that nothing forbidden came between a prefix and the event.

        An event that is forbidden and would be taken counts once, here; see `_pass_by`.
        """
        chance = 1.0
        if self.pattern.forbidden[len(prefix.held)]:
            for each in self.guards:
                if prefix.order < each.order < event.order:
                    chance *= 1.0 - min(1.0, self._ending(prefix, each, held))
        return chance

    def _ending(self, prefix: Prefix, event: Event, held: Held) -> float:
        """Return how likely it is that an event ends the wait of a prefix for its next step."""
        place, mass = len(prefix.held), 0.0
        for face in event.faces:
            alone = Event(event.time, event.tie, event.id, event.type, (face,))
            forbidden = max(each.mass(alone, held) for each in self.pattern.forbidden[place])
            taken = self.pattern.takes_next and self._takes(prefix, event, face)
            mass += face.chance if taken else forbidden
        return mass

    def _takes(self, prefix: Prefix, event: Event, face: Face) -> bool:
        """Whether a prefix would go on with an event, if that happened so."""
        place = len(prefix.held)
        step, held = self.pattern.steps[place], (*prefix.held, face.values)
        return (
            step.type == event.type
            and step.fits(face.values)
            and self.pattern.key(face.values) == self.pattern.key(prefix.held[0])
            and all(condition(held) for condition in self.pattern.conditions[place])
        )

    # Taking in --------------------------------------------------------------------------------

    def add(self, event: Event, found: Iterable[Prefix] | None = None) -> None:
        """Take a kept event in; `found` is what `touched` gave for it."""
        found = list(self.touched(event)) if found is None else found
        if self.pattern.takes_next:
            self._pass_by(event)
        longest = len(self.pattern) if self.completes else len(self.pattern) - 1
        for prefix in found:
            if len(prefix.held) <= longest:
                key = self.pattern.key(prefix.held[0])
                self.live[len(prefix.held)].setdefault(key, []).append(prefix)
                self.count += 1
        if event.type in self.pattern.guards:
            self.guards.append(event)
            self._break_matches(event)
        if self.count > self.limit or len(self.guards) > self.limit:
            self.forget(event.time)

    def _pass_by(self, event: Event) -> None:
        """Let runs go on with the event: a later one finds what is left of them."""
        for at, step in enumerate(self.pattern.steps[1:], 1):
            # What is forbidden there as well is looked at when something else is taken.
            forbidden = {each.step.type for each in self.pattern.forbidden[at]}
            if step.type != event.type or event.type in forbidden:
                continue
            masses: dict[int, tuple[Prefix, float]] = {}
            for face in event.faces:
                if face.chance <= 0.0 or not step.fits(face.values):
                    continue
                for prefix in self.live[at].get(self.pattern.key(face.values), ()):
                    held = (*prefix.held, face.values)
                    if self._follows(prefix, event) and all(
                        condition(held) for condition in self.pattern.conditions[at]
                    ):
                        _, known = masses.get(id(prefix), (prefix, 0.0))
                        masses[id(prefix)] = prefix, known + face.chance
            for prefix, mass in masses.values():
                prefix.pass_by(event.order, min(1.0, mass))

    def _break_matches(self, event: Event) -> None:
        """Lower the matches that the event may break though they are whole."""
        forbidden = self.pattern.forbidden[-1]
        for prefixes in self.live[-1].values() if forbidden else ():
            for prefix in prefixes:
                if self._follows(prefix, event):
                    prefix.weight *= _none_of(forbidden, (event,), prefix.held)

    def forget(self, now: int) -> float:
        """Let go of what is out of the window; return the weight of whole matches that it was."""
        oldest, gone, self.count = now - self.pattern.window, 0.0, 0
        for length, by_key in enumerate(self.live):
            for key in list(by_key):
                kept = [each for each in by_key[key] if each.first >= oldest]
                if length == len(self.pattern):
                    gone += sum(each.weight for each in by_key[key] if each.first < oldest)
                elif self.pattern.takes_next:
                    kept = [each for each in kept if each.weight > 0.0 or _may_tie(each, now)]
                self.count += len(kept)
                by_key[key] = kept
                if not kept:
                    del by_key[key]
        self.guards = [each for each in self.guards if each.time >= oldest]
        self.limit = max(FEW, 2 * self.count, 2 * len(self.guards))
        return gone

    # As a value -------------------------------------------------------------------------------

    def dump(self) -> list[Any]:
        """Return all of it as plain values."""
        lengths = [[list(map(_dumped, own)) for own in each.values()] for each in self.live]
        return [lengths, list(map(event_value, self.guards))]

    def load(self, value: list[Any]) -> None:
        """Become what `dump` returned."""
        lengths, guards = value
        for by_key, own in zip(self.live, lengths, strict=True):
            by_key.clear()
            for prefixes in own:
                made = [_loaded(each) for each in prefixes]
                by_key[self.pattern.key(made[0].held[0])] = made
        self.guards = [event_of(each) for each in guards]
        self.count = sum(len(own) for by_key in self.live for own in by_key.values())
        self.limit = max(FEW, 2 * self.count, 2 * len(self.guards))


@dataclass
class Counted:
    """The expected number of matches of a pattern over the events taken in."""

    prefixes: Prefixes
    total: float = 0.0

    @classmethod
    def of(cls, pattern: Pattern) -> Counted:
        return cls(Prefixes(pattern, completes=bool(pattern.forbidden[-1])))

    def add(self, event: Event) -> None:
        """Take an event in."""
        prefixes, whole = self.prefixes, len(self.prefixes.pattern)
        found = list(prefixes.touched(event))
        if prefixes.completes:
            self.total += prefixes.forget(event.time)
        else:
            self.total += sum(each.weight for each in found if len(each.held) == whole)
        prefixes.add(event, found)

    @property
    def matches(self) -> float:
        """How many there are, those included that may still be broken."""
        waiting = self.prefixes.live[-1].values() if self.prefixes.completes else ()
        return self.total + sum(each.weight for own in waiting for each in own)


def completions_in(pattern: Pattern, prefix: Prefix, events: Iterable[Event]) -> float:
    """Return how often, as expected, some events complete one prefix as if it were sure."""
    counted, sure = Counted.of(pattern), Prefix(prefix.held, prefix.first, prefix.order, 1.0)
    whole = len(pattern) == len(prefix.held)
    if whole and not counted.prefixes.completes:
        return 1.0
    own = counted.prefixes
    own.live[len(prefix.held)][pattern.key(prefix.held[0])] = [sure]
    relevant = pattern.types | pattern.guards
    for event in events:
        if event.type in relevant:
            found = [each for each in own.touched(event) if len(each.held) > 1]
            done = sum(each.weight for each in found if len(each.held) == len(pattern))
            counted.total += 0.0 if own.completes else done
            own.add(event, found)
    return counted.matches


def _none_of(forbidden: tuple[Forbidden, ...], events: Iterable[Event], held: Held) -> float:
    """Return how likely it is that none of some events is forbidden; each counts once."""
    chance = 1.0
    for event in events:
        chance *= 1.0 - _union(forbidden, event, held)
    return chance


def _union(forbidden: tuple[Forbidden, ...], event: Event, held: Held) -> float:
    if len(forbidden) == 1:
        return min(1.0, forbidden[0].mass(event, held))
    mass = 0.0
    for face in event.faces:
        alone = Event(event.time, event.tie, event.id, event.type, (face,))
        mass += max(each.mass(alone, held) for each in forbidden)
    return min(1.0, mass)


def _may_tie(prefix: Prefix, now: int) -> bool:
    """Whether an event of the order at which a run went on may still come."""
    return prefix.passed is not None and prefix.passed[0] >= now


def _dumped(prefix: Prefix) -> list[Any]:
    held = [dict(values) for values in prefix.held]
    passed = None if prefix.passed is None else list(prefix.passed)
    return [held, prefix.first, list(prefix.order), prefix.weight, prefix.before, passed]


def _loaded(value: list[Any]) -> Prefix:
    held, first, order, weight, before, passed = value
    return Prefix(
        tuple(map(_values, held)),
        first,
        order_of(order),
        weight,
        before,
        None if passed is None else order_of(passed),
    )


def _values(written: Values) -> Values:
    """Return attributes as they are told apart: one NaN for all."""
    return {name: as_key(value) for name, value in written.items()}


def order_of(value: list[Any]) -> Order:
    """Return an order that was written as plain values."""
    time, has_tie, tie = value
    return time, has_tie, tuple(tie) if isinstance(tie, list) else tie


def event_value(event: Event) -> list[Any]:
    """Return an event as plain values."""
    faces = [[face.chance, dict(face.values)] for face in event.faces]
    return [event.time, event.tie, event.id, event.type, faces]


def event_of(value: list[Any]) -> Event:
    """Return the event of plain values."""
    time, tie, name, kind, faces = value
    made = tuple(Face(chance, _values(values)) for chance, values in faces)
    return Event(time, tuple(tie) if isinstance(tie, list) else tie, name, kind, made)
