"""Forecasts of short streams, written as in the worked cases: `A1/k@3`, `B2 (p 0.5)@4`."""

from __future__ import annotations

import re
from typing import Any

from augury import Session

# The value of column g that each key of the worked cases has.
GROUPS = {"k": "p", "l": "q", "m": "r"}
_EVENT = re.compile(r"([A-Z]+)(\d*)(?:/(\w+))?(?: \(p ([\d.]+)\))?@(\d+)")
_COLUMNS = "(id LONG, kind STRING, k STRING, g STRING, t LONG, p DOUBLE)"
Row = dict[str, Any]


def rows_of(text: str) -> list[Row]:
    """Return the events of a text as rows."""
    found: list[Row] = []
    for kind, number, key, p, time in _EVENT.findall(text):
        found.append(
            {
                "id": int(number or 1000 + len(found)),
                "kind": kind,
                "k": key or None,
                "g": GROUPS.get(key),
                "t": int(time),
                "p": float(p or 1),
            }
        )
    return found


def script(pattern: str, forecast: str, *, keyed: bool, by_time: bool, number: str = "") -> str:
    """Return the declarations of a case: query `q` and forecast `f`; names may have a number."""
    key = "KEY k" if keyed else ""
    how = "BY TIME" if by_time else "BY MATCH"
    learned = forecast.replace("FROM history", f"FROM history{number}")
    return f"""
        CREATE STREAM s{number} {_COLUMNS} ID id {key} TIME t TYPE kind PROBABILITY p;
        CREATE STREAM history{number} {_COLUMNS} ID id {key} TIME t TYPE kind PROBABILITY p;
        CREATE QUERY q{number} ON s{number} PATTERN {pattern};
        CREATE FORECAST f{number} ON q{number} {learned} RETURN FORECAST {how};
    """


def forecasts(
    pattern: str,
    forecast: str,
    history: str,
    stream: str,
    *,
    by_time: bool = False,
    pushed: bool = False,
) -> list[Row]:
    """Return the rows of a forecast by the local engine."""
    keyed = "/" in stream
    ag = Session(engine="local")
    ag.sql(script(pattern, forecast, keyed=keyed, by_time=by_time))
    ag.bind("history", rows_of(history) or _nothing())
    if not pushed:
        ag.bind("s", rows_of(stream))
        found: list[Row] = ag.table("f").to_pylist()
        return found
    told = [row for each in rows_of(stream) for row in ag.push("s", each)]
    return [row for row in told + ag.finish() if row["query"] == "f"]


def _nothing() -> Any:
    import pyarrow as pa

    kinds = {"id": "int64", "kind": "string", "k": "string", "g": "string", "t": "int64"}
    fields = [(name, pa.type_for_alias(kind)) for name, kind in kinds.items()]
    return pa.schema([*fields, ("p", pa.float64())]).empty_table()


def bound(row: Row) -> str:
    """Return what a partial match has bound, as `a1 b2`."""
    items = sorted((int(e["event_id"]), e["component"]) for e in row["events"])
    return " ".join(f"{component}{number}" for number, component in items)
