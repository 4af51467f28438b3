"""The order of the world: candidate matches are settled one moment after another.

A moment is one transaction. All its conditions read before any of its writes; then its firings run
in the order of rule, start and match, and a change sees what those before it did. What cannot be
done stops the run before its moment, or, under ON ERROR REJECT, puts the firing aside.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from heapq import heappop, heappush
from itertools import count
from typing import Any, NamedTuple

from augury.errors import DataError
from augury.rules.contents import Contents, Row
from augury.rules.limits import Limits, Mark, Marks, outlived
from augury.rules.plan import (
    AGAIN,
    FINAL,
    Change,
    Delete,
    Insert,
    Moment,
    Rule,
    Set,
    Update,
    World,
)
from augury.rules.reading import Reading, Seen


class Candidate(NamedTuple):
    """A match as far as events decide it.

    `order` is the place of its last event, `moment` when it is known; `present` are the components
    that have an event, `over` the matches that it is made of, by query of the world. One that
    HAVING does not show (`is_shown`) is tested, since it may be shown later, but no rule hears it.
    """

    query: str
    match_id: str
    start: int
    order: Moment
    moment: Moment
    match: Mapping[str, Any]
    present: frozenset[str] = frozenset()
    over: tuple[tuple[str, str], ...] = ()
    is_shown: bool = True

    @property
    def is_again(self) -> bool:
        """Whether it was told before."""
        return self.moment[1] >= AGAIN


@dataclass
class Followed:
    """A match that may be told again: when it was first, whether it stands, and who acted on it.

    `is_told` is whether the last that was told of it still holds.
    """

    since: int
    stands: bool
    fired: set[str] = field(default_factory=set)
    is_told: bool = False

    def copy(self) -> Followed:
        """Return the same, which changes by itself."""
        return Followed(self.since, self.stands, set(self.fired), self.is_told)


@dataclass(frozen=True)
class Changed:
    """One change of one row: `seq` counts those of its key."""

    ts: int
    seq: int
    firing_id: str
    table: str
    operation: str
    key: Row
    before: Row | None
    after: Row | None


@dataclass(frozen=True)
class Firing:
    """A rule that acted on a match; or that could not, and why.

    `held_back` are the firings since its last that THROTTLE did not let through, None where each
    world has its own; `script` tells
    the version of what was declared.
    """

    rule: str
    firing_id: str
    match_id: str
    ts: int
    match: Mapping[str, Any]
    changes: tuple[Changed, ...] = ()
    reason: str | None = None
    held_back: int | None = 0
    script: str = ""


@dataclass
class State:
    """Tables, what waits for its moment, and what has happened.

    `found` has the matches that others are made of: their places, and whether they passed, which is
    None until they are settled. `followed` are matches that may be told again, by query. `reached`
    is the last moment that was settled, and `marked` are the marks that it left.
    """

    tables: dict[str, Contents]
    waiting: list[tuple[Moment, int, Candidate]] = field(default_factory=list)
    found: dict[str, dict[str, tuple[Moment, bool | None]]] = field(default_factory=dict)
    followed: dict[str, dict[str, Followed]] = field(default_factory=dict)
    counts: dict[tuple[str, Row], int] = field(default_factory=dict)
    firings: list[Firing] = field(default_factory=list)
    rejected: list[Firing] = field(default_factory=list)
    marks: MutableMapping[tuple[str, Row], Mark] = field(default_factory=dict)
    marked: Marks = field(default_factory=dict)
    most_marks: int = 1024
    reached: Moment | None = None
    arrived: count[int] = field(default_factory=count)


@dataclass
class Settled:
    """Candidates that were settled, and those of them that are told of: they stand, or did so."""

    passed: list[Candidate] = field(default_factory=list)
    tried: list[Candidate] = field(default_factory=list)


def firing_id(rule: str, match_id: str) -> str:
    """Return the name of a firing: a rule acts once on a match."""
    return blake2b(f"{rule.lower()}\0{match_id}".encode(), digest_size=16).hexdigest()


@dataclass(frozen=True)
class Stage:
    """Settles candidates of a world; `seen` is told every read, with who reads and when.

    `script` tells the version of what was declared.
    """

    world: World
    seen: Any = None
    script: str = ""

    def offer(self, state: State, candidates: Iterable[Candidate]) -> None:
        """Let candidates wait for their moments."""
        for candidate in candidates:
            if state.reached is not None and candidate.moment <= state.reached:
                raise AssertionError(
                    f"match {candidate.match_id} of {candidate.query} is known at "
                    f"{candidate.moment}, and {state.reached} was settled"
                )
            self.hear_of(state, candidate)
            heappush(state.waiting, (candidate.moment, next(state.arrived), candidate))

    def hear_of(self, state: State, candidate: Candidate) -> None:
        """Remember the place of a candidate, if others may be made of it."""
        if self.world.queries[candidate.query].read:
            known = state.found.setdefault(candidate.query, {})
            known[candidate.match_id] = (candidate.order, None)

    def settle(self, state: State, before: int, told: Settled) -> None:
        """Settle all moments before a time, and tell of each candidate what became of it.

        Raises for a moment that cannot be done, which is left as it was.
        """
        while state.waiting and state.waiting[0][0][0] < before:
            moment, entries = state.waiting[0][0], []
            while state.waiting and state.waiting[0][0] == moment:
                entries.append(heappop(state.waiting))
            found = [each for _, _, each in entries]
            try:
                told.passed += self.at_moment(state, found)
            except DataError:
                for entry in entries:
                    heappush(state.waiting, entry)
                raise
            told.tried += found
        self.forget(state, before)

    def due(self, state: State, before: int, most: int) -> list[list[Candidate]]:
        """Take the first moments before a time out of those that wait, at most some."""
        moments: list[list[Candidate]] = []
        while state.waiting and state.waiting[0][0][0] < before:
            if not moments or state.waiting[0][0] != moments[-1][0].moment:
                if len(moments) == most:
                    break
                moments.append([])
            moments[-1].append(heappop(state.waiting)[2])
        return moments

    # A moment ---------------------------------------------------------------------------------

    def at_moment(self, state: State, found: list[Candidate]) -> list[Candidate]:
        """Settle all candidates of one moment, a transaction; return those that are told of.

        These passed, and HAVING shows them, or has shown them until now. Raises where it cannot be
        done, and leaves all as it was.
        """
        passed = self.passing(state, found)
        self.act(state, found, passed)
        return [each for each in passed if self.is_told(state, each)]

    def is_told(self, state: State, match: Candidate) -> bool:
        """Return whether a row of a match that stands is news; it is from now on what was told."""
        if match.moment[1] == FINAL:
            return False
        if self.world.queries[match.query].revised is None:
            return match.is_shown
        known = state.followed[match.query][match.match_id]
        was_told, known.is_told = known.is_told, match.is_shown
        return was_told or match.is_shown

    def act(self, state: State, found: list[Candidate], passed: list[Candidate]) -> None:
        """Let rules act on those candidates of a moment that passed."""
        limits = Limits(state.marks)
        firings, rejected = self._due(state, passed, limits)
        done, held = list[Firing](), list[tuple[Rule, Candidate]]()
        counts = dict[tuple[str, Row], int]()
        try:
            for rule, match in firings:
                fired = self._limited(state, rule, match, (counts, limits))
                if fired is None:
                    held.append((rule, match))
                else:
                    (done if fired.reason is None else rejected).append(fired)
        except DataError:
            for contents in state.tables.values():
                contents.undo(0)
            raise
        if counts:
            for contents in state.tables.values():
                contents.settle()
            state.counts |= counts
        state.marked = limits.new
        if limits.new:
            state.marks.update(limits.new)
        state.firings += done
        state.rejected += rejected
        state.reached = found[0].moment
        self._remember(state, found, passed)
        if state.followed:
            had_turn = [(each.rule, each.match_id) for each in (*done, *rejected)]
            had_turn += [(rule.name, match.match_id) for rule, match in held]
            self._follow(state, had_turn)

    def pass_over(self, state: State, found: list[Candidate]) -> None:
        """Leave out candidates of a moment that was settled by somebody before.

        Rules that act so often still count them, where no table has a say in it. Where one has, a
        match that is told again later is left alone.
        """
        untested = [each for each in found if not self.world.queries[each.query].conditions]
        self._remember(state, found, untested)
        limits, had_turn = Limits(state.marks), list[tuple[str, str]]()
        for each in untested:
            for _, rule in self._listening.get(each.query, ()):
                if not self._hears(state, rule, each):
                    continue
                if rule.reads:
                    had_turn.append((rule.name, each.match_id))
                elif self._acts(state, rule, each, limits):
                    self._count(rule, each, limits)
                    had_turn.append((rule.name, each.match_id))
        state.marks.update(limits.new)
        if state.followed:
            self._follow(state, had_turn)

    def _acts(self, state: State, rule: Rule, match: Candidate, limits: Limits) -> bool:
        """Return whether the condition of a rule holds, if it has not had its turn."""
        if self.world.queries[match.query].once and limits.has_acted(rule, match.match_id):
            return False
        return rule.when is None or rule.when(self._reading(state, rule.name, match)) is True

    def _count(self, rule: Rule, match: Candidate, limits: Limits) -> int | None:
        """Count a firing; return how many before it were held back, None if it is, too."""
        reading, ts = Reading({}, match.match), match.moment[0]
        held = limits.held_back(rule, reading, ts)
        limits.count(rule, reading, ts, acted=held is not None)
        if self.world.queries[match.query].once:
            limits.had_turn(rule, match.match_id, ts)
        return held

    def _remember(self, state: State, found: list[Candidate], passed: list[Candidate]) -> None:
        """Remember which of the matches passed that others are made of, or that are told again."""
        for each in found:
            query = self.world.queries[each.query]
            if query.read:
                did = any(other is each for other in passed)
                state.found[each.query][each.match_id] = (each.order, did)
            if query.revised is not None and not each.is_again:
                did = any(other is each for other in passed)
                known = state.followed.setdefault(each.query, {})
                known[each.match_id] = Followed(each.moment[0], did)

    def _follow(self, state: State, had_turn: list[tuple[str, str]]) -> None:
        """Remember who had a turn on a match that may be told again."""
        queries = {rule.name: rule.query for rule in self.world.rules}
        for rule, match_id in had_turn:
            if (known := state.followed.get(queries[rule])) is not None:
                known[match_id].fired.add(rule)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.world.queries)}

    @cached_property
    def _listening(self) -> dict[str, list[tuple[int, Rule]]]:
        """The rules of each query, with their places in the order of declaration."""
        found: dict[str, list[tuple[int, Rule]]] = {}
        for place, rule in enumerate(self.world.rules):
            found.setdefault(rule.query, []).append((place, rule))
        return found

    def passing(self, state: State, found: list[Candidate]) -> list[Candidate]:
        """Return the candidates whose conditions hold, those of lower queries first."""
        passed: list[Candidate] = []
        now = set[tuple[str, str]]()
        places = self._places
        if len(found) > 1:
            found = sorted(found, key=lambda c: (places[c.query], c.start, c.match_id))
        for each in found:
            if each.is_again:
                # It is tested once, at its own moment.
                passed += [each] * state.followed[each.query][each.match_id].stands
                continue
            there = all(lower in now or _has_passed(state, lower) for lower in each.over)
            if there and self._holds(state, each):
                passed.append(each)
                now.add((each.query, each.match_id))
        return passed

    def _holds(self, state: State, match: Candidate) -> bool:
        conditions = self.world.queries[match.query].conditions
        if not conditions:
            return True
        reading = self._reading(state, match.query, match)
        try:
            return all(
                condition.holds(reading) is True
                for condition in conditions
                if condition.needs <= match.present
            )
        except DataError as error:
            raise DataError(f"query {match.query}, {self._named(match)}: {error}") from error

    def _due(
        self, state: State, passed: list[Candidate], limits: Limits
    ) -> tuple[list[tuple[Rule, Candidate]], list[Firing]]:
        """Return the firings of a moment, in order, and those whose WHEN cannot be told."""
        firings: list[tuple[Rule, Candidate]] = []
        rejected: list[Firing] = []
        due = [
            (*own, each)
            for each in passed
            for own in self._listening.get(each.query, ())
            if self._hears(state, own[1], each)
        ]
        if len(passed) > 1:
            due.sort(key=lambda each: (each[0], each[2].start, each[2].match_id))
        for _, rule, match in due:
            try:
                if self._acts(state, rule, match, limits):
                    firings.append((rule, match))
            except DataError as error:
                rejected.append(self._put_aside(rule, match, error))
        return firings, rejected

    def _hears(self, state: State, rule: Rule, match: Candidate) -> bool:
        """Return whether a rule tries a row of a match: not one taken back, nor after it fired."""
        if not match.is_shown or rule.waits != (match.moment[1] == FINAL):
            return False
        if not match.is_again:
            return True
        return rule.name not in state.followed[match.query][match.match_id].fired

    def _reading(self, state: State, reader: str, match: Candidate) -> Reading:
        return Reading(state.tables, match.match, seen=self._seen(reader, match))

    def _seen(self, reader: str, match: Candidate) -> Seen | None:
        if self.seen is None:
            return None
        return lambda table, value: self.seen(reader, match, table, value)

    def forget(self, state: State, before: int) -> None:
        """Forget matches that no other can be made of any more."""
        for name, known in state.found.items():
            memory = self.world.queries[name].memory
            if memory is not None:
                gone = [
                    key
                    for key, (order, passed) in known.items()
                    if passed is not None and order[0] + memory < before
                ]
                for key in gone:
                    del known[key]
        for name, each in state.followed.items():
            revised = self.world.queries[name].revised or 0
            for key in [key for key, own in each.items() if own.since + revised < before]:
                del each[key]
        if len(state.marks) > state.most_marks:
            for mark in outlived(self.world, state.marks, before):
                del state.marks[mark]
            state.most_marks = 2 * len(state.marks) + 1024

    # A firing ---------------------------------------------------------------------------------

    def _limited(
        self,
        state: State,
        rule: Rule,
        match: Candidate,
        kept: tuple[dict[tuple[str, Row], int], Limits],
    ) -> Firing | None:
        """Let a rule act, unless THROTTLE holds it back; what is put aside is not counted."""
        counts, limits = kept
        once = self.world.queries[match.query].once
        if rule.throttle is None and not once:
            return self._fire(state, rule, match, counts)
        before = dict(limits.new)
        held = self._count(rule, match, limits)
        if held is None:
            return None
        fired = self._fire(state, rule, match, counts, held)
        if fired.reason is not None:
            limits.new = before
            if once:
                limits.had_turn(rule, match.match_id, match.moment[0])
        return fired

    def _fire(
        self,
        state: State,
        rule: Rule,
        match: Candidate,
        counts: dict[tuple[str, Row], int],
        held_back: int = 0,
    ) -> Firing:
        marks = {name: contents.mark for name, contents in state.tables.items()}
        before, changes = dict(counts), list[Changed]()
        name = firing_id(rule.name, match.match_id)
        reading = Reading(state.tables, match.match)
        try:
            for change in rule.changes:
                for table, operation, old, new in _apply(change, reading):
                    key = state.tables[table].key_of(old if old is not None else new or ())
                    held = counts.get((table, key), state.counts.get((table, key), 0))
                    counts[table, key] = held + 1
                    changes.append(
                        Changed(match.moment[0], held + 1, name, table, operation, key, old, new)
                    )
        except DataError as error:
            for table, mark in marks.items():
                state.tables[table].undo(mark)
            counts.clear()
            counts |= before
            return self._put_aside(rule, match, error)
        return Firing(
            rule.name, name, match.match_id, match.moment[0], match.match, tuple(changes),
            None, held_back, self.script,
        )  # fmt: skip

    def _put_aside(self, rule: Rule, match: Candidate, error: DataError) -> Firing:
        """Return a firing that could not be done; raise where its rule does not allow for it."""
        if not rule.rejects:
            raise DataError(
                f"rule {rule.name}, {self._named(match)}: {error}; all before that moment stands "
                "(ON ERROR REJECT on the rule puts such a firing aside)"
            ) from error
        name = firing_id(rule.name, match.match_id)
        return Firing(
            rule.name, name, match.match_id, match.moment[0], match.match, (), str(error),
            0, self.script,
        )  # fmt: skip

    def _named(self, match: Candidate) -> str:
        return (
            f"match {match.match_id}, at {self.world.queries[match.query].clock(match.moment[0])}"
        )


def _has_passed(state: State, lower: tuple[str, str]) -> bool:
    query, match_id = lower
    return state.found[query][match_id][1] is True


# Changes -----------------------------------------------------------------------------------------

Done = tuple[str, str, Row | None, Row | None]


def _apply(change: Change, reading: Reading) -> Iterator[Done]:
    """Do a change; yield each row that became another, as it was and as it is."""
    if isinstance(change, Insert):
        yield from _insert(change, reading)
        return
    contents = reading.tables[change.table]
    # Which rows is asked before the first of them is changed.
    for place, row in list(reading.rows(change.table, change.where.condition, change.where.key)):
        if isinstance(change, Delete):
            contents.delete(place)
            yield change.table, "DELETE", row, None
        else:
            yield from _updated(change, contents, place, reading.at(row))


def _updated(change: Update, contents: Contents, place: int, reading: Reading) -> Iterator[Done]:
    new = _with(change.sets, reading)
    if new != reading.row:
        contents.replace(place, new)
        yield change.table, "UPDATE", reading.row, new


def _with(sets: tuple[Set, ...], reading: Reading) -> Row:
    values = list(reading.row)
    for each in sets:
        values[each.place] = each.value(reading)
    return tuple(values)


def _insert(change: Insert, reading: Reading) -> Iterator[Done]:
    contents = reading.tables[change.table]
    for values in change.rows:
        new = tuple(value(reading) for value in values)
        there = next(contents.by_key(contents.key_of(new)), None) if contents.key else None
        if there is None or change.conflict is None:
            contents.insert(new)
            yield change.table, "INSERT", None, new
        elif change.conflict != "NOTHING":
            place, row = there
            known = Reading(reading.tables, reading.match, row, new, reading.seen)
            made = new if change.conflict == "REPLACE" else _with(change.sets, known)
            if made != row:
                contents.replace(place, made)
                yield change.table, "UPDATE", row, made
