"""The state of what acts as bytes: tables, counts and candidates as Arrow, the rest as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from augury.evaluation.codec import ipc_bytes
from augury.rules.contents import Contents, Row
from augury.rules.stage import State
from augury.rules.state_text import followed_as_text, followed_of

Waiting = dict[str, pa.Table]
# How far all is settled: before a horizon, and after which moments it began, by query.
Span = tuple[int, dict[str, tuple[Any, ...]]]


def dump(state: State, waiting: Mapping[str, pa.Table], span: Span) -> bytes:
    """Return a state without what has fired, which was handed on."""
    parts: list[bytes] = []
    about = {
        "reached": span[0],
        "since": {name: _written(moment) for name, moment in span[1].items()},
        "moment": _written(state.reached),
        "tables": {name: _contents(each, parts) for name, each in state.tables.items()},
        "counts": {name: _add(_counts(state, name), parts) for name in _counted(state)},
        "waiting": {n: _add(rows, parts) for n, rows in waiting.items() if rows.num_rows},
        "marks": [
            [who, list(key), list(times), n] for (who, key), (times, n) in state.marks.items()
        ],
        "found": {
            query: [[name, _written(order), passed] for name, (order, passed) in known.items()]
            for query, known in state.found.items()
        },
        "followed": followed_as_text(state),
        "parts": [len(part) for part in parts],
    }
    head = json.dumps(about).encode()
    return len(head).to_bytes(8, "little") + head + b"".join(parts)


def load(body: bytes) -> tuple[State, Waiting, Span]:
    """Return what `dump` wrote."""
    length = int.from_bytes(body[:8], "little")
    about = json.loads(body[8 : 8 + length])
    parts, at = list[pa.Table](), 8 + length
    for size in about["parts"]:
        parts.append(pa.ipc.open_stream(body[at : at + size]).read_all())
        at += size
    state = State(
        tables={name: _read(name, each, parts) for name, each in about["tables"].items()},
        found={
            query: {name: (_moment(order), passed) for name, order, passed in known}
            for query, known in about["found"].items()
        },
        marks={
            (who, tuple(key)): (tuple(times), n) for who, key, times, n in about.get("marks", [])
        },
        followed=followed_of(about.get("followed", [])),
        counts=dict(_read_counts(about["counts"], parts)),
        reached=None if about["moment"] is None else _moment(about["moment"]),
    )
    since = {name: _moment(moment) for name, moment in about["since"].items()}
    waiting = {name: parts[k] for name, k in about["waiting"].items()}
    return state, waiting, (about["reached"], since)


def _written(moment: tuple[Any, ...] | None) -> list[Any] | None:
    return None if moment is None else list(moment)


def _moment(written: list[Any]) -> Any:
    return tuple(tuple(part) if isinstance(part, list) else part for part in written)


def _add(rows: pa.Table, parts: list[bytes]) -> int:
    parts.append(ipc_bytes(rows))
    return len(parts) - 1


# Tables -------------------------------------------------------------------------------------------


def _contents(contents: Contents, parts: list[bytes]) -> dict[str, Any]:
    rows = contents.rows()
    table = _columns([(place, *row) for place, row in rows])
    return {
        "key": list(contents.key),
        "following": contents.following,
        "rows": _add(table, parts) if rows else None,
    }


def _read(name: str, about: Mapping[str, Any], parts: list[pa.Table]) -> Contents:
    made = Contents(name, tuple(about["key"]), following=about["following"])
    rows = _rows(parts[about["rows"]]) if about["rows"] is not None else ()
    for place, *row in rows:
        made.held[place] = tuple(row)
        if made.key:
            made.places[made.key_of(tuple(row))] = place
    return made


def _counted(state: State) -> list[str]:
    return list(dict.fromkeys(table for table, _ in state.counts))


def _counts(state: State, table: str) -> pa.Table:
    return _columns([(n, *key) for (own, key), n in state.counts.items() if own == table])


def _read_counts(
    about: Mapping[str, int], parts: list[pa.Table]
) -> Iterator[tuple[tuple[str, Row], int]]:
    for table, k in about.items():
        for number, *key in _rows(parts[k]):
            yield (table, tuple(key)), number


def _columns(rows: list[Row]) -> pa.Table:
    """Return rows of values as they are inside, in the types that these have."""
    columns = list(zip(*rows, strict=True))
    return pa.table([pa.array(column) for column in columns], [str(k) for k in range(len(columns))])


def _rows(table: pa.Table) -> Iterable[Row]:
    return zip(*(column.to_pylist() for column in table.columns), strict=True)
