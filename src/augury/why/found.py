"""Why a match was found: its events, what held of them, and how its confidence comes about.

A confidence is affine in the probability of each event: what an event does to it is the difference
between the confidence without the event and as it is. So the engine is asked without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import prod
from typing import Any

import pyarrow.compute as pc

from augury.errors import AuguryError
from augury.planning.graph import stage_of
from augury.why.asked import Asked
from augury.why.draft import conditions_with_values
from augury.why.explanation import Event, Factor, Why
from augury.why.opening import Opened, asked_of
from augury.why.relaxing import constraints_of
from augury.why.trials import Match, Rows

Place = tuple[str, int]
CLOSE = 1e-9


def why(opened: Opened, match_id: str, names: Iterable[str]) -> Why:
    """Return why a match was found that is among those of some queries; its id may be cut short."""
    name, row = _found(opened, match_id, list(names))
    match_id = row["match_id"]
    checked = opened.queries[name.lower()]
    name = checked.name
    own = {each.lower(): value for each, value in row.items()}
    key = {c.name: own[c.name.lower()] for c in checked.keys if c.name.lower() in own}
    # An output that is called like a column is none of the key.
    key = {each: value for each, value in key.items() if value is not None}
    asked, _ = asked_of(opened, checked, key, row["start_ts"])
    asked.query = replace(asked.query, having=None)
    match = _corresponding(asked, row, asked.rows)
    if match is None:
        return _from_row(name, row)
    events = asked.events(match, asked.rows)
    factors = [*_positive(asked, match, events), *_negative(asked, match)]
    rest = row["confidence"] / prod(each.value for each in factors)
    most = max(factors, key=lambda each: abs(each.influence), default=None)
    return Why(
        name,
        match_id,
        row["confidence"],
        events,
        row["n_missed"],
        tuple(conditions_with_values(asked, constraints_of(asked.query, ()), match)),
        tuple(factors),
        rest,
        most,
        None if most is None else _surest(most, row["confidence"]),
    )


def _found(opened: Opened, match_id: str, names: list[str]) -> tuple[str, Match]:
    for name in names:
        if not stage_of(opened.queries[name.lower()], opened.catalog).lists_matches:
            continue
        table = opened.table(name)
        if "match_id" not in table.column_names:
            continue
        rows = table.filter(pc.starts_with(table.column("match_id"), match_id))
        ids = rows.column("match_id").unique().to_pylist()
        if len(ids) > 1:
            raise AuguryError(
                f"{match_id} begins {len(ids)} matches of {name}; give more of the id"
            )
        if ids:
            return name, rows.slice(0, 1).to_pylist()[0]
    raise AuguryError(
        f"there is no match {match_id} of {', '.join(names) or 'any query'}; match_id is a column "
        "of each answer, which augury run --wide shows"
    )


def _from_row(name: str, row: Mapping[str, Any]) -> Why:
    """Return what the match itself says, where its query cannot be asked over other rows."""
    events = tuple(
        Event(e["component"], str(e["event_id"]), e["ts"], e["probability"], None)
        for e in row["events"]
        if not e["missed"]
    )
    confidence = row["confidence"]
    return Why(
        name, row["match_id"], confidence, events, row["n_missed"], (), (), confidence, None, None
    )


def _corresponding(asked: Asked, row: Mapping[str, Any], rows: Rows) -> Match | None:
    """Return the match of changed rows that has the events of a match; None without one."""
    ids = _events_of(row)
    for each in asked.trials.matches(asked.query, rows) or []:
        if _events_of(each) == ids:
            return each
    return None


def _events_of(match: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    return sorted(
        (e["component"], str(e["event_id"]), str(e["ts"]), e["missed"]) for e in match["events"]
    )


def _positive(asked: Asked, match: Match, events: Iterable[Event]) -> Iterable[Factor]:
    for event in dict.fromkeys(
        replace_row(each) for each in events if each.probability is not None
    ):
        chance = event.probability or 1.0
        if chance < 1:
            own = next(e for e in events if replace_row(e) == event)
            yield Factor(own, True, chance, match["confidence"] / chance)


def replace_row(event: Event) -> Event:
    """Return an event without its row, which cannot be hashed."""
    return replace(event, row=None)


def _negative(asked: Asked, match: Match) -> Iterable[Factor]:
    """Return what events that did not happen, as far as one knows, take from a confidence."""
    taken = asked.base_places(match, asked.rows)
    others = [
        place
        for place in asked.near(match["start_ts"], match["end_ts"], asked.rows)
        if place not in taken and _chance(asked, place) < 1
    ]
    whole = match["confidence"]
    for place in _that_matter(asked, match, others):
        without = _confidence(asked, match, [place])
        if without <= 0:
            continue
        chance = _chance(asked, place)
        value = whole / without
        value = 1 - chance if abs(value - (1 - chance)) < CLOSE else value
        yield Factor(_event(asked, place, chance), False, value, (whole - without) / chance)


def _that_matter(asked: Asked, match: Match, places: list[Place]) -> list[Place]:
    """Return the rows without which the confidence is another."""
    if not places or abs(_confidence(asked, match, places) - match["confidence"]) < CLOSE**2:
        return []
    if len(places) == 1:
        return places
    half = len(places) // 2
    return [
        *_that_matter(asked, match, places[:half]),
        *_that_matter(asked, match, places[half:]),
    ]


def _confidence(asked: Asked, match: Match, gone: list[Place]) -> float:
    found = _corresponding(asked, match, asked.rows.without(gone))
    return 0.0 if found is None else float(found["confidence"])


def _chance(asked: Asked, place: Place) -> float:
    schema = asked.streams[place[0]]
    if schema.probability is None:
        return 1.0
    value = asked.rows.tables[place[0]].column(schema.probability)[place[1]].as_py()
    return 1.0 if value is None else float(value)


def _event(asked: Asked, place: Place, chance: float) -> Event:
    schema = asked.streams[place[0]]
    row = asked.row_at(*place, asked.rows)
    kind = str(row[schema.type]) if schema.type else schema.name
    own = next((i for i, at in asked.places(asked.rows).items() if place in at), "")
    return Event(kind, own, row[schema.time or ""], chance, row)


def _surest(factor: Factor, confidence: float) -> float:
    """Return the confidence if one knew of the event what is best for the match."""
    chance = factor.event.probability or 1.0
    if factor.happened:
        return confidence / chance
    return confidence - chance * factor.influence
