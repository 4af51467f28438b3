"""Rules over pushed rows: candidates wait until no earlier one can come, and are then settled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa

from augury.analysis.declarations.catalog import Catalog
from augury.errors import DataError
from augury.evaluation.acting import tables
from augury.evaluation.acting.candidates import candidates_of
from augury.matching.matcher import ALWAYS
from augury.planning.acting.columns import HIDDEN
from augury.planning.acting.world import Acting
from augury.rules import state_text
from augury.rules.stage import Stage, State

Found = list[dict[str, Any]]


class LiveActing:
    """What acts in a live session, with its tables; `stopped` is why it goes no further."""

    def __init__(self, acting: Acting, catalog: Catalog, bound: Mapping[str, pa.Table]) -> None:
        self.state: State = State({})
        self.held: dict[tuple[str, str], dict[str, Any]] = {}
        self.stopped: DataError | None = None
        self.declare(acting, catalog, bound)

    def declare(self, acting: Acting, catalog: Catalog, bound: Mapping[str, pa.Table]) -> None:
        """Let what acts be another from now on; tables that are known keep their contents."""
        self.acting, self.stage = acting, Stage(acting.world)
        for name in acting.world.tables:
            if name not in self.state.tables:
                self.state.tables[name] = tables.contents_of(name, catalog, bound)

    def take(self, name: str, found: Found) -> None:
        """Let matches of a query wait for their moments."""
        made = self.acting.candidates[name]
        for row in found:
            self.held[made.query.name, row["match_id"]] = row
        self.stage.offer(self.state, candidates_of(made, found, self.state.found))

    def settle(self, horizons: Iterable[tuple[str, int]]) -> Found:
        """Settle what is known; `horizons` is how far each query has reported."""
        if self.stopped is not None:
            raise self.stopped
        before = ALWAYS
        for name, horizon in horizons:
            delay = self.acting.candidates[name].delay
            before = min(before, horizon if horizon == ALWAYS else horizon - delay)
        try:
            passed, tried = self.stage.settle(self.state, before)
        except DataError as error:
            self.stopped = error
            raise
        answers = [_shown(self.held[each.query, each.match_id]) for each in passed]
        for each in tried:
            del self.held[each.query, each.match_id]
        return answers

    def dump(self) -> dict[str, Any]:
        """Return the state as JSON has it."""
        held = [_written(row) for row in self.held.values()]
        return {"state": state_text.dump(self.state).decode(), "held": held}

    def load(self, about: Mapping[str, Any]) -> None:
        """Go on from the state that `dump` wrote."""
        self.state, self.stopped = state_text.load(about["state"].encode()), None
        rows = [_read(each) for each in about["held"]]
        self.held = {(row["query"], row["match_id"]): row for row in rows}


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _written(value: Any) -> Any:
    """Return a value of an answer as JSON has it."""
    if isinstance(value, dict):
        return ["row", *([name, _written(part)] for name, part in value.items())]
    if isinstance(value, list):
        return ["list", *map(_written, value)]
    if isinstance(value, datetime):
        return ["time", (value - _EPOCH) // timedelta(microseconds=1)]
    if isinstance(value, timedelta):
        return ["span", value // timedelta(microseconds=1)]
    return ["day", value.toordinal()] if isinstance(value, date) else value


def _read(written: Any) -> Any:
    """Return the value that `_written` wrote."""
    if not isinstance(written, list):
        return written
    kind, *parts = written
    if kind == "row":
        return {name: _read(part) for name, part in parts}
    if kind == "list":
        return list(map(_read, parts))
    if kind == "time":
        return _EPOCH + timedelta(microseconds=parts[0])
    return timedelta(microseconds=parts[0]) if kind == "span" else date.fromordinal(parts[0])


def _shown(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if not name.startswith(HIDDEN)}
