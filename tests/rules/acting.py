"""Sessions in which rules act, over bound and over pushed rows, and what came of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from hypothesis import settings

from augury import Session
from augury.errors import DataError
from augury.runners.local.acting import ActingRun

Rows = list[tuple[str, dict[str, Any]]]


def many(examples: int) -> int:
    """Return how many random scripts are tried: so many, and a thousand in `make fuzz`."""
    return max(examples, settings().max_examples // 5)


def session(script: str, before: dict[str, list[tuple[Any, ...]]]) -> Session:
    """Return a local session with tables bound."""
    ag = Session(engine="local")
    ag.sql(script)
    for name, rows in before.items():
        columns = [c.name for c in ag._declared.catalog.tables[name].columns]
        if rows:
            ag.bind(name, [dict(zip(columns, row, strict=True)) for row in rows])
    return ag


def bind(ag: Session, rows: Rows) -> Session:
    """Bind the rows of every stream of a session."""
    for stream in ag.streams:
        ag.bind(stream, [row for name, row in rows if name == stream])
    return ag


def pushed(ag: Session, rows: Rows, batches: Iterable[int] = ()) -> list[dict[str, Any]]:
    """Push rows in the order of their times, some together; return all matches."""
    found: list[dict[str, Any]] = []
    sizes = iter(batches)
    rest = sorted(rows, key=lambda row: row[1]["t"])
    while rest:
        stream, size = rest[0][0], max(1, next(sizes, 1))
        own = [row for name, row in rest[:size] if name == stream]
        batch = rest[:size] if len(own) == len(rest[:size]) else rest[:1]
        found += ag.push(stream, [row for _, row in batch])
        rest = rest[len(batch) :]
    return found + ag.finish()


def reads_of(ag: Session) -> list[tuple[str, int, str, Any, Any]]:
    """Return every read over the bound rows: who, when, which table, of whom, and the answer."""
    reads: list[tuple[str, int, str, Any, Any]] = []

    def seen(reader: str, match: Any, table: str, value: Any) -> None:
        known = match.match
        whose = known.get("who", known.get("worker"))
        reads.append((reader, match.moment[0], table, whose, value))

    used = ag._pushed.used(ag._declared.acting_for(), ag._bound.rows)
    run = ActingRun(used, ag._bound.local_runner(), seen)
    with suppress(DataError):
        assert run.state is not None
    return reads


def matches_of(rows: Iterable[dict[str, Any]]) -> list[tuple[dict[str, str], float]]:
    """Return matches as what their components are, and their confidence, in order."""
    found = [
        ({e["component"]: e["event_id"] for e in row["events"]}, round(row["confidence"], 9))
        for row in rows
    ]
    return sorted(found, key=str)


def changes_of(ag: Session, rule: str) -> list[tuple[int, str, str, Any, Any]]:
    """Return what a rule changed: when, which table, how, and the row before and after."""
    return [
        (row["ts"], each["table"], each["operation"], _row(each["before"]), _row(each["after"]))
        for row in ag.table(rule).to_pylist()
        for each in row["changes"]
    ]


def _row(text: str | None) -> tuple[Any, ...] | None:
    return None if text is None else tuple(json.loads(text).values())


def contents_of(ag: Session, table: str) -> list[tuple[Any, ...]]:
    """Return the rows of a table."""
    return [tuple(row.values()) for row in ag.table(table).to_pylist()]
