"""Matches over events whose owners are in doubt: found once, then followed through the worlds.

A row is an event with one of its owners as told at first: nobody comes later who was not possible
then. The search lists what may be a match, with its lineage over owners; what that weighs, and how
it changes with every step, the tracks of the people in it tell (`identity/tracks.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.moves import AS_OF, METHOD, REVISION, TOLD, P
from augury.config import value_of
from augury.evaluation.answers.match_answers import Inputs, match_table
from augury.evaluation.answers.revisions import floor_of
from augury.evaluation.encoding import whole
from augury.evaluation.identifying import Identities
from augury.evaluation.stream_rows import StreamRows
from augury.identity.telling import SAMPLED
from augury.identity.tracks import Claim, Done, Telling, TooManyTracksError, Tracks
from augury.matching.lineage import TRUE, All, AtMost, Formula, Is, Not, Truth, literals
from augury.planning.acting.columns import TOLD_AT, TOLD_HOW, TOLD_SHOWN
from augury.planning.match_plan import MatchPlan
from augury.planning.refusal import NOT_EVALUATED, PlanError
from augury.records import Matches
from augury.rules.plan import AGAIN, FINAL, FIRST


@dataclass(frozen=True)
class FirstTellings:
    """The rows of a stream's owners as told at first, and what each needs to be true."""

    identities: Identities

    @property
    def rows(self) -> StreamRows:
        """The rows, with the lineage of each."""
        last, log = self.identities.last, self.identities.log
        table = log.filter(pc.equal(log.column(REVISION), 0))
        if pc.any(pc.equal(table.column(METHOD), SAMPLED)).as_py():
            raise TooManyTracksError(
                f"the owners of {last.schema.name} were sampled, so its matches cannot be exact; "
                "raise the setting identity_state_limit"
            )
        return StreamRows(last.schema, table, last.rejected, list(self._formulas(table)))

    def _formulas(self, table: pa.Table) -> Iterator[Formula]:
        schema, wards = self.identities.last.schema, self.identities.identifier.wards
        (owner,) = schema.alternatives
        units = table.column(schema.key[0]).to_pylist() if len(schema.key) > 1 else None
        columns = (table.column(name).to_pylist() for name in (schema.id, owner, P))
        for k, (event, person, p) in enumerate(zip(*columns, strict=True)):
            unit = units[k] if units else None
            number = wards[unit].number_of[person]
            yield TRUE if p >= 1.0 else Is((unit, event), number)


@dataclass(frozen=True)
class OwnerMatches:
    """What may be a match of one query, and what each needs of owners."""

    query: CheckedQuery
    plan: MatchPlan
    matches: Matches
    formulas: list[Formula]
    inputs: Inputs
    identities: Identities

    def log(self) -> pa.Table:
        """Return every telling of a match that HAVING shows, and the first that it no more does."""
        told = sorted(self._tellings(), key=lambda each: (each.at, each.claim))
        return self._rows([told[k] for k in _shown(told, floor_of(self.query.having))])

    def candidates(self) -> pa.Table:
        """Return every telling, shown or not, for rules and tables that are read.

        Each says when it was told, and whether for the first time; where a rule waits for it, the
        last one comes once more when the match can no longer be told again.
        """
        told = sorted(self._tellings(), key=lambda each: (each.at, each.claim))
        how = [AGAIN if each.revision else FIRST for each in told]
        if self.query.tellings == "EVERY AND FINAL":
            last = {each.claim: each for each in told}
            final = [replace(each, at=self._final(each)) for each in last.values()]
            told, how = [*told, *final], how + [FINAL] * len(final)
        order = sorted(range(len(told)), key=lambda k: (told[k].at, how[k], told[k].claim))
        told, floor = [told[k] for k in order], floor_of(self.query.having)
        more = {
            TOLD_AT: pa.array([each.at for each in told], pa.int64()),
            TOLD_HOW: pa.array([how[k] for k in order], pa.int64()),
            TOLD_SHOWN: pa.array([each.confidence > floor for each in told], pa.bool_()),
        }
        rows = self._rows(told)
        for name, column in more.items():
            rows = rows.append_column(name, column)
        return rows

    def _final(self, told: Telling) -> int:
        """Return when a match can no longer be told again."""
        items = slice(*self.matches.first_item[told.claim : told.claim + 2].tolist())
        last = int(self.inputs.time[self.matches.row[items]].max())
        return max(told.at, last + self.identities.identifier.within)

    def _rows(self, told: list[Telling]) -> pa.Table:
        """Return the rows of tellings, which come in the order of time."""
        tables = []
        for at, same in groupby(told, key=lambda each: each.at):
            own = list(same)
            matches = self.matches.only(np.array([each.claim for each in own], np.int64))
            matches = replace(
                matches.settled(np.array([each.confidence for each in own])),
                revision=np.array([each.revision for each in own], np.int64),
            )
            tables.append(match_table(self.plan, matches, self._inputs_at(at)))
        if tables:
            return pa.concat_tables(tables)
        return match_table(self.plan, Matches.none(), self.inputs)

    def _inputs_at(self, at: int) -> Inputs:
        """Return the rows with what was last told of each at a time."""
        log, last = self.identities.log, dict[Any, int]()
        when = whole(log.column(AS_OF)).tolist()
        for k, (row, told) in enumerate(zip(self._named(log), when, strict=True)):
            if told <= at or row not in last:
                last[row] = k
        (table,) = self.inputs.tables
        known = log.take(pa.array([last[row] for row in self._named(table)], pa.int64()))
        for name in TOLD:
            place = table.column_names.index(name)
            table = table.set_column(place, name, known.column(name))
        return replace(self.inputs, p=np.asarray(known.column(P)), tables=(table,))

    def _named(self, rows: pa.Table) -> Iterator[tuple[Any, ...]]:
        """Yield the event of each row, with the owner that it has there."""
        schema = self.identities.last.schema
        columns = [rows.column(name).to_pylist() for name in (schema.id, *schema.alternatives)]
        return zip(*columns, strict=True)

    def _tellings(self) -> list[Telling]:
        groups: dict[tuple[Any, frozenset[int]], list[int]] = defaultdict(list)
        found = list[Telling]()
        for m, formula in enumerate(self.formulas):
            said: list[Any] = list(literals(formula))
            if not said:
                found += [Telling(m, 0, 1.0, int(self.matches.report_time[m]))] * (formula == TRUE)
                continue
            units = {each.block[0] for each in said}
            if len(units) > 1:
                self._refuse_units()
            people = frozenset(each.alternative for each in said)
            groups[units.pop(), people].append(m)
        for (unit, people), numbers in groups.items():
            found += self._followed(unit, people, numbers)
        return found

    def _refuse_units(self) -> None:
        unit = self.identities.last.schema.key[0]
        message = f"query {self.query.name} takes owners of several wards together"
        raise PlanError(NOT_EVALUATED, message, f"equate the ward: WHERE [{unit}] AND ...")

    def _followed(self, unit: Any, people: frozenset[int], numbers: list[int]) -> list[Telling]:
        identifier = self.identities.identifier
        rows = [row for own, row in self.identities.rows if own == unit]
        tracks = Tracks(
            identifier.wards[unit],
            people,
            identifier.within,
            identifier.strategy,
            identifier.rejects_impossible,
            value_of("identity_state_limit"),
        )
        claims = [self._claim(m) for m in numbers]
        try:
            told = tracks.follow(rows, claims)
        except TooManyTracksError as problem:
            raise TooManyTracksError(f"query {self.query.name}: {problem}") from problem
        return [replace(each, claim=numbers[each.claim]) for each in told]

    def _claim(self, m: int) -> Claim:
        formula, items = self.formulas[m], slice(*self.matches.first_item[m : m + 2].tolist())
        said: Iterator[Any] = literals(formula)
        watched = frozenset(each.block[1] for each in said)
        last = int(self.inputs.time[self.matches.row[items]].max())
        return Claim(_holds(formula), watched, int(self.matches.report_time[m]), last)


def _shown(told: list[Telling], floor: float) -> Iterator[int]:
    """Yield which tellings are shown: those that pass, and the first that no longer does."""
    passed: set[int] = set()
    for k, each in enumerate(told):
        if each.confidence > floor:
            passed.add(each.claim)
            yield k
        elif each.claim in passed:
            passed.remove(each.claim)
            yield k


def _holds(formula: Formula) -> Callable[[Done], bool]:
    """Return whether a formula holds, by the acts that people did."""

    def is_true(part: Any, done: Done) -> bool:
        if isinstance(part, Is):
            own: Any = part
            return (own.block[1], own.alternative) in done
        if isinstance(part, Not):
            return not is_true(part.part, done)
        if isinstance(part, All):
            return all(is_true(each, done) for each in part.parts)
        if isinstance(part, AtMost):
            return sum(is_true(each, done) for each in part.parts) <= part.count
        assert isinstance(part, Truth)
        return part.value

    return lambda done: is_true(formula, done)
