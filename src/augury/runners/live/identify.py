"""A live stream AS IDENTIFY: pushed rows go through the stage that gives events their owners."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from augury.analysis.declarations.catalog import Catalog
from augury.errors import DataError
from augury.evaluation.identifying import Identifying, Identities, last_tellings
from augury.evaluation.stages.identify import IdentifyStage
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

    def __init__(self, name: str, catalog: Catalog, tables: Mapping[str, pa.Table]) -> None:
        def table(wanted: str) -> pa.Table:
            if wanted.lower() not in tables:
                known = catalog.tables[wanted.lower()].name
                raise DataError(f"table {known} has no data; bind it before the first push")
            return tables[wanted.lower()]

        self.stage: IdentifyStage = Identifying(catalog, _no_rows, table).stage(name)
        self.state = self.stage.start()
        self.waiting: list[Arrival] = []
        self.horizon = NEVER_YET
        _, nothing = self.stage.advance(self.stage.start(), self._rows(), NEVER_YET)
        self.log: list[pa.Table] = [nothing.told]
        self.aside: list[pa.Table] = [nothing.rejected]

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
        return Identities(last, log, self.resets, self.stage.identifier, [])

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

    def settle(self) -> None:
        """Hand rows that wait to the stage, whose state is then all there is.

        None of them completes a step: nothing is told.
        """
        self._taken()

    def _taken(self) -> pa.Table:
        """Hand all rows to the stage; return what is told."""
        self.state, tidings = self.stage.advance(self.state, self._rows(), self.horizon)
        self.waiting = []
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
