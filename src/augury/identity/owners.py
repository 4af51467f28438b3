"""The owners of events without one, exactly: the worlds, summed up by what is still open.

A world gives every act without a badge one of the people who can have done it. People who were not
read since are all alike: whoever it was, an act takes one of those in its place. So a *state* has
only the acts that are not yet given to anybody who was read since (`open`), and how many ways led
to it; the ways in which the open acts can be given are a product of counts. Who is read takes
a chain of open acts along, from where it was last seen to where it is now. That sums up all
worlds: states times products, whatever the number of people.

Smoothing goes forward only: a state carries how much of it gives each earlier act to each person.

Where people are not alike (PREFER), where some are followed one by one (`tracks.py`), and where
open acts have become many, acts are given to people at once, and the state says where those are who
moved. `tests/oracles/identities.py` is the slow twin.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from augury.identity.ward import Act, Place, Ward
from augury.records import Flags, Reals, Words

# Before every step.
BEFORE = -(2**62)
# So many open acts may wait for their owners to be read; older ones are given to people at once.
MOST_OPEN = 40
# Between these the weight of all states is left as it is.
SMALL, LARGE = 1e-30, 1e30
# From so many on, acts that only one person can have done are given to that person.
MANY_OPEN = 12

# Who is elsewhere than the heads say: (person, place, step of the last act).
Moved = tuple[tuple[int, Place, int], ...]
# Open acts in their order, each with the place where it began.
Open = tuple[tuple[int, Place], ...]
# Acts that are watched, by id, each with who did it, if that is one of those who are singled out.
Done = tuple[tuple[Any, int], ...]
Key = tuple[Moved, Open, Done]


# What sampling may have changed of the ways to a state, under each set of random signs.
Noise = tuple[float, ...]

NOTHING: Key = ((), (), ())
# What was lost is said to be no more than that: nothing is known by then.
HOPELESS = 1e300


@dataclass(slots=True)
class State:
    """What is summed up in one state.

    Fields:
        ways: the weight of the ways that led here.
        sure: the part of them that was never sampled.
        counts: how many people can have done each open act, whoever did those before it.
        extent: in how many ways the open acts can be given to people: the product of the counts.
        owned: (K, N) the ways that give tracked act k to person n; 0 for open acts.
        noise: how much of the ways the draws may have changed; None where there were none.
    """

    ways: float
    sure: float
    counts: tuple[int, ...]
    extent: float
    owned: Reals
    noise: Noise | None = None


@dataclass
class Worlds:
    """All worlds of one ward that the acts so far allow, as a value.

    `heads` has the place and the last step of each person as last read. `tracked` are the acts
    whose owners are still asked for. `lost` bounds the weight of worlds that sampling left out,
    and `drawn` is the share of a state that was drawn last.
    """

    heads: list[tuple[Place, int]]
    states: dict[Key, State]
    acts: dict[int, Act] = field(default_factory=dict)
    tracked: list[int] = field(default_factory=list)
    lost: float = 0.0
    drawn: float = 0.0
    # Whether every world has equally many people in each place.
    is_even: bool = True
    # The step of the last act without a badge.
    last_open: int = BEFORE
    # Whether a read was rejected that worlds may allow which sampling left out.
    is_astray: bool = False
    # Whether what is known of earlier acts may have changed in this step.
    is_changed: bool = False


def begin(ward: Ward) -> Worlds:
    """Return the one world before anything happened."""
    none = np.zeros((0, len(ward.people)))
    return Worlds([(place, BEFORE) for place in ward.begins], {NOTHING: State(1, 1, (), 1, none)})


def copied(worlds: Worlds) -> Worlds:
    """Return worlds that go on apart from the others."""
    return replace(
        worlds,
        heads=list(worlds.heads),
        states={key: replace(own, owned=own.owned.copy()) for key, own in worlds.states.items()},
        acts=dict(worlds.acts),
        tracked=list(worlds.tracked),
    )


@dataclass(frozen=True)
class Owners:
    """The law of one ward; its methods change the worlds that they are given.

    People who are `singled` out are no longer alike: what they do is given to them at once, and
    remembered where the act is `watched` (by id). Only who `smooths` asks for the owners of earlier
    acts.
    """

    ward: Ward
    singled: frozenset[int] = frozenset()
    watched: set[Any] = field(default_factory=set)
    smooths: bool = True

    @cached_property
    def apart(self) -> frozenset[int]:
        """Those who are not like the others: everyone, where some are preferred."""
        return self._apart_before or self.singled

    # Badge reads ------------------------------------------------------------------------------

    def read(self, worlds: Worlds, person: int, act: Act, *, again: bool) -> bool:
        """Take in a badge read; return False, and change nothing, where no world allows it.

        Who moved before in this step (`again`) cannot have done it.
        """
        if again:
            return False
        found = self._led(worlds, person, frozenset(act.origins))
        if not found:
            return False
        self._put(worlds, person, act, found)
        worlds.is_even = worlds.is_even and len(act.origins) == 1
        return True

    def reject(self, worlds: Worlds) -> None:
        """Leave out a read that no state allows; if some were sampled, that may be wrong."""
        if worlds.lost:
            _doubt(worlds)
            worlds.is_astray = True

    def reset(self, worlds: Worlds, person: int, act: Act) -> None:
        """Put a person in every world where a read leads that none of them allows."""
        if worlds.lost:
            _doubt(worlds)
        self._put(worlds, person, act, self._led(worlds, person, None))
        is_one = len(worlds.states) == 1 and not worlds.lost
        worlds.is_even = worlds.is_even and is_one

    def _put(self, worlds: Worlds, person: int, act: Act, states: dict[Key, State]) -> None:
        worlds.states = states
        worlds.heads[person] = (act.place, act.step)

    def _led(self, worlds: Worlds, person: int, ends: frozenset[Place] | None) -> dict[Key, State]:
        """Return the states in which a person took the ways that end in some place, or in any."""
        found: dict[Key, State] = {}
        row_of = {number: k for k, number in enumerate(worlds.tracked)}
        is_changed = False
        for key, state in worlds.states.items():
            moved, opened, done = key
            head, others = worlds.heads[person], moved
            if any(each[0] == person for each in moved):
                head = next((at, step) for p, at, step in moved if p == person)
                others = tuple(each for each in moved if each[0] != person)
            ways = self._ways(worlds, person, head, (opened, state.counts), ends)
            is_changed |= len(ways) != 1 or ways[0].counts != state.counts
            for k, way in enumerate(ways, 1):
                gone = {opened[j][0] for j in way.taken}
                left = tuple(each for each in opened if each[0] not in gone) if gone else opened
                rows = [row_of[number] for number in gone if number in row_of]
                # What a state owned goes over to the last of those that come of it.
                is_last = k == len(ways) or not self.smooths
                owned = state.owned if is_last else state.owned.copy()
                _add(found, (others, left, done), state, owned, way.counts, (rows, person))
        if found:
            worlds.is_changed |= is_changed
        return found

    def _ways(
        self,
        worlds: Worlds,
        person: int,
        head: tuple[Place, int],
        acts: tuple[Open, tuple[int, ...]],
        ends: frozenset[Place] | None,
    ) -> list[_Chain]:
        """Return the chains of open acts, with their counts, that a person may have taken along."""
        opened, counts = acts
        place, step = head
        # Who is not like the others took none, nor did who was near none.
        near = (n for n, origin in opened if origin == place and worlds.acts[n].step > step)
        if person in self.apart or next(near, None) is None:
            return [_Chain((), counts)] if ends is None or place in ends else []
        return _Walk(opened, [worlds.acts[n] for n, _ in opened], counts, ends).chains(head)

    # Acts without a badge ---------------------------------------------------------------------

    def admit(self, worlds: Worlds, act: Act) -> bool:
        """Take in an act of somebody; return False, and change nothing, where no world allows it.

        From then on its owner is tracked.
        """
        found, counts = dict[Key, State](), set[int]()
        unmoved = {origin: self._unmoved(worlds, act, origin) for origin in act.origins}
        for key, state in worlds.states.items():
            for origin in act.origins:
                count = unmoved[origin] + self._moved_there(worlds, key, act, origin)
                counts.add(count)
                if count:
                    moved, opened, done = key
                    after = (moved, (*opened, (act.number, origin)), done)
                    owned = self._with_act(state, 1.0, None)
                    _add_act(found, after, state, owned, (*state.counts, count), 1.0)
            for after, weight, person in self._given(worlds, key, act):
                owned = self._with_act(state, weight, person)
                _add_act(found, after, state, owned, state.counts, weight)
        # Where all worlds go on in equally many ways, nothing new is known of what was before.
        worlds.is_changed |= len(counts) > 1 or len(act.origins) > 1 or bool(self.apart)
        if not found:
            if worlds.lost:
                _doubt(worlds)
                worlds.last_open = act.step
            return False
        if worlds.lost:
            worlds.lost = min(worlds.lost * self._most(worlds, act), HOPELESS)
        worlds.last_open = act.step
        worlds.is_even = worlds.is_even and len(act.origins) == 1
        worlds.states = found
        worlds.acts[act.number] = act
        if self.smooths:
            worlds.tracked.append(act.number)
        return True

    def _with_act(self, state: State, weight: float, owner: int | None) -> Reals:
        """Return who owned what in a state, with an act more, whose owner may be known."""
        if not self.smooths:
            return state.owned
        row = np.zeros((1, state.owned.shape[1]))
        if owner is not None:
            row[0, owner] = state.ways
        return np.concatenate([state.owned, row]) * weight

    def _most(self, worlds: Worlds, act: Act) -> float:
        """Return in how many ways a world can go on with an act, at most."""
        if worlds.is_even and not self.ward.weights and not self.apart:
            key = next(iter(worlds.states))
            there = (
                self._unmoved(worlds, act, origin) + self._moved_there(worlds, key, act, origin)
                for origin in act.origins
            )
            return float(sum(there))
        free = [k for k, (_, step) in enumerate(worlds.heads) if step < act.step]
        return sum(self.ward.weight(person, act.room) for person in free)

    def _given(self, worlds: Worlds, key: Key, act: Act) -> Iterator[tuple[Key, float, int]]:
        """Yield the states in which one of the others did an act, with its weight, and who."""
        moved, opened, done = key
        heads = self._heads(worlds, moved)
        for person in sorted(self.apart):
            (place, step), weight = heads[person], self.ward.weight(person, act.room)
            if place in act.origins and step < act.step and weight:
                seen = (*done, (act.id, person)) if act.id in self.watched else done
                yield (_moved(moved, person, act), opened, seen), weight, person

    def _unmoved(self, worlds: Worlds, act: Act, origin: Place) -> int:
        """Return how many of those who are alike may do an act from a place, by the heads alone."""
        at = enumerate(worlds.heads)
        there = [n for n, (place, step) in at if place == origin and step < act.step]
        return sum(n not in self.apart for n in there)

    def _moved_there(self, worlds: Worlds, key: Key, act: Act, origin: Place) -> int:
        """Return how many more they are in a state, for those who moved."""
        moved, opened, _ = key
        count = 0
        for n, place, step in moved:
            if n not in self.apart:
                head, last = worlds.heads[n]
                count += (place == origin and step < act.step) - (
                    head == origin and last < act.step
                )
        for number, place in opened:
            other = worlds.acts[number]
            if place == origin:
                count -= 1
            if other.place == origin and other.step < act.step:
                count += 1
        return count

    def _alike(self, worlds: Worlds, moved: Moved) -> list[tuple[int, Place, int]]:
        """Return those who are alike, where each was last seen, and in which step."""
        heads = self._heads(worlds, moved)
        return [(n, *head) for n, head in enumerate(heads) if n not in self.apart]

    def _heads(self, worlds: Worlds, moved: Moved) -> list[tuple[Place, int]]:
        if not moved:
            return worlds.heads
        heads = list(worlds.heads)
        for person, place, step in moved:
            heads[person] = (place, step)
        return heads

    # What is known ----------------------------------------------------------------------------

    def posterior(self, worlds: Worlds, numbers: Sequence[int]) -> Reals:
        """Return P(person | all acts so far) for tracked acts."""
        known = np.zeros((len(numbers), len(self.ward.people)))
        rows = [worlds.tracked.index(number) for number in numbers]
        alike: dict[Moved, list[Key]] = defaultdict(list)
        for key, state in worlds.states.items():
            known += state.owned[rows] * state.extent
            alike[key[0]].append(key)
        place_of = {number: k for k, number in enumerate(numbers)}
        for keys in alike.values():
            for number, own in self._free_shares(worlds, keys):
                if number in place_of:
                    known[place_of[number]] += own
        return known / total_of(worlds)

    def _free_shares(self, worlds: Worlds, keys: list[Key]) -> Iterator[tuple[int, Reals]]:
        """Yield open acts of states that agree on who moved, and how much speaks for each person.

        Those who were not read since are alike, so each act takes each of those who may have done
        it with the same probability; where a person is follows act by act, for all states (S) at
        once.
        """
        moved = keys[0][0]
        heads = sorted(self._alike(worlds, moved), key=lambda each: each[2])
        weights = np.array([worlds.states[key].ways * worlds.states[key].extent for key in keys])
        number_of: dict[Place, int] = {}
        for origin in (origin for key in keys for _, origin in key[1]):
            number_of.setdefault(origin, len(number_of))
        # (places, S, people): how likely a person is in a place, and has done nothing in this step.
        present = np.zeros((len(number_of), len(keys), len(self.ward.people)))
        arriving, now, seen = list[tuple[Place, Words, Reals]](), BEFORE, 0
        for (number, origin), (which, counts) in self._in_order(worlds, keys):
            act = worlds.acts[number]
            if act.step != now:
                for place, states, share in arriving:
                    if place in number_of:
                        present[number_of[place], states] += share
                arriving, now = [], act.step
                while seen < len(heads) and heads[seen][2] < now:
                    person, place, _ = heads[seen]
                    if place in number_of:
                        present[number_of[place], :, person] = 1.0
                    seen += 1
            share = present[number_of[origin], which] / counts[:, None]
            present[number_of[origin], which] -= share
            arriving.append((act.place, which, share))
            yield number, weights[which] @ share

    def _in_order(
        self, worlds: Worlds, keys: list[Key]
    ) -> list[tuple[tuple[int, Place], tuple[Words, Reals]]]:
        """Return the open acts of some states in their order: which have them, and the counts."""
        found: dict[tuple[int, Place], list[tuple[int, int]]] = defaultdict(list)
        for k, key in enumerate(keys):
            for opened, count in zip(key[1], worlds.states[key].counts, strict=True):
                found[opened].append((k, count))
        ordered = []
        for opened in sorted(found, key=lambda each: each[0]):
            pairs = np.array(found[opened], np.int64)
            ordered.append((opened, (pairs[:, 0], pairs[:, 1].astype(np.float64))))
        return ordered

    def settled(self, worlds: Worlds) -> list[int]:
        """Return the tracked acts whose owners no later act can change.

        Those are acts that are open in no state, where one state is left, and those that one
        person did in all of them.
        """
        opened = {number for _, acts, _ in worlds.states for number, _ in acts}
        closed = [(k, n) for k, n in enumerate(worlds.tracked) if n not in opened]
        if worlds.lost:
            return []
        if len(worlds.states) == 1 or not closed:
            return [number for _, number in closed]
        total = np.sum([state.owned for state in worlds.states.values()], axis=0)
        one = np.count_nonzero(total, axis=1) == 1
        return [number for k, number in closed if one[k]]

    # Between steps ----------------------------------------------------------------------------

    def forget(self, worlds: Worlds, numbers: Iterable[int]) -> None:
        """Track some acts no more; what is not known of them is summed out."""
        gone = set(numbers)
        if not gone:
            return
        stays: Flags = np.array([number not in gone for number in worlds.tracked], np.bool_)
        worlds.tracked = [number for number in worlds.tracked if number not in gone]
        for state in worlds.states.values():
            state.owned = state.owned[stays]

    def close_step(self, worlds: Worlds) -> None:
        """Put the states in their simplest form after a step."""
        self._give_oldest(worlds)
        self._simplify(worlds)
        if worlds.lost and not self.singled:
            self._recover(worlds)
        _scale(worlds)
        needed = {number for _, opened, _ in worlds.states for number, _ in opened}
        worlds.acts = {k: act for k, act in worlds.acts.items() if k in needed}

    def _recover(self, worlds: Worlds) -> None:
        """Leave sampling behind where everyone was read after the last act without a badge.

        Then all worlds are one from now on; of earlier acts no more will be known.
        """
        if min(step for _, step in worlds.heads) >= worlds.last_open and not worlds.is_astray:
            self.forget(worlds, list(worlds.tracked))
            none = np.zeros((0, len(self.ward.people)))
            worlds.states = {NOTHING: State(1.0, 1.0, (), 1.0, none)}
            worlds.lost = worlds.drawn = 0.0
            worlds.is_even = True

    def _give_oldest(self, worlds: Worlds) -> None:
        """Give the oldest open acts to people at once, where open ones are many.

        Who does not smooth gives away as few as may be, so that the form of a state hangs on the
        acts alone and not on when somebody was singled out.
        """
        longest = max(len(opened) for _, opened, _ in worlds.states)
        while longest > (MANY_OPEN if self.smooths else MOST_OPEN):
            found: dict[Key, State] = {}
            is_over = longest > MOST_OPEN
            given = False
            row_of = {number: k for k, number in enumerate(worlds.tracked)}
            for key, state in worlds.states.items():
                moved, opened, done = key
                is_sole = self.smooths and bool(opened) and state.counts[0] == 1
                if not (is_sole or (is_over and len(opened) == longest)):
                    _add(found, key, state, state.owned, state.counts)
                    continue
                given, people = True, self._first_owners(worlds, key)
                number, act = opened[0][0], worlds.acts[opened[0][0]]
                rows = [row_of[number]] if number in row_of else []
                for person in people:
                    after = (_moved(moved, person, act), opened[1:], done)
                    own = state.owned.copy()
                    _add(found, after, state, own, state.counts[1:], (rows, person))
            worlds.states = found
            if not given:
                return
            self._simplify(worlds)
            longest = max(len(opened) for _, opened, _ in worlds.states)

    def _first_owners(self, worlds: Worlds, key: Key) -> list[int]:
        moved, opened, _ = key
        number, origin = opened[0]
        step = worlds.acts[number].step
        heads = self._alike(worlds, moved)
        return [n for n, place, last in heads if place == origin and last < step]

    def _simplest(self, worlds: Worlds, key: Key) -> Key:
        """Return a state with no more of the past than its open acts ask for."""
        moved, opened, done = key
        steps = [worlds.acts[number].step for number, _ in opened]

        def since(step: int) -> int:
            return max((each for each in steps if each <= step), default=BEFORE)

        def differs(person: int, place: Place, step: int) -> bool:
            head, last = worlds.heads[person]
            return head != place or since(last) != step

        simple = ((person, place, since(step)) for person, place, step in moved)
        return tuple(each for each in simple if differs(*each)), opened, done

    def forget_done(self, worlds: Worlds, ids: Collection[Any]) -> None:
        """Forget who did some of the watched acts."""
        if not any(act in ids for _, _, done in worlds.states for act, _ in done):
            return

        def without(key: Key) -> Key:
            return key[0], key[1], tuple(each for each in key[2] if each[0] not in ids)

        self._merge(worlds, without)

    def shares(self, worlds: Worlds) -> dict[frozenset[Any], float]:
        """Return the probability of each set of watched acts that those singled out did."""
        found: dict[frozenset[Any], float] = defaultdict(float)
        for (_, _, done), state in worlds.states.items():
            found[frozenset(done)] += state.ways * state.extent
        total = sum(found.values())
        return {done: own / total for done, own in found.items()}

    def single_out(self, worlds: Worlds) -> None:
        """Part those who are singled out from worlds in which all were alike.

        Each took some of the open acts along, or none; from now on states say where they are.
        """
        for person in sorted(self.singled - frozenset(self._apart_before)):
            found: dict[Key, State] = {}
            for (moved, opened, done), state in worlds.states.items():
                head = next(((at, by) for p, at, by in moved if p == person), worlds.heads[person])
                acts = [worlds.acts[number] for number, _ in opened]
                for way in _Walk(opened, acts, state.counts, None).chains(head):
                    gone = {opened[j][0] for j in way.taken}
                    left = tuple(each for each in opened if each[0] not in gone)
                    where = moved
                    if way.taken:
                        where = _moved(moved, person, acts[way.taken[-1]])
                    own = state.owned.copy()
                    _add(found, (where, left, done), state, own, way.counts)
            worlds.states = found
        self._simplify(worlds)

    @property
    def _apart_before(self) -> frozenset[int]:
        """Those who are never like the others."""
        return frozenset(range(len(self.ward.people))) if self.ward.weights else frozenset()

    def _simplify(self, worlds: Worlds) -> None:
        """Put states in their simplest form, where that is not the one they have."""
        if any(key[0] and self._simplest(worlds, key) != key for key in worlds.states):
            self._merge(worlds, lambda key: self._simplest(worlds, key))

    def _merge(self, worlds: Worlds, simplest: Callable[[Key], Key]) -> None:
        found: dict[Key, State] = {}
        for key, state in worlds.states.items():
            _add(found, simplest(key), state, state.owned, state.counts)
        worlds.states = found


@dataclass(frozen=True, slots=True)
class _Chain:
    """Open acts that one person did, by their places, and the counts of those that stay open."""

    taken: tuple[int, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Walk:
    """The chains of open acts that one person may have done, to one of the ends."""

    opened: Open
    acts: list[Act]
    counts: tuple[int, ...]
    ends: frozenset[Place] | None

    def chains(self, head: tuple[Place, int]) -> list[_Chain]:
        """Return each chain from where a person was last seen."""
        found: list[_Chain] = []
        self._go(head, _Chain((), ()), self._until(), found)
        return found

    def _until(self) -> dict[Place, int] | None:
        """Return by place before which act one must be there to reach an end; None: anywhere."""
        if self.ends is None:
            return None
        until = dict.fromkeys(self.ends, len(self.acts))
        for j in range(len(self.acts) - 1, -1, -1):
            if until.get(self.acts[j].place, -1) > j:
                until.setdefault(self.opened[j][1], j)
        return until

    def _go(
        self,
        head: tuple[Place, int],
        chain: _Chain,
        until: dict[Place, int] | None,
        found: list[_Chain],
    ) -> None:
        place, step = head
        taken, counts = chain.taken, list(chain.counts)
        last = len(self.acts) if until is None else until.get(place, -1)
        for j in range(len(taken) + len(counts), len(self.acts)):
            if j > last:
                return
            count = self.counts[j]
            if self.opened[j][1] == place and self.acts[j].step > step:
                there = (self.acts[j].place, self.acts[j].step)
                self._go(there, _Chain((*taken, j), tuple(counts)), until, found)
                # Who was there and did not do it is none of those who can have done it.
                count -= 1
                if not count:
                    return
            counts.append(count)
        if self.ends is None or place in self.ends:
            found.append(_Chain(taken, tuple(counts)))


def _moved(moved: Moved, person: int, act: Act) -> Moved:
    """Return who is elsewhere, after a person's act."""
    others = (each for each in moved if each[0] != person)
    return tuple(sorted((*others, (person, act.place, act.step)), key=lambda each: each[0]))


def _add(
    found: dict[Key, State],
    key: Key,
    state: State,
    owned: Reals,
    counts: tuple[int, ...],
    given: tuple[Sequence[int], int] = ((), 0),
) -> None:
    """Add the ways of a state to another, in which a person did the acts of some rows (`given`).

    What the state `owned` is used up.
    """
    rows, person = given
    known = found.get(key)
    if known is None:
        extent = state.extent if counts == state.counts else float(math.prod(counts))
        known = State(state.ways, state.sure, counts, extent, owned, state.noise)
        found[key] = known
    else:
        known.ways += state.ways
        known.sure += state.sure
        known.owned += owned
        known.noise = _both(known.noise, state.noise)
    for row in rows:
        known.owned[row, person] += state.ways


def _add_act(
    found: dict[Key, State],
    key: Key,
    state: State,
    owned: Reals,
    counts: tuple[int, ...],
    weight: float,
) -> None:
    """Add the ways of a state to one that has an act more."""
    known, noise = found.get(key), times(state.noise, weight)
    if known is None:
        extent = float(math.prod(counts))
        found[key] = State(state.ways * weight, state.sure * weight, counts, extent, owned, noise)
    else:
        known.ways += state.ways * weight
        known.sure += state.sure * weight
        known.owned += owned
        known.noise = _both(known.noise, noise)


def times(noise: Noise | None, by: float) -> Noise | None:
    """Return what may have changed of so many times the ways."""
    return noise if noise is None or by == 1.0 else tuple(each * by for each in noise)


def _both(one: Noise | None, other: Noise | None) -> Noise | None:
    if one is None or other is None:
        return one or other
    return tuple(a + b for a, b in zip(one, other, strict=True))


def total_of(worlds: Worlds) -> float:
    """Return the weight of all states."""
    return sum(state.ways * state.extent for state in worlds.states.values())


def _scale(worlds: Worlds) -> None:
    """Keep the weight of all states from overflowing and from vanishing."""
    total = total_of(worlds)
    if SMALL < total < LARGE:
        return
    for state in worlds.states.values():
        state.ways /= total
        state.sure /= total
        state.owned = state.owned / total
        state.noise = times(state.noise, 1.0 / total)
    worlds.lost /= total


def _doubt(worlds: Worlds) -> None:
    """Take nothing as sure: what no state allows, worlds may allow that were left out."""
    for state in worlds.states.values():
        state.sure = 0.0
