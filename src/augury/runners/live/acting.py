"""Rules over pushed rows: candidates wait until no earlier one can come, and are then settled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import Catalog
from augury.errors import DataError
from augury.evaluation.acting import tables
from augury.evaluation.acting.candidates import candidates_of
from augury.evaluation.acting.version import script_hash
from augury.matching.matcher import ALWAYS
from augury.planning.acting.columns import HIDDEN, TOLD_HOW
from augury.planning.acting.shards import tables_used
from augury.planning.acting.world import Acting
from augury.rules import state_text
from augury.rules.contents import Contents
from augury.rules.flights import Flights
from augury.rules.locks import Grain, Locking, Scheduler
from augury.rules.plan import FIRST
from augury.rules.stage import Candidate, Settled, Stage, State

if TYPE_CHECKING:
    # Databases are loaded where a table lies in one.
    from augury.evaluation.acting.stores import Stores

Found = list[dict[str, Any]]
# Which row it is: the query, the match, which of its tellings, and whether that comes once more.
Place = tuple[str, str | None, int | None, int]
# Moments that are in flight at a time; their rows are held in versions until all have ended.
IN_FLIGHT = 4096


@dataclass(frozen=True)
class Used:
    """What acts, with what was declared, the tables that are bound, and stores of others.

    Moments that are settled together go by a `scheduler`, if one is named or a table lies in a
    store.
    """

    acting: Acting
    catalog: Catalog
    queries: Mapping[str, CheckedQuery]
    bound: Mapping[str, pa.Table]
    stores: Stores | None = None
    scheduler: Scheduler | None = None
    locks: Grain = "row"

    @property
    def tables_used(self) -> dict[str, frozenset[str]]:
        """The tables that each query and its rules use."""
        return tables_used(self.acting, self.catalog, self.queries)

    def key_of(self, table: str) -> tuple[int, ...]:
        """Return the places of a table's KEY."""
        return self.acting.world.tables[table].key


class LiveActing:
    """What acts in a live session, with its tables; `stopped` is why it goes no further.

    `stores` are where some of the tables lie: what was settled is told when it is written there.
    `since` is up to which moment queries were settled by an earlier run, and `passed_over` how many
    matches were, therefore, left alone.
    """

    def __init__(self, used: Used) -> None:
        self.state: State = State({})
        self.held: dict[Place, dict[str, Any]] = {}
        self.stopped: DataError | None = None
        self.stores: Stores | None = None
        self.since: dict[str, tuple[Any, ...]] = {}
        self.committed, self.passed_over = 0, 0
        self._untold: Found = []
        self.declare(used)

    def declare(self, used: Used) -> None:
        """Let what acts be another from now on; tables that are known keep their contents.

        A firing that could not be done is tried again.
        """
        self.acting, self.stopped = used.acting, None
        self.stage = Stage(used.acting.world, script=script_hash(used.catalog))
        if used.stores is not None:
            self._open(used.stores, used)
        # Letters are of the rules by which firings happened: those before, for what is unwritten.
        self.used = used
        self.flights = None
        if used.stores is not None or used.scheduler is not None:
            locking = Locking(used.acting.world, used.locks)
            reads = {} if used.stores is None else used.stores.readers()
            self.flights = Flights(self.stage, used.scheduler or "lwm", locking, reads=reads)
        for name in used.acting.world.tables:
            if name not in self.state.tables:
                self.state.tables[name] = tables.contents_of(name, used.catalog, used.bound)

    def _open(self, stores: Stores, used: Used) -> None:
        """Read the tables that lie in stores, and become their only writer."""
        if self.stores is not None:
            if self.state.reached is not None:
                # What was settled by the rules so far is not to be settled by others.
                unwritten = self.state.firings[self.committed :]
                letters = self.stores.letters(unwritten, self.used.catalog, self.used.queries)
                self.stores.commit(unwritten, self.state.reached, letters, always=True)
                self.committed = len(self.state.firings)
            stores.succeed(self.stores)
        stores.claim()
        stores.load()
        self.stores = stores
        self.since = stores.since(used.tables_used)
        for name, rows in stores.rows.items():
            if name not in self.state.tables:
                self.state.tables[name] = Contents.of(name, used.key_of(name), rows)

    def take(self, name: str, found: Found) -> Found:
        """Let matches of a query wait for their moments; return what is told at once.

        Rows that are no matches stand, whatever tables hold.
        """
        made = self.acting.candidates[name]
        candidates = list(candidates_of(made, found, self.state.found))
        since = self.since.get(name)
        if since is not None:
            known = [each for each in candidates if each.moment <= since]
            candidates = [each for each in candidates if each.moment > since]
            self.passed_over += len(known)
            for each in known:
                self.stage.hear_of(self.state, each)
                self.stage.pass_over(self.state, [each])
        self.stage.offer(self.state, candidates)
        if made.rows is not None:
            return [_shown(row) for row in found]
        rows = {_place(made.name, row): row for row in found}
        for each in candidates:
            self.held[_place_of(each)] = rows[_place_of(each)]
        return []

    def settle(self, horizons: Iterable[tuple[str, int]]) -> Found:
        """Settle what is known, and write it; `horizons` is how far each query has reported."""
        if self.stopped is not None:
            raise self.stopped
        before = ALWAYS
        for name, horizon in horizons:
            delay = self.acting.candidates[name].delay
            before = min(before, horizon if horizon == ALWAYS else horizon - delay)
        told = Settled()
        try:
            self._settle(before, told)
        except DataError as error:
            self.stopped = error
        passed = [self.held.get(_place_of(each)) for each in told.passed]
        self._untold += [_shown(row) for row in passed if row is not None]
        for each in told.tried:
            self.held.pop(_place_of(each), None)
        self._commit()
        if self.stopped is not None:
            raise self.stopped
        answers, self._untold = self._untold, []
        return answers

    def _settle(self, before: int, told: Settled) -> None:
        """Settle all moments before a time: one after another, or as many as locks allow."""
        if self.flights is None:
            self.stage.settle(self.state, before, told)
            return
        while moments := self.stage.due(self.state, before, IN_FLIGHT):
            try:
                self.flights.settle(self.state, moments, told)
            finally:
                done = set(map(id, told.tried))
                left = [each for found in moments for each in found if id(each) not in done]
                self.stage.offer(self.state, left)
        self.stage.forget(self.state, before)

    def _commit(self) -> None:
        """Write what was settled; what cannot be written now is written with the next."""
        if self.stores is not None and self.state.reached is not None:
            fresh = self.state.firings[self.committed :]
            letters = self.stores.letters(fresh, self.used.catalog, self.used.queries)
            self.stores.commit(fresh, self.state.reached, letters)
        self.committed = len(self.state.firings)

    def close(self) -> None:
        """Let others write the tables that lie in stores."""
        if self.stores is not None:
            self.stores.release()

    def dump(self) -> dict[str, Any]:
        """Return the state as JSON has it."""
        held = [_written(row) for row in self.held.values()]
        about: dict[str, Any] = {"state": state_text.dump(self.state).decode(), "held": held}
        if self.stores is not None:
            about["stores"] = {n: at and list(at) for n, at in self.stores.reached.items()}
            about["committed"] = self.committed
            about["untold"] = [_written(row) for row in self._untold]
        return about

    def load(self, about: Mapping[str, Any]) -> None:
        """Go on from the state that `dump` wrote; what a store holds counts more than the state."""
        stored, self.stopped = self.state.tables, None
        self.state = state_text.load(about["state"].encode())
        rows = [_read(each) for each in about["held"]]
        self.held = {_place(row["query"], row): row for row in rows}
        self.committed = about.get("committed", len(self.state.firings))
        self._untold = [_read(each) for each in about.get("untold", [])]
        if self.stores is not None:
            self._go_on(about["stores"], stored)

    def _go_on(self, then: Mapping[str, Any], stored: Mapping[str, Contents]) -> None:
        """Take tables from stores that were written after the state was; refuse older ones."""
        assert self.stores is not None
        for name in self.stores.newer_than(then):
            for table in self.stores.stores[name].tables:
                self.state.tables[table] = stored[table]
            # What waited for a commit then was written since.
            self.committed = len(self.state.firings)
        # What waits and was settled since is left alone.
        waiting = [each for _, _, each in sorted(self.state.waiting, key=lambda e: e[:2])]
        self.state.waiting = []
        self.stage.offer(self.state, [each for each in waiting if not self._is_known(each)])
        for each in filter(self._is_known, waiting):
            self.stage.pass_over(self.state, [each])
            self.held.pop(_place_of(each), None)
            self.passed_over += 1

    def _is_known(self, each: Candidate) -> bool:
        since = self.since.get(each.query.lower())
        return since is not None and each.moment <= since


def _place(name: str, row: Mapping[str, Any]) -> Place:
    how = row.get(TOLD_HOW, FIRST)
    return name, row.get("match_id"), row.get("revision"), how


def _place_of(each: Candidate) -> Place:
    return _place(each.query, each.match)


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
