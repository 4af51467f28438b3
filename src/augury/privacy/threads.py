"""What kept events have begun of a machine's pattern: threads, each with a weight.

A thread weighs the expected number of beginnings that look alike: same state, equated values and
first time, and where conditions look back the same events. Events of equal order are one batch:
what they break or take shows once the order moves on, for neither lies between the other and a
third.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from augury.config import value_of
from augury.errors import DataError
from augury.privacy.machine import Bans, Machine, State, Taken
from augury.privacy.pattern import Event, Face, Key, Order, Values
from augury.privacy.prefixes import event_of, event_value, order_of
from augury.records import as_key

# Times at which something banned before the first event may have come, and how likely.
Early = tuple[tuple[int, float], ...]
# Threads out of the window are looked for when there are twice as many as there were.
FEW = 64
LEAST = 5e-324


@dataclass(slots=True)
class Thread:
    """Beginnings that look alike. `fresh` tells components that hold events of the last order.

    `early` are bans before the first event: a match that ends within a window of one has not
    happened if that was there.
    """

    state: int
    key: Key
    first: int
    last: int
    weight: float
    early: Early = ()
    held: Taken = field(default_factory=dict)
    fresh: dict[int, int] = field(default_factory=dict)

    def unharmed(self, time: int, window: int) -> float:
        """Return how likely it is that nothing banned lies before a match that ends at a time."""
        chance = 1.0
        for banned, mass in self.early:
            if banned >= time - window:
                chance *= 1.0 - mass
        return chance


@dataclass
class Threads:
    """The threads of a machine; with `counts` whole matches are kept and counted, too."""

    machine: Machine
    counts: bool = False
    begins: bool = True
    live: dict[tuple[Key, int], dict[Any, Thread]] = field(default_factory=dict)
    fresh: list[Thread] = field(default_factory=list)
    batch: list[tuple[int, Event]] = field(default_factory=list)
    early: list[Event] = field(default_factory=list)
    order: Order | None = None
    taken: int = 0
    count: int = 0
    limit: int = FEW
    totals: dict[frozenset[str], float] = field(default_factory=dict)
    most: int = field(default_factory=lambda: value_of("policy_beginning_limit"))

    # Looking ----------------------------------------------------------------------------------

    def touched(self, event: Event) -> list[Thread]:
        """Return the threads that end in the event, each with one event more than it goes on."""
        self.move_on(event.order)
        found = list[Thread]()
        for face in event.faces:
            if face.chance > 0.0:
                found += self._begun(event, face) if self.begins else ()
                found += self._longer(event, face)
        return found

    def _begun(self, event: Event, face: Face) -> Iterator[Thread]:
        machine = self.machine
        for take in machine.states[0].takes:
            player = take.player
            if take.target is None or not player.plays(event.type, face.values):
                continue
            held: Taken = {player.component: (face.values,)}
            if machine.recalls and not machine.holds(held, machine.states[take.target].done):
                continue
            key = machine.key(face.values)
            early = self._early(event, player.component, key, held)
            yield Thread(
                take.target,
                key,
                event.time,
                event.time,
                face.chance,
                early,
                held if machine.recalls else {},
                {player.component: self.taken},
            )

    def _early(self, event: Event, component: int, key: Key, held: Taken) -> Early:
        """Return what may have come before the first event that must not."""
        bans = [
            ban
            for ban in self.machine.bans
            if component in ban.later and component not in ban.earlier
        ]
        found = []
        for each in self.early if bans else ():
            if each.order < event.order and each.time >= event.time - self.machine.window:
                mass = sum(
                    face.chance
                    for face in each.faces
                    if any(
                        ban.plays(each.type, face.values)
                        and self.machine.key(face.values) == key
                        and ban.breaks(held, face.values)
                        for ban in bans
                    )
                )
                if mass:
                    found.append((each.time, min(1.0, mass)))
        return tuple(found)

    def _longer(self, event: Event, face: Face) -> Iterator[Thread]:
        machine = self.machine
        if any(face.values.get(column) is None for column in machine.equated):
            return
        key = machine.key(face.values)
        settled = (
            thread
            for state in machine.taking.get(event.type or "", ())
            for thread in self.live.get((key, state), {}).values()
        )
        for thread in (*settled, *self.fresh):
            if thread.key != key or event.time - thread.first > machine.window:
                continue
            for way in self._ways(thread, event, face.values):
                take = machine.states[thread.state].takes[way]
                if take.target is None:
                    continue
                component = take.player.component
                yield Thread(
                    take.target,
                    key,
                    thread.first,
                    event.time,
                    max(LEAST, thread.weight * face.chance) if thread.weight else 0.0,
                    thread.early,
                    _with(thread.held, component, face.values) if machine.recalls else {},
                    {**thread.fresh, component: self.taken},
                )

    def _ways(self, thread: Thread, event: Event, values: Values) -> list[int]:
        """Return which ways a thread takes with an event: under next-match selection the first."""
        machine, found = self.machine, list[int]()
        for way, take in enumerate(machine.states[thread.state].takes):
            player = take.player
            if not player.plays(event.type, values) or player.after & thread.fresh.keys():
                continue
            if machine.recalls:
                held = _with(thread.held, player.component, values)
                target = take.target
                done = machine.states[target].done if target is not None else frozenset[int]()
                if not machine.holds(held, done):
                    continue
            found.append(way)
            if machine.takes_next:
                break
        return found

    # Taking in --------------------------------------------------------------------------------

    def add(self, event: Event, found: Iterable[Thread] | None = None) -> None:
        """Take a kept event in; `found` is what `touched` gave for it."""
        found = self.touched(event) if found is None else found
        for thread in found:
            state = self.machine.states[thread.state]
            if self.counts or state.takes or state.open:
                self.fresh.append(thread)
        if event.type in self.machine.guards or self.machine.takes_next:
            self.batch.append((self.taken, event))
        if event.type in self.machine.guards:
            self.early.append(event)
        self.taken += 1

    def move_on(self, order: Order) -> None:
        """Go on to an order: what is of the one before has broken what it breaks."""
        if self.order is not None and self.order >= order:
            return
        batch, self.batch, self.order = self.batch, [], order
        moved = [t for own in self.live.values() for t in own.values()] if batch else []
        fresh, self.fresh = self.fresh, []
        if batch:
            self.live, self.count = {}, 0
        for thread in (*moved, *fresh):
            for left in self.after(thread, batch) if batch else (thread,):
                self._store(left)
        if self.count > self.limit or len(self.early) > self.limit:
            self.forget(order[0])

    def _store(self, thread: Thread) -> None:
        thread.fresh = {}
        own = self.live.setdefault((thread.key, thread.state), {})
        tag: Any = self._tag(thread)
        if tag in own:
            own[tag].weight += thread.weight
        else:
            own[tag] = thread
            self.count += 1
            if self.count > self.most:
                raise DataError(
                    f"query {self.machine.name} has more than {self.most:,} beginnings at once "
                    "that a policy follows; make its WITHIN shorter, leave conditions on "
                    "repetitions out, or set policy_beginning_limit"
                )

    def _tag(self, thread: Thread) -> Any:
        """Return what tells threads apart."""
        if self.machine.recalls:
            return object()
        last = thread.last if thread.early and self.counts else None
        return thread.first, thread.early, last

    def after(self, thread: Thread, batch: list[tuple[int, Event]]) -> list[Thread]:
        """Return what is left of a thread after a batch of equal order.

        What a thread holds neither takes nor breaks it.
        """
        left = [replace(thread)]
        for number, event in batch:
            if number in thread.fresh.values() or event.time - thread.first > self.machine.window:
                continue
            left = [part for each in left for part in self._parted(each, event)]
        return left

    def _parted(self, thread: Thread, event: Event) -> Iterator[Thread]:
        """Yield what an event makes of a thread that it does not lengthen."""
        gone, spoiled = 0.0, dict[int | None, float]()
        state = self.machine.states[thread.state]
        for face in event.faces:
            if face.chance <= 0.0 or not self._same_key(thread, face.values):
                continue
            if self.machine.takes_next and self._ways(thread, event, face.values):
                gone += face.chance
                continue
            broken = self._broken(state, thread, event, face.values)
            if broken:
                target = state.spoiled[broken]
                if target != thread.state:
                    gone += face.chance
                    spoiled[target] = spoiled.get(target, 0.0) + face.chance
        if not gone:
            yield thread
            return
        whole = thread.weight
        thread.weight = whole * (1.0 - min(1.0, gone))
        if thread.weight > 0.0:
            yield thread
        for target, mass in spoiled.items():
            if target is not None:
                yield replace(thread, state=target, weight=whole * mass)

    def _same_key(self, thread: Thread, values: Values) -> bool:
        return not self.machine.equated or self.machine.key(values) == thread.key

    def _broken(self, state: State, thread: Thread, event: Event, values: Values) -> Bans:
        return frozenset(
            k
            for k in state.open
            if (ban := self.machine.bans[k]).plays(event.type, values)
            and not ban.earlier & thread.fresh.keys()
            and ban.breaks(thread.held, values)
        )

    def forget(self, now: int) -> None:
        """Let go of what is out of the window, and count the matches among it."""
        oldest, self.count = now - self.machine.window, 0
        for key in list(self.live):
            own = self.live[key]
            for tag in [tag for tag, thread in own.items() if thread.first < oldest]:
                self._count(own.pop(tag), self.totals)
            self.count += len(own)
            if not own:
                del self.live[key]
        self.early = [each for each in self.early if each.time >= oldest]
        self.limit = max(FEW, 2 * self.count, 2 * len(self.early))

    # Counting ---------------------------------------------------------------------------------

    def _count(self, thread: Thread, totals: dict[frozenset[str], float]) -> None:
        """Count what a thread is if nothing more comes."""
        machine = self.machine
        state = machine.states[thread.state]
        if self.counts and state.accepts and self.is_whole(thread):
            types = machine.types_held(thread.state)
            weight = thread.weight * thread.unharmed(thread.last, machine.window)
            totals[types] = totals.get(types, 0.0) + weight

    def is_whole(self, thread: Thread) -> bool:
        """Whether all conditions hold of a match that is over."""
        machine = self.machine
        return not machine.recalls or machine.holds(thread.held, frozenset(machine.players))

    def matches(self) -> dict[frozenset[str], float]:
        """Return the expected matches by the types that they are made of."""
        totals = dict(self.totals)
        for own in self.live.values():
            for thread in own.values():
                for left in self.after(thread, self.batch):
                    self._count(left, totals)
        for thread in self.fresh:
            for left in self.after(thread, self.batch):
                self._count(left, totals)
        return totals

    # As a value -------------------------------------------------------------------------------

    def dump(self) -> list[Any]:
        """Return all of it as plain values."""
        live = [_dumped(t) for own in self.live.values() for t in own.values()]
        totals = [[sorted(types), number] for types, number in self.totals.items()]
        return [
            live,
            [_dumped(thread) for thread in self.fresh],
            [[number, event_value(event)] for number, event in self.batch],
            [event_value(event) for event in self.early],
            None if self.order is None else list(self.order),
            self.taken,
            totals,
        ]

    def load(self, value: list[Any]) -> None:
        """Become what `dump` returned."""
        live, fresh, batch, early, order, self.taken, totals = value
        self.live, self.count = {}, 0
        for each in live:
            self._store(_loaded(each))
        self.fresh = [_loaded(each) for each in fresh]
        self.batch = [(number, event_of(each)) for number, each in batch]
        self.early = [event_of(each) for each in early]
        self.order = None if order is None else order_of(order)
        self.totals = {frozenset(types): number for types, number in totals}
        self.limit = max(FEW, 2 * self.count, 2 * len(self.early))


def _with(held: Taken, component: int, values: Values) -> Taken:
    return {**held, component: (*held.get(component, ()), values)}


def completions(
    machine: Machine, thread: Thread, events: Iterable[Event], *, grows: bool = True
) -> float:
    """Return how many matches some events make of a thread that is sure to be there.

    Without `grows` it is asked whether the thread is a match as it is.
    """
    threads = Threads(machine, counts=True, begins=False)
    threads._store(replace(thread, weight=1.0))
    relevant = machine.types | machine.guards
    for event in events:
        if event.type in relevant:
            threads.move_on(event.order)
            threads.add(event, threads.touched(event) if grows else ())
    return sum(threads.matches().values())


def _dumped(thread: Thread) -> list[Any]:
    held = [[c, [dict(values) for values in own]] for c, own in thread.held.items()]
    return [
        thread.state,
        list(thread.key),
        [thread.first, thread.last, thread.weight],
        [list(each) for each in thread.early],
        held,
        list(thread.fresh.items()),
    ]


def _loaded(value: list[Any]) -> Thread:
    state, key, (first, last, weight), early, held, fresh = value
    return Thread(
        state,
        tuple(as_key(each) for each in key),
        first,
        last,
        weight,
        tuple((time, mass) for time, mass in early),
        {c: tuple({n: as_key(v) for n, v in each.items()} for each in own) for c, own in held},
        dict(map(tuple, fresh)),
    )
