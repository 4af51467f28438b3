"""Tables as a store has them: their columns in its types, and whether one that is there fits.

Values go in and out as they are inside: times are microseconds since 1970, dates days.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import sqlalchemy as sa

from augury.errors import DataError, StoreError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY = date(1970, 1, 1).toordinal()


@dataclass(frozen=True)
class StoredTable:
    """A declared table: columns with their types in the language, and its KEY."""

    name: str
    columns: tuple[tuple[str, str], ...]
    key: tuple[str, ...] = ()

    @property
    def key_places(self) -> tuple[int, ...]:
        """Where the KEY is among the columns."""
        names = [name for name, _ in self.columns]
        return tuple(names.index(name) for name in self.key)


class Moment(sa.types.TypeDecorator[int]):
    """A time: inside microseconds, in the store a time in UTC."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: int | None, dialect: Any) -> datetime | None:
        """Return a time as the store has it."""
        if value is None:
            return None
        try:
            moment = _EPOCH + timedelta(microseconds=value)
        except OverflowError as error:
            raise DataError(f"the time {value} is beyond the years that a store knows") from error
        # SQLite keeps texts, and no zones.
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: datetime | None, dialect: Any) -> int | None:
        """Return a time as it is inside."""
        if value is None:
            return None
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        return (moment - _EPOCH) // timedelta(microseconds=1)


class Day(sa.types.TypeDecorator[int]):
    """A date: inside a number of days."""

    impl = sa.Date
    cache_ok = True

    def process_bind_param(self, value: int | None, dialect: Any) -> date | None:
        """Return a date as the store has it."""
        return None if value is None else date.fromordinal(value + _FIRST_DAY)

    def process_result_value(self, value: date | None, dialect: Any) -> int | None:
        """Return a date as it is inside."""
        return None if value is None else value.toordinal() - _FIRST_DAY


TYPES: dict[str, Any] = {
    "STRING": sa.Text,
    "LONG": sa.BigInteger,
    "DOUBLE": sa.Double,
    "BOOLEAN": sa.Boolean,
    "TIMESTAMP": Moment,
    "DATE": Day,
}
# What a column that is there may be. SQLite knows no booleans, and a time is one or a text.
_FITTING: dict[str, tuple[type, ...]] = {
    "STRING": (sa.String,),
    "LONG": (sa.Integer,),
    "DOUBLE": (sa.Float, sa.Numeric),
    "BOOLEAN": (sa.Boolean,),
    "TIMESTAMP": (sa.DateTime,),
    "DATE": (sa.Date,),
}


def sql_table(table: StoredTable, metadata: sa.MetaData) -> sa.Table:
    """Return a table as a store is asked for it."""
    columns = [
        sa.Column(name, TYPES[kind](), primary_key=name in table.key, autoincrement=False)
        for name, kind in table.columns
    ]
    return sa.Table(table.name, metadata, *columns)


def refuse_unfit(table: StoredTable, connection: Any, store: str) -> bool:
    """Return whether a table is there; raise where it does not fit its declaration."""
    inspector = sa.inspect(connection)
    if not inspector.has_table(table.name):
        return False
    there = {column["name"]: column for column in inspector.get_columns(table.name)}
    faults = [fault for name, kind in table.columns if (fault := _unfit(there.get(name), kind))]
    names = {name for name, _ in table.columns}
    faults += [
        f"its column {name} needs a value, and is not declared"
        for name, column in there.items()
        if name not in names and not column["nullable"] and column["default"] is None
    ]
    if table.key and not _is_unique(inspector, table):
        faults.append(f"its PRIMARY KEY is not {', '.join(table.key)}")
    if faults:
        raise StoreError(
            f"table {table.name} of store {store} does not fit its declaration: "
            f"{'; '.join(faults)}; declare it as it is there, or give it another name"
        )
    return True


def _unfit(column: Any, kind: str) -> str | None:
    if column is None:
        return f"a column of type {kind} is missing"
    if isinstance(column["type"], _FITTING[kind]):
        return None
    return f"column {column['name']} is a {column['type']}, and a {kind} is declared"


def _is_unique(inspector: Any, table: StoredTable) -> bool:
    unique: list[Iterable[str]] = [inspector.get_pk_constraint(table.name)["constrained_columns"]]
    unique += [each["column_names"] for each in inspector.get_unique_constraints(table.name)]
    return any(set(names) == set(table.key) for names in unique)
