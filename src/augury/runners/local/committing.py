"""The tables of a run that lie in stores: one transaction for each store and batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from augury.evaluation.acting.written import WRITTEN as CHANGES
from augury.matching.matcher import ALWAYS
from augury.operator import NEVER_YET
from augury.runners.request import WRITTEN

if TYPE_CHECKING:
    from augury.evaluation.acting.stores import Stores
    from augury.runners.local.parts import Part


@dataclass
class Committing:
    """Who commits what rules changed; `run` is the id of this start of the run.

    A batch that is made again may be larger than it was, for rows that came in between. So what was
    written is told by its time: what is before the moment that a store had reached is `done`.

    The moment that is noted is one that was reached: a bounded run ends with its last event, not
    with the end of all time, so that rows of later days are settled by later runs.
    """

    stores: Stores
    run: str
    done: Mapping[str, int] = field(default_factory=dict)
    _held: list[pa.Table] = field(default_factory=list)

    def takes(self, name: str) -> bool:
        """Whether rows are changes that are to be committed."""
        return name == WRITTEN.key

    def add(self, changes: pa.Table) -> None:
        """Take changes in, until the batch is whole."""
        self._held.append(changes)

    def commit(
        self, parts: Sequence[Part], greatest: Mapping[str, int], horizon: int, batch: int
    ) -> None:
        """Write the changes of a batch with the moment that was reached."""
        rows = pa.concat_tables([CHANGES.empty_table(), *self._held])
        self._held = []
        reached = max((p.state.acted.reached for p in parts if _acts(p)), default=NEVER_YET)
        if horizon == ALWAYS:
            last = pc.max(rows.column("ts")).as_py()
            latest = max(greatest.values(), default=NEVER_YET)
            reached = max(latest, NEVER_YET if last is None else last) + 1
        if reached > NEVER_YET + 1:
            self.stores.commit_rows(rows, reached, self.run, batch, self.done)

    def close(self) -> None:
        """Let others write the tables."""
        self.stores.release()


def _acts(part: Part) -> bool:
    return getattr(part.state, "acted", None) is not None
