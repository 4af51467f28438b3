"""Owners of events by enumeration of all worlds: slow, obvious, with fractions.

Written from the language's page on identities alone. A world says where everyone is, who did each
event without an owner, and its weight. A match is told by the weight of the worlds in which it is
an answer (`selection.py`), after every step. Nothing here imports augury.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from oracles import model
from oracles.worlds import matches_in_world

SAME = Fraction(1, 10**9)


@dataclass(frozen=True)
class Event:
    """A row of the stream: `person` is None where the badge was not read."""

    id: int
    time: int
    person: Any
    type: Any
    place: Any
    origin: Any = None


@dataclass(frozen=True)
class Setting:
    """The closed world and what was asked; `doors` instead of the hall where they are given."""

    staff: dict[Any, Any]
    hall: Any = "H"
    doors: frozenset[tuple[Any, Any]] | None = None
    step: int = 1
    within: int = 1000
    revise: str = "ANY"
    least: Fraction = Fraction(0)
    prefer: dict[tuple[Any, Any], Fraction] = field(default_factory=dict)
    rejects: bool = False


@dataclass(frozen=True)
class World:
    """One way things can have been."""

    places: tuple[tuple[Any, Any], ...]
    owners: tuple[tuple[int, Any], ...] = ()
    weight: Fraction = Fraction(1)


@dataclass
class Outcome:
    """What was told as (as_of, id, revision, {person: p}), and what was rejected or reset."""

    told: list[tuple[int, int, int, dict[Any, Fraction]]] = field(default_factory=list)
    rejected: list[int] = field(default_factory=list)
    resets: list[int] = field(default_factory=list)
    # After each step: its number, its time, all worlds, and the events admitted so far.
    trace: list[tuple[int, int, list[World], list[Event]]] = field(default_factory=list)


def identify(setting: Setting, events: list[Event]) -> Outcome:
    """Return all that is told of the events, step after step."""
    outcome = Outcome()
    begin = tuple((p, setting.hall if at is None else at) for p, at in setting.staff.items())
    worlds = [World(begin)]
    last: dict[int, tuple[Event, int, dict[Any, Fraction]]] = {}
    for step in sorted({event.time // setting.step for event in events}):
        own = [event for event in events if event.time // setting.step == step]
        worlds, admitted = _step(setting, worlds, own, outcome)
        if not admitted:
            continue
        as_of = max(event.time for event in admitted)
        before = outcome.trace[-1][3] if outcome.trace else []
        outcome.trace.append((step, as_of, worlds, [*before, *admitted]))
        for event in sorted(admitted, key=lambda e: (e.time, e.id)):
            known = _known(worlds, event)
            outcome.told.append((as_of, event.id, 0, known))
        for number, (event, revision, told) in last.items():
            known = _known(worlds, event)
            if as_of - event.time <= setting.within and _is_news(setting, told, known):
                gone = {p: Fraction(0) for p, w in told.items() if w and p not in known}
                last[number] = (event, revision + 1, known)
                outcome.told.append((as_of, event.id, revision + 1, known | gone))
        for event in admitted:
            last[event.id] = (event, 0, _known(worlds, event))
    return outcome


def _is_news(setting: Setting, told: dict[Any, Fraction], known: dict[Any, Fraction]) -> bool:
    moved = max(abs(told.get(p, 0) - known.get(p, 0)) for p in {*told, *known})
    if setting.revise == "NEVER" or moved <= SAME:
        return False
    if setting.revise == "CERTAIN":
        return 1 in known.values() and 1 not in told.values()
    return setting.revise == "ANY" or moved >= setting.least - SAME


def known_then(outcome: Outcome, as_of: int, number: int) -> dict[Any, Fraction]:
    """Return the owners of an event after the step of a time; none where it was not admitted."""
    for _, time, worlds, so_far in outcome.trace:
        for event in so_far:
            if time == as_of and event.id == number:
                return _known(worlds, event)
    return {}


def told_matches(
    setting: Setting, events: list[Event], query: model.Query, *, waits: bool
) -> set[tuple[frozenset[Any], int, Fraction]]:
    """Return every telling of a match as (match, revision, confidence); see `all_told`."""
    told = all_told(setting, events, query, waits=waits)
    return {(match, revision, confidence) for match, revision, confidence, _ in told}


def all_told(
    setting: Setting,
    events: list[Event],
    query: model.Query,
    *,
    waits: bool,
    kept: set[int] | None = None,
) -> list[tuple[frozenset[Any], int, Fraction, int]]:
    """Return every telling of a match as (match, revision, confidence, when).

    A match has pairs of component and (id, owner). One that `waits` ends with a negation: it is
    known at first + W. Only the events that were `kept` are seen, by whoever reads them.
    """
    found: list[tuple[frozenset[Any], int, Fraction, int]] = []
    last: dict[Any, tuple[int, Fraction]] = {}
    trace = identify(setting, events).trace
    time_of = {event.id: event.time for event in events}
    for k, (_, as_of, worlds, so_far) in enumerate(trace):
        until = trace[k + 1][0] if k + 1 < len(trace) else None
        seen = [each for each in so_far if kept is None or each.id in kept]
        weights = _match_weights(worlds, seen, query)
        for match, weight in weights.items():
            times = [time_of[number] for _, ids in match for number, _ in ids]
            moment = min(times) + query.within[1] if waits and query.within else max(times)
            if match not in last and (until is None or moment // setting.step < until):
                last[match] = (0, weight)
                found.append((match, 0, weight, moment))
        for match, (revision, told) in list(last.items()):
            weight = weights.get(match, Fraction(0))
            age = as_of - max(time_of[number] for _, ids in match for number, _ in ids)
            both = ({"is": told, "not": 1 - told}, {"is": weight, "not": 1 - weight})
            if age <= setting.within and _is_news(setting, *both):
                last[match] = (revision + 1, weight)
                found.append((match, revision + 1, weight, as_of))
    return found


def final_matches(
    setting: Setting, events: list[Event], query: model.Query
) -> list[tuple[Fraction, list[Any]]]:
    """Return every world that all rows allow: its weight, and its matches."""
    worlds = final_worlds(setting, events)
    return [(weight, matches_in_world(query, rows)) for weight, rows in worlds]


def final_worlds(setting: Setting, events: list[Event]) -> list[tuple[Fraction, list[model.Event]]]:
    """Return every world that all rows allow: its weight, and its events with their owners."""
    trace = identify(setting, events).trace
    if not trace:
        return [(Fraction(1), [])]
    _, _, worlds, so_far = trace[-1]
    total = sum(world.weight for world in worlds)
    return [(w.weight / total, _rows(w, so_far)) for w in worlds]


def _rows(world: World, events: list[Event]) -> list[model.Event]:
    owners, rows = dict(world.owners), []
    for each in events:
        owner = owners.get(each.id, each.person)
        attrs = {"person": owner, "room": each.place}
        own = (each.id, owner)
        rows.append(model.Event(own, each.time, each.type, attrs=attrs, key=(owner,)))
    return rows


def _match_weights(
    worlds: list[World], events: list[Event], query: model.Query
) -> dict[frozenset[Any], Fraction]:
    total = sum(world.weight for world in worlds)
    found: dict[frozenset[Any], Fraction] = {}
    for world in worlds:
        rows = _rows(world, events)
        for match in matches_in_world(query, rows):
            found[match.key] = found.get(match.key, Fraction(0)) + world.weight / total
    return found


def _known(worlds: list[World], event: Event) -> dict[Any, Fraction]:
    if event.person is not None:
        return {event.person: Fraction(1)}
    total = sum(world.weight for world in worlds)
    found: dict[Any, Fraction] = {}
    for world in worlds:
        owner = dict(world.owners)[event.id]
        found[owner] = found.get(owner, Fraction(0)) + world.weight / total
    return {owner: p for owner, p in found.items() if p}


def _step(
    setting: Setting, worlds: list[World], events: list[Event], outcome: Outcome
) -> tuple[list[World], list[Event]]:
    """Admit the events of one step: badge reads, then the others."""
    admitted: list[Event] = []
    moved: set[Any] = set()
    for event in sorted(events, key=lambda e: (e.person is None, e.time, e.id)):
        way = _way(setting, event)
        if way is None:
            outcome.rejected.append(event.id)
            continue
        origins, to, is_move = way
        if event.person is None:
            after = _given(setting, worlds, event, origins, to, admitted)
            if not after:
                outcome.rejected.append(event.id)
                continue
            worlds = after
        else:
            after = [w for w in worlds if dict(w.places)[event.person] in origins]
            if is_move and event.person in moved:
                after = []
            if not after:
                if setting.rejects:
                    outcome.rejected.append(event.id)
                    continue
                outcome.resets.append(event.id)
                after = worlds
            worlds = [_put(world, event.person, to) for world in after]
            if is_move:
                moved.add(event.person)
        admitted.append(event)
    return worlds, admitted


def _way(setting: Setting, event: Event) -> tuple[set[Any], Any, bool] | None:
    """Return where an event starts and leads, and whether it is a move; None if malformed."""
    is_unknown = event.person is not None and event.person not in setting.staff
    if event.type is None or event.place is None or is_unknown:
        return None
    if setting.doors is None:
        return _hall_way(setting, event)
    return _door_way(setting, event)


def _hall_way(setting: Setting, event: Event) -> tuple[set[Any], Any, bool] | None:
    if event.type not in ("ENTER", "EXIT"):
        return {event.place}, event.place, False
    if event.place == setting.hall:
        return None
    ends = (setting.hall, event.place) if event.type == "ENTER" else (event.place, setting.hall)
    return {ends[0]}, ends[1], True


def _door_way(setting: Setting, event: Event) -> tuple[set[Any], Any, bool] | None:
    assert setting.doors is not None
    places = {place for door in setting.doors for place in door} | set(setting.staff.values())
    if event.place not in places:
        return None
    if event.type != "ENTER":
        return {event.place}, event.place, False
    near = {a for a, b in setting.doors if b == event.place}
    near |= {b for a, b in setting.doors if a == event.place}
    if event.origin is None:
        return near, event.place, True
    return ({event.origin}, event.place, True) if event.origin in near else None


def _put(world: World, person: Any, to: Any) -> World:
    places = tuple((p, to if p == person else at) for p, at in world.places)
    return World(places, world.owners, world.weight)


def _given(
    setting: Setting,
    worlds: list[World],
    event: Event,
    origins: set[Any],
    to: Any,
    admitted: list[Event],
) -> list[World]:
    """Return every world in which somebody did an event who does nothing else in its step."""
    read = {each.person for each in admitted if each.person is not None}
    unread = {each.id for each in admitted if each.person is None}
    found = []
    for world in worlds:
        acted = read | {owner for number, owner in world.owners if number in unread}
        for person, at in world.places:
            weight = setting.prefer.get((person, event.place), Fraction(1))
            if at in origins and person not in acted and weight:
                after = _put(world, person, to)
                owners = (*world.owners, (event.id, person))
                found.append(World(after.places, owners, world.weight * weight))
    return found
