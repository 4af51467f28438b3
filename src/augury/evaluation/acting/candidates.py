"""Matches as found, to candidates: their values as they are inside, and their moments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

from augury.planning.acting.moments import Candidates
from augury.rules.plan import Moment
from augury.rules.stage import Candidate

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY = date(1970, 1, 1).toordinal()
Found = Mapping[str, Mapping[str, tuple[Moment, bool | None]]]
Row = Mapping[str, Any]


def candidates_of(made: Candidates, rows: Iterable[Row], found: Found) -> Iterator[Candidate]:
    """Yield the candidates that matches are; `found` has the places of those they are made of."""
    for row in rows:
        order, over = place_of(made, row, found)
        moment = _moment(made, row, order)
        values = {name: inside(row[name]) for name in row if name != "events"}
        values["ts"] = moment[0]
        present = frozenset(event["component"] for event in row["events"])
        yield Candidate(
            made.query.name,
            row["match_id"],
            values["start_ts"],
            order,
            moment,
            values,
            present,
            over,
        )


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
            tie, stream = made.ties[component]
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


def _moment(made: Candidates, row: Row, order: Moment) -> Moment:
    """Return when a match is known whatever comes."""
    is_open = made.end == "window" or (made.end == "full" and row[made.count] < made.most)
    if is_open:
        first = min(inside(event["ts"]) for event in row["events"])
        return (first + made.window + made.lag, True, 0, ())
    return (order[0] + made.lag, True, 0, ()) if made.lag else order
