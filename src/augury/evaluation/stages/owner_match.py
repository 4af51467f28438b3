"""The stage of queries whose events have owners in doubt: matches, told and told again.

A row that is searched is an event with one of its owners as told at first: nobody comes later who
was not possible then. The search lists what may be a match, with its lineage over owners; what that
weighs, and how it changes with every step, the tracks of the people in it tell
(`identity/tracks.py`). Rows are searched once the step of their owners is complete.

What goes in are the rows of the source, by which people are followed, and what is told of them, by
which matches are found; other streams stand beside, each with the uncertainty of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.analysis.declarations.catalog import StreamSchema
from augury.evaluation.answers.answers import Answers
from augury.evaluation.answers.match_answers import Inputs, match_table
from augury.evaluation.answers.revisions import floor_of, latest
from augury.evaluation.asked import Asked
from augury.evaluation.encoding import whole
from augury.evaluation.enumeration import ALL_TIME, Span
from augury.evaluation.evaluator import Evaluator
from augury.evaluation.identifying import Identities, identify_stage
from augury.evaluation.network import Network
from augury.evaluation.owners.claims import OwnerRows, claim_of
from augury.evaluation.owners.collecting import seldom_collected
from augury.evaluation.owners.shown import Batch, told_table
from augury.evaluation.stages.identify import IdentifyStage, Seen
from augury.evaluation.stages.owner_state import Number, OwnerMatchState, dumped, loaded
from augury.evaluation.stages.source import cut, in_order, joined
from augury.evaluation.stream_rows import StreamRows
from augury.identity.singles import Singles
from augury.identity.tracks import Claim, Telling, Tracks
from augury.matching.matcher import ALWAYS
from augury.operator import NEVER_YET
from augury.planning.acting.columns import TOLD_AT, TOLD_HOW, TOLD_SHOWN
from augury.records import Matches
from augury.rules.plan import AGAIN, FINAL, FIRST

Rows = Mapping[str, StreamRows]


@dataclass(frozen=True)
class OwnerMatchStage:
    """Finds and follows the matches of one query, which may read others, over owners in doubt.

    `given` is what is told of owners beforehand: behind a policy, of what it keeps.
    """

    network: Network
    given: Identities | None = None
    revises: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """The query, in lower case."""
        (name,) = self.network.names
        return name

    @property
    def is_single(self) -> bool:
        """Whether a match rests on one event whose owner is in doubt, and on nothing else."""
        query = self.network.queries[self.name]
        is_plain = not query.allow and query.after_match is None and not query.looks_beside
        return is_plain and self.network.is_one_event_of_owners(self.name)

    @cached_property
    def owners(self) -> IdentifyStage:
        """How the events that are read get their owners."""
        (name,), catalog = self.network.identified, self.network.catalog
        if self.given is None:
            return identify_stage(catalog, self.network.tables, name)
        how = catalog.identified[catalog.owners_of(name) or name].statement
        source, model = catalog.streams[how.readings.lower()], catalog.moves[how.model.lower()]
        return IdentifyStage(source, self.given.last.schema, model, self.given.identifier)

    @cached_property
    def tracks(self) -> Tracks:
        """How people are followed through the worlds; for matches of one event, nobody is."""
        how = self.owners.identifier
        waits = self.network.queries[self.name].tellings == "EVERY AND FINAL"
        return (Singles if self.is_single else Tracks)(
            how.wards, how.within, how.strategy, how.rejects_impossible, how.state_limit, waits
        )

    @property
    def streams(self) -> dict[str, StreamSchema]:
        """The streams whose rows are searched, by lower-case name: owners and those beside."""
        own, source = self.owners.own, self.owners.source
        beside = dict(self.network.inputs)
        if not self.network.reads(source):
            beside.pop(source.name.lower(), None)
        return beside | {own.name.lower(): own}

    def start(self, since: int = NEVER_YET) -> OwnerMatchState:
        """Return the state before any row; what is known before `since` is not reported."""
        return OwnerMatchState({}, self.tracks.start(), since)

    def advance(
        self, state: OwnerMatchState, batch: Rows, horizon: int
    ) -> tuple[OwnerMatchState, Answers]:
        """Take new rows in, and what is told of them; report what steps before `horizon` tell."""
        with seldom_collected():
            return self._advanced(state, batch, horizon)

    def _advanced(
        self, state: OwnerMatchState, batch: Rows, horizon: int
    ) -> tuple[OwnerMatchState, Answers]:
        step = self.tracks.step
        is_only = state.is_empty and horizon == ALWAYS and not state.batches
        until = ALWAYS if horizon == ALWAYS else max(NEVER_YET, horizon // step * step)
        if self.given is not None:
            own = replace(self.given.last, table=self.given.log)
            batch = {**batch, self.owners.own.name.lower(): own}
        self._take(state, batch)
        claims = self._found(state, (state.reported, until), is_only)
        rows = self._acts(batch)
        told = self.tracks.advance(state.followed, rows, claims, until)
        log = self._printed(state, told)
        state.reported = until
        self._forget(state)
        return state, Answers(self._asked(log, is_only), {})

    def _acts(self, batch: Rows) -> Seen:
        """Return the rows of the source, by which people are followed."""
        if self.given is not None:
            return self.given.rows
        source = self.owners.source
        columns = [column.name for column in source.columns]
        return self.owners.seen(batch[source.name.lower()].table.select(columns))

    def _asked(self, log: pa.Table, is_only: bool) -> dict[str, pa.Table]:
        """Return what holds now, of a step that is the only one; otherwise all that is told."""
        query, each = self.network.queries[self.name], Asked("revisions", self.name)
        is_last = is_only and query.tellings == "LAST"
        now = latest(log, floor_of(query.having)) if is_last else log
        return {query.name: now} | ({each.key: log} if each in self.network.asked else {})

    # Rows -------------------------------------------------------------------------------------

    def _take(self, state: OwnerMatchState, batch: Rows) -> None:
        for name, stream in self.streams.items():
            rows = batch[name].table
            if name not in state.kept:
                state.kept[name] = rows
            elif name == self.owners.own.name.lower():
                state.kept[name] = pa.concat_tables([state.kept[name], rows])
            else:
                state.kept[name] = in_order(joined(state.kept[name], rows), stream)

    def _forget(self, state: OwnerMatchState) -> None:
        """Forget rows that no later match can be made of, and matches that are told no more."""
        followed = state.followed
        numbers = followed.numbers
        state.alive = {
            n: kept for n, own in state.alive.items() if (kept := _alive(n, own, numbers))
        }
        state.passed &= numbers
        oldest = self._oldest(state.reported)
        self.tracks.forget(followed, oldest)
        if oldest == NEVER_YET:
            return
        own = self.owners.own
        for name, stream in self.streams.items():
            if name != own.name.lower():
                _, state.kept[name] = cut(state.kept[name], stream, oldest)
        log = state.kept[own.name.lower()]
        chunks = [chunk for ids in self._named(state) for chunk in ids.chunks]
        ids = pa.chunked_array(chunks, log.schema.field(own.id).type)
        needed = pc.is_in(log.column(own.id), ids)
        recent = pa.array(whole(log.column(own.time)) >= oldest)
        state.kept[own.name.lower()] = log.filter(pc.or_(needed, recent))

    def _named(self, state: OwnerMatchState) -> list[pa.ChunkedArray]:
        """Return the ids of events that matches are made of which may be told again."""
        streams = self.network.queries[self.name].streams
        return [
            table.column(stream.id)
            for batch in state.alive.values()
            for stream, table in zip(streams, batch.inputs.tables, strict=True)
            if stream.is_identified
        ]

    def _oldest(self, reported: int) -> int:
        """Return the time before which no row can be of a match that was not found yet."""
        if reported == ALWAYS:
            return ALWAYS
        memory = self.network.memory
        if memory is None:
            return NEVER_YET
        known = self.network.known_until(self.name, reported)
        return max(NEVER_YET, known - memory)

    # Matches ----------------------------------------------------------------------------------

    def _found(self, state: OwnerMatchState, span: Span, is_only: bool) -> dict[Number, Claim]:
        """Return the new matches, by their numbers, and what each needs of owners."""
        network, number = self.network, state.batches
        state.batches += 1
        owned = self._owner_rows(state)
        rows = {
            name: StreamRows(each, state.kept[name], pa.table({}))
            for name, each in self.streams.items()
        }
        rows[self.owners.own.name.lower()] = owned.first_told(takes_sampled=True)
        spans: dict[str, Span] = {}
        if not (is_only and span[0] == NEVER_YET):
            spans = {n: (NEVER_YET, network.known_until(n, span[1])) for n in network.queries}
            spans[self.name] = tuple(network.known_until(self.name, at) for at in span)  # type: ignore[assignment]
        evaluator = Evaluator(
            network.catalog,
            network.queries,
            dict(network.tables),
            rows,
            spans=spans or dict.fromkeys(network.queries, ALL_TIME),
            plans=dict(network.plans),
        )
        matches, formulas, inputs = evaluator.possible(self.name)
        if not len(matches):
            return {}
        used = np.unique(matches.row)
        state.alive[number] = Batch(_renumbered(matches, used), _of_rows(inputs, used))
        doubts = self._doubts(owned, matches, inputs)
        return {
            (number, m): claim_of(formula, evaluator.chances, matches, inputs, m, doubt)
            for m, (formula, doubt) in enumerate(zip(formulas, doubts, strict=True))
        }

    def _doubts(self, owned: OwnerRows, matches: Matches, inputs: Inputs) -> list[float]:
        """Return how far off each match may be as owners of what it forbids were sampled."""
        doubts = owned.doubts(adds=self.tracks.room.is_certain)
        if not doubts.of_wards or self.is_single or not self._forbids:
            return [0.0] * len(matches)
        wards, found = self._wards_of(inputs), list[float]()
        for m, until in enumerate(matches.report_time.tolist()):
            rows = matches.row[slice(*matches.first_item[m : m + 2].tolist())].tolist()
            units = {unit for row in rows for unit in wards[row]}
            since = NEVER_YET if self.network.memory is None else until - self.network.memory
            found.append(doubts.of(units, since, until))
        return found

    @property
    def _forbids(self) -> bool:
        """Whether a match hangs on what did not happen."""
        return any(
            query.strategy != "ANY" or any(part.negated for part in query.components)
            for query in self.network.queries.values()
        )

    def _wards_of(self, inputs: Inputs) -> list[tuple[Any, ...]]:
        """Return the wards that each row is of; all, where rows do not say it."""
        found, every = list[tuple[Any, ...]](), tuple(self.tracks.wards)
        streams = self.network.queries[self.name].streams
        for stream, table in zip(streams, inputs.tables, strict=True):
            if stream.is_identified and len(stream.key) > 1:
                found += [(unit,) for unit in table.column(stream.key[0]).to_pylist()]
            else:
                found += [every if stream.of_owners or len(every) == 1 else ()] * table.num_rows
        return found

    # What is told -----------------------------------------------------------------------------

    def _printed(self, state: OwnerMatchState, told: list[Telling]) -> pa.Table:
        """Return the tellings that HAVING shows, and of each match the first that it no more does.

        Each has what was last told of its events at its time.
        """
        told = sorted(told, key=lambda each: (each.at, each.claim))
        floor, shown = floor_of(self.network.queries[self.name].having), list[Telling]()
        if self.network.queries[self.name].tellings != "LAST":
            return self._candidates(state, told, floor)
        for each in told:
            if each.confidence > floor:
                state.passed.add(each.claim)
                shown.append(each)
            elif each.claim in state.passed:
                state.passed.remove(each.claim)
                shown.append(each)
        return self._rows(state, shown)

    def _candidates(self, state: OwnerMatchState, told: list[Telling], floor: float) -> pa.Table:
        """Return every telling, shown or not, for rules and tables that are read.

        Each says when it was told, and whether for the first time; where a rule waits for it, the
        last one comes once more when the match can no longer be told again.
        """
        how = {False: AGAIN, True: FIRST}
        rows = [(each, how[not each.revision]) for each in told]
        if self.network.queries[self.name].tellings == "EVERY AND FINAL":
            rows += [(each, FINAL) for each in self.tracks.settled(state.followed)]
        rows.sort(key=lambda each: (each[0].at, each[1], each[0].claim))
        table = self._rows(state, [each for each, _ in rows])
        more = {
            TOLD_AT: pa.array([each.at for each, _ in rows], pa.int64()),
            TOLD_HOW: pa.array([own for _, own in rows], pa.int64()),
            TOLD_SHOWN: pa.array([each.confidence > floor for each, _ in rows], pa.bool_()),
        }
        for name, column in more.items():
            table = table.append_column(name, column)
        return table

    def _rows(self, state: OwnerMatchState, shown: list[Telling]) -> pa.Table:
        """Return a row for each telling."""
        if not shown:
            return self._nothing(state)
        plan, streams = self.network.plans[self.name], self.network.queries[self.name].streams
        return told_table(plan, streams, state.alive, self._owner_rows(state), shown)

    def _owner_rows(self, state: OwnerMatchState) -> OwnerRows:
        own = self.owners.own
        return OwnerRows(own, self.tracks.wards, state.kept[own.name.lower()])

    def _nothing(self, state: OwnerMatchState) -> pa.Table:
        """Return no matches, with the columns of some."""
        rows = {
            name: StreamRows(each, state.kept[name].slice(0, 0), pa.table({}))
            for name, each in self.streams.items()
        }
        rows[self.owners.own.name.lower()].formulas = []
        tables, plans = dict(self.network.tables), dict(self.network.plans)
        evaluator = Evaluator(self.network.catalog, self.network.queries, tables, rows, plans=plans)
        _, _, inputs = evaluator.possible(self.name)
        return match_table(self.network.plans[self.name], Matches.none(), inputs)

    # Stored state -----------------------------------------------------------------------------

    def dump(self, state: OwnerMatchState) -> bytes:
        """Return all of the state: it is made of rows of several stages."""
        return dumped(state)

    def restore(self, batch: Rows, reported: int, own: bytes = b"") -> OwnerMatchState:
        """Return the state that was dumped."""
        del batch
        return loaded(own, self.tracks) if own else self.start(reported)

    def oldest(self, state: OwnerMatchState, horizon: int) -> int:
        """Return the horizon: what matters of rows is dumped."""
        return horizon

    def due(self, state: OwnerMatchState) -> int | None:
        """Return when something may be told without a new row, or forgotten."""
        step = self.tracks.step
        if state.followed.due or state.followed.waiting:
            return (state.reported // step + 1) * step
        if (settles := self.tracks.settles(state.followed)) is not None:
            return (settles // step + 1) * step
        memory = self.network.memory
        rows = [own for own in state.kept.values() if own.num_rows]
        return state.reported + memory + 1 if rows and memory is not None else None


def _renumbered(matches: Matches, used: np.ndarray) -> Matches:
    """Return matches whose rows are numbered among those that are used."""
    plain = matches.settled(matches.confidence)
    return replace(plain, row=np.searchsorted(used, matches.row))


def _of_rows(inputs: Inputs, used: np.ndarray) -> Inputs:
    """Return some of the rows, in their order."""
    tables, firsts, before = list[pa.Table](), list[int](), 0
    for table, first in zip(inputs.tables, inputs.first_rows, strict=True):
        own = used[(used >= first) & (used < first + table.num_rows)] - first
        tables.append(table.take(pa.array(own)))
        firsts.append(before)
        before += len(own)
    ids = pc.take(inputs.ids, pa.array(used))
    return Inputs(tuple(tables), tuple(firsts), ids, inputs.time[used], inputs.p[used])


def _alive(number: int, batch: Batch, numbers: set[Number]) -> Batch | None:
    """Return a batch unless none of its matches is told any more."""
    return batch if any((number, m) in numbers for m in range(len(batch.matches))) else None
