"""The stage that gives events their owners: rows of a stream in, tellings out.

A step is told when no row of it can come any more; what is told again stands among the rows of the
batch that made it news. Rows are kept while they wait for their step, or may be told again. Wards
know nothing of each other, so rows may be parted by their ward and given to as many stages, each
with a state of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.analysis.declarations.catalog import MovesSchema, StreamSchema
from augury.analysis.declarations.moves import AS_OF, ERROR_BOUND, METHOD, REVISION, P
from augury.errors import StateError
from augury.evaluation.codec import ipc_bytes
from augury.evaluation.encoding import whole
from augury.identity.identifier import ALWAYS, Identified, Identifier, News, dump, load
from augury.identity.telling import EXACT, SAMPLED
from augury.identity.ward import Row
from augury.sources.columns import ARROW_TYPES
from augury.sources.rows import REASON

Seen = list[tuple[Any, Row]]
# The length of the first part of a stored state, in bytes.
_LENGTH = 8


@dataclass
class IdentifyState:
    """What the wards know, and the rows that wait or may be told again."""

    known: Identified
    rows: pa.Table


@dataclass(frozen=True)
class Tidings:
    """What a batch made known: tellings and rejected rows, as rows; the ids of reads that reset.

    `audit` is what a policy decided about the events that were told first.
    """

    told: pa.Table
    rejected: pa.Table
    resets: list[Any]
    audit: pa.Table | None = None


@dataclass(frozen=True)
class IdentifyStage:
    """How the events of one stream (`source`) get their owners, to be told as another (`own`)."""

    source: StreamSchema
    own: StreamSchema
    model: MovesSchema
    identifier: Identifier

    @property
    def revises(self) -> bool:
        """Whether an event may be told again."""
        return self.identifier.strategy.kind != "NEVER"

    def start(self) -> IdentifyState:
        """Return the state before any row."""
        return IdentifyState(self.identifier.start(), self._table({}))

    def advance(
        self, state: IdentifyState, rows: pa.Table, horizon: int = ALWAYS
    ) -> tuple[IdentifyState, Tidings]:
        """Take rows in, in any order; return what is known once none before the horizon comes.

        The state that is given is used up. Rows of a step that is complete are rejected.
        """
        rows = rows.select([column.name for column in self.source.columns]).cast(state.rows.schema)
        known, news = self.identifier.advance(state.known, self.seen(rows), horizon)
        held = pa.concat_tables([state.rows, rows])
        place_of = {key: k for k, key in enumerate(held.column(self.source.id).to_pylist())}
        tidings = Tidings(
            self._log(news, held, place_of), _rejected(news, held, place_of), news.resets
        )
        kept = sorted(place_of[key] for key in known.needed if key in place_of)
        return IdentifyState(known, held.take(pa.array(kept, pa.int64()))), tidings

    def dump(self, state: IdentifyState) -> bytes:
        """Return a state as bytes."""
        first = dump(state.known)
        return len(first).to_bytes(_LENGTH, "little") + first + ipc_bytes(state.rows)

    def load(self, data: bytes) -> IdentifyState:
        """Return the state that was dumped by a stage of the same declarations."""
        length = int.from_bytes(data[:_LENGTH], "little")
        known = load(data[_LENGTH : _LENGTH + length])
        try:
            rows = pa.ipc.open_stream(data[_LENGTH + length :]).read_all()
        except pa.ArrowInvalid as problem:
            raise StateError(f"stored identities are damaged ({problem}); start anew") from problem
        if rows.schema != self._table({}).schema or set(known.wards) != set(self.identifier.wards):
            raise StateError(
                f"identities of {self.own.name} were stored for other columns or wards; start anew"
            )
        return IdentifyState(known, rows)

    def seen(self, rows: pa.Table) -> Seen:
        """Return rows as wards take them, each with its unit."""
        node, schema = self.model.statement, self.source

        def values(name: str | None) -> list[Any]:
            column = schema.column(name) if name else None
            return rows.column(column.name).to_pylist() if column else [None] * rows.num_rows

        times = whole(rows.column(schema.time)).tolist()
        read = (schema.id, node.owner, schema.type, node.place, node.from_place, node.by)
        ids, people, types, rooms, origins, units = map(values, read)
        found = zip(units, ids, times, people, types, rooms, origins, strict=True)
        return [(unit, Row(*row)) for unit, *row in found]

    def _table(self, columns: dict[str, Any]) -> pa.Table:
        kinds = [(c.name, ARROW_TYPES[c.type.value]) for c in self.source.columns]
        return pa.table({name: pa.array(columns.get(name, []), kind) for name, kind in kinds})

    def _log(self, news: News, held: pa.Table, place_of: dict[Any, int]) -> pa.Table:
        """Return every telling: the columns of the source, the owner filled in, what is known.

        The rows stand in the order in which they were told.
        """
        tellings = news.told
        of = tellings.rows_of
        places = np.array([place_of.get(key, -1) for key in tellings.ids], np.int64)
        rows = held.take(pa.array(places[tellings.event[of]]))
        (owner,) = self.own.alternatives
        kinds = {column.name: ARROW_TYPES[column.type.value] for column in self.own.columns}
        people, first = list[Any](), list[int]()
        for unit in tellings.units:
            first.append(len(people))
            people += self.identifier.wards[unit].people
        numbers = np.array(first, np.int64)[tellings.unit[of]] + tellings.person
        names = pa.array(people, kinds[owner]).take(pa.array(numbers))
        rows = rows.set_column(rows.column_names.index(owner), owner, names)
        is_sampled = pa.array(tellings.bound > 0.0)
        added = {
            P: pa.array(tellings.p),
            REVISION: pa.array(tellings.revision[of]),
            AS_OF: pa.array(tellings.as_of[of]),
            METHOD: pc.if_else(is_sampled, SAMPLED, EXACT).take(pa.array(of)),
            ERROR_BOUND: pa.array(tellings.bound[of]),
        }
        for name, column in added.items():
            rows = rows.append_column(name, column.cast(kinds[name]))
        return rows


def _rejected(news: News, held: pa.Table, place_of: dict[Any, int]) -> pa.Table:
    """Return the rows that were put aside, each with its reason."""
    reasons = {place_of[row.id]: reason for _, row, reason in news.rejected}
    rows = sorted(reasons)
    aside = held.take(pa.array(rows, pa.int64()))
    return aside.append_column(REASON, pa.array([reasons[k] for k in rows], pa.string()))
