"""Why it was this person: the badge reads that decided who did an event.

Each read is taken for one whose badge was not read, and owners are told again: what then is another
probability of the event's owners hung on that read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from augury.errors import DataError
from augury.evaluation.identifying import Identities
from augury.identity.identifier import Identifier, dump, load
from augury.identity.ward import Row

CLOSE = 1e-9
COLUMNS = ("read", "reader", "type", "place", "at", "person", "p", "without")


def deciding_reads(known: Identities, event: Any) -> pa.Table:
    """Return a row for each read and person: how likely the event was theirs, and without the read.

    Reads that change nothing are left out; those that change most come first.
    """
    found = [(unit, row) for unit, row in known.rows if row.id == event]
    if not found:
        raise DataError(f"there is no event {event} among the bound rows of {_name(known)}")
    (unit, row), who = found[0], known.identifier
    until, since = row.time + who.within, row.time - who.within
    own = [each for each in known.rows if each[0] == unit and each[1].time <= until]
    before = [each for each in own if each[1].time < since]
    recent = [each for each in own if each[1].time >= since]
    state, _ = who.advance(who.start(), before, since)
    stored = dump(state)
    with_all = _owners(who, stored, recent, event)
    reasons = list[tuple[float, tuple[Any, ...]]]()
    for k, (_, read) in enumerate(recent):
        if read.person is None:
            continue
        unread = [*recent[:k], (unit, replace(read, person=None)), *recent[k + 1 :]]
        without = _owners(who, stored, unread, event)
        changes = {n: with_all.get(n, 0.0) - without.get(n, 0.0) for n in {*with_all, *without}}
        most = max(map(abs, changes.values()), default=0.0)
        people = who.wards[unit].people
        reasons += [
            (most, (*_of(read), people[n], with_all.get(n, 0.0), without.get(n, 0.0)))
            for n, change in sorted(changes.items())
            if abs(change) > CLOSE
        ]
    reasons.sort(key=lambda each: -each[0])
    return _table(known, [values for _, values in reasons])


def _owners(
    who: Identifier, stored: bytes, rows: Sequence[tuple[Any, Row]], event: Any
) -> dict[int, float]:
    """Return what was last told of an event's owners, by their numbers."""
    _, news = who.advance(load(stored), rows)
    last: dict[int, float] = {}
    for telling in news.told:
        if telling.id == event:
            last = {person: p for person, p in telling.owners if p > 0.0}
    return last


def _of(read: Row) -> tuple[Any, ...]:
    return read.id, read.person, read.type, read.place, read.time


def _table(known: Identities, rows: list[tuple[Any, ...]]) -> pa.Table:
    schema, log = known.last.schema, known.log.schema
    (owner,) = schema.alternatives
    kinds = dict.fromkeys(("p", "without"), pa.float64())
    kinds |= dict.fromkeys(("reader", "person"), log.field(owner).type)
    kinds |= {"read": log.field(schema.id).type, "at": pa.int64()}
    columns = {
        name: pa.array([row[k] for row in rows], kinds.get(name, pa.string()))
        for k, name in enumerate(COLUMNS)
    }
    table = pa.table(columns)
    moment = log.field(schema.time).type
    place = table.column_names.index("at")
    return table.set_column(place, "at", table.column("at").cast(moment))


def _name(known: Identities) -> str:
    return known.last.schema.name
