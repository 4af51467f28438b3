"""Sessions with a policy over a stream of letters: `c4` is an event of type C at 4, and its id."""

from __future__ import annotations

import re
from typing import Any

from augury import Session

SHAPE = (
    "CREATE STREAM {} (id STRING, type STRING, t LONG, p DOUBLE, k STRING, v LONG{}) "
    "ID id TIME t{} TYPE type PROBABILITY p;"
)
Row = dict[str, Any]


def row(text: str, number: int = 0) -> Row:
    """Return a row of a text such as `a0 p=0.5 (k=k)`."""
    name = text.split(maxsplit=1)[0]
    given = dict(re.findall(r"(\w)=([\w.]+)", text))
    return {
        "id": name,
        "type": name[0].upper(),
        "t": int(name[1:]),
        "p": float(given.get("p", 1.0)),
        "k": given.get("k", "k"),
        "v": int(given.get("v", 0)),
        "seq": number,
    }


def history(types: str, begin: int = -100, keys: str = "", values: str = "") -> list[Row]:
    """Return one event per tick."""
    return [
        row(f"{kind}{begin + k} k={keys[k] if keys else 'k'} v={values[k] if values else 0}")
        | {"id": f"{kind}{k}"}
        for k, kind in enumerate(types)
    ]


def session(script: str, *, tie: bool = False) -> Session:
    """Return a local session with streams s and h, and a script."""
    ag = Session(engine="local")
    more = (", seq LONG", " ORDER BY seq") if tie else ("", "")
    ag.sql(SHAPE.format("s", *more) + SHAPE.format("h", *more) + script)
    return ag
