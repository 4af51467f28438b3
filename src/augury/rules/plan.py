"""What acts: tables, the conditions of queries that read them, and rules that write them.

Conditions and values are functions of a `Reading`. Values are as they are inside: times are
microseconds or ticks, dates days.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from augury.rules.reading import Member, Reading, Subquery

Value = Callable[[Reading], Any]
# When something is known: its time, whether after all events of that time, the number of the stream
# as declared, and the tie-breaker (in a tuple, so that none is the least). What is told again comes
# after all that is told first at a time, and that nothing more is told comes last.
Moment = tuple[int, int, int, tuple[Any, ...]]
FIRST, AFTER_EVENTS, AGAIN, FINAL = range(4)


@dataclass(frozen=True)
class TablePlan:
    """A table: its columns, and the places of its KEY among them; none is a bag of rows."""

    name: str
    columns: tuple[str, ...]
    key: tuple[int, ...] = ()


@dataclass(frozen=True)
class Set:
    """A column, by its place, and the value that it gets."""

    place: int
    value: Value


@dataclass(frozen=True)
class Insert:
    """New rows, each with a value for every column; `conflict` is what is done with a known key."""

    table: str
    rows: tuple[tuple[Value, ...], ...]
    conflict: Literal["NOTHING", "UPDATE", "REPLACE"] | None = None
    sets: tuple[Set, ...] = ()


@dataclass(frozen=True)
class Where:
    """Which rows: those for which `condition` is true; `key`, if any, is the only one it can be."""

    condition: Value | None = None
    key: tuple[Value, ...] | None = None


@dataclass(frozen=True)
class Update:
    """Rows that get other values."""

    table: str
    sets: tuple[Set, ...]
    where: Where = Where()


@dataclass(frozen=True)
class Delete:
    """Rows that go."""

    table: str
    where: Where = Where()


Change = Insert | Update | Delete


@dataclass(frozen=True)
class Throttle:
    """How many firings go through within a span of time, for each of some values."""

    most: int
    span: int
    by: tuple[Value, ...] = ()


@dataclass(frozen=True)
class Rule:
    """For each match of a query for which `when` is true, the changes, in order.

    `uses` are the values of a match that it looks at, `reads` the tables, in conditions. One that
    `waits` looks at what is told of a match last, when it can no longer be told again.
    """

    name: str
    query: str
    changes: tuple[Change, ...]
    when: Value | None = None
    rejects: bool = False
    uses: frozenset[str] = frozenset()
    reads: tuple[Subquery | Member, ...] = ()
    waits: bool = False
    throttle: Throttle | None = None


@dataclass(frozen=True)
class Condition:
    """An active conjunct; it is not applied where one of the components `needs` has no event.

    `uses` are the values of a match that it looks at, `reads` the tables.
    """

    holds: Value
    needs: frozenset[str] = frozenset()
    uses: frozenset[str] = frozenset()
    reads: tuple[Subquery | Member, ...] = ()


@dataclass(frozen=True)
class ActiveQuery:
    """A query whose matches act or are tested; `over` are the queries of the world that it reads.

    What it has found may be needed for `memory` after its last event; None is for ever. It is
    `read` where another query of the world is over it. Its rows may come again under one id, and a
    rule acts `once` on them. `clock` shows a time to people. Its matches may be told again for as
    long as `revised`; None: they are told once.
    """

    name: str
    conditions: tuple[Condition, ...] = ()
    over: tuple[str, ...] = ()
    memory: int | None = None
    read: bool = False
    clock: Callable[[int], str] = str
    revised: int | None = None
    once: bool = False


@dataclass(frozen=True)
class World:
    """Everything that acts, in the order of declaration; queries come after those they read."""

    tables: Mapping[str, TablePlan]
    queries: Mapping[str, ActiveQuery]
    rules: tuple[Rule, ...]
