"""A live stream AS IDENTIFY: pushed rows go through the stage that gives events their owners.

Under a policy nothing is told but of the events that it keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from augury.analysis.declarations.catalog import Catalog
from augury.errors import DataError
from augury.evaluation.identifying import Identifying, Identities, last_tellings
from augury.evaluation.stages.identify import IdentifyStage
from augury.evaluation.stages.kept_owners import KeptOwners
from augury.evaluation.stages.suppress import Deciding, SuppressStage
from augury.evaluation.stream_rows import StreamRows
from augury.identity.identifier import Identified
from augury.matching.matcher import ALWAYS
from augury.operator import NEVER_YET
from augury.sources.columns import ARROW_TYPES
from augury.sources.intake import Arrival
from augury.sources.values import stored


class LiveIdentified:
    """One stream whose events get owners as they are pushed.

    All that was told is kept, for `revisions`.
    """

    # Events of a step have no sequence among each other.
    tied = 0

    def __init__(
        self,
        name: str,
        catalog: Catalog,
        tables: Mapping[str, pa.Table],
        kept: Callable[[], KeptOwners] | None = None,
    ) -> None:
        def table(table_name: str) -> pa.Table:
            if table_name.lower() not in tables:
                known = catalog.tables[table_name.lower()].name
                raise DataError(f"table {known} has no data; bind it before the first push")
            return tables[table_name.lower()]

        # What a table lacks is told before any history is.
        plain = Identifying(catalog, _no_rows, table).stage(name)
        self.stage: IdentifyStage | KeptOwners = plain if kept is None else kept()
        self.waiting: list[Arrival] = []
        self.horizon = NEVER_YET
        start: Any = self.stage.start()
        self.state: Any
        self.state, nothing = self.stage.advance(start, self._rows(), NEVER_YET)
        self.log: list[pa.Table] = [nothing.told]
        self.aside: list[pa.Table] = [nothing.rejected]
        self.decisions = [] if nothing.audit is None else [nothing.audit]
        self.has_stopped = False

    @property
    def bases(self) -> list[str]:
        """The names of the streams it reads."""
        return [self.stage.source.name]

    @property
    def memory(self) -> int:
        """How far behind the watermark an id may still be told again."""
        return self.stage.identifier.within

    @property
    def known(self) -> Identities:
        """All that was told so far."""
        log, own = pa.concat_tables(self.log), self.stage.own
        last = StreamRows(own, last_tellings(log, own), pa.concat_tables(self.aside))
        resets = 0 if self.policy is not None else self.resets
        return Identities(last, log, resets, self.stage.identifier, [])

    @property
    def policy(self) -> SuppressStage | None:
        """The policy before it."""
        return self.stage.policy if isinstance(self.stage, KeptOwners) else None

    @property
    def policy_name(self) -> str:
        """The name of the policy, if there is one."""
        return "" if self.policy is None else self.policy.plan.schema.name

    @property
    def is_used(self) -> bool:
        """Whether rows have come."""
        return bool(self.waiting) or self.horizon > NEVER_YET

    def open(self) -> Deciding:
        """Return what decides."""
        found: Deciding = self.state.decider
        return found

    def audit(self) -> pa.Table:
        """Return what the policy has decided so far."""
        return pa.concat_tables(self.decisions)

    @property
    def resets(self) -> int:
        """How many reads were impossible so far."""
        known: Identified = self.state.known
        return known.resets

    @property
    def rejected(self) -> tuple[int, str]:
        """How many rows were put aside so far, and why the first of them."""
        bad = [each for each in self.aside if each.num_rows]
        first = bad[0].column(bad[0].num_columns - 1)[0].as_py() if bad else ""
        return sum(each.num_rows for each in bad), first

    def accept(self, stream: str, arrival: Arrival) -> bool:
        """Take a good row in; its ID has to be remembered."""
        del stream
        self.waiting.append(arrival)
        return True

    def advance(self, horizon: int) -> list[dict[str, Any]]:
        """Report the owners that are known once all rows before `horizon` are there."""
        if horizon <= self.horizon:
            return []
        self.horizon = horizon
        found: list[dict[str, Any]] = self._taken().to_pylist()
        return found

    def finish(self) -> list[dict[str, Any]]:
        """Report what remains: the stream has ended."""
        return self.advance(ALWAYS)

    def flush(self) -> None:
        """Hand rows that wait to the stage, whose state is then all there is.

        None of them completes a step: nothing is told.
        """
        self._taken()

    def _taken(self) -> pa.Table:
        """Hand all rows to the stage; return what is told."""
        self.has_stopped = self.policy is not None
        # Either stage takes the state that it gave.
        self.state, tidings = self.stage.advance(self.state, self._rows(), self.horizon)
        self.has_stopped, self.waiting = False, []
        if tidings.audit is not None and tidings.audit.num_rows:
            self.decisions.append(tidings.audit)
        if tidings.told.num_rows:
            self.log.append(tidings.told)
        if tidings.rejected.num_rows:
            self.aside.append(tidings.rejected)
        return tidings.told

    def _rows(self) -> pa.Table:
        columns: dict[str, Any] = {
            c.name: pa.array(
                [stored(each.values[c.name], c.type.value) for each in self.waiting],
                ARROW_TYPES[c.type.value],
            )
            for c in self.stage.source.columns
        }
        return pa.table(columns)


def _no_rows(name: str) -> StreamRows:
    raise DataError(f"stream {name} is pushed; its rows are not there beforehand")
