"""Ask augury small literal questions: a query and a stream as text in, matches as text out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from augury import Session

COLUMNS = "id STRING, kind STRING, t LONG, tie LONG, p DOUBLE, v LONG, tag STRING"
CLAUSES = "ID id TIME t TYPE kind PROBABILITY p"

Rows = list[dict[str, Any]]


def rows(text: str, **columns: Sequence[Any]) -> Rows:
    """Read `a1 .6 b3 x2' .5`: type, time, marks for twins, and the probability if below 1.

    Other columns are given by name, one value for each event.
    """
    found: Rows = []
    for word in text.split():
        if word[0] == ".":
            found[-1]["p"] = float(word)
        else:
            at = int(word[1:].strip("'"))
            found.append({"id": word, "kind": word[0].upper(), "t": at, "p": 1.0})
    for k, row in enumerate(found):
        row |= {"tie": None, "v": None, "tag": None}
        row |= {name: values[k] for name, values in columns.items()}
    return found


def session(
    script: str,
    events: str | Rows,
    *,
    clauses: str = CLAUSES,
    tables: Mapping[str, Any] | None = None,
) -> Session:
    """Return a session with stream `s`, the statements of the script, and everything bound."""
    ag = Session(engine="local")
    ag.sql(f"CREATE STREAM s ({COLUMNS}) {clauses}; {script}")
    ag.bind("s", _bindable(rows(events) if isinstance(events, str) else events))
    for name, table in (tables or {}).items():
        ag.bind(name, table)
    return ag


def _bindable(found: Rows) -> Any:
    import pyarrow as pa

    kinds = {"LONG": pa.int64(), "DOUBLE": pa.float64(), "STRING": pa.string()}
    columns = dict(column.split() for column in COLUMNS.split(", "))
    schema = pa.schema([(name, kinds[kind]) for name, kind in columns.items()])
    return pa.Table.from_pylist(found, schema)


def ask(query: str, events: str | Rows, **more: Any) -> dict[str, float]:
    """Return the matches of `CREATE QUERY q ON s ...`, such as {"a=a1 b=b2,b3": 0.5}."""
    ag = session(f"CREATE QUERY q ON s {query};", events, **more)
    return shown(ag.table("q").to_pylist())


def shown(matches: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Write each row of a result as its components with event ids."""
    found = {}
    for row in matches:
        taken: dict[str, list[str]] = {}
        for item in row["events"]:
            taken.setdefault(item["component"], []).append(item["event_id"])
        name = " ".join(f"{name}={','.join(ids)}" for name, ids in sorted(taken.items()))
        assert name not in found, f"{name} was reported twice"
        found[name] = row["confidence"]
    return found


def times(found: Mapping[str, float]) -> dict[tuple[int, ...], float]:
    """Write each match as the times in its event ids."""
    return {
        tuple(sorted(int(i[1:]) for part in name.split() for i in part.split("=")[1].split(","))): c
        for name, c in found.items()
    }
