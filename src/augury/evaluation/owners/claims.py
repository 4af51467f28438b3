"""What a match needs of owners: its lineage, valued by who did which acts.

Lineage has two kinds of blocks: base events that are independent, and acts whose owners hang
together (`Owned`). Given who did the acts, what is left is a formula over independent events.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.analysis.declarations.catalog import StreamSchema
from augury.analysis.declarations.moves import AS_OF, ERROR_BOUND, METHOD, REVISION, P
from augury.evaluation.answers.match_answers import Inputs
from augury.evaluation.encoding import whole
from augury.evaluation.identifying import Identities
from augury.evaluation.stream_rows import StreamRows
from augury.identity.telling import SAMPLED
from augury.identity.track import Done
from augury.identity.tracks import (
    ALWAYS,
    Claim,
    Followed,
    TooManyTracksError,
    Tracks,
    joint,
)
from augury.identity.ward import Ward
from augury.matching.lineage import (
    NEVER,
    TRUE,
    Chances,
    Formula,
    HangingTogether,
    Is,
    Owned,
    fixed,
    literals,
    probability,
)
from augury.records import Matches, Words


@dataclass(frozen=True)
class OwnerRows:
    """What is told of owners, row by row: `log`, in the order in which it was told."""

    schema: StreamSchema
    wards: Mapping[Any, Ward]
    log: pa.Table

    def first_told(self, *, takes_sampled: bool = False) -> StreamRows:
        """Return the rows as told at first, with what each needs to be true."""
        table = self.log.filter(pc.equal(self.log.column(REVISION), 0))
        if not takes_sampled and pc.any(pc.equal(table.column(METHOD), SAMPLED)).as_py():
            raise TooManyTracksError(
                f"the owners of {self.schema.name} were sampled, so its matches cannot be "
                "exact; raise the setting identity_state_limit"
            )
        return StreamRows(self.schema, table, table.slice(0, 0), list(self._formulas(table)))

    def doubts(self, *, adds: bool) -> Doubts:
        """Return how far off the owners are that were sampled; certain bounds are added up."""
        log = self.log.filter(pc.equal(self.log.column(REVISION), 0))
        rows = log.filter(pc.equal(log.column(METHOD), SAMPLED))
        units = rows.column(self.schema.key[0]).to_pylist() if len(self.schema.key) > 1 else None
        times, ids = whole(rows.column(self.schema.time)).tolist(), rows.column(self.schema.id)
        found = dict[Any, dict[Any, tuple[int, float]]]()
        bounds = rows.column(ERROR_BOUND).to_pylist()
        for k, event in enumerate(ids.to_pylist()):
            own = found.setdefault(units[k] if units else None, {})
            own[event] = (times[k], bounds[k])
        return Doubts({unit: sorted(own.values()) for unit, own in found.items()}, adds)

    def last_told(self, rows: pa.Table, at: Words) -> pa.Table:
        """Return, for rows of the log, what was last told of each event and owner at its time.

        What was told later only is as it was at first.
        """
        log = self.log.filter(pc.is_in(self.log.column(self.schema.id), self._ids(rows)))
        known, asked = np.split(self._numbered(log, rows), [log.num_rows])
        moments, moment = np.unique(whole(log.column(AS_OF)), return_inverse=True)
        until = np.searchsorted(moments, at, "right") - 1
        # Tellings of an event come in the order of time, so each owner's are ordered by moment.
        by_owner = known * (len(moments) + 1) + moment
        order = np.argsort(by_owner, kind="stable")
        first = np.searchsorted(known[order], asked, "left")
        last = np.searchsorted(by_owner[order], asked * (len(moments) + 1) + until, "right") - 1
        return log.take(pa.array(order[np.maximum(first, last)]))

    def _ids(self, rows: pa.Table) -> pa.Array:
        return pc.unique(rows.column(self.schema.id))

    def _numbered(self, *tables: pa.Table) -> Words:
        """Return numbers of the rows of all tables: which event, with which owner."""
        numbers = np.zeros(sum(table.num_rows for table in tables), np.int64)
        for name in (self.schema.id, *self.schema.alternatives):
            kind = tables[0].column(name).type
            chunks = [chunk for table in tables for chunk in table.column(name).cast(kind).chunks]
            values = pa.chunked_array(chunks, kind).combine_chunks().dictionary_encode()
            numbers = numbers * len(values.dictionary) + np.asarray(values.indices, np.int64)
        return numbers

    def _formulas(self, table: pa.Table) -> Iterator[Formula]:
        schema, wards = self.schema, self.wards
        (owner,) = schema.alternatives
        units = table.column(schema.key[0]).to_pylist() if len(schema.key) > 1 else None
        columns = (table.column(name).to_pylist() for name in (schema.id, owner, P, METHOD))
        for k, (event, person, p, method) in enumerate(zip(*columns, strict=True)):
            unit = units[k] if units else None
            number = wards[unit].number_of[person]
            yield TRUE if p >= 1.0 and method != SAMPLED else Is(Owned(unit, event), number)


@dataclass(frozen=True)
class Doubts:
    """How far off the owners of sampled events are, by ward and in the order of time.

    Somebody whom sampling left out is not searched, so a match says nothing of what that person may
    have done that it forbids.
    """

    of_wards: Mapping[Any, list[tuple[int, float]]]
    adds: bool

    def of(self, units: Iterable[Any], since: int, until: int) -> float:
        """Return how far off a match may be for that, by the events of some wards and a time."""
        found = [0.0]
        for unit in units:
            own = self.of_wards.get(unit, [])
            first, last = bisect_left(own, (since,)), bisect_left(own, (until + 1,))
            found += [bound for _, bound in own[first:last]]
        return min(1.0, sum(found) if self.adds else max(found))


class OwnerChances(HangingTogether):
    """Chances of independent events, and with them the joint law of owners: what all rows tell."""

    def __init__(self, known: Identities, limit: int) -> None:
        super().__init__()
        how = known.identifier
        self.tracks = Tracks(how.wards, 0, how.strategy, how.rejects_impossible, limit)
        self.followed: Followed = self.tracks.start()
        self.tracks.advance(self.followed, known.rows, {}, ALWAYS)

    def valued(self, formula: Formula, value: Callable[[Formula], float], cases: int) -> float:
        """Return the probability of a formula; `value` is that of independent events."""
        if not any(isinstance(each.block, Owned) for each in literals(formula)):
            return value(formula)
        holds = likely_by_doers(formula, value)
        parts = self.tracks.shares(self.followed, asked_of(formula))
        return sum(weight * holds(done) for done, weight in joint(parts))


def asked_of(formula: Formula) -> dict[Any, tuple[frozenset[int], frozenset[Any]]]:
    """Return by ward the people that a formula is about, and the acts that it names."""
    people, acts = dict[Any, set[int]](), dict[Any, set[Any]]()
    for each in literals(formula):
        block: Any = each.block
        if isinstance(block, Owned):
            people.setdefault(block.unit, set()).add(each.alternative)  # type: ignore[arg-type]
            acts.setdefault(block.unit, set()).add(block.act)
    return {unit: (frozenset(people[unit]), frozenset(acts[unit])) for unit in people}


def claim_of(
    formula: Formula,
    chances: Chances,
    matches: Matches,
    inputs: Inputs,
    m: int,
    doubt: float = 0.0,
) -> Claim:
    """Return what a match needs of owners."""
    items = slice(*matches.first_item[m : m + 2].tolist())
    last = int(inputs.time[matches.row[items]].max())
    moment = int(matches.report_time[m])
    said = {each.block for each in literals(formula)}
    own = {block: dict(chances[block]) for block in said if not isinstance(block, Owned)}
    return claim(formula, own, moment, last, doubt)


def claim(formula: Formula, chances: Chances, moment: int, last: int, doubt: float = 0.0) -> Claim:
    """Return the same of a formula; `chances` are those of its independent events."""
    holds = likely_by_doers(formula, lambda left: probability(left, chances))
    return Claim(holds, asked_of(formula), moment, last, (formula, chances), doubt)


def likely_by_doers(
    formula: Formula, value_of: Callable[[Formula], float]
) -> Callable[[Done], float]:
    """Return how likely a formula is, by who did which acts."""
    said: Any = {each.block for each in literals(formula)}
    owned = sorted((block for block in said if isinstance(block, Owned)), key=repr)
    known: dict[tuple[Any, ...], float] = {}

    def value(done: Done) -> float:
        doer: Mapping[Any, int] = dict(done)
        who = tuple(doer.get((block.unit, block.act), NEVER) for block in owned)
        if who not in known:
            left = formula
            for block, person in zip(owned, who, strict=True):
                left = fixed(left, block, person)
            known[who] = value_of(left)
        return known[who]

    return value
