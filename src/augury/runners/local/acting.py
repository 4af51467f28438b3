"""Rules over bound rows: all candidates are found, then settled one moment after another."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from augury.evaluation.acting.opened import with_stores
from augury.evaluation.acting.worlds import Outcome, Worlds
from augury.evaluation.answers.answers import Clock, as_rows
from augury.evaluation.evaluator import Evaluator
from augury.evaluation.stages.act import Acted, ActStage, shown
from augury.matching.matcher import ALWAYS
from augury.rules.stage import State
from augury.runners.live.acting import Used
from augury.runners.local.runner import LocalRunner


@dataclass
class ActingRun:
    """What acts, over the rows that a runner has; it runs once, when it is first asked.

    `runner` finds candidates; `seen` is told every read of a table. Stores are read, not written.
    """

    used: Used
    runner: LocalRunner
    seen: Any = None
    _done: tuple[State, Acted] | None = field(default=None, init=False)
    _worlds: Outcome | None = field(default=None, init=False)

    @property
    def passed_over(self) -> int:
        """How many matches were settled by an earlier run."""
        return self._run()[1].passed_over

    @property
    def state(self) -> State:
        """What it came to, with all firings."""
        return self._run()[0]

    def table(self, name: str) -> pa.Table:
        """Return the matches of a query that passed."""
        query = self.used.acting.candidates[name.lower()].query.name
        found = self._run()[1].found.get(query)
        return shown(self.runner.table(name)).slice(0, 0) if found is None else found

    def measures(self, name: str) -> list[dict[str, Any]]:
        """Return what the search for candidates did, and how many of them passed their tests."""
        found, clock = self.runner.measures(name), Clock()
        query = self.used.acting.candidates[name.lower()].query.name
        with clock.stage(f"act {query}") as own:
            own.rows_in = self.runner.table(name).num_rows
            own.rows_out = self.table(name).num_rows
        return [*found, *as_rows(clock.measured)]

    def contents(self, name: str) -> pa.Table:
        """Return the rows of an UNCERTAIN table, with their probabilities."""
        self._run()
        assert self._worlds is not None
        return self._worlds.table(self.used.catalog, name)

    def _in_worlds(self) -> tuple[State, Acted]:
        """Settle in every world by itself."""
        used, runner = self.used, self.runner
        stage = replace(ActStage.of(used.catalog, used.queries, runner.bound), seen=self.seen)
        rows = Evaluator(used.catalog, used.queries, runner.bound)
        self._worlds = Worlds.of(stage, rows).run()
        found = Acted(self._worlds.found, self._worlds.firings, self._worlds.rejected)
        return State({}, firings=found.firings, rejected=found.rejected), found

    def _run(self) -> tuple[State, Acted]:
        if self._done is None and self.used.acting.uncertain:
            self._done = self._in_worlds()
        if self._done is None:
            used = self.used
            stage = with_stores(ActStage.of(used.catalog, used.queries, self.runner.bound))
            stage = replace(stage, seen=self.seen)
            searched = {name: self.runner.table(name) for name in used.acting.searched}
            told = {name: self.runner.forecast_to_act(name) for name in used.acting.forecasts}
            candidates = searched | told
            state, acted = stage.advance(stage.start(), candidates, ALWAYS)
            if acted.stopped is not None:
                raise acted.stopped
            state.own.firings, state.own.rejected = acted.firings, acted.rejected
            self._done = (state.own, acted)
        return self._done
