"""The state as JSON: what waits, tables and counts, and what has happened."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

from augury.rules.contents import Contents, Row
from augury.rules.plan import Moment
from augury.rules.stage import Candidate, Changed, Firing, Followed, State

VERSION = 1


def dump(state: State) -> bytes:
    """Return a state as bytes."""
    about = {
        "version": VERSION,
        "tables": {name: _contents(each) for name, each in state.tables.items()},
        "waiting": [_candidate(each) for _, _, each in sorted(state.waiting, key=lambda e: e[:2])],
        "found": {
            query: [[name, _moment(order), passed] for name, (order, passed) in known.items()]
            for query, known in state.found.items()
        },
        "counts": [[table, list(key), number] for (table, key), number in state.counts.items()],
        "marks": [
            [who, list(key), list(times), n] for (who, key), (times, n) in state.marks.items()
        ],
        "followed": followed_as_text(state),
        "firings": [_firing(each) for each in state.firings],
        "rejected": [_firing(each) for each in state.rejected],
        "reached": None if state.reached is None else _moment(state.reached),
    }
    return json.dumps(about).encode()


def load(data: bytes) -> State:
    """Return the state that `dump` wrote."""
    about = json.loads(data)
    waiting = [_read_candidate(each) for each in about["waiting"]]
    return State(
        tables={name: _read_contents(name, each) for name, each in about["tables"].items()},
        waiting=[(each.moment, k, each) for k, each in enumerate(waiting)],
        found={
            query: {name: (_read_moment(order), passed) for name, order, passed in known}
            for query, known in about["found"].items()
        },
        counts={(table, tuple(key)): number for table, key, number in about["counts"]},
        marks={
            (who, tuple(key)): (tuple(times), n) for who, key, times, n in about.get("marks", [])
        },
        followed=followed_of(about.get("followed", [])),
        firings=[_read_firing(each) for each in about["firings"]],
        rejected=[_read_firing(each) for each in about["rejected"]],
        reached=None if about["reached"] is None else _read_moment(about["reached"]),
        arrived=count(len(waiting)),
    )


def followed_as_text(state: State) -> list[list[Any]]:
    """Return the matches that may be told again as JSON has them."""
    return [
        [query, name, own.since, own.stands, sorted(own.fired), own.is_told]
        for query, known in state.followed.items()
        for name, own in known.items()
    ]


def followed_of(written: list[list[Any]]) -> dict[str, dict[str, Followed]]:
    """Return the matches that `followed_as_text` wrote."""
    found: dict[str, dict[str, Followed]] = {}
    for query, name, since, stands, fired, is_told in written:
        found.setdefault(query, {})[name] = Followed(since, stands, set(fired), is_told)
    return found


def _moment(moment: Moment) -> list[Any]:
    time, after, stream, tie = moment
    return [time, after, stream, list(tie)]


def _read_moment(written: list[Any]) -> Moment:
    time, after, stream, tie = written
    return time, after, stream, tuple(tie)


def _contents(contents: Contents) -> dict[str, Any]:
    rows = [[place, list(row)] for place, row in contents.rows()]
    return {"key": list(contents.key), "rows": rows, "following": contents.following}


def _read_contents(name: str, about: dict[str, Any]) -> Contents:
    key = tuple(about["key"])
    held: dict[int, Row] = {place: tuple(row) for place, row in about["rows"]}
    places = {tuple(row[k] for k in key): place for place, row in held.items()} if key else {}
    return Contents(name, key, held, places, about["following"])


def _candidate(each: Candidate) -> list[Any]:
    return [
        each.query, each.match_id, each.start, _moment(each.order), _moment(each.moment),
        dict(each.match), sorted(each.present), [list(lower) for lower in each.over],
        each.is_shown,
    ]  # fmt: skip


def _read_candidate(written: list[Any]) -> Candidate:
    query, match_id, start, order, moment, match, present, over, *shown = written
    return Candidate(
        query, match_id, start, _read_moment(order), _read_moment(moment), match,
        frozenset(present), tuple((lower, name) for lower, name in over), *shown,
    )  # fmt: skip


def _row(row: Row | None) -> list[Any] | None:
    return None if row is None else list(row)


def _read_row(written: list[Any] | None) -> Row | None:
    return None if written is None else tuple(written)


def _firing(each: Firing) -> list[Any]:
    changes = [
        [c.ts, c.seq, c.firing_id, c.table, c.operation, list(c.key), _row(c.before), _row(c.after)]
        for c in each.changes
    ]
    return [
        each.rule, each.firing_id, each.match_id, each.ts, dict(each.match), changes, each.reason,
        each.held_back, each.script,
    ]  # fmt: skip


def _read_firing(written: list[Any]) -> Firing:
    rule, name, match_id, ts, match, changes, reason, *more = written
    made = tuple(
        Changed(t, seq, by, table, how, tuple(key), _read_row(before), _read_row(after))
        for t, seq, by, table, how, key, before, after in changes
    )
    return Firing(rule, name, match_id, ts, match, made, reason, *more)
