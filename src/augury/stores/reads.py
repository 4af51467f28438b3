"""Rows of a table by key, asked of the store itself, from many threads at a time.

A read costs what the way to the store costs, so the question is put together once, and lines stay
open.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from augury.stores.layout import StoredTable
from augury.stores.place import StoreAddress

Row = tuple[Any, ...]


class Lines:
    """Connections of a store for reading: as many as are in use at a time."""

    def __init__(self, place: StoreAddress) -> None:
        self.place = place
        self._free: list[tuple[Any, Any]] = []
        weakref.finalize(self, _close, self._free)

    @contextmanager
    def cursor(self) -> Iterator[Any]:
        """Yield a cursor that nobody else has; one that fails is not used again."""
        try:
            line, cursor = self._free.pop()
        except IndexError:
            line = self.place.engine.raw_connection()
            if not self.place.is_embedded:
                line.driver_connection.autocommit = True
            cursor = line.driver_connection.cursor()
        try:
            yield cursor
        except BaseException:
            line.invalidate()
            raise
        self._free.append((line, cursor))

    def close(self) -> None:
        """Close all lines; the next question opens them again."""
        _close(self._free)


def _close(lines: list[tuple[Any, Any]]) -> None:
    while lines:
        # Not given back to others, who would find it in another mode.
        lines.pop()[0].invalidate()


def reader(lines: Lines, table: StoredTable, sql: sa.Table) -> Callable[[Row], Row | None]:
    """Return a function that asks for the row of a key; None where there is none."""
    dialect = lines.place.engine.dialect
    keys = [sql.columns[name] for name in table.key]
    binds = [sa.bindparam(f"k{n}", type_=column.type) for n, column in enumerate(keys)]
    asked = sa.select(sql).where(*(c == b for c, b in zip(keys, binds, strict=True)))
    compiled = asked.compile(dialect=dialect)
    text, names = str(compiled), compiled.positiontup
    # PostgreSQL plans the question once for each line.
    more: dict[str, Any] = {} if lines.place.is_embedded else {"prepare": True}
    into = [c.type.dialect_impl(dialect).bind_processor(dialect) for c in keys]
    out = [c.type.dialect_impl(dialect).result_processor(dialect, None) for c in sql.columns]

    def parameters(key: Row) -> Any:
        values = [
            value if way is None else way(value) for value, way in zip(key, into, strict=True)
        ]
        if names is None:
            return {f"k{n}": value for n, value in enumerate(values)}
        return tuple(values[int(name[1:])] for name in names)

    def ask(key: Row) -> Row | None:
        try:
            with lines.cursor() as cursor:
                row = cursor.execute(text, parameters(key), **more).fetchone()
        except (lines.place.engine.dialect.loaded_dbapi.Error, sa.exc.SQLAlchemyError):
            # The line may be broken: it is asked as everything else is, with patience.
            return lines.place.ask(lambda connection: _again(connection, asked, key))
        if row is None:
            return None
        return tuple(v if way is None else way(v) for v, way in zip(row, out, strict=True))

    return ask


def _again(connection: Any, asked: Any, key: Row) -> Row | None:
    found = connection.execute(asked, {f"k{n}": value for n, value in enumerate(key)})
    row = found.one_or_none()
    return None if row is None else tuple(row)
