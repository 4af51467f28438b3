"""Streams whose events get owners: rows of a stream, through a model of moves, to what is told.

The log has every telling; what is known now are the last ones. Rows that no world allows, and those
that mean nothing in their ward, are the stream's rejected rows, each with its reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from augury.analysis.declarations.catalog import Catalog, Identified, MovesSchema, StreamSchema
from augury.analysis.declarations.moves import AS_OF, ERROR_BOUND, METHOD, REVISION, P
from augury.config import value_of
from augury.errors import ModelError
from augury.evaluation.encoding import whole
from augury.evaluation.stream_rows import StreamRows
from augury.identity.identifier import Identifier, News
from augury.identity.telling import Strategy
from augury.identity.ward import Row, Ward, Ways
from augury.sources.columns import ARROW_TYPES
from augury.sources.rows import REASON

Seen = list[tuple[Any, Row]]


@dataclass(frozen=True)
class Identities:
    """What is told of a stream's owners.

    `log` has every telling, row by row; `last` is, of each event, the last one. `rows` are the rows
    of the stream as wards take them, by which `identifier` told all this.
    """

    last: StreamRows
    log: pa.Table
    resets: int
    identifier: Identifier
    rows: Seen


@dataclass(frozen=True)
class Identifying:
    """What identification needs of a runner: the catalog, loaded streams, and rows of tables."""

    catalog: Catalog
    load: Callable[[str], StreamRows]
    table: Callable[[str], pa.Table]

    def identities(self, name: str) -> Identities:
        """Return all that is told of a stream, over rows that have an end."""
        how = self.catalog.identified[name.lower()]
        own = self.catalog.streams[name.lower()]
        source = self.load(how.statement.readings)
        identifier = self._identifier(how)
        rows = _rows(source, self._model(how))
        _, news = identifier.advance(identifier.start(), rows)
        log = _told(news, identifier, source, own)
        last = StreamRows(own, last_tellings(log, own), _rejected(news, source))
        return Identities(last, log, len(news.resets), identifier, rows)

    def _model(self, how: Identified) -> MovesSchema:
        return self.catalog.moves[how.statement.model.lower()]

    def _identifier(self, how: Identified) -> Identifier:
        model, statement = self._model(how), how.statement
        node = model.statement
        ways = Ways(node.enter, node.exit, node.hall)
        if node.doors is not None:
            table, a, b = node.doors
            ways = Ways.through(self._columns(table, a, b), node.enter)
        try:
            wards = self._wards(model, ways, how.step)
        except ModelError as problem:
            raise ModelError(f"model {model.name}: {problem}") from problem
        strategy = Strategy(statement.revise, statement.by or 0.0)
        limit = value_of("identity_state_limit")
        return Identifier(wards, how.within, strategy, node.rejects_impossible, limit)

    def _wards(self, model: MovesSchema, ways: Ways, step: int) -> dict[Any, Ward]:
        node = model.statement
        named = [model.owner.name, model.place.name, *([model.by.name] if model.by else [])]
        staff: dict[Any, list[tuple[Any, Any]]] = {}
        for person, place, *unit in self._columns(node.objects or "", *named):
            if unit and unit[0] is None:
                raise ModelError(f"OBJECTS has {person} in a ward that is NULL; name the ward")
            staff.setdefault(unit[0] if unit else None, []).append((person, place))
        if not staff and model.by is None:
            staff[None] = []
        weights: dict[tuple[Any, Any], float] = {}
        if node.prefer is not None:
            table, *columns = node.prefer
            for person, room, w in self._columns(table, *columns):
                if (person, room) in weights:
                    raise ModelError(f"PREFER has {person} at {room} more than once; keep one")
                weights[person, room] = w
        return {unit: Ward.of(own, ways, step, weights) for unit, own in staff.items()}

    def _columns(self, table: str, *names: str) -> list[tuple[Any, ...]]:
        rows = self.table(table)
        by_name = {name.lower(): name for name in rows.column_names}
        columns = [rows.column(by_name[name.lower()]).to_pylist() for name in names]
        return list(zip(*columns, strict=True))


def _rows(source: StreamRows, model: MovesSchema) -> Seen:
    """Return the rows of a stream as wards take them, each with its unit."""
    node, schema, table = model.statement, source.schema, source.table

    def values(name: str | None) -> list[Any]:
        column = schema.column(name) if name else None
        return table.column(column.name).to_pylist() if column else [None] * table.num_rows

    times = whole(table.column(schema.time)).tolist()
    read = (schema.id, node.owner, schema.type, node.place, node.from_place, node.by)
    ids, people, types, rooms, origins, units = map(values, read)
    found = zip(units, ids, times, people, types, rooms, origins, strict=True)
    return [(unit, Row(*row)) for unit, *row in found]


def _told(news: News, identifier: Identifier, source: StreamRows, own: StreamSchema) -> pa.Table:
    """Return every telling: the columns of the source with the owner filled in, and what is known.

    The rows stand in the order in which they were told.
    """
    told = [(each, person, p) for each in news.told for person, p in each.owners]
    places = {key: k for k, key in enumerate(source.table.column(source.schema.id).to_pylist())}
    rows = source.table.take(pa.array([places[each.id] for each, _, _ in told], pa.int64()))
    (owner,) = own.alternatives
    people = [identifier.wards[each.unit].people[person] for each, person, _ in told]
    kinds = {column.name: ARROW_TYPES[column.type.value] for column in own.columns}
    rows = rows.set_column(rows.column_names.index(owner), owner, pa.array(people, kinds[owner]))
    added = {
        P: [p for _, _, p in told],
        REVISION: [each.revision for each, _, _ in told],
        METHOD: [each.method for each, _, _ in told],
        ERROR_BOUND: [each.error_bound for each, _, _ in told],
    }
    as_of = pa.array([each.as_of for each, _, _ in told], pa.int64()).cast(kinds[AS_OF])
    for name in (P, REVISION, AS_OF, METHOD, ERROR_BOUND):
        column = as_of if name == AS_OF else pa.array(added[name], kinds[name])
        rows = rows.append_column(name, column)
    return rows


def last_tellings(log: pa.Table, own: StreamSchema) -> pa.Table:
    """Return, of each event, the rows of its last telling."""
    ids: Any = log.column(own.id).combine_chunks()
    event = np.asarray(ids.dictionary_encode().indices, np.int64)
    revision = np.asarray(log.column(REVISION), np.int64)
    last = np.zeros(int(event.max(initial=-1)) + 1, np.int64)
    np.maximum.at(last, event, revision)
    return log.filter(pa.array(revision == last[event]))


def _rejected(news: News, source: StreamRows) -> pa.Table:
    """Return the rows that were put aside, and those that were none."""
    places = {key: k for k, key in enumerate(source.table.column(source.schema.id).to_pylist())}
    reasons = {places[row.id]: reason for _, row, reason in news.rejected}
    rows = sorted(reasons)
    aside = source.table.take(pa.array(rows, pa.int64()))
    faulty = aside.append_column(REASON, pa.array([reasons[k] for k in rows], pa.string()))
    return pa.concat_tables([source.rejected, faulty]) if source.rejected.num_rows else faulty
