"""Forecasts of certain events from a model that does not change: every row is a look-up.

What a token, a reading or a context becomes with a symbol is in `tables`, and followed by kernels.
The worth of a reading in a context is in the tables of the chain; a window in time weighs them by
what is left (`worth`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from augury.forecast.batch import Batch
from augury.forecast.machine import Token
from augury.forecast.past import Life, PartialLimitError
from augury.forecast.setting import Partition, Setting
from augury.forecast.tables import PartialTables, Tables, WholeTables, longer, without_end
from augury.forecast.told import Told
from augury.forecast.worth import Worth
from augury.kernels.forecast import following
from augury.records import Words

# Rows of partial matches that are held before they are valued.
ROOM = 2**18
_NODE_COLUMNS = ("token", "end", "bind", "following")
_BOUND_COLUMNS = ("component", "number", "parent", "depth")


def follows(setting: Setting) -> bool:
    """Return whether a forecast of certain events is followed by tables."""
    if setting.kind != "MARKOV" or setting.online or setting.needs_shares:
        return False
    timed = setting.timed_window is not None
    if setting.waits_in_time:
        return False
    return not (timed and (setting.by_time or setting.machine.leading))


def _pool() -> following.Pool:
    nodes = {name: np.full(64, -1, np.int64) for name in (*_NODE_COLUMNS, *_BOUND_COLUMNS)}
    none = np.zeros(0, np.int64)
    marks = np.zeros(following.N_MARKS, np.int64)
    marks[following.FREE] = -1
    return following.Pool(head=none, context=none, marks=marks, **nodes)


def _groups(batch: Batch, events: Words, first: Words, tables: Tables) -> following.Groups:
    begins = events[first[:-1]]
    return following.Groups(
        batch.partition[begins],
        tables.number_symbols(batch.symbol[events], first),
        batch.time[begins],
        first,
        batch.number[events],
    )


@dataclass
class Wholes:
    """What lives as a whole in every partition, by number."""

    tables: WholeTables
    state: Words = field(default_factory=lambda: np.zeros(0, np.int64))
    context: Words = field(default_factory=lambda: np.zeros(0, np.int64))

    def advance(self, batch: Batch, least: float = 0.0) -> Told:
        """Read events; return a row after each group of them."""
        tables = self.tables
        events, first = batch.groups()
        groups = _groups(batch, events, first, tables)
        self.know(int(groups.partition.max()) + 1)
        n = len(groups.partition)
        states, contexts = np.empty(n, np.int64), np.empty(n, np.int64)
        at = 0
        tables.grow()
        while at < n:
            at = following.follow_wholes(
                at,
                groups,
                (tables.onward, tables.context_onward),
                (self.state, self.context),
                (states, contexts),
            )
            if at < n:
                p, symbol = groups.partition[at], int(groups.symbol[at])
                tables.know(int(self.state[p]), symbol)
                tables.know_context(int(self.context[p]), symbol)
                tables.grow()
        last = events[first[1:] - 1]
        readings = tables.readings.things
        value, time = tables.number_values(batch.values)[batch.value[last]], batch.time[last]
        worth = Worth(tables, lambda k: readings[k])
        forecast, expected = worth.of(value, time, states, contexts)
        none = np.zeros(0, np.int64)
        return Told(
            batch.time[last],
            batch.number[last],
            np.zeros(n + 1, np.int64),
            none,
            none,
            np.ones(n),
            forecast,
            expected,
        )

    def know(self, count: int) -> None:
        """Make room for so many partitions."""
        self.state, self.context = (longer(each, count, 0) for each in (self.state, self.context))

    def drop(self, partition: Partition) -> None:
        """Let a partition go."""
        self.state[partition] = self.context[partition] = 0

    @property
    def count(self) -> int:
        """How many partitions are not as new."""
        return int(((self.state != 0) | (self.context != 0)).sum())

    @property
    def nbytes(self) -> int:
        return int(self.state.nbytes + self.context.nbytes)

    def forget(self, time: int) -> None:
        """Nothing is held of partitions that are as new."""

    def bound(self) -> Iterable[int]:
        """Return the numbers of events that may be told again: none."""
        return ()

    def lives(self) -> dict[Partition, Life]:
        """Return what lives, partition by partition."""
        tables, found = self.tables, dict[Partition, Life]()
        for p in np.flatnonzero((self.state != 0) | (self.context != 0)).tolist():
            reading = tables.readings.things[int(self.state[p])]
            context = tables.contexts.things[int(self.context[p])]
            found[p] = Life({}, {(reading, context): 1.0})
        return found

    def take_over(self, lives: Mapping[Partition, Life]) -> None:
        """Go on from what lives."""
        self.know(max(lives, default=-1) + 1)
        for p, life in lives.items():
            ((reading, context),) = life.whole
            self.state[p] = self.tables.readings.of(reading)
            self.context[p] = self.tables.contexts.of(self.tables.values.model.shortened(context))


@dataclass
class Partials:
    """The partial matches of every partition, in one pool."""

    tables: PartialTables
    pool: following.Pool = field(default_factory=_pool)

    @cached_property
    def _out(self) -> following.Out:
        return following.Out(*(np.empty(ROOM, np.int64) for _ in following.Out._fields))

    def advance(self, batch: Batch, least: float = 0.0) -> Told:
        """Read events; return a row for every partial match after each group.

        Those that claim no more than `least` may be left out.
        """
        tables, past = self.tables, self.tables.past
        setting = tables.values.setting
        if setting.by_value or setting.window is not None:
            # What is left of a window, and whose counts are taken, is each row's own.
            least = 0.0
        events, first = batch.groups()
        groups = _groups(batch, events, first, tables)
        self._know(int(groups.partition.max()) + 1)
        tables.grow()
        found, out, at = list[Told](), self._out, 0
        last = events[first[1:] - 1]
        limits = past.window or 0, past.limit
        while at < len(groups.partition):
            at = following.follow_partial(at, limits, groups, tables.ways(least), self.pool, out)
            why = int(self.pool.marks[following.WHY])
            if why == following.TOO_MANY:
                raise PartialLimitError(past.limit)
            if why in (following.DONE, following.TOLD_FULL):
                if why == following.TOLD_FULL and not self.pool.marks[following.TOLD]:
                    out = following.Out(*(np.empty(2 * len(c), np.int64) for c in out))
                found.append(self._told(batch, last, out))
            elif why == following.NO_ROOM:
                # What is bound is about to move.
                found.append(self._told(batch, last, out))
                self._make_room()
            else:
                which, symbol = int(self.pool.marks[following.WHICH]), int(groups.symbol[at])
                if why == following.NO_CONTEXT:
                    tables.know_context(which, symbol)
                else:
                    tables.know(which, symbol)
                tables.grow()
        return Told.joined(found)

    def _told(self, batch: Batch, last: Words, out: following.Out) -> Told:
        """Return the rows that were written down, valued; those that are worth nothing are left."""
        count = int(self.pool.marks[following.TOLD])
        self.pool.marks[following.TOLD] = 0
        group, token, context, end, bind = (column[:count] for column in out)
        tokens, own = self.tables.tokens.things, last[group]
        worth = Worth(self.tables, lambda k: frozenset([tokens[k]]))
        value = self.tables.number_values(batch.values)[batch.value[own]]
        forecast, expected = worth.of(value, batch.time[own], token, context, end)
        shown = forecast > 0.0
        own, bind = own[shown], bind[shown]
        items = np.concatenate([[0], np.cumsum(self.pool.depth[bind])]).astype(np.int64)
        component, number = np.empty(items[-1], np.int64), np.empty(items[-1], np.int64)
        following.unroll(bind, items, self.pool, component, number)
        return Told(
            batch.time[own],
            batch.number[own],
            items,
            component,
            number,
            np.ones(len(own)),
            forecast[shown],
            expected[shown],
        )

    # Room -------------------------------------------------------------------------------------

    def _know(self, count: int) -> None:
        head, context = self.pool.head, self.pool.context
        self.pool = self.pool._replace(
            head=longer(head, count, -1), context=longer(context, count, 0)
        )

    def _make_room(self) -> None:
        """Let go what nothing has bound any more; where that is little, take more.

        How much one event needs is not known here: asked again without having let go much, it takes
        more of both.
        """
        before = int(self.pool.marks[following.BOUND])
        self._compact()
        pool, marks = self.pool, self.pool.marks
        nodes, bound = len(pool.token), len(pool.parent)
        if 2 * (before - int(marks[following.BOUND])) < bound:
            nodes, bound = 2 * nodes, 2 * bound
        self.pool = pool._replace(
            **{name: longer(getattr(pool, name), nodes, -1) for name in _NODE_COLUMNS},
            **{name: longer(getattr(pool, name), bound, -1) for name in _BOUND_COLUMNS},
        )

    def _compact(self) -> None:
        pool, n = self.pool, int(self.pool.marks[following.BOUND])
        used = np.zeros(n, np.bool_)
        following.mark_bound(pool, used)
        place = np.append(np.cumsum(used) - 1, -1)
        kept = np.flatnonzero(used)
        for name in _BOUND_COLUMNS:
            column = getattr(pool, name)
            column[: len(kept)] = column[:n][kept]
        pool.parent[: len(kept)] = place[pool.parent[: len(kept)]]
        alive = pool.bind >= 0
        pool.bind[alive] = place[pool.bind[alive]]
        pool.marks[following.BOUND] = len(kept)

    def drop(self, partition: Partition) -> None:
        """Let a partition go."""
        following.release(partition, self.pool)

    @property
    def count(self) -> int:
        """How many partitions have a list."""
        return int((self.pool.head >= 0).sum())

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for column in self.pool)

    def forget(self, time: int) -> None:
        """Let go what has ended."""
        following.forget(time, self.pool)

    def bound(self) -> Iterable[int]:
        """Return the numbers of the events that are bound."""
        self._compact()
        n = int(self.pool.marks[following.BOUND])
        found: list[int] = np.unique(self.pool.number[:n]).tolist()
        return found

    # As they are told one by one --------------------------------------------------------------

    def lives(self) -> dict[Partition, Life]:
        """Return what lives, partition by partition."""
        found = dict[Partition, Life]()
        pool, tables = self.pool, self.tables
        for p in np.flatnonzero(pool.head >= 0).tolist():
            life, node = Life(), int(pool.head[p])
            context = tables.contexts.things[int(pool.context[p])]
            while node >= 0:
                token, end = tables.tokens.things[int(pool.token[node])], int(pool.end[node])
                if end < following.NEVER:
                    token = token._replace(left=end)
                life.partial[self._items(int(pool.bind[node]))] = {(token, context): 1.0}
                node = int(pool.following[node])
            found[p] = life
        return found

    def _items(self, bind: int) -> tuple[tuple[int, int], ...]:
        items = list[tuple[int, int]]()
        while bind >= 0:
            items.append((int(self.pool.component[bind]), int(self.pool.number[bind])))
            bind = int(self.pool.parent[bind])
        return tuple(reversed(items))

    def take_over(self, lives: Mapping[Partition, Life]) -> None:
        """Go on from what lives."""
        tables = self.tables
        self._know(max(lives, default=-1) + 1)
        for p, life in lives.items():
            last = -1
            for items, worlds in life.partial.items():
                ((token, context),) = worlds
                node = self._added(items, token)
                self.pool.context[p] = tables.contexts.of(tables.values.model.shortened(context))
                if last < 0:
                    self.pool.head[p] = node
                else:
                    self.pool.following[last] = node
                last = node

    def _added(self, items: Iterable[tuple[int, int]], token: Token) -> int:
        items, marks = list(items), self.pool.marks
        while marks[following.NODES] >= len(self.pool.token) or (
            marks[following.BOUND] + len(items) > len(self.pool.parent)
        ):
            self._make_room()
        pool, bind = self.pool, -1
        for component, number in items:
            fresh = int(marks[following.BOUND])
            marks[following.BOUND] += 1
            pool.component[fresh], pool.number[fresh] = component, number
            pool.depth[fresh] = 1 if bind < 0 else pool.depth[bind] + 1
            pool.parent[fresh], bind = bind, fresh
        node = int(marks[following.NODES])
        marks[following.NODES] += 1
        timed = self.tables.past.window is not None and token.bound
        pool.token[node] = self.tables.tokens.of(without_end(self.tables.past, token))
        pool.end[node] = token.left if timed else following.NEVER
        pool.bind[node], pool.following[node] = bind, -1
        return node
