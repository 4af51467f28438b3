"""Streams whose events get owners: rows of a stream, through a model of moves, to what is told.

The log has every telling; what is known now are the last ones. Rows that no world allows, and those
that mean nothing in their ward, are the stream's rejected rows, each with its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from augury.analysis.declarations.catalog import Catalog, Identified, MovesSchema, StreamSchema
from augury.analysis.declarations.moves import REVISION
from augury.config import value_of
from augury.errors import DataError, ModelError
from augury.evaluation.stages.identify import IdentifyStage, Seen
from augury.evaluation.stream_rows import StreamRows
from augury.identity.identifier import Identifier
from augury.identity.telling import Strategy
from augury.identity.ward import Ward, Ways


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
        stage = self.stage(name)
        source = self.load(stage.source.name)
        _, tidings = stage.advance(stage.start(), source.table)
        bad = tidings.rejected
        rejected = pa.concat_tables([source.rejected, bad]) if source.rejected.num_rows else bad
        last = StreamRows(stage.own, last_tellings(tidings.told, stage.own), rejected)
        return Identities(
            last, tidings.told, len(tidings.resets), stage.identifier, stage.seen(source.table)
        )

    def stage(self, name: str) -> IdentifyStage:
        """Return the stage that identifies the events of a stream, wherever they come from."""
        known = self.catalog.owners_of(name)
        assert known is not None
        how, own = self.catalog.identified[known], self.catalog.streams[name.lower()]
        source = self.catalog.streams[how.statement.readings.lower()]
        return IdentifyStage(source, own, self._model(how), self._identifier(how))

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


def identify_stage(catalog: Catalog, tables: Mapping[str, pa.Table], name: str) -> IdentifyStage:
    """Return the stage that identifies the events of a stream, by bound tables."""

    def table(table_name: str) -> pa.Table:
        if table_name.lower() not in tables:
            known = catalog.tables[table_name.lower()].name
            raise DataError(f"table {known} has no data; bind it: bind({known!r}, ...)")
        return tables[table_name.lower()]

    return Identifying(catalog, _no_rows, table).stage(name)


def _no_rows(name: str) -> StreamRows:
    raise DataError(f"rows of stream {name} come step by step; they are not there beforehand")


def last_tellings(log: pa.Table, own: StreamSchema) -> pa.Table:
    """Return, of each event, the rows of its last telling."""
    ids: Any = log.column(own.id).combine_chunks()
    event = np.asarray(ids.dictionary_encode().indices, np.int64)
    revision = np.asarray(log.column(REVISION), np.int64)
    last = np.zeros(int(event.max(initial=-1)) + 1, np.int64)
    np.maximum.at(last, event, revision)
    return log.filter(pa.array(revision == last[event]))
