"""Rules over bound rows: all candidates are found, then settled one moment after another."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from augury.evaluation.acting import tables
from augury.evaluation.acting.candidates import candidates_of
from augury.evaluation.answers.answers import Clock, as_rows
from augury.matching.matcher import ALWAYS
from augury.planning.acting.columns import HIDDEN
from augury.planning.acting.world import Acting
from augury.rules.stage import Stage, State
from augury.runners.local.runner import LocalRunner


def shown(found: pa.Table) -> pa.Table:
    """Return candidates without the columns that only moments and tests need."""
    return found.select([each for each in found.column_names if not each.startswith(HIDDEN)])


@dataclass
class ActingRun:
    """What acts, over the rows that a runner has; it runs once, when it is first asked.

    `runner` finds candidates; `seen` is told every read of a table.
    """

    acting: Acting
    runner: LocalRunner
    seen: Any = None
    _done: tuple[State, dict[str, set[str]]] | None = field(default=None, init=False)

    @property
    def state(self) -> State:
        """What it came to."""
        return self._run()[0]

    def table(self, name: str) -> pa.Table:
        """Return the matches of a query that passed."""
        query = self.acting.candidates[name.lower()].query.name
        passed = self._run()[1].get(query, set())
        found = self.runner.table(name)
        kept = pc.is_in(found.column("match_id"), value_set=pa.array(list(passed), pa.string()))
        return shown(found.filter(kept))

    def measures(self, name: str) -> list[dict[str, Any]]:
        """Return what the search for candidates did, and how many of them passed their tests."""
        found, clock = self.runner.measures(name), Clock()
        query = self.acting.candidates[name.lower()].query.name
        with clock.stage(f"act {query}") as own:
            own.rows_in = self.runner.table(name).num_rows
            own.rows_out = self.table(name).num_rows
        return [*found, *as_rows(clock.measured)]

    def _run(self) -> tuple[State, dict[str, set[str]]]:
        if self._done is None:
            stage = Stage(self.acting.world, self.seen)
            state = tables.start(self.acting.world, self.runner.catalog, self.runner.bound)
            for name, made in self.acting.candidates.items():
                rows = self.runner.table(name).to_pylist()
                stage.offer(state, candidates_of(made, rows, state.found))
            passed: dict[str, set[str]] = {}
            for each in stage.settle(state, ALWAYS)[0]:
                passed.setdefault(each.query, set()).add(each.match_id)
            self._done = (state, passed)
        return self._done
