"""Patterns that are no plain sequence, as a policy weighs them: parts in any order, choices, loops.

What has begun is in a state: which components hold events, where the pattern's automaton is, and
which bans have been broken in gaps that are not closed yet. A broken ban may still come to nothing,
where what comes next is no neighbour of its gap; so it is remembered until that shows. States from
which no match can come any more are left out.

Oracle: tests/oracles/futures.py lists what may come, and counts matches by definition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from augury.privacy.pattern import Key, Values

# Components with the events that they hold, in order.
Taken = Mapping[int, tuple[Values, ...]]
Test = Callable[[str | None, Values], bool]
Bans = frozenset[int]
NONE: Bans = frozenset()


@dataclass(frozen=True)
class Player:
    """A component: events of `type` that pass `fits`; those of `after` lie strictly before it."""

    component: int
    type: str
    fits: Callable[[Values], bool]
    after: frozenset[int]

    def plays(self, kind: str | None, values: Values) -> bool:
        return kind == self.type and self.fits(values)


@dataclass(frozen=True)
class Ban:
    """What must not come after all that `earlier` holds and before all that `later` holds.

    Without either the window is the limit there. Where nothing of `company` is held it bans
    nothing. `breaks` looks at what was held when the gap began.
    """

    type: str
    fits: Callable[[Values], bool]
    breaks: Callable[[Taken, Values], bool]
    earlier: frozenset[int]
    later: frozenset[int]
    company: frozenset[int]

    def plays(self, kind: str | None, values: Values) -> bool:
        return kind == self.type and self.fits(values)


@dataclass(frozen=True, slots=True)
class Take:
    """An event plays a component; `target` is None where no match can come of it."""

    player: Player
    target: int | None


@dataclass(frozen=True, slots=True)
class State:
    """What has begun. `open` are the bans whose gap is open; `spoiled` leads on where some break.

    `done` are the components that take no more events.
    """

    held: frozenset[int]
    accepts: bool
    takes: tuple[Take, ...]
    open: tuple[int, ...]
    spoiled: Mapping[Bans, int | None]
    done: frozenset[int]


@dataclass(frozen=True)
class Machine:
    """A pattern within a window of time.

    `moves[q]` are (component, next q) of the automaton, preferred ones first. `recalls`: conditions
    look at events held before, so that beginnings are told apart by them; `holds` says whether all
    that is decided is true, given the components that take no more events.
    """

    name: str
    window: int
    players: Mapping[int, Player]
    bans: tuple[Ban, ...]
    accepting: tuple[bool, ...]
    moves: tuple[tuple[tuple[int, int], ...], ...]
    takes_next: bool
    equated: tuple[str, ...]
    recalls: bool
    holds: Callable[[Taken, frozenset[int]], bool]

    @cached_property
    def types(self) -> frozenset[str]:
        """The types of its components."""
        return frozenset(player.type for player in self.players.values())

    @cached_property
    def guards(self) -> frozenset[str]:
        """The types that are banned somewhere."""
        return frozenset(ban.type for ban in self.bans)

    def key(self, values: Values) -> Key:
        """Return the values of the equated columns."""
        return tuple(values[column] for column in self.equated)

    @cached_property
    def states(self) -> tuple[State, ...]:
        """All states; the first is the one before any event."""
        return _Exploring(self).states()

    @cached_property
    def taking(self) -> dict[str, tuple[int, ...]]:
        """The states that take events of each type."""
        return {
            kind: tuple(
                k
                for k, state in enumerate(self.states)
                if any(take.player.type == kind for take in state.takes)
            )
            for kind in self.types
        }

    def types_held(self, state: int) -> frozenset[str]:
        """Return the types of the components that hold events in a state."""
        return frozenset(self.players[c].type for c in self.states[state].held)

    @cached_property
    def type_sets(self) -> frozenset[frozenset[str]]:
        """The sets of types that a match can be made of."""
        numbers = range(len(self.states))
        return frozenset(self.types_held(k) for k in numbers if self.states[k].accepts)

    def closing(self, is_bound: Callable[[str | None], bool]) -> frozenset[int]:
        """Return the states from which bound types alone can make a match."""
        found = {k for k, state in enumerate(self.states) if state.accepts}
        while True:
            more = {
                k
                for k, state in enumerate(self.states)
                if any(t.target in found and is_bound(t.player.type) for t in state.takes)
            }
            if more <= found:
                return frozenset(found)
            found |= more

    # What is counted of the history -------------------------------------------------------------

    @cached_property
    def slots(self) -> dict[tuple[object, ...], Test]:
        """Which events lead on how: by what they play, and by what they do not play."""
        found: dict[tuple[object, ...], Test] = {}
        for state in self.states:
            for place, _ in enumerate(state.takes):
                key = self.take_slot(state, place)
                found[key] = _exactly(
                    (state.takes[place].player,),
                    [take.player for take in state.takes[:place]] if self.takes_next else [],
                )
            for broken in state.spoiled:
                key = self.ban_slot(state, broken)
                others = [self.bans[k] for k in state.open if k not in broken]
                taken = [take.player for take in state.takes] if self.takes_next else []
                found[key] = _exactly([self.bans[k] for k in sorted(broken)], [*others, *taken])
        return found

    def take_slot(self, state: State, place: int) -> tuple[object, ...]:
        """Return the name of the events that take a way out of a state."""
        before = state.takes[:place] if self.takes_next else ()
        names = (take.player.component for take in (*before, state.takes[place]))
        return "take", *names

    def ban_slot(self, state: State, broken: Bans) -> tuple[object, ...]:
        """Return the name of the events that break some bans, and no others, in a state."""
        taken = tuple(t.player.component for t in state.takes) if self.takes_next else ()
        return "ban", broken, state.open, taken

    @cached_property
    def step_tests(self) -> tuple[Test, ...]:
        """The tests of all slots, in order."""
        return tuple(self.slots.values())

    @cached_property
    def slot_numbers(self) -> dict[tuple[object, ...], int]:
        return {key: number for number, key in enumerate(self.slots)}

    @property
    def end_tests(self) -> tuple[Test, ...]:
        return ()


def _exactly(required: Sequence[Player | Ban], others: Sequence[Player | Ban]) -> Test:
    """Return whether an event plays all of some, and none of others."""

    def test(kind: str | None, values: Values) -> bool:
        return all(each.plays(kind, values) for each in required) and not any(
            each.plays(kind, values) for each in others
        )

    return test


# A place in the automaton, the components that hold events, and the bans that were broken.
_Node = tuple[int, frozenset[int], Bans]


class _Exploring:
    """The states of a machine, from the start on."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.nodes: dict[_Node, int] = {(0, NONE, NONE): 0}
        self.ways: list[tuple[list[tuple[int, int | None]], dict[Bans, int]]] = []

    def states(self) -> tuple[State, ...]:
        for node in (nodes := list(self.nodes)):
            takes = [
                (c, self._number(self._after(node, c, q), nodes)) for c, q in self._moves(node)
            ]
            spoiled = {
                broken: self._number((node[0], node[1], node[2] | broken), nodes) or 0
                for broken in self._breakable(node)
            }
            self.ways.append((takes, spoiled))
        alive = self._alive(nodes)
        order = {old: new for new, old in enumerate(sorted(alive | {0}))}
        return tuple(self._state(nodes[old], old, order) for old in order)

    def _number(self, node: _Node | None, nodes: list[_Node]) -> int | None:
        if node is None:
            return None
        if node not in self.nodes:
            self.nodes[node] = len(nodes)
            nodes.append(node)
        return self.nodes[node]

    def _moves(self, node: _Node) -> tuple[tuple[int, int], ...]:
        return self.machine.moves[node[0]]

    def _after(self, node: _Node, component: int, place: int) -> _Node | None:
        """Return where an event leads; None where it closes the gap of a ban that was broken."""
        _, held, broken = node
        now, left = held | {component}, set(broken)
        for number in broken:
            ban = self.machine.bans[number]
            if component in ban.later:
                if ban.company & now:
                    return None
                left.discard(number)
            elif component in ban.earlier:
                left.discard(number)
        return place, now, frozenset(left)

    def _open(self, node: _Node) -> list[int]:
        _, held, _ = node
        return [
            k
            for k, ban in enumerate(self.machine.bans)
            if ban.earlier & held and not ban.later & held
        ]

    def _breakable(self, node: _Node) -> list[Bans]:
        """Return the sets of bans that one event may break."""
        found: list[Bans] = []
        for number in self._open(node):
            kind = self.machine.bans[number].type
            same = [each for each in found if self.machine.bans[min(each)].type == kind]
            found += [each | {number} for each in same] + [frozenset((number,))]
        return found

    def _accepts(self, node: _Node) -> bool:
        place, held, broken = node
        return self.machine.accepting[place] and not any(
            self.machine.bans[number].company & held for number in broken
        )

    def _alive(self, nodes: list[_Node]) -> set[int]:
        found = {k for k, node in enumerate(nodes) if self._accepts(node)}
        while True:
            more = {
                k
                for k, (takes, spoiled) in enumerate(self.ways)
                if any(to in found for _, to in takes)
                or any(to in found for to in spoiled.values())
            }
            if more <= found:
                return found
            found |= more

    def _state(self, node: _Node, old: int, order: dict[int, int]) -> State:
        takes, spoiled = self.ways[old]
        ways = tuple(
            Take(self.machine.players[c], None if to is None else order.get(to)) for c, to in takes
        )
        if not self.machine.takes_next:
            ways = tuple(take for take in ways if take.target is not None)
        bans = {broken: order.get(to) for broken, to in spoiled.items()}
        more = self._reachable(node[0])
        done = frozenset(c for c in self.machine.players if c not in more)
        return State(node[1], self._accepts(node), ways, tuple(self._open(node)), bans, done)

    def _reachable(self, place: int) -> set[int]:
        """Return the components that may still take an event."""
        seen, found, todo = {place}, set[int](), [place]
        while todo:
            for component, target in self.machine.moves[todo.pop()]:
                found.add(component)
                if target not in seen:
                    seen.add(target)
                    todo.append(target)
        return found
