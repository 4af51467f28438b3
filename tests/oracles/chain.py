"""The whole chain over a small ward, composed of the slow twins of its stages.

Owners by all worlds (`identities`), a policy by all combinations (`policies`), matches in a world
(`selection`), rules one moment after another. Written from the language alone; nothing here imports
augury.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import groupby, product
from typing import Any

from oracles import model, policies
from oracles.identities import Event, Setting, identify
from oracles.worlds import matches_in_world

SAME = Fraction(1, 10**9)
MATCH = tuple[Any, ...]
UNWASHED = model.Query(
    model.Seq(
        (model.Comp("x", "ENTER"), model.Not(model.Comp("s", "WASH")), model.Comp("e", "EXIT"))
    ),
    equate=("person",),
    within=("time", 9),
)
AGAIN = model.Query(
    model.Seq((model.Comp("x", "EXIT"), model.Comp("e", "ENTER"))),
    equate=("person",),
    within=("time", 9),
)
TWICE = model.Query(
    model.Seq((model.Comp("a", "VISIT"), model.Comp("b", "VISIT"))),
    equate=("person",),
    within=("time", 20),
)
PUBLIC = policies.Sequence("masked", (("MASK", None), ("EXIT", None)), 9, ((), (), ()), keyed=True)
PRIVATE = policies.Sequence("hidden", (("MASK", None), ("MASK", None)), 6, ((), (), ()), keyed=True)
BOUND = {"ENTER", "EXIT", "WASH"}


@dataclass(frozen=True)
class Small:
    """A ward: who begins where, and what is told; `heard` is what another sensor said of states."""

    setting: Setting
    events: list[Event]
    heard: list[tuple[str, int, str]]


def small(seed: int, *, unread: float) -> Small:
    """Return a small ward in which everything that is told can have been."""
    rng = random.Random(seed)
    people = ["O1", "O2", "O3"][: rng.randint(2, 3)]
    where = dict.fromkeys(people, "H")
    staff, events, time = dict(where), list[Event](), 0
    for number in range(rng.randint(5, 8)):
        time += rng.randint(1, 3)
        person = rng.choice(people)
        at, kind = where[person], rng.choice(["MOVE", "MOVE", "MOVE", "WASH", "MASK"])
        if kind == "MOVE":
            kind = "ENTER" if at == "H" else "EXIT"
            at = rng.choice(["R1", "R2"]) if kind == "ENTER" else at
            where[person] = at if kind == "ENTER" else "H"
        who = None if rng.random() < unread else person
        events.append(Event(number, time, who, kind, at))
    heard = [(p, t, rng.choice("xy")) for p in people for t in range(1, 4)]
    return Small(Setting(staff, within=rng.choice([3, 1000])), events, heard)


@dataclass
class Came:
    """What comes of a ward: tellings as (match, revision, confidence, moment), by query."""

    kept: set[int]
    told: dict[str, list[tuple[MATCH, int, Fraction, tuple[int, int]]]]
    firings: list[tuple[str, MATCH, int, float]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    stands: set[MATCH] = field(default_factory=set)


def came_of(ward: Small, *, identifies: bool, suppresses: bool, least: float) -> Came:
    """Return what comes of a ward, with all rules, queries over queries, and so on."""
    outcome = identify(ward.setting, ward.events)
    first = {n: known for _, n, revision, known in outcome.told if revision == 0}
    kept = _kept(ward, first) if suppresses else {event.id for event in ward.events}
    told = {
        "unwashed": _told(ward, outcome.trace, kept, _unwashed),
        "again": _told(ward, outcome.trace, kept, _again),
        "twice": _told(ward, outcome.trace, kept, _twice),
    }
    if not identifies:
        assert all(revision == 0 for own in told.values() for _, revision, *_ in own)
    came = Came(kept, told)
    _act(came, least)
    return came


def _kept(ward: Small, first: dict[int, dict[Any, Fraction]]) -> set[int]:
    oracle = policies.Oracle([(PUBLIC, 2.0)], [(PRIVATE, math.inf)], BOUND, "GREEDY", [])
    rows: list[list[policies.Row]] = []
    for event in ward.events:
        shared = {"t": event.time, "id": event.id, "type": event.type, "v": 0}
        faces = [{**shared, "p": float(p), "k": owner} for owner, p in first[event.id].items()]
        if oracle.decide(rows, faces, set())[0]:
            rows.append(faces)
    return {faces[0]["id"] for faces in rows}


# Matches in every world ---------------------------------------------------------------------------


def _told(
    ward: Small, trace: list[Any], kept: set[int], found: Any
) -> list[tuple[MATCH, int, Fraction, tuple[int, int]]]:
    """Return every telling of a match, and when: (time, 0) at its own moment, (time, 1) again."""
    told: list[tuple[MATCH, int, Fraction, tuple[int, int]]] = []
    last: dict[MATCH, tuple[int, Fraction]] = {}
    time_of = {event.id: event.time for event in ward.events}
    for _, as_of, worlds, so_far in trace:
        seen = [event for event in so_far if event.id in kept]
        total, weights = sum(world.weight for world in worlds), dict[MATCH, Fraction]()
        for world in worlds:
            owners = dict(world.owners)
            for match in found(seen, owners):
                weights[match] = weights.get(match, Fraction(0)) + world.weight / total
        known = list(last.items())
        for match, weight in weights.items():
            if match not in last:
                last[match] = (0, weight)
                told.append((match, 0, weight, (max(map(time_of.get, _ids(match))), 0)))
        for match, (revision, before) in known:
            now = weights.get(match, Fraction(0))
            age = as_of - max(time_of[number] for number in _ids(match))
            if age <= ward.setting.within and abs(now - before) > SAME:
                last[match] = (revision + 1, now)
                told.append((match, revision + 1, now, (as_of, 1)))
    return told


def _ids(match: MATCH) -> list[int]:
    """Return the events of a match, also of one that is made of matches."""
    found = list[int]()
    for _, part in match[1]:
        found += [part] if isinstance(part, int) else _ids(part)
    return found


def _rows(seen: Iterable[Event], owners: dict[int, Any]) -> list[model.Event]:
    rows = []
    for each in seen:
        owner = owners.get(each.id, each.person)
        attrs = {"person": owner, "room": each.place}
        rows.append(model.Event((owner, each.id), each.time, each.type, attrs=attrs, key=(owner,)))
    return rows


def _matches(query: model.Query, rows: list[model.Event]) -> set[MATCH]:
    """Return matches as (person, events in order), an event as (component, id)."""
    found = set()
    for match in matches_in_world(query, rows):
        items = sorted((name, taken[0]) for name, taken in match.key)
        person = items[0][1][0]
        found.add((person, tuple((name, own[1]) for name, own in items)))
    return found


def _unwashed(seen: list[Event], owners: dict[int, Any]) -> set[MATCH]:
    return _matches(UNWASHED, _rows(seen, owners))


def _again(seen: list[Event], owners: dict[int, Any]) -> set[MATCH]:
    return _matches(AGAIN, _rows(seen, owners))


def _twice(seen: list[Event], owners: dict[int, Any]) -> set[MATCH]:
    time_of = {event.id: event.time for event in seen}
    visits = [
        model.Event((match[0], match), max(map(time_of.__getitem__, _ids(match))), "VISIT",
                    attrs={"person": match[0]}, key=(match[0],))
        for match in _unwashed(seen, owners)
    ]  # fmt: skip
    return _matches(TWICE, visits)


# Rules --------------------------------------------------------------------------------------------


def _act(came: Came, least: float) -> None:
    """Let both rules act: `warn` counts unwashed visits; `more` is for those counted before."""
    offered = [("warn", *each) for each in came.told["unwashed"]]
    offered += [("more", *each) for each in came.told["again"]]
    offered.sort(key=lambda each: each[-1])
    fired, stood = set[Any](), set[MATCH]()
    for moment, same in groupby(offered, key=lambda each: each[-1]):
        own = list(same)
        for rule, match, revision, _, _ in own:
            if rule == "more" and revision == 0 and came.counts.get(match[0], 0) >= 1:
                stood.add(match)
        for rule, match, _, confidence, _ in own:
            passes = rule == "warn" or match in stood
            if passes and confidence >= least - 1e-9 and (rule, match) not in fired and confidence:
                fired.add((rule, match))
                came.firings.append((rule, match, moment[0], float(confidence)))
                if rule == "warn":
                    came.counts[match[0]] = came.counts.get(match[0], 0) + 1
    came.stands = stood


# What another sensor said ------------------------------------------------------------------------

STAY, RIGHT = 0.75, 0.875


def worn(ward: Small) -> dict[tuple[str, int, str], float]:
    """Return how likely each state of each person is by what was heard so far: all paths."""
    found = {}
    for person in {p for p, *_ in ward.heard}:
        own = [(t, said) for p, t, said in ward.heard if p == person]
        for count in range(1, len(own) + 1):
            weights = dict.fromkeys("xy", 0.0)
            for path in product("xy", repeat=count):
                weight = 0.5
                for k, (_, said) in enumerate(own[:count]):
                    weight *= (STAY if path[k] == path[k - 1] else 1 - STAY) if k else 1.0
                    # Each sensor is heard or silent by itself: one of the two was silent.
                    weight *= RIGHT**2 if path[k] == said else (1 - RIGHT) ** 2
                weights[path[-1]] += weight
            for state, weight in weights.items():
                found[person, own[count - 1][0], state] = weight / sum(weights.values())
    return found
