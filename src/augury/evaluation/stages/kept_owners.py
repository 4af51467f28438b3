"""The stage that gives events their owners and tells those alone that a policy keeps.

An event is decided about when its owners are told first, at once and for ever: what is told again
of it goes the same way. Steps are told in the order of time, so decisions are made in that order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from augury.analysis.declarations.catalog import StreamSchema
from augury.analysis.declarations.moves import REVISION
from augury.errors import StateError
from augury.evaluation.codec import ipc_bytes
from augury.evaluation.stages.identify import IdentifyStage, IdentifyState, Seen, Tidings
from augury.evaluation.stages.suppress import Deciding, SuppressStage
from augury.evaluation.stream_rows import StreamRows
from augury.identity.identifier import ALWAYS, Identified, Identifier

# The length of each part of a stored state but the last, in bytes.
_LENGTH = 8


@dataclass
class KeptState:
    """What identifies, what decides, and the ids of kept events that may be told again."""

    identified: IdentifyState
    decider: Deciding
    kept: pa.Array

    @property
    def known(self) -> Identified:
        """What the wards know."""
        return self.identified.known

    @property
    def rows(self) -> pa.Table:
        """The rows that wait for their step, or may be told again."""
        return self.identified.rows


@dataclass(frozen=True)
class KeptOwners:
    """Who did the events of a stream (`owners`), as far as a policy keeps them (`policy`)."""

    owners: IdentifyStage
    policy: SuppressStage
    history: StreamRows | None = None

    @property
    def source(self) -> StreamSchema:
        """The stream whose events get owners."""
        return self.owners.source

    @property
    def own(self) -> StreamSchema:
        """The stream under the policy."""
        return self.owners.own

    @property
    def identifier(self) -> Identifier:
        return self.owners.identifier

    def seen(self, rows: pa.Table) -> Seen:
        """Return rows as wards take them."""
        return self.owners.seen(rows)

    def start(self) -> KeptState:
        """Return the state before any row, with what the history teaches."""
        ids = self.owners.start().rows.column(self.own.id).combine_chunks()
        return KeptState(self.owners.start(), self.policy.start(self.history), ids)

    def advance(
        self, state: KeptState, rows: pa.Table, horizon: int = ALWAYS
    ) -> tuple[KeptState, Tidings]:
        """Take rows in; return what is told of kept events, and nothing of rows put aside."""
        identified, tidings = self.owners.advance(state.identified, rows, horizon)
        log = tidings.told
        first = log.filter(pc.equal(log.column(REVISION), 0))
        decider, passed = self.policy.advance(
            state.decider, StreamRows(self.own, first, first.slice(0, 0))
        )
        fresh = pc.unique(passed.kept.table.column(self.own.id))
        kept = pa.concat_arrays([state.kept, fresh.cast(state.kept.type)])
        told_rows = log.filter(pc.is_in(log.column(self.own.id), kept))
        again = pc.is_in(kept, identified.rows.column(self.own.id).combine_chunks())
        nothing = tidings.rejected.slice(0, 0)
        state = KeptState(identified, decider, kept.filter(again))
        return state, replace(
            tidings, told=told_rows, rejected=nothing, resets=[], audit=passed.audit
        )

    def dump(self, state: KeptState) -> bytes:
        """Return a state as bytes, which are as secret as the raw stream."""
        parts = [self.owners.dump(state.identified), self.policy.dump(state.decider)]
        whole = b"".join(len(part).to_bytes(_LENGTH, "little") + part for part in parts)
        return whole + ipc_bytes(pa.table({"kept": state.kept}))

    def load(self, data: bytes) -> KeptState:
        """Return the state that was dumped under the same policy."""
        parts = list[bytes]()
        for _ in range(2):
            end = _LENGTH + int.from_bytes(data[:_LENGTH], "little")
            parts.append(data[_LENGTH:end])
            data = data[end:]
        try:
            kept = pa.ipc.open_stream(data).read_all().column("kept").combine_chunks()
        except (pa.ArrowInvalid, KeyError) as problem:
            raise StateError(f"stored decisions are damaged ({problem}); start anew") from problem
        return KeptState(self.owners.load(parts[0]), self.policy.load(parts[1]), kept)


def is_new(state: IdentifyState | KeptState) -> bool:
    """Return whether no row was taken in that matters yet."""
    known: Any = state.known
    return not state.rows.num_rows and not known.waiting
