"""The act stage: candidates of queries in; matches that stand, firings and changes out.

Bound and distributed rows go through here; pushed rows come one by one, and are settled by the same
rules (`augury.rules`). Candidates wait as columns until no earlier one can come, and are settled in
the order of their moments. What has fired is handed on and not kept, so the state grows with the
keys of tables and with what waits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.analysis.checked import Branch, CheckedQuery, Leaf, Shape
from augury.analysis.declarations.catalog import Catalog
from augury.errors import DataError
from augury.evaluation.acting import stored_state, tables
from augury.evaluation.acting.candidates import lower_of
from augury.evaluation.acting.placed import AFTER, STREAM, TIE, TIME, in_order, placed
from augury.evaluation.acting.version import script_hash, script_texts
from augury.evaluation.answers.revisions import last_revisions
from augury.evaluation.codec import Format, fingerprint
from augury.evaluation.encoding import whole
from augury.matching.matcher import ALWAYS
from augury.operator import NEVER_YET
from augury.planning.acting.columns import HIDDEN, TOLD_HOW, TOLD_SHOWN
from augury.planning.acting.shards import Shards, shards_of
from augury.planning.acting.whom import tested_names
from augury.planning.acting.world import Acting, acting_of
from augury.rules.plan import FINAL, FIRST, Moment
from augury.rules.stage import Candidate, Firing, Stage, State

FORMAT = Format(b"AUGURYAC", 1)
Found = Mapping[str, pa.Table]


@dataclass
class ActState:
    """Tables and what is known of matches (`own`), and candidates by query that wait.

    `reached` is the horizon before which all moments were settled. What is known of a query up to
    the moment in `since` was settled before, by who wrote its tables.
    """

    own: State
    waiting: dict[str, pa.Table] = field(default_factory=dict)
    reached: int = NEVER_YET
    since: dict[str, tuple[Any, ...]] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not any(table.num_rows for table in self.waiting.values())

    @property
    def nbytes(self) -> int:
        # A row of a table is a tuple, twice in a dict.
        rows = sum(len(contents.held) for contents in self.own.tables.values())
        waiting: int = sum(table.nbytes for table in self.waiting.values())
        return waiting + 400 * rows


@dataclass(frozen=True)
class Acted:
    """What became of candidates: the matches that stand, by query, firings, and those put aside.

    `stopped` is why no later moment was settled; all that came before it stands. `tried` is the
    number of candidates that were settled, and `passed_over` of those that had been before.
    """

    found: Found
    firings: list[Firing]
    rejected: list[Firing]
    stopped: DataError | None = None
    tried: int = 0
    passed_over: int = 0


@dataclass(frozen=True)
class ActStage:
    """What acts in a session; obeys `augury.operator`, with candidates as its batches.

    `queries` are those of the session as they were checked, `bound` the tables at the start, by
    lower-case name. `mark` tells its states from those of others. `seen` is told every read. What
    is known of a query up to the moment in `since` was settled before. `script` tells the version
    of what was declared.
    """

    catalog: Catalog
    queries: Mapping[str, CheckedQuery]
    bound: Mapping[str, pa.Table] = field(default_factory=dict)
    mark: bytes = b""
    seen: Any = None
    since: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    script: str = ""

    @classmethod
    def of(
        cls, catalog: Catalog, queries: Mapping[str, CheckedQuery], bound: Mapping[str, pa.Table]
    ) -> ActStage:
        """Return the stage of all that was declared; it can be sent elsewhere."""
        tables_of = [
            (each.name, [(c.name, c.type.value) for c in each.columns], each.key, each.store)
            for each in catalog.tables.values()
        ]
        own = {name: table for name, table in bound.items() if name in catalog.tables}
        mark = fingerprint(tables_of, script_texts(catalog))
        return cls(plain(catalog), dict(queries), own, mark, script=script_hash(catalog))

    def __getstate__(self) -> dict[str, object]:
        """Leave the plans behind: they are made again in moments."""
        return {each.name: self.__dict__[each.name] for each in fields(self)}

    @cached_property
    def acting(self) -> Acting:
        """What acts: how candidates are found, and what is done."""
        return acting_of(self.catalog, self.queries)

    @cached_property
    def shards(self) -> Shards:
        """How candidates may be settled apart from each other."""
        return shards_of(self.acting, self.catalog, self.queries)

    @cached_property
    def _tested(self) -> frozenset[str]:
        """The queries whose matches are tested by tables that change."""
        return tested_names(self.catalog, self.queries)

    @cached_property
    def _rules(self) -> Stage:
        return Stage(self.acting.world, self.seen, self.script)

    @property
    def revises(self) -> bool:
        """What was done is never undone."""
        return False

    def start(self, since: int = NEVER_YET) -> ActState:
        """Return the state before any candidate: tables with the rows that are bound.

        Moments before `since` are passed over.
        """
        own = tables.start(self.acting.world, self.catalog, self.bound)
        names = self.acting.world.queries if since != NEVER_YET else ()
        return ActState(own, since=dict.fromkeys(names, (since,)) | dict(self.since))

    def advance(self, state: ActState, batch: Found, horizon: int) -> tuple[ActState, Acted]:
        """Take candidates in; settle all moments that are known once `horizon` is reached.

        `batch` has the matches of queries, by lower-case name, as the search finds them. All that
        are known before `horizon` have come.
        """
        for name, made in self.acting.candidates.items():
            rows = batch.get(name)
            if rows is not None and rows.num_rows:
                self._offer(state, name, placed(made, rows, state.own.found))
        before = horizon if horizon == ALWAYS else horizon - self._delay
        due = {name: _before(rows, before) for name, rows in state.waiting.items()}
        is_only = horizon == ALWAYS and state.reached == NEVER_YET
        own = {name: rows for name, rows in due.items() if rows.num_rows}
        acted = self._settled(state, own, shown if is_only else without_hidden)
        if acted.stopped is None:
            state.waiting = {n: _from(rows, before) for n, rows in state.waiting.items()}
            state.reached = max(state.reached, before)
            self._rules.forget(state.own, before)
        return state, acted

    @property
    def _delay(self) -> int:
        return max((made.delay for made in self.acting.candidates.values()), default=0)

    def oldest(self, state: ActState, horizon: int) -> int:
        """Return the horizon: no row of a stream matters here."""
        return horizon

    def due(self, state: ActState) -> int | None:
        """Return at which horizon the next moment that waits can be settled."""
        times = [pc.min(t.column(TIME)).as_py() for t in state.waiting.values() if t.num_rows]
        return min(times) + self._delay + 1 if times else None

    # Bytes ------------------------------------------------------------------------------------

    def dump(self, state: ActState) -> bytes:
        """Return the whole state as bytes."""
        body = stored_state.dump(state.own, state.waiting, (state.reached, state.since))
        return FORMAT.seal(body, self.mark)

    def restore(self, batch: Found, reported: int, own: bytes = b"") -> ActState:
        """Return the state that `dump` gave; it is made of no rows."""
        if not own:
            return self.start(reported)
        _, body = FORMAT.unseal(own, "the rules of this session", self.mark)
        found, waiting, (reached, since) = stored_state.load(body)
        return ActState(found, waiting, reached, since)

    @property
    def stored_tables(self) -> list[str]:
        """The tables that lie in stores, of those that act or are read by what acts."""
        tables = self.catalog.tables
        return [name for name in self.acting.world.tables if tables[name.lower()].store is not None]

    # What came of it --------------------------------------------------------------------------

    def contents(self, state: ActState, table: str) -> pa.Table:
        """Return the rows of a table."""
        schema = self.catalog.tables[table.lower()]
        return tables.contents_table(schema, state.own.tables[schema.name])

    def changes(self, acted: Acted, table: str) -> pa.Table:
        """Return the changes of a table, as `Session.changes` shows them."""
        schema = self.catalog.tables[table.lower()]
        return tables.changes_table(schema, acted.firings, self.catalog, self.queries)

    def firings(self, acted: Acted, rule: str) -> pa.Table:
        """Return the firings of a rule."""
        own = self.catalog.rules[rule.lower()]
        head = tables.head_of(own, self.catalog, self.queries)
        return tables.firings_table(own.name, acted.firings, head, self.catalog)

    def rejected(self, acted: Acted, rule: str) -> pa.Table:
        """Return the firings of a rule that were put aside, with the reasons."""
        own = self.catalog.rules[rule.lower()]
        head = tables.head_of(own, self.catalog, self.queries)
        return tables.rejected_table(own.name, acted.rejected, head)

    # Settling ---------------------------------------------------------------------------------

    def _offer(self, state: ActState, name: str, rows: pa.Table) -> None:
        known = state.waiting.get(name)
        parts = [rows] if known is None else [known, rows]
        state.waiting[name] = pa.concat_tables(parts, promote_options="permissive")
        query = self.acting.candidates[name].name
        if self.acting.world.queries[query].read:
            reader = CandidateReader(self.acting, name, rows)
            for k in range(rows.num_rows):
                self._rules.hear_of(state.own, reader(k))

    def _settled(
        self, state: ActState, due: Found, told_of: Callable[[pa.Table], pa.Table]
    ) -> Acted:
        """Settle candidates, one moment after another; give what is to be `told_of` them."""
        order = in_order(list(due.values()))
        shows_all = self.seen is not None
        readers = [CandidateReader(self.acting, *each, shows_all=shows_all) for each in due.items()]
        which, rows = order.tables.tolist(), order.rows.tolist()
        kept: list[list[int]] = [[] for _ in due]
        # A match that no table is asked about stands, whoever acted on it before.
        stands = [name not in self._tested for name in due]
        stopped, settled, passed_over = None, 0, 0
        for start, end in pairwise([*order.starts, len(rows)]):
            found = [readers[which[k]](rows[k]) for k in range(start, end)]
            fresh = self._fresh(state, found) if state.since else found
            passed_over += len(found) - len(fresh)
            try:
                passed = self._rules.at_moment(state.own, fresh) if fresh else []
            except DataError as error:
                stopped = error
                break
            settled = end
            for k, each in enumerate(found, start):
                is_told = len(passed) == len(found) or any(each is other for other in passed)
                if not is_told and stands[which[k]] and not any(each is other for other in fresh):
                    is_told = self._rules.is_told(state.own, each)
                if is_told:
                    kept[which[k]].append(rows[k])
        if stopped is not None:
            self._keep_waiting(state, due, which[:settled], rows[:settled])
        taken = zip(due.items(), kept, strict=True)
        matches = {
            self.acting.candidates[name].name: told_of(own.take(pa.array(places, pa.int64())))
            for (name, own), places in taken
        }
        firings, state.own.firings = state.own.firings, []
        rejected, state.own.rejected = state.own.rejected, []
        return Acted(matches, firings, rejected, stopped, settled, passed_over)

    def _fresh(self, state: ActState, found: list[Candidate]) -> list[Candidate]:
        """Return the candidates of a moment that were not settled before."""
        known = [
            each
            for each in found
            if each.query in state.since and each.moment <= state.since[each.query]
        ]
        self._rules.pass_over(state.own, known)
        return [each for each in found if not any(each is other for other in known)]

    def _keep_waiting(self, state: ActState, due: Found, which: list[int], rows: list[int]) -> None:
        """Let candidates wait but those that were settled."""
        for k, (name, own) in enumerate(due.items()):
            stays = np.ones(own.num_rows, np.bool_)
            stays[[row for table, row in zip(which, rows, strict=True) if table == k]] = False
            later = _from(state.waiting[name], _end_of(own))
            state.waiting[name] = pa.concat_tables([own.filter(pa.array(stays)), later])


def _end_of(due: pa.Table) -> int:
    return int(pc.max(due.column(TIME)).as_py()) + 1


def _before(rows: pa.Table, time: int) -> pa.Table:
    return rows.filter(pc.less(rows.column(TIME), time))


def _from(rows: pa.Table, time: int) -> pa.Table:
    return rows.filter(pc.greater_equal(rows.column(TIME), time))


def shown(rows: pa.Table) -> pa.Table:
    """Return candidates without the columns that only moments and tests need.

    Of matches that were told more than once the last row is shown, if HAVING shows it.
    """
    if TOLD_HOW in rows.column_names:
        told = rows.filter(pc.less(rows.column(TOLD_HOW), FINAL))
        rows = last_revisions(told)
        rows = rows.filter(rows.column(TOLD_SHOWN))
    return without_hidden(rows)


def without_hidden(rows: pa.Table) -> pa.Table:
    """Return candidates without the columns that only moments and tests need."""
    return rows.select([each for each in rows.column_names if not each.startswith(HIDDEN)])


def plain(catalog: Catalog) -> Catalog:
    """Return a catalog with plain dicts, which pickle, and without texts."""
    parts = {each.name: dict(getattr(catalog, each.name)) for each in fields(catalog)}
    return replace(catalog, **parts | {"sources": {}, "queries": {}, "gaps": {}})


# Candidates ---------------------------------------------------------------------------------------


class CandidateReader:
    """Makes candidates of the rows of a table, with the values that are looked at and no others."""

    def __init__(
        self, acting: Acting, name: str, rows: pa.Table, *, shows_all: bool = False
    ) -> None:
        self.made, self.rows = acting.candidates[name], rows
        self.query = self.made.name
        own = acting.world.queries[self.query]
        self.names = self._names(acting)
        if shows_all:
            visible = {n for n in rows.column_names if n != "events" and not n.startswith(HIDDEN)}
            self.names = sorted(visible.union(self.names))
        values = [inside(rows.column(TIME if n == "ts" else n)) for n in self.names]
        self.values = list(zip(*values, strict=True))
        self.ids = rows.column("match_id").to_pylist()
        self.starts = whole(rows.column("start_ts")).tolist()
        self.times, self.after = (
            whole(rows.column(TIME)).tolist(),
            whole(rows.column(AFTER)).tolist(),
        )
        self.streams = whole(rows.column(STREAM)).tolist()
        self.ends = whole(rows.column("end_ts")).tolist() if own.read else []
        self.ties = self._ties()
        told = TOLD_SHOWN in rows.column_names
        self.shown = rows.column(TOLD_SHOWN).to_pylist() if told else None
        is_match = self.made.rows is None
        self.present = _always(self.made.query) if is_match else frozenset()
        looks = bool(self.made.lower) or self.present is None
        self.events = rows.column("events").to_pylist() if looks else []

    def _names(self, acting: Acting) -> list[str]:
        """Return what is looked at: by conditions, by rules, and by who lists firings."""
        query = acting.world.queries[self.query]
        rules = [rule for rule in acting.world.rules if rule.query == self.query]
        uses = [each.uses for each in query.conditions] + [each.uses for each in rules]
        found = frozenset[str]().union(*uses)
        if rules:
            found |= {key.name for key in self.made.keys}
            found |= {"confidence"} & set(self.made.columns)
        return sorted(found)

    def _ties(self) -> list[tuple[Any, ...]]:
        """Return the tie-breaker of each candidate's last event."""
        own = {
            int(name.removeprefix(TIE)): self.rows.column(name).to_pylist()
            for name in self.rows.column_names
            if name.startswith(TIE)
        }
        none = [None] * self.rows.num_rows
        if len(own) == 1:
            (values,) = own.values()
        else:
            values = [own.get(s, none)[k] for k, s in enumerate(self.streams)]
        return [() if value is None else (value,) for value in values]

    def __call__(self, k: int) -> Candidate:
        stream, tie, time = self.streams[k], self.ties[k], self.times[k]
        after = self.after[k]
        moment: Moment = (time, after, 0, ()) if after else (time, FIRST, stream, tie)
        order: Moment = (self.ends[k], FIRST, stream, tie) if self.ends else moment
        match = dict(zip(self.names, self.values[k], strict=True)) if self.names else {}
        present, over = self.present, tuple[tuple[str, str], ...]()
        if self.events:
            events = self.events[k]
            over = lower_of(self.made, events)
            seen = (event["component"] for event in events if not event["missed"])
            present = present or frozenset(seen)
        start = self.starts[k]
        present, is_shown = present or frozenset(), self.shown is None or self.shown[k]
        return Candidate(
            self.query, self.ids[k], start, order, moment, match, present, over, is_shown
        )


def inside(column: Any) -> list[Any]:
    """Return values as they are inside: times as microseconds, dates as days."""
    if pa.types.is_temporal(column.type):
        numbers: list[Any] = whole(column).tolist()
        if column.null_count:
            missing = column.is_null().to_pylist()
            return [None if m else n for m, n in zip(missing, numbers, strict=True)]
        return numbers
    values: list[Any] = column.to_pylist()
    return values


def _always(query: CheckedQuery) -> frozenset[str] | None:
    """Return the components that have an event in every match; None where matches differ."""
    if (
        query.allow
        or _branches(query.shape)
        or any(c.minimum == 0 for c in query.components if not c.negated)
    ):
        return None
    return frozenset(c.name for c in query.components if not c.negated)


def _branches(shape: Shape) -> bool:
    if isinstance(shape, Leaf) or not isinstance(shape, Branch):
        return False
    return shape.operator == "OR" or any(map(_branches, shape.parts))
