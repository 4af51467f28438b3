"""The gate of a stream under a policy: pushed rows wait, are decided about, and some go on.

A row is decided about when the watermark has passed it: then all that come before it are there.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from augury.analysis.declarations.catalog import StreamSchema
from augury.evaluation.stream_rows import StreamRows
from augury.evaluation.suppression import audit_table, decided, events_of
from augury.planning.policy_plan import PolicyPlan
from augury.privacy.pattern import Event
from augury.privacy.policy import Decider, Decision
from augury.sources.columns import ARROW_TYPES
from augury.sources.intake import Arrival
from augury.sources.values import stored


class LiveGate:
    """One stream under a policy; `names` are its own and those AS SUPPRESS of it."""

    def __init__(
        self, plan: PolicyPlan, stream: StreamSchema, decider: Decider, names: list[str]
    ) -> None:
        self.plan, self.stream, self.decider, self.names = plan, stream, decider, names
        self.waiting: list[Arrival] = []
        self.has_stopped = False
        self.log: list[tuple[Event, Decision]] = []

    @property
    def is_used(self) -> bool:
        """Whether rows have come."""
        return bool(self.waiting or self.log)

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
        for event, rows in events_of(self._rows(due), self.plan.columns) if due else ():
            decision = decided(self.plan.schema, self.decider, event)
            self.log.append((event, decision))
            kept += [due[row] for row in rows] if decision.kept else []
        self.has_stopped = False
        return kept

    def _rows(self, due: list[Arrival]) -> StreamRows:
        columns: dict[str, Any] = {
            column.name: pa.array(
                [stored(each.values[column.name], column.type.value) for each in due],
                ARROW_TYPES[column.type.value],
            )
            for column in self.stream.columns
        }
        table = pa.table(columns)
        return StreamRows(self.stream, table, table.slice(0, 0))

    def audit(self) -> pa.Table:
        """Return what was decided so far."""
        return audit_table(self.stream, self.log)
