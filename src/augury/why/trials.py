"""Trials: a changed query over changed rows, answered by the engine in a session of its own.

What is said of a match, or of one that is missing, is what came of a trial. Nothing here knows how
matches are found, so nothing here can find them otherwise than the engine does.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from augury.analysis.declarations.catalog import Catalog, StreamSchema
from augury.errors import AuguryError
from augury.evaluation.stream_rows import StreamRows, event_ids
from augury.language.printer import script_text, to_text
from augury.language.tree import (
    ColumnDefinition,
    CreateGaps,
    CreatePolicy,
    CreateQuery,
    CreateStream,
    Explain,
    Statement,
    SuppressStream,
    Write,
)

Row = dict[str, Any]
Match = dict[str, Any]


@dataclass(frozen=True)
class Rows:
    """The good rows of every stream that a query reads, and which of them were taken out.

    `left_out` has the places of rows in `tables`; `added` are rows that were made up.
    """

    tables: Mapping[str, pa.Table]
    left_out: frozenset[tuple[str, int]] = frozenset()
    added: tuple[tuple[str, tuple[tuple[str, Any], ...]], ...] = ()

    def without(self, places: Iterable[tuple[str, int]]) -> Rows:
        return replace(self, left_out=self.left_out | frozenset(places))

    def and_row(self, stream: str, row: Mapping[str, Any]) -> Rows:
        return replace(self, added=(*self.added, (stream, tuple(row.items()))))

    @property
    def edits(self) -> tuple[Any, ...]:
        return self.left_out, self.added

    def table(self, stream: str) -> pa.Table:
        """Return the rows of a stream as they are in the trial."""
        table = self.tables[stream]
        gone = {place for name, place in self.left_out if name == stream}
        if gone:
            kept = np.setdiff1d(np.arange(table.num_rows), list(gone))
            table = table.take(pa.array(kept, pa.int64()))
        new = [dict(row) for name, row in self.added if name == stream]
        if not new:
            return table
        return pa.concat_tables([table, pa.Table.from_pylist(new, table.schema)])


@dataclass
class Trials:
    """Asks changed queries; `count` is how many were asked so far."""

    session: Any
    catalog: Catalog
    gaps: Mapping[str, CreateGaps]
    known: dict[Any, list[Match] | None] = field(default_factory=dict)
    names: dict[CreateQuery, str | None] = field(default_factory=dict)
    count: int = 0
    _bound: tuple[Any, ...] | None = None

    def matches(self, query: CreateQuery, rows: Rows) -> list[Match] | None:
        """Return what a query finds; None where it cannot be asked so."""
        question = (query, rows.edits)
        if question not in self.known:
            self.known[question] = self._asked(query, rows)
        return self.known[question]

    def _asked(self, query: CreateQuery, rows: Rows) -> list[Match] | None:
        self.count += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                name = self._declared(query)
                if name is None:
                    return None
                self._bind(rows)
                found: list[Match] = self.session.table(name).to_pylist()
            except AuguryError:
                return None
        return found

    def _declared(self, query: CreateQuery) -> str | None:
        """Return the name under which a query is asked; None where it is refused."""
        if query not in self.names:
            name = f"trial_{len(self.names)}"
            self.names[query] = None
            self.session.sql(self._text(query, name))
            self.names[query] = name
        return self.names[query]

    def session_matches(self, name: str, rows: Rows) -> list[Match]:
        """Return what a query that is declared as it is finds."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._bind(rows)
            found: list[Match] = self.session.table(name).to_pylist()
        return found

    def _text(self, query: CreateQuery, name: str) -> str:
        text = to_text(replace(query, name=name))
        gaps = next((g for g in self.gaps.values() if g.query.lower() == _lower(query.name)), None)
        if gaps is None:
            return text
        own = replace(gaps, name=f"gaps_of_{name}", query=name)
        return f"{text}\n{to_text(own)}"

    def _bind(self, rows: Rows) -> None:
        if self._bound != rows.edits:
            for stream in rows.tables:
                self.session.bind(stream, rows.table(stream))
            self._bound = rows.edits


def trials_of(
    empty: Callable[[], Any],
    statements: Sequence[Statement],
    catalog: Catalog,
    bound: Mapping[str, Any],
    rows: Rows,
) -> Trials:
    """Return trials for a session with these statements; `empty` makes a session without any.

    Policies are left out: what stands in `rows` of their streams are the rows that were kept.
    """
    session = empty()
    session.sql(script_text(tuple(_without_policies(statements, catalog))))
    for name, data in bound.items():
        if name not in rows.tables and name not in catalog.guarded:
            session.bind(name, data)
    for name in rows.tables:
        session.bind(name, rows.table(name))
    return Trials(session, catalog, catalog.gaps)


def _without_policies(statements: Sequence[Statement], catalog: Catalog) -> Iterable[Statement]:
    for statement in statements:
        if isinstance(statement, SuppressStream):
            yield _copied(catalog.streams[statement.name.lower()])
        elif not isinstance(statement, CreatePolicy | Explain | Write):
            yield statement


def _copied(schema: StreamSchema) -> CreateStream:
    """Return the declaration of a stream of kept events, as one of its own."""
    return CreateStream(
        schema.name,
        tuple(ColumnDefinition(column.name, column.type.value) for column in schema.columns),
        id=schema.id,
        key=schema.key,
        time=schema.time,
        order_by=schema.order_by,
        type=schema.type,
        probability=schema.probability,
        alternatives=schema.alternatives,
    )


def _lower(name: str | None) -> str:
    return (name or "").lower()


def ids_of(stream: StreamSchema, table: pa.Table) -> list[str]:
    """Return the id of each row's event, as matches tell it."""
    found = event_ids(StreamRows(stream, table, table.slice(0, 0)))
    return [str(each) for each in found.to_pylist()]
