"""Matches as found, to candidates: their values as they are inside, and their moments."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from hashlib import blake2b
from typing import Any

from augury.planning.acting.columns import TOLD_AT, TOLD_HOW, TOLD_SHOWN
from augury.planning.acting.heard import ORDER
from augury.planning.acting.moments import Candidates, RunEnd
from augury.rules.plan import AGAIN, FIRST, Moment
from augury.rules.stage import Candidate

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY = date(1970, 1, 1).toordinal()
Found = Mapping[str, Mapping[str, tuple[Moment, bool | None]]]
Row = Mapping[str, Any]


def candidates_of(made: Candidates, rows: Iterable[Row], found: Found) -> Iterator[Candidate]:
    """Yield the candidates that matches are; `found` has the places of those they are made of."""
    if made.rows is not None:
        yield from _heard(made, rows)
        return
    for row in rows:
        order, over = place_of(made, row, found)
        moment = _told(row, _moment(made, row, order))
        values = {name: inside(row[name]) for name in row if name != "events"}
        values["ts"] = moment[0]
        present = frozenset(e["component"] for e in row["events"] if not e["missed"])
        yield Candidate(
            made.query.name,
            row["match_id"],
            values["start_ts"],
            order,
            moment,
            values,
            present,
            over,
            row.get(TOLD_SHOWN, True),
        )


def _heard(made: Candidates, rows: Iterable[Row]) -> Iterator[Candidate]:
    """Yield the candidates that rows are which are no matches."""
    for row in rows:
        values = {name: inside(row[name]) for name in row if name != "events"}
        moment = heard_at(made, values["ts"], values.pop(ORDER, None))
        name = row.get("match_id") or row_id(made, [values[key.name] for key in made.keys], moment)
        yield Candidate(made.name, name, values.get("start_ts", moment[0]), moment, moment, values)


def heard_at(made: Candidates, time: int, tie: Any) -> Moment:
    """Return the moment of a row that is no match; `tie` is that of the event before it."""
    assert made.rows is not None
    if made.rows.stream is None:
        return (time, True, 0, ())
    return (time, False, made.rows.stream, () if tie is None else (tie,))


def row_id(made: Candidates, key: Iterable[Any], moment: Moment) -> str:
    """Return the name of a row that has none: what it is about, and when it was told."""
    text = json.dumps([made.name.lower(), list(key), moment[0], list(moment[3])])
    return blake2b(text.encode(), digest_size=16).hexdigest()


def inside(value: Any) -> Any:
    """Return a value of an answer as it is inside."""
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=UTC)
        return (aware - _EPOCH) // timedelta(microseconds=1)
    if isinstance(value, timedelta):
        return value // timedelta(microseconds=1)
    return value.toordinal() - _FIRST_DAY if isinstance(value, date) else value


def place_of(
    made: Candidates, row: Row, found: Found
) -> tuple[Moment, tuple[tuple[str, str], ...]]:
    """Return the place of the last event of a match, and the matches that it is made of."""
    places: list[Moment] = []
    over: list[tuple[str, str]] = []
    end = inside(row["end_ts"])
    for event in row["events"]:
        component = event["component"]
        if component in made.lower:
            query = made.lower[component]
            over.append((query, event["event_id"]))
            places.append(found[query][event["event_id"]][0])
        elif inside(event["ts"]) == end:
            options = made.ties[component]
            number = row[made.which[component]] if component in made.which else next(iter(options))
            tie, stream = options[number]
            ties = () if tie is None or row[tie] is None else (inside(row[tie]),)
            places.append((end, False, stream, ties))
    return max(places), tuple(over)


def lower_of(made: Candidates, events: Iterable[Row]) -> tuple[tuple[str, str], ...]:
    """Return the matches that a match is made of, by query."""
    return tuple(
        (made.lower[event["component"]], event["event_id"])
        for event in events
        if event["component"] in made.lower
    )


def _told(row: Row, moment: Moment) -> Moment:
    """Return when a row of a match is told that is told first at a moment."""
    how = row.get(TOLD_HOW, FIRST)
    return moment if how < AGAIN else (max(row[TOLD_AT], moment[0]), how, 0, ())


def _is_open(made: Candidates, row: Row) -> bool:
    """Return whether a match is known only when its window ends."""
    if made.run_end is not None:
        return bool(row[made.run_end.open])
    if made.end == "missed":
        return missed_in(row["events"]) in made.unseen
    return made.end == "window" or (made.end == "full" and row[made.count] < made.most)


def _ended(end: RunEnd, row: Row) -> Moment:
    """Return the moment of a run that an event has ended: the place of that."""
    tie, stream = end.ties[row[end.stream]]
    ties = () if tie is None or row[tie] is None else (inside(row[tie]),)
    return (row[end.time], False, stream, ties)


def missed_in(events: Iterable[Row]) -> frozenset[str]:
    """Return the components of a match that were not read."""
    return frozenset(event["component"] for event in events if event["missed"])


def _moment(made: Candidates, row: Row, order: Moment) -> Moment:
    """Return when a match is known whatever comes."""
    if made.run_end is not None and row[made.run_end.open] and row[made.run_end.time] is not None:
        return _ended(made.run_end, row)
    if _is_open(made, row):
        first = min(inside(event["ts"]) for event in row["events"] if not event["missed"])
        return (first + made.window + made.lag, True, 0, ())
    return (order[0] + made.lag, True, 0, ()) if made.lag else order
