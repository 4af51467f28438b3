"""The state of matches over owners as bytes: worlds, rows and matches that may be told again.

One part is JSON, with ids, people and places as they are; the others are Arrow tables. What is a
function in memory (how likely a match is by who did what) is stored as the lineage it is made of.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections import Counter
from dataclasses import astuple, dataclass, field, fields
from typing import Any

import numpy as np
import pyarrow as pa

from augury.errors import StateError
from augury.evaluation.answers.match_answers import Inputs
from augury.evaluation.codec import ipc_bytes
from augury.evaluation.owners.claims import claim
from augury.evaluation.owners.shown import Batch
from augury.identity.identifier import dump, load, time_of, time_parts
from augury.identity.owners import State, Worlds
from augury.identity.singles import FollowedSingles, Singles
from augury.identity.singles import Owned as OwnedEvent
from augury.identity.track import Past, Track, following
from augury.identity.tracks import Followed, Live, Telling, Tracks
from augury.identity.ward import Act, Row
from augury.matching.lineage import All, AtMost, Chances, Formula, Is, Not, Owned, Truth, literals
from augury.records import Matches

VERSION = 4
_LENGTH = 8
# A match by its batch, and its place there.
Number = tuple[int, int]


@dataclass
class OwnerMatchState:
    """What was told of owners, rows beside it, people followed, and matches that are told.

    `passed` are the matches that HAVING showed last. `batches` counts those that there were.
    """

    kept: dict[str, pa.Table]
    followed: Followed
    reported: int
    alive: dict[int, Batch] = field(default_factory=dict)
    passed: set[Number] = field(default_factory=set)
    batches: int = 0

    @property
    def is_empty(self) -> bool:
        return not (any(t.num_rows for t in self.kept.values()) or self.followed.waiting)

    @property
    def nbytes(self) -> int:
        """How many bytes of rows are held in memory."""
        return sum(table.nbytes for table in self.kept.values())


def dumped(state: OwnerMatchState) -> bytes:
    """Return a state as bytes."""
    tables = list[pa.Table]()
    about = {
        "version": VERSION,
        "reported": state.reported,
        "batches": state.batches,
        "passed": sorted(state.passed),
        "kept": {name: _place(tables, rows) for name, rows in state.kept.items()},
        "alive": [[n, _batch(own, tables)] for n, own in state.alive.items()],
        **_followed(state),
    }
    parts = [json.dumps(about, default=time_parts).encode(), *map(ipc_bytes, tables)]
    return b"".join(len(part).to_bytes(_LENGTH, "little") + part for part in parts)


def loaded(data: bytes, tracks: Tracks) -> OwnerMatchState:
    """Return the state that was dumped by a stage of the same declarations."""
    first, *parts = _parts(data)
    about = json.loads(first, object_hook=time_of)
    if about["version"] != VERSION:
        raise StateError(
            f"matches over owners are stored in version {about['version']}, which this augury does "
            "not read; start anew without the checkpoint"
        )
    tables = [pa.ipc.open_stream(part).read_all() for part in parts]
    state = OwnerMatchState(
        {name: tables[k] for name, k in about["kept"].items()},
        tracks.start(),
        about["reported"],
        {n: _loaded_batch(own, tables) for n, own in about["alive"]},
        {(n, m) for n, m in about["passed"]},
        about["batches"],
    )
    if isinstance(state.followed, FollowedSingles):
        assert isinstance(tracks, Singles)
        _load_told_of_events(state.followed, about, tracks)
    else:
        _load_followed(state, about)
    return state


def _parts(data: bytes) -> list[bytes]:
    found, at = [], 0
    while at < len(data):
        end = at + _LENGTH + int.from_bytes(data[at : at + _LENGTH], "little")
        found.append(data[at + _LENGTH : end])
        at = end
    return found


def _place(tables: list[pa.Table], table: pa.Table) -> int:
    tables.append(table)
    return len(tables) - 1


# Matches ------------------------------------------------------------------------------------------


def _batch(batch: Batch, tables: list[pa.Table]) -> dict[str, Any]:
    inputs: Inputs = batch.inputs
    rows = pa.table({"id": inputs.ids, "time": inputs.time, "p": inputs.p})
    columns = {f.name: getattr(batch.matches, f.name).tolist() for f in fields(Matches)}
    return {
        "matches": columns,
        "rows": _place(tables, rows),
        "tables": [_place(tables, own) for own in inputs.tables],
        "firsts": list(inputs.first_rows),
    }


def _loaded_batch(about: dict[str, Any], tables: list[pa.Table]) -> Batch:
    none, rows = Matches.none(), tables[about["rows"]]
    columns = {
        name: np.array(values, getattr(none, name).dtype)
        for name, values in about["matches"].items()
    }
    inputs = Inputs(
        tuple(tables[k] for k in about["tables"]),
        tuple(about["firsts"]),
        rows.column("id").combine_chunks(),
        np.asarray(rows.column("time")),
        np.array(rows.column("p")),
    )
    return Batch(Matches(**columns), inputs)


# People who are followed --------------------------------------------------------------------------


def _followed(state: OwnerMatchState) -> dict[str, Any]:
    followed = state.followed
    if isinstance(followed, FollowedSingles):
        return _told_of_events(followed)
    tracks = [track for own in followed.tracks.values() for track in own]
    numbers = {id(track): k for k, track in enumerate(tracks)}
    return {
        "done": followed.done,
        "waiting": [[unit, _row(row)] for unit, row in followed.waiting],
        "pasts": [
            [
                unit,
                [_track(mark) for mark in (*past.marks, past.front)],
                [[at, [_row(row) for row, _ in rows]] for at, rows in past.rows.items()],
                past.counted - sum(map(len, past.rows.values())),
                past.taken,
                past.turns,
                [[at, list(own)] for at, own in past.strange.items()],
            ]
            for unit, past in followed.pasts.items()
        ],
        "tracks": [[track.unit, _track(track)] for track in tracks],
        "settling": _settling(followed),
        "due": [_live(live, numbers) for live in followed.due],
        "live": [_live(live, numbers) for live in followed.live.values()],
    }


def _told_of_events(followed: FollowedSingles) -> dict[str, Any]:
    """Return what singles remember; which event a claim is of, its lineage says."""
    return {
        "done": followed.done,
        "known": b64encode(dump(followed.known)).decode(),
        "events": [
            [*name, own.step, list(own.p.items()), own.bound]
            for name, own in followed.events.items()
        ],
        "settling": _settling(followed),
        "due": [_live(live, None) for live in followed.due],
        "live": [_live(live, None) for live in followed.live.values()],
    }


def _load_told_of_events(followed: FollowedSingles, about: dict[str, Any], how: Singles) -> None:
    followed.done, followed.known = about["done"], load(b64decode(about["known"]))
    followed.waiting = followed.known.waiting
    for unit, event, step, p, bound in about["events"]:
        followed.events[unit, event] = OwnedEvent(step, dict(p), bound)
    followed.settling = _loaded_settling(about)
    followed.due = [how.restored(followed, _loaded_live(each, [])) for each in about["due"]]
    for each in about["live"]:
        followed.keep(how.restored(followed, _loaded_live(each, [])))


def _settling(followed: Followed) -> list[Any]:
    return [[astuple(telling), at] for telling, at in followed.settling]


def _loaded_settling(about: dict[str, Any]) -> list[tuple[Telling, int]]:
    return [(Telling(tuple(number), *told), at) for (number, *told), at in about["settling"]]


def _load_followed(state: OwnerMatchState, about: dict[str, Any]) -> None:
    followed = state.followed
    followed.done = about["done"]
    followed.waiting = [(unit, Row(*row)) for unit, row in about["waiting"]]
    for unit, marks, rows, counted, taken, turns, strange in about["pasts"]:
        past = followed.pasts[unit]
        *past.marks, past.front = [_loaded_track(unit, each, past) for each in marks]
        past.counted, past.taken = counted, taken
        past.turns = [(at, is_sampled) for at, is_sampled in turns]
        past.strange = {at: frozenset(own) for at, own in strange}
        for at, own in rows:
            past.add(at, [Row(*row) for row in own])
    tracks = [_loaded_track(unit, each, followed.pasts[unit]) for unit, each in about["tracks"]]
    followed.settling = _loaded_settling(about)
    followed.due = [_loaded_live(each, tracks) for each in about["due"]]
    for each in about["live"]:
        followed.keep(_loaded_live(each, tracks))
    for live in (*followed.due, *followed.live.values()):
        for track in live.tracks.values():
            track.lives[live.number] = live


def _row(row: Row) -> list[Any]:
    return [row.id, row.time, row.person, row.type, row.place, row.origin]


def _track(track: Track) -> dict[str, Any]:
    worlds = track.worlds
    named = ("heads", "lost", "drawn", "is_even", "last_open", "is_astray", "is_changed")
    return {
        "at": track.at,
        "singled": sorted(track.owners.singled),
        "watched": list(track.owners.watched),
        "asks": list(track.asks.items()),
        "worlds": {name: getattr(worlds, name) for name in named},
        "states": [
            [*key, own.ways, own.sure, own.counts, own.extent, own.noise]
            for key, own in worlds.states.items()
        ],
        "is_limited": track.room is not None,
        "error": track.error,
        "takes": track.takes,
        "begun": track.begun,
        "open": [[getattr(act, f.name) for f in fields(Act)] for act in worlds.acts.values()],
    }


def _loaded_track(unit: Any, about: dict[str, Any], past: Past) -> Track:
    none = np.zeros((0, len(past.ward.people)))
    states = {}
    for moved, opened, done, ways, sure, counts, extent, noise in about["states"]:
        key = tuple(tuple(tuple(each) for each in part) for part in (moved, opened, done))
        own = noise and tuple(noise)
        states[key] = State(ways, sure, tuple(counts), extent, none.copy(), own)
    own = about["worlds"]
    heads = [(place, step) for place, step in own.pop("heads")]
    acts = []
    for number, name, time, step, origins, place, room, is_move in about["open"]:
        acts.append(Act(number, name, time, step, tuple(origins), place, room, is_move))
    worlds = Worlds(heads, states, {act.number: act for act in acts}, [], **own)  # type: ignore[arg-type]
    owners = following(past.ward, frozenset(about["singled"]), frozenset(about["watched"]))
    track = Track(unit, owners, worlds, about["at"], Counter(dict(about["asks"])))
    track.room = past.room if about["is_limited"] else None
    track.error, track.takes, track.begun = about["error"], about["takes"], about["begun"]
    return track


def _live(live: Live, numbers: dict[int, int] | None) -> dict[str, Any]:
    formula, chances = live.claim.parts
    said: set[Any] = {each.block for each in literals(formula)}
    plain = sorted((each for each in said if not isinstance(each, Owned)), key=repr)
    options = [list(chances[block].items()) for block in plain]
    names: dict[Any, list[Any]] = {
        block: [k, [name for name, _ in own]]
        for k, (block, own) in enumerate(zip(plain, options, strict=True))
    }
    return {
        "number": live.number,
        "formula": _formula(formula, names),
        "chances": [[p for _, p in own] for own in options],
        "moment": live.claim.moment,
        "last": live.claim.last,
        "revision": live.revision,
        "confidence": live.confidence,
        "at": live.at,
        "error_bound": live.error_bound,
        "doubt": live.claim.doubt,
        "tracks": [
            [unit, numbers[id(track)]] for unit, track in live.tracks.items() if numbers is not None
        ],
    }


def _loaded_live(about: dict[str, Any], tracks: list[Track]) -> Live:
    chances: Chances = {k: dict(enumerate(own)) for k, own in enumerate(about["chances"])}
    ends = about["moment"], about["last"], about["doubt"]
    made = claim(_loaded_formula(about["formula"]), chances, *ends)
    own = {unit: tracks[k] for unit, k in about["tracks"]}
    number = tuple(about["number"])
    told = about["revision"], about["confidence"], about["at"], about["error_bound"]
    return Live(number, made, own, *told)


def _formula(formula: Formula, names: dict[Any, list[Any]]) -> list[Any]:
    if isinstance(formula, Truth):
        return ["true" if formula.value else "false"]
    if isinstance(formula, Is):
        block: Any = formula.block
        if isinstance(block, Owned):
            return ["owner", block.unit, block.act, formula.alternative]
        number, options = names[block]
        # An alternative without a chance is none that may be taken.
        known = formula.alternative in options
        return ["is", number, options.index(formula.alternative) if known else -1]
    if isinstance(formula, Not):
        return ["not", _formula(formula.part, names)]
    if isinstance(formula, All):
        parts = sorted(formula.parts, key=repr)
        return ["all", *(_formula(part, names) for part in parts)]
    return ["most", formula.count, *(_formula(part, names) for part in formula.parts)]


def _loaded_formula(about: list[Any]) -> Formula:
    kind, *rest = about
    if kind in ("true", "false"):
        return Truth(kind == "true")
    if kind == "owner":
        return Is(Owned(rest[0], rest[1]), rest[2])
    if kind == "is":
        return Is(rest[0], rest[1])
    if kind == "not":
        return Not(_loaded_formula(rest[0]))
    if kind == "all":
        return All(frozenset(map(_loaded_formula, rest)))
    return AtMost(rest[0], tuple(map(_loaded_formula, rest[1:])))
