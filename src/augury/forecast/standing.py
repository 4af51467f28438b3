"""Standing forecasts: all events of one partition, and only what claims enough is told.

Partial matches that have a token and an end in common have the same future, so they go on together,
as sets (`augury.kernels.forecast.standing`): what an event costs hangs on how many different ones
there are, and not on how many partial matches. Rows are made of those that claim enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from augury.forecast.batch import Batch, Passing
from augury.forecast.claims import Claims, all_claims
from augury.forecast.followed import Wholes
from augury.forecast.machine import Token
from augury.forecast.model import Context
from augury.forecast.past import Bound, Life, PartialLimitError, RowLimitError
from augury.forecast.setting import ALL, Partition, Setting
from augury.forecast.tables import (
    PartialTables,
    Tables,
    WholeTables,
    larger,
    longer,
    without_end,
)
from augury.forecast.told import Told
from augury.forecast.worth import Worth
from augury.kernels.forecast import standing
from augury.kernels.forecast.following import NEVER
from augury.records import Reals, Words

# Slots that are held before they are valued.
ROOM = 2**12
# Nodes that there is room for at first; what is needed no more goes when there is none.
NODES = 2**10
# (component, number, parent, other), as the kernel has them.
Node = tuple[int, int, int, int]
_SLOT_COLUMNS = ("token", "end", "members")
_NODE_COLUMNS = ("component", "number", "parent", "other", "count", "items", "deep")


def stands(setting: Setting) -> bool:
    """Return whether partial matches of a forecast that is followed go on as sets.

    Where there is a window, what it claims at most is what it would without.
    """
    if setting.by_value or setting.counts_events:
        return False
    return setting.window is None or not (setting.steady or setting.machine.guards)


@dataclass
class Claiming(Tables):
    """Tables that know what may claim more than `least`, by context."""

    claims: Words = field(default_factory=lambda: np.full((1, 1), -1, np.int64))
    least: float = np.nan

    def ask_for(self, least: float) -> None:
        """Claim more than so much from now on."""
        if least != self.least:
            self.claims[:], self.least = -1, least


@dataclass
class StandingTables(Claiming, PartialTables):
    """Tables of tokens that know which of them may claim enough; `all` is of those known first."""

    all: Claims | None = None

    def grow(self) -> None:
        super().grow()
        self.claims = larger(self.claims, len(self.tokens), len(self.contexts))

    def prepare(self) -> None:
        """Work out at once what can be known."""
        self.all = all_claims(self)

    def know_claim(self, token: int, context: int) -> None:
        """Work out whether what waits may claim enough in a context."""
        own = self.tokens.things[token]
        waits = bool(own.bound) and not self.past.machine.accepting[own.state]
        self.claims[token, context] = waits and self._most_of(token, context) > self.least

    def ask_for(self, least: float) -> None:
        is_asked = least == self.least
        super().ask_for(least)
        if self.all is not None and not is_asked:
            accepting = self.past.machine.accepting
            waits = [bool(t.bound) and not accepting[t.state] for t in self.tokens.things]
            rows, columns = self.all.forecast.shape
            enough = self.all.forecast > least
            self.claims[:rows, :columns] = enough & np.array(waits)[:rows, None]

    def worth_of(
        self, time: Words, token: Words, context: Words, end: Words
    ) -> tuple[Reals, Reals]:
        """Return forecast and expected wait of tokens in contexts, at a time."""
        if self.all is not None and self.past.window is None:
            rows, columns = self.all.forecast.shape
            if token.max() < rows and context.max() < columns:
                return self.all.forecast[token, context], self.all.expected[token, context]
        tokens, none = self.tokens.things, np.zeros(len(token), np.int64)
        worth = Worth(self, lambda k: frozenset([tokens[k]]))
        return worth.of(none, time, token, context, end)

    def _most_of(self, token: int, context: int) -> float:
        reading = frozenset([self.tokens.things[token]])
        if self.past.window is None:
            return Worth(self, lambda _: reading).one(0, context, token)[0]
        known = self.values.table_of(None, reading, self.contexts.things[context])
        return 0.0 if known is None else float(known[0][-1])


@dataclass
class StandingWholeTables(Claiming, WholeTables):
    """Tables of readings that know which of them claim enough."""

    def grow(self) -> None:
        super().grow()
        self.claims = larger(self.claims, len(self.readings), len(self.contexts))

    def know_claim(self, reading: int, context: int) -> None:
        """Work out whether what lives as a whole claims enough in a context."""
        readings = self.readings.things
        claim = Worth(self, lambda k: readings[k]).one(0, context, reading)[0]
        self.claims[reading, context] = claim > self.least


def events_of(batch: Batch, tables: Tables) -> standing.Passing:
    """Return the events of a batch, all of one partition."""
    events, first = batch.groups()
    symbol = tables.number_symbols(batch.symbol[events], first).astype(np.int32)
    symbol_of = np.arange(len(tables.symbols))
    time = batch.time[events[first[:-1]]]
    return standing.Passing(symbol, symbol_of, time, first, batch.number[events])


def _shared(passing: Passing, tables: Tables) -> standing.Passing:
    symbol_of = np.array([tables.symbols.of((mask,)) for mask in passing.masks], np.int64)
    return standing.Passing(passing.code, symbol_of, passing.time, passing.first, passing.number)


def _sets() -> standing.Sets:
    slots = {name: np.zeros(64, np.int64) for name in _SLOT_COLUMNS}
    nodes = {name: np.zeros(NODES, np.int64) for name in _NODE_COLUMNS}
    found = standing.Sets(marks=np.zeros(standing.N_MARKS, np.int64), **slots, **nodes)
    # Nothing is bound yet.
    found.token[0], found.end[0], found.members[0] = 0, NEVER, standing.NOTHING
    found.marks[standing.SLOTS] = 1
    return found


@dataclass(frozen=True)
class Slots:
    """What was told as slots, each with what its members claim."""

    group: Words
    members: Words
    forecast: Reals
    expected: Reals


def _fresh() -> standing.Fresh:
    return standing.Fresh(*(np.zeros(64, np.int64) for _ in standing.Fresh._fields))


@dataclass
class Standing:
    """The partial matches of all events, as sets."""

    tables: StandingTables
    sets: standing.Sets = field(default_factory=_sets)
    fresh: standing.Fresh = field(default_factory=_fresh)

    @cached_property
    def _out(self) -> standing.Out:
        return standing.Out(*(np.empty(ROOM, np.int64) for _ in standing.Out._fields))

    def advance(self, batch: Batch, least: float = 0.0) -> Told:
        """Read events; return a row for every partial match that claims more than `least`."""
        return self._told(events_of(batch, self.tables), 0, least)

    def pass_by(self, passing: Passing, least: float) -> Told:
        """Do the same with events that many forecasts read."""
        return self._told(_shared(passing, self.tables), passing.base, least)

    def slots(self, passing: Passing, least: float) -> Iterable[tuple[Slots, Words]]:
        """Read events; yield what claims more than `least` as slots, and how many each has."""
        for slots in self._followed(_shared(passing, self.tables), passing.base, least):
            yield slots, self.sets.count[slots.members]

    def _told(self, passing: standing.Passing, base: int, least: float) -> Told:
        parts, rows, limit = list[Told](), 0.0, self.tables.values.setting.row_limit
        for slots in self._followed(passing, base, least):
            count = self.sets.count[slots.members]
            self._check(slots.group, count)
            # As reals: of many members, it is not known how many they are.
            rows += float(count.sum(dtype=np.float64))
            if rows > limit:
                raise RowLimitError(limit)
            parts.append(self._unrolled(slots, passing, base))
        return Told.joined(parts)

    def _followed(self, passing: standing.Passing, base: int, least: float) -> Iterable[Slots]:
        """Follow events to the end; yield what may be told, before its sets are moved."""
        tables, past = self.tables, self.tables.past
        tables.ask_for(least)
        at, out = 0, self._out
        while at < len(passing.code):
            tables.grow()
            self._make_room_for_tokens()
            ways = tables.ways()
            at = standing.follow_sets(
                at,
                (past.window or 0, base),
                passing,
                ways,
                tables.claims,
                self.sets,
                self.fresh,
                out,
            )
            marks = self.sets.marks
            why, which = int(marks[standing.WHY]), int(marks[standing.WHICH])
            if why in (standing.DONE, standing.OUT_FULL, standing.NO_ROOM):
                if why == standing.OUT_FULL and not marks[standing.ROWS]:
                    out = standing.Out(*(np.empty(2 * len(c), np.int64) for c in out))
                yield from self._valued(passing, out)
                if why == standing.NO_ROOM:
                    self._make_room()
                continue
            symbol = int(passing.symbol_of[passing.code[at]])
            context = int(marks[standing.CONTEXT])
            if why == standing.NO_CONTEXT:
                tables.know_context(context, symbol)
            elif why == standing.NO_WAY:
                tables.know(which, symbol)
            else:
                tables.know_claim(which, int(tables.context_onward[context, symbol]))

    def _valued(self, passing: standing.Passing, out: standing.Out) -> Iterable[Slots]:
        """Yield the slots that were written down, those that claim enough."""
        count = int(self.sets.marks[standing.ROWS])
        self.sets.marks[standing.ROWS] = 0
        if not count:
            return
        group, token, context, end, members = (column[:count] for column in out)
        forecast, expected = self.tables.worth_of(passing.time[group], token, context, end)
        enough = forecast > self.tables.least
        yield Slots(group[enough], members[enough], forecast[enough], expected[enough])

    def _unrolled(self, slots: Slots, passing: standing.Passing, base: int) -> Told:
        """Return a row for every member of some slots."""
        count = self.sets.count[slots.members]
        first_row = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
        first, component, number = self._members(slots.members, first_row)
        group = np.repeat(slots.group, count)
        return Told(
            passing.time[group],
            passing.number[passing.first[group + 1] - 1] + base,
            first,
            component,
            number,
            np.ones(len(group)),
            np.repeat(slots.forecast, count),
            np.repeat(slots.expected, count),
        )

    def _check(self, group: Words, count: Words) -> None:
        """Refuse to tell more rows of one event than is allowed."""
        limit = self.tables.past.limit
        if not len(count):
            return
        begins = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))
        if (np.add.reduceat(np.minimum(count, limit + 1), begins) > limit).any():
            raise PartialLimitError(limit)

    def _members(self, members: Words, first_row: Words) -> tuple[Words, Words, Words]:
        """Return the events of the members of sets: where those of each row begin, and they."""
        total = int(self.sets.items[members].sum())
        deepest = int(self.sets.deep[members].max(initial=0))
        first = np.zeros(first_row[-1] + 1, np.int64)
        component, number = np.empty(total, np.int64), np.empty(total, np.int64)
        path = np.empty((2, deepest), np.int64)
        standing.unroll_sets(members, first_row, self.sets, path, first, component, number)
        return first, component, number

    # Room -------------------------------------------------------------------------------------

    def _make_room_for_tokens(self) -> None:
        latest = longer(self.fresh.latest, len(self.tables.tokens), 0)
        self.fresh = self.fresh._replace(latest=latest)

    def _make_room(self) -> None:
        """Let go what no partial match has bound any more; where that is little, take more.

        What was lacking is not known here: asked again without having let go much, it takes more
        of all.
        """
        before = int(self.sets.marks[standing.SETS])
        self._compact()
        if 2 * (before - int(self.sets.marks[standing.SETS])) < len(self.sets.parent):
            self._take_more()

    def _take_more(self) -> None:
        nodes, slots = 2 * len(self.sets.parent), 2 * len(self.sets.token)
        self.sets = self.sets._replace(
            **{name: longer(getattr(self.sets, name), nodes, 0) for name in _NODE_COLUMNS},
            **{name: longer(getattr(self.sets, name), slots, 0) for name in _SLOT_COLUMNS},
        )
        fresh = {name: longer(getattr(self.fresh, name), slots, 0) for name in _SLOT_COLUMNS}
        self.fresh = self.fresh._replace(**fresh)

    def _compact(self) -> None:
        standing.compact(self.sets, np.empty(len(self.sets.parent), np.int64))

    def drop(self, partition: Partition) -> None:
        """Let everything go."""
        self.sets = _sets()

    @property
    def count(self) -> int:
        """How many partitions something lives in: one, unless all is as new."""
        marks = self.sets.marks
        return int(marks[standing.SLOTS] > 1 or marks[standing.CONTEXT] != 0)

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for column in self.sets)

    def forget(self, time: int) -> None:
        """Let nothing go: what has ended goes with the next event."""

    def bound(self) -> Iterable[int]:
        """Return the numbers of the events that are bound."""
        self._compact()
        n = int(self.sets.marks[standing.SETS])
        plain = self.sets.other[:n] < 0
        found: list[int] = np.unique(self.sets.number[:n][plain]).tolist()
        return found

    # As they are told one by one --------------------------------------------------------------

    def lives(self) -> dict[Partition, Life]:
        """Return what lives, partial match by partial match, in the order of what is bound."""
        slots, tables = int(self.sets.marks[standing.SLOTS]), self.tables
        context = tables.contexts.things[int(self.sets.marks[standing.CONTEXT])]
        found = list[tuple[Bound, Token]]()
        for k in range(slots):
            token, end = tables.tokens.things[int(self.sets.token[k])], int(self.sets.end[k])
            own = token if end == NEVER else token._replace(left=end)
            found += [(bound, own) for bound in self._bounds(int(self.sets.members[k]))]
        found.sort(key=lambda one: [*((n, c) for c, n in one[0]), (float("inf"), 0)])
        if len(found) == 1 and not context:
            return {}
        return {ALL: Life({bound: {(token, context): 1.0} for bound, token in found})}

    def _bounds(self, members: int) -> list[Bound]:
        if members < 0:
            return [()]
        count = int(self.sets.count[members])
        self._check(np.zeros(1, np.int64), np.array([count]))
        first_row = np.array([0, count], np.int64)
        first, component, number = self._members(np.array([members]), first_row)
        items = list(zip(component.tolist(), number.tolist(), strict=True))
        return [
            tuple(items[begin:end])
            for begin, end in zip(first[:-1].tolist(), first[1:].tolist(), strict=True)
        ]

    def take_over(self, lives: Mapping[Partition, Life]) -> None:
        """Go on from what lives."""
        for life in lives.values():
            nodes, slots = list[Node](), dict[tuple[Token, int], int]()
            for items, worlds in life.partial.items():
                ((token, context),) = worlds
                timed = self.tables.past.window is not None and token.bound
                key = without_end(self.tables.past, token), token.left if timed else int(NEVER)
                own = -1
                for component, number in items:
                    nodes.append((component, number, own, -1))
                    own = len(nodes) - 1
                if key in slots:
                    nodes.append((-1, -1, slots[key], own))
                    own = len(nodes) - 1
                slots[key] = own
            rows = np.array(nodes, np.int64).reshape(-1, 4).T
            self.put_back(rows, [(*key, members) for key, members in slots.items()], context)

    def stored(self) -> tuple[Words, list[tuple[Token, int, int]], Context]:
        """Return the nodes of sets, one row each, the slots, and what came last."""
        self._compact()
        sets, tables = self.sets, self.tables
        n, count = int(sets.marks[standing.SETS]), int(sets.marks[standing.SLOTS])
        nodes = np.stack([c[:n] for c in (sets.component, sets.number, sets.parent, sets.other)])
        rows = (column[:count].tolist() for column in (sets.token, sets.end, sets.members))
        slots = [(tables.tokens.things[t], end, own) for t, end, own in zip(*rows, strict=True)]
        return nodes, slots, tables.contexts.things[int(sets.marks[standing.CONTEXT])]

    def put_back(
        self, nodes: Words, slots: Sequence[tuple[Token, int, int]], context: Context
    ) -> None:
        """Go on from slots, each with a token, an end and a set, and the nodes of these."""
        count = nodes.shape[1]
        while len(self.sets.parent) < count or len(self.sets.token) < len(slots):
            self._take_more()
        sets, marks = self.sets, self.sets.marks
        for column, own in zip(
            (sets.component, sets.number, sets.parent, sets.other), nodes, strict=True
        ):
            column[:count] = own
        marks[standing.SETS] = count
        standing.count_members(sets)
        for k, (token, end, members) in enumerate(slots):
            sets.token[k] = self.tables.tokens.of(token)
            sets.end[k], sets.members[k] = end, members
        marks[standing.SLOTS] = len(slots)
        known = self.tables.values.model.shortened(context)
        marks[standing.CONTEXT] = self.tables.contexts.of(known)


@dataclass
class StandingWholes(Wholes):
    """What lives as a whole, and is told where it claims enough."""

    tables: StandingWholeTables

    def pass_by(self, passing: Passing, least: float) -> Told:
        """Read events that many forecasts read; return the rows that claim more than `least`."""
        return self._told(_shared(passing, self.tables), passing.base, least)

    def _told(self, passing: standing.Passing, base: int, least: float) -> Told:
        tables, at, parts = self.tables, 0, list[Told]()
        tables.ask_for(least)
        self.know(1)
        now = np.array([self.state[ALL], self.context[ALL]])
        out = tuple(np.empty(ROOM, np.int64) for _ in range(3))
        while at < len(passing.code):
            tables.grow()
            onward = tables.onward, tables.context_onward
            at, rows = standing.follow_whole(at, passing, onward, tables.claims, now, out)
            parts.append(self._valued(passing, base, tuple(column[:rows] for column in out)))
            if at < len(passing.code) and rows < ROOM:
                self._know_next(now.tolist(), int(passing.symbol_of[passing.code[at]]))
        self.state[ALL], self.context[ALL] = now
        return Told.joined(parts)

    def _know_next(self, now: list[int], symbol: int) -> None:
        """Work out what is lacking where it ended."""
        tables, (state, context) = self.tables, now
        tables.know(state, symbol)
        tables.know_context(context, symbol)
        after = int(tables.onward[state, symbol]), int(tables.context_onward[context, symbol])
        tables.grow()
        tables.know_claim(*after)

    def _valued(self, passing: standing.Passing, base: int, told: tuple[Words, ...]) -> Told:
        group, state, context = told
        readings, none = self.tables.readings.things, np.zeros(len(group), np.int64)
        worth = Worth(self.tables, lambda k: readings[k])
        forecast, expected = worth.of(none, passing.time[group], state, context)
        return Told(
            passing.time[group],
            passing.number[passing.first[group + 1] - 1] + base,
            np.zeros(len(group) + 1, np.int64),
            none[:0],
            none[:0],
            np.ones(len(group)),
            forecast,
            expected,
        )
