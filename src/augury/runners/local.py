"""The local runner: everything in this process, Arrow in and Arrow out, no Java.

It is the reference for the other runners. A query over queries evaluates those first and carries
their lineage, so that what is shared is counted once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from augury.analysis.catalog import Catalog, DataType, StreamSchema
from augury.analysis.checked import CheckedQuery
from augury.errors import DataError
from augury.matching.lineage import Formula, Is
from augury.matching.matcher import ALWAYS, Matcher, sort_order
from augury.matching.settle import Settlement, chosen
from augury.planning.expressions.link import link
from augury.planning.match_plan import MatchPlan, plan_match
from augury.records import Events, Matches, Reals, Words
from augury.runners.encoding import Encoder, Place, chances_of, declaration_of, whole
from augury.runners.results import Inputs, joined_ids, match_table, text_hashes
from augury.sources.rows import conform, sift

TIE, KEY = "augury tie", "augury key"


@dataclass
class Loaded:
    """The rows of a stream that a query can read, and what they are made of.

    `formulas` is None for a declared stream: its rows are base events.
    """

    schema: StreamSchema
    table: pa.Table
    rejected: pa.Table
    formulas: list[Formula] | None = None
    place: Place | None = None


@dataclass
class LocalRunner:
    """Evaluates the queries of a catalog over bound tables."""

    catalog: Catalog
    queries: Mapping[str, CheckedQuery]
    bound: dict[str, pa.Table] = field(default_factory=dict)
    loaded: dict[str, Loaded] = field(default_factory=dict)
    chances: dict[Any, dict[Any, float]] = field(default_factory=dict)
    answers: dict[str, pa.Table] = field(default_factory=dict)

    def table(self, name: str) -> pa.Table:
        """Return the result of a query."""
        if name.lower() not in self.answers:
            self._evaluate(self.queries[name.lower()])
        return self.answers[name.lower()]

    def rejected(self, stream: str) -> pa.Table:
        """Return the bad rows of a stream, with their reasons."""
        return self._load(stream).rejected

    def _load(self, name: str) -> Loaded:
        if name.lower() not in self.loaded:
            if self.catalog.stream(name) is None:
                self.table(name)
            else:
                self.loaded[name.lower()] = self._load_declared(name)
        return self.loaded[name.lower()]

    def _load_declared(self, name: str) -> Loaded:
        schema = self.catalog.stream(name)
        assert schema is not None
        if name.lower() not in self.bound:
            raise DataError(
                f"stream {schema.name} has no data; bind it: bind({schema.name!r}, table)"
            )
        declared = declaration_of(schema)
        good, bad = sift(conform(self.bound[name.lower()], declared), declared)
        return Loaded(schema, good, bad)

    # One query --------------------------------------------------------------------------------

    def _evaluate(self, query: CheckedQuery) -> None:
        plan = plan_match(query, self.catalog)
        sources = [self._load(stream.name) for stream in query.streams]
        encoder = Encoder(plan, self._tables(plan))
        events, inputs = self._events(encoder, sources)
        lineage = any(s.formulas is not None for s in sources) or self._is_read(query.name)
        run = _Run(self, plan, encoder, events, sources, lineage)
        matches, formulas = run.matches()
        result = match_table(plan, matches, inputs)
        self.answers[query.name.lower()] = result
        if lineage and query.output_schema is not None:
            by_code = {code: key for key, code in encoder.keys.known.items()}
            place = _place(matches, events, [by_code[code] for code in events.key.tolist()])
            self.loaded[query.name.lower()] = Loaded(
                query.output_schema, result, result.slice(0, 0), formulas, place
            )

    def _is_read(self, name: str) -> bool:
        return any(
            stream.name.lower() == name.lower()
            for q in self.queries.values()
            for stream in q.streams
        )

    def _tables(self, plan: MatchPlan) -> dict[str, list[tuple[Any, ...]]]:
        rows = {}
        for schema in self.catalog.tables.values():
            if schema.name.lower() in self.bound:
                table = self.bound[schema.name.lower()]
                columns = [table.column(c.name).to_pylist() for c in schema.columns]
                rows[schema.name.lower()] = list(zip(*columns, strict=True))
        return rows

    def _events(self, encoder: Encoder, sources: list[Loaded]) -> tuple[Events, Inputs]:
        parts, ids, firsts, first = [], [], [], 0
        for source in sources:
            firsts.append(first)
            parts.append(encoder.encode(source.schema, source.table, first, source.place))
            ids.append(event_ids(source))
            first += source.table.num_rows
        events = parts[0]
        for part in parts[1:]:
            events = Events.joined(events, part) if len(part) else events
        tables = tuple(source.table for source in sources)
        times, chances = _all_times(sources), _all_chances(sources)
        return events, Inputs(tables, tuple(firsts), joined_ids(ids), times, chances)


@dataclass(frozen=True)
class _Run:
    """One evaluation of one query."""

    runner: LocalRunner
    plan: MatchPlan
    encoder: Encoder
    events: Events
    sources: list[Loaded]
    lineage: bool

    def matches(self) -> tuple[Matches, list[Formula]]:
        """Return the final matches, and their lineage where it is asked for."""
        codes = self.encoder.strings.known
        events = self.events
        if self.plan.programs.orders_strings:
            codes, events = self._ranked(codes)
        predicates = link(self.plan.programs, codes, self.encoder.tables)
        matcher = Matcher(self.plan.pattern, predicates, is_independent=not self.lineage)
        events = _with_dense_groups(events)
        _, found = matcher.advance(matcher.start(events), events, ALWAYS)
        if found.is_final.all() and not self.lineage:
            return found, []
        self._register(events)
        settlement = Settlement(
            self.plan.pattern,
            events.take(sort_order(events)),
            predicates,
            self._formula,
            self.runner.chances,
        )
        return _settled(settlement, found, self.lineage)

    def _ranked(self, codes: dict[str, int]) -> tuple[dict[str, int], Events]:
        """Return codes in the order of the strings, and the events with them."""
        ordered = sorted(codes, key=lambda text: text.encode())
        ranks = {text: k for k, text in enumerate(ordered)}
        by_code = np.array([ranks[text] for text in codes] or [0], np.int64)
        values = self.events.values.copy()
        for k, column in enumerate(self.plan.programs.columns):
            if column.type is DataType.STRING:
                values[k] = np.where(values[k] >= 0, by_code[np.maximum(values[k], 0)], -1)
        return ranks, replace(self.events, values=values)

    def _group_of(self, row: int) -> int:
        position = int(np.searchsorted(self.events.row, row))
        return int(self.events.group[position])

    def _place(self, row: int) -> tuple[Loaded, int]:
        for source in self.sources:
            if row < source.table.num_rows:
                return source, row
            row -= source.table.num_rows
        raise IndexError(row)

    def _register(self, events: Events) -> None:
        """Tell the chances of the base events among the inputs."""
        chances = self.runner.chances
        for row, p in zip(events.row, events.p, strict=True):
            literal = self._formula(int(row))
            source, _ = self._place(int(row))
            if source.formulas is None and isinstance(literal, Is):
                chances.setdefault(literal.block, {})[literal.alternative] = float(p)

    def _formula(self, row: int) -> Formula:
        source, own = self._place(row)
        if source.formulas is not None:
            return source.formulas[own]
        group = self._group_of(row)
        first = row - own
        name = source.schema.name.lower()
        return Is((name, own), own) if group < 0 else Is((name, group - first), own)


def _settled(
    settlement: Settlement, found: Matches, lineage: bool
) -> tuple[Matches, list[Formula]]:
    if lineage:
        return settlement.settle(found)
    open_ones = np.flatnonzero(~found.is_final)
    pending = np.flatnonzero(found.is_final)
    settled, formulas = settlement.settle(_only(found, open_ones))
    done = chosen(found, list(pending), list(found.confidence[pending]))
    return _both(done, settled), formulas


def _only(matches: Matches, numbers: Any) -> Matches:
    """Return some of the matches, with what is left to settle."""
    picked = chosen(matches, list(numbers), list(matches.confidence[numbers]))
    lengths = np.diff(matches.first_absent)[numbers]
    firsts = matches.first_absent[:-1][numbers]
    where = [np.arange(f, f + n) for f, n in zip(firsts, lengths, strict=True)]
    rows = np.concatenate(where) if where else np.zeros(0, np.int64)
    return replace(
        picked,
        first_absent=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        absent_row=matches.absent_row[rows],
        absent_since=matches.absent_since[rows],
    )


def _both(first: Matches, second: Matches) -> Matches:
    none = np.zeros(0, np.int64)
    n = len(first) + len(second)
    shifted = second.first_item[1:] + first.first_item[-1]
    return Matches(
        first_item=np.concatenate([first.first_item, shifted]),
        component=np.concatenate([first.component, second.component]),
        row=np.concatenate([first.row, second.row]),
        first_absent=np.zeros(n + 1, np.int64),
        absent_row=none,
        absent_since=none,
        confidence=np.concatenate([first.confidence, second.confidence]),
        report_time=np.concatenate([first.report_time, second.report_time]),
        is_final=np.ones(n, np.bool_),
    )


def _with_dense_groups(events: Events) -> Events:
    if (events.group < 0).all():
        return events
    _, dense = np.unique(events.group, return_inverse=True)
    shift = int(events.group.min() < 0)
    return replace(events, group=(dense - shift).astype(np.int64))


def _all_times(sources: list[Loaded]) -> Words:
    return np.concatenate([whole(s.table.column(s.schema.time)) for s in sources])


def _all_chances(sources: list[Loaded]) -> Reals:
    return np.concatenate([chances_of(s.schema, s.table) for s in sources])


def event_ids(source: Loaded) -> Any:
    """Return the ids of a stream's events: its ID column, or a hash of the row."""
    schema, table = source.schema, source.table
    if schema.id is not None and not schema.alternatives:
        return table.column(schema.id)
    names = [c.name for c in schema.columns]
    total = np.zeros(table.num_rows, np.uint64)
    for seed, name in enumerate(names, 1):
        column = table.column(name)
        text = column if pa.types.is_string(column.type) else column.cast(pa.string())
        total = total * np.uint64(31) + text_hashes(text.fill_null(""), seed)
    return pa.array([f"{word:016x}" for word in total.tolist()], pa.string())


def _place(matches: Matches, events: Events, keys: list[Any]) -> Place:
    """Return the place of each match as an event: that of its last event, and their common key."""
    ties, has_tie, common = [], [], []
    for m in range(len(matches)):
        rows = matches.row[matches.first_item[m] : matches.first_item[m + 1]]
        at = np.searchsorted(events.row, rows)
        latest = at[events.time[at] == events.time[at].max()]
        last = max(latest, key=lambda e: (events.stream[e] >= 0, events.tie[e]))
        ties.append(int(events.tie[last]))
        has_tie.append(bool(events.stream[last] >= 0))
        own = {keys[e] for e in at}
        common.append(own.pop() if len(own) == 1 else ())
    return Place(np.array(ties, np.int64), np.array(has_tie, np.bool_), common)
