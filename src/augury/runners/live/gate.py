"""The gate of a stream under a policy: pushed rows wait, are decided about, and some go on.

A row is decided about when the watermark has passed it: then all that come before it are there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from augury.evaluation.stages.suppress import Deciding, SuppressStage, audit_schema
from augury.evaluation.stream_rows import StreamRows
from augury.sources.columns import ARROW_TYPES
from augury.sources.intake import Arrival
from augury.sources.values import stored


class LiveGate:
    """One stream under a policy; `names` are its own and those AS SUPPRESS of it.

    `teach` reads the history, when the first row comes: who goes on with a stored state needs none.
    """

    def __init__(
        self, stage: SuppressStage, teach: Callable[[SuppressStage], Deciding], names: list[str]
    ) -> None:
        self.stage, self.names = stage, names
        self.waiting: list[Arrival] = []
        self.has_stopped = False
        self.log: list[pa.Table] = []
        self._teach = teach
        self._decider: Deciding | None = None

    @property
    def policy_name(self) -> str:
        """The name of the policy."""
        return self.stage.plan.schema.name

    @property
    def is_used(self) -> bool:
        """Whether rows have come."""
        return bool(self.waiting or self.log)

    def open(self) -> Deciding:
        """Return what decides; what it learns from must be there now."""
        if self._decider is None:
            self._decider = self._teach(self.stage)
        return self._decider

    def hold(self, arrival: Arrival) -> None:
        """Let a row wait for its turn."""
        self.waiting.append(arrival)

    def passed(self, horizon: int) -> list[Arrival]:
        """Decide about the rows before a time; return those that are kept, in order.

        Where that fails rows are left undecided, and nothing may be told after them.
        """
        self.has_stopped = True
        due = [each for each in self.waiting if each.time < horizon]
        self.waiting = [each for each in self.waiting if each.time >= horizon]
        due = [each for each in due if not (each.alternatives and each.alternatives.is_overfull)]
        kept = list[Arrival]()
        if due:
            self._decider, passed = self.stage.advance(self.open(), self._rows(due))
            self.log.append(passed.audit)
            kept = [each for each, keeps in zip(due, passed.keeps, strict=True) if keeps]
        self.has_stopped = False
        return kept

    def _rows(self, due: list[Arrival]) -> StreamRows:
        columns: dict[str, Any] = {
            column.name: pa.array(
                [stored(each.values[column.name], column.type.value) for each in due],
                ARROW_TYPES[column.type.value],
            )
            for column in self.stage.stream.columns
        }
        table = pa.table(columns)
        return StreamRows(self.stage.stream, table, table.slice(0, 0))

    def audit(self) -> pa.Table:
        """Return what was decided so far."""
        self.log = [pa.concat_tables([audit_schema(self.stage.stream).empty_table(), *self.log])]
        return self.log[0]

    def dump(self) -> tuple[bytes | None, pa.Table]:
        """Return what decides, None before the first row, and the log."""
        state = None if self._decider is None else self.stage.dump(self._decider)
        return state, self.audit()

    def load(self, state: bytes | None, log: pa.Table, waiting: list[Arrival]) -> None:
        """Become what `dump` was called of."""
        self._decider = None if state is None else self.stage.load(state)
        self.log, self.waiting = [log] if log.num_rows else [], waiting
