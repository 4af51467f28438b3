"""A store of tables: what it holds, up to which moment, and who may write it.

Every commit is one transaction: the rows that became others, and in `augury_runs` up to which
moment, in which batch of which run. So a commit that is repeated changes nothing, and whoever comes
later goes on after that moment. One writer per table, by a lease in the same table.
"""

from __future__ import annotations

import json
import os
import socket
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from augury.config import value_of
from augury.errors import StoreError
from augury.stores.layout import StoredTable, refuse_unfit, sql_table
from augury.stores.letter import Letter
from augury.stores.outbox import put_in
from augury.stores.place import StoreAddress
from augury.stores.reads import Lines, reader

Row = tuple[Any, ...]
# A moment, or the beginning of one: all up to it is done. A time alone is before all of that time.
Position = tuple[Any, ...]
RUNS = "augury_runs"


@dataclass(frozen=True)
class RowChange:
    """A row of a table that became another: None before an INSERT, and after a DELETE."""

    table: str
    before: Row | None
    after: Row | None


@dataclass(frozen=True)
class Mark:
    """What a commit says of itself: up to which moment, and in which batch of which run.

    `script` is the hash of what was declared.
    """

    position: Position
    run: str = ""
    batch: int | None = None
    script: str = ""


@dataclass
class Store:
    """The tables of one store that a session uses, which it alone writes from `claim` on.

    `between` is told of every step of a commit: tests break off there. `now` is the clock.
    """

    place: StoreAddress
    tables: Mapping[str, StoredTable]
    holder: str = field(default_factory=lambda: f"{socket.gethostname()}:{os.getpid()}:{uuid4()}")
    between: Callable[[str], None] = lambda _: None
    now: Callable[[], float] = time.time

    def __post_init__(self) -> None:
        self._metadata = sa.MetaData()
        self._sql = {name: sql_table(each, self._metadata) for name, each in self.tables.items()}
        self._runs = _runs_table(self._metadata)
        self._lines, self._there = Lines(self.place), set[str]()
        self._written = set[str]()
        self._end: weakref.finalize[Any, Any] | None = None

    # Reading ----------------------------------------------------------------------------------

    def load(self) -> tuple[dict[str, list[Row]], Position | None]:
        """Return the rows of every table, and the moment up to which they were written."""
        return self.place.ask(self._load)

    def reader(self, name: str) -> Callable[[Row], Row | None]:
        """Return a function that asks for the row of a key of a table, from any thread."""
        ask = reader(self._lines, self.tables[name], self._sql[name])
        return lambda key: ask(key) if name in self._there else None

    def _load(self, connection: Any) -> tuple[dict[str, list[Row]], Position | None]:
        rows = {}
        for name, table in self.tables.items():
            there = refuse_unfit(table, connection, self.place.name)
            rows[name] = self._rows(connection, name) if there else []
            self._there |= {name} if there else set()
        return rows, self._reached(connection)

    def _rows(self, connection: Any, name: str) -> list[Row]:
        sql = self._sql[name]
        asked = sa.select(sql).order_by(*sql.primary_key.columns)
        return [tuple(row) for row in connection.execute(asked)]

    def _reached(self, connection: Any) -> Position | None:
        if not sa.inspect(connection).has_table(RUNS):
            return None
        own = self._runs.c.table_name.in_(list(self.tables))
        found = connection.execute(sa.select(self._runs.c.position).where(own)).scalars()
        known = [_position(each) for each in found if each is not None]
        return max(known, default=None)

    # Writing ----------------------------------------------------------------------------------

    def claim(self) -> None:
        """Become the writer of the tables; refused by name where somebody else is."""
        self.place.ask(self._claim)
        names = tuple(self.tables)
        self._end = weakref.finalize(self, _release, self.place, self._runs, names, self.holder)

    def succeed(self, other: Store) -> None:
        """Go on as the writer that another was."""
        self.holder, self.between = other.holder, other.between
        if other._end is not None:
            other._end.detach()

    def _claim(self, connection: Any) -> None:
        self._runs.create(connection, checkfirst=True)
        entries = self._entries(connection)
        for name in self.tables:
            found = entries.get(name)
            if found is None:
                connection.execute(self._runs.insert().values(table_name=name, writes=0))
            elif self._is_held(found):
                raise StoreError(
                    f"table {name} of store {self.place.name} is written by {found.holder}; "
                    "end that run, or wait until its lease is over"
                )
        self._renew(connection)

    def _entries(self, connection: Any) -> dict[str, Any]:
        """Return what runs say of the tables, which nobody else changes until the transaction ends.

        All take them in one order, so that nobody waits for who waits for them.
        """
        name = self._runs.c.table_name
        asked = sa.select(self._runs).where(name.in_(list(self.tables))).order_by(name)
        found = connection.execute(asked.with_for_update())
        return {each.table_name: each for each in found}

    def _is_held(self, entry: Any) -> bool:
        if entry.holder in (None, self.holder) or entry.lease_until <= self.now():
            return False
        return not _is_gone(entry.holder)

    def _renew(self, connection: Any, **more: Any) -> None:
        until = self.now() + value_of("store_lease_seconds")
        own = self._runs.c.table_name.in_(list(self.tables))
        values = {"holder": self.holder, "lease_until": until, **more}
        connection.execute(self._runs.update().where(own).values(**values))

    def commit(
        self, changes: Iterable[RowChange], mark: Mark, letters: Sequence[Letter] = ()
    ) -> bool:
        """Write changes, which are in order, and up to where all is done; both or neither.

        So are letters, which go to the outbox.

        Return whether there was something to write: a batch of the same run, or a moment, that was
        written before is not written again.
        """
        net = _net(changes, self.tables)
        did = self.place.ask(lambda connection: self._commit(connection, net, mark, letters))
        if did:
            # They fit, and are there: that need not be asked again.
            self._written |= set(net)
        return did

    def _commit(
        self,
        connection: Any,
        net: Mapping[str, Sequence[RowChange]],
        mark: Mark,
        letters: Sequence[Letter],
    ) -> bool:
        entries = self._entries(connection)
        for name in self.tables:
            entry = entries.get(name)
            if entry is None or entry.holder != self.holder:
                holder = "nobody" if entry is None else entry.holder or "nobody"
                raise StoreError(
                    f"table {name} of store {self.place.name} is now written by {holder}: this "
                    "run was silent for longer than its lease, and has written nothing since; "
                    "start it again"
                )
        if any(_is_written(entry, mark) for entry in entries.values()):
            return False
        for name, own in net.items():
            self.between(f"before {name}")
            self._write(connection, name, own)
        if letters:
            self.between("before the letters")
            put_in(connection, letters)
        self.between("before the moment")
        self._renew(
            connection,
            position=json.dumps(mark.position),
            moment=int(mark.position[0]),
            run=mark.run,
            batch=mark.batch,
            script=mark.script,
            writes=self._runs.c.writes + 1,
        )
        self.between("before the end")
        return True

    def _write(self, connection: Any, name: str, changes: Sequence[RowChange]) -> None:
        table, sql = self.tables[name], self._sql[name]
        known = name in self._written
        if not known and not refuse_unfit(table, connection, self.place.name):
            sql.create(connection)
            self._there.add(name)
        if not table.key:
            _change_bag(connection, sql, changes)
            return
        gone = [each.before for each in changes if each.after is None and each.before is not None]
        if gone:
            keys = [{f"key {k}": row[k] for k in table.key_places} for row in gone]
            columns = list(sql.columns)
            same = [columns[k] == sa.bindparam(f"key {k}") for k in table.key_places]
            connection.execute(sql.delete().where(*same), keys)
        kept = [each.after for each in changes if each.after is not None]
        if kept:
            names = [column.name for column in sql.columns]
            rows = [dict(zip(names, row, strict=True)) for row in kept]
            connection.execute(_upsert(connection.dialect.name, sql), rows)

    def release(self) -> None:
        """Let others write the tables."""
        if self._end is not None:
            self._end.detach()
        self._lines.close()
        _release(self.place, self._runs, tuple(self.tables), self.holder)


def _runs_table(metadata: sa.MetaData) -> sa.Table:
    """Return the table in which runs say how far they are."""
    return sa.Table(
        RUNS,
        metadata,
        sa.Column("table_name", sa.String(255), primary_key=True),
        sa.Column("moment", sa.BigInteger),
        sa.Column("position", sa.Text),
        sa.Column("run", sa.Text),
        sa.Column("batch", sa.BigInteger),
        sa.Column("script", sa.Text),
        sa.Column("writes", sa.BigInteger, nullable=False),
        sa.Column("holder", sa.Text),
        sa.Column("lease_until", sa.Double),
    )


def as_position(written: Sequence[Any]) -> Position:
    """Return a moment that was written as JSON has it."""
    return tuple(tuple(part) if isinstance(part, list) else part for part in written)


def _position(text: str) -> Position:
    return as_position(json.loads(text))


def _is_written(entry: Any, mark: Mark) -> bool:
    """Return whether a commit was made before: it is the same batch, or no later moment."""
    if mark.batch is not None and entry.run == mark.run and entry.batch is not None:
        return bool(mark.batch <= entry.batch)
    return entry.position is not None and mark.position <= _position(entry.position)


def _is_gone(holder: str) -> bool:
    """Return whether a holder was a process of this machine that has ended."""
    host, pid, _ = holder.split(":", 2)
    if host != socket.gethostname():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def _release(place: StoreAddress, runs: sa.Table, tables: tuple[str, ...], holder: str) -> None:
    """Give a lease back, if the store can be asked; otherwise it ends by itself."""
    own = runs.c.table_name.in_(list(tables)) & (runs.c.holder == holder)
    try:
        with place.engine.begin() as connection:
            connection.execute(runs.update().where(own).values(holder=None, lease_until=None))
    except sa.exc.SQLAlchemyError:
        return
    finally:
        place.close()


# Rows ---------------------------------------------------------------------------------------------


def _net(
    changes: Iterable[RowChange], tables: Mapping[str, StoredTable]
) -> dict[str, list[RowChange]]:
    """Return what some changes come to: of each key the row before the first and after the last.

    Of a bag of rows they are all kept, in order.
    """
    found: dict[str, dict[Any, RowChange]] = {}
    for number, each in enumerate(changes):
        places = tables[each.table].key_places
        row = each.before if each.before is not None else each.after or ()
        key = tuple(row[k] for k in places) if places else number
        own = found.setdefault(each.table, {})
        known = own.get(key)
        before = each.before if known is None else known.before
        own[key] = RowChange(each.table, before, each.after)
    return {
        name: [each for each in own.values() if each.before != each.after]
        for name, own in found.items()
    }


def _upsert(dialect: str, table: sa.Table) -> Any:
    """Return the statement that adds rows, or puts them in the place of those with their key."""
    made: Any = postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)
    others = {c.name: made.excluded[c.name] for c in table.columns if not c.primary_key}
    if not others:
        return made.on_conflict_do_nothing()
    key = list(table.primary_key.columns)
    return made.on_conflict_do_update(index_elements=key, set_=others)


def _change_bag(connection: Any, table: sa.Table, changes: Sequence[RowChange]) -> None:
    """Change rows of a table without KEY: equal ones are alike, so any of them will do."""
    names = [column.name for column in table.columns]
    place: Any = sa.literal_column("ctid" if connection.dialect.name == "postgresql" else "rowid")
    for each in changes:
        if each.before is None:
            assert each.after is not None
            connection.execute(table.insert(), dict(zip(names, each.after, strict=True)))
            continue
        same = [c.is_not_distinct_from(v) for c, v in zip(table.columns, each.before, strict=True)]
        one = sa.select(place).select_from(table).where(*same).limit(1).scalar_subquery()
        if each.after is None:
            connection.execute(table.delete().where(place == one))
        else:
            after = dict(zip(names, each.after, strict=True))
            connection.execute(table.update().where(place == one).values(**after))
