"""A handful of queries, answered locally; run alone, it prints which kernels had to be compiled.

It needs nothing but augury, so that it runs where a wheel was installed and nothing else was.
"""

from __future__ import annotations

import json
import sys
from datetime import datetime
from typing import Any

from numba.core import event

from augury import Session

READS = """
CREATE STREAM reads (tag STRING, reader STRING, at TIMESTAMP, p DOUBLE)
KEY tag TIME at TYPE reader PROBABILITY p;
CREATE QUERY q ON reads PATTERN SEQ(SHELF x, !COUNTER y, EXIT z) WHERE [tag] WITHIN 12 HOURS;
"""
HOURS = [
    {"tag": "t1", "reader": reader, "at": datetime(2026, 1, 1, hour), "p": p}
    for reader, hour, p in (("SHELF", 10, 0.9), ("COUNTER", 11, 0.25), ("EXIT", 12, 0.8))
]
TICKS = """
CREATE STREAM reads (id LONG, tag LONG, reader STRING, t LONG, price DOUBLE, p DOUBLE)
ID id KEY tag TIME t TYPE reader PROBABILITY p;
"""
ROWS = [
    {"id": k, "tag": 7, "reader": reader, "t": k, "price": float(k), "p": 0.5}
    for k, reader in enumerate("ABBC")
]
ASKED = {
    "a plain sequence": "PATTERN SEQ(A x, B y, C z) WHERE [tag] WITHIN 9",
    "a negation": "PATTERN SEQ(A x, !B y, C z) WHERE [tag] WITHIN 9",
    "a repetition": "PATTERN SEQ(A x, B+ y, C z) WHERE [tag] AND SUM(y.price) > 2 WITHIN 9",
    "the next match": "PATTERN SEQ(A x, C z) WHERE [tag] USING SKIP TILL NEXT MATCH WITHIN 9",
    "a count": "PATTERN SEQ(A x, B y) WHERE [tag] WITHIN 9 RETURN COUNT",
    "a probability by time": "PATTERN SEQ(A x, B y) WHERE [tag] RETURN PROBABILITY BY TIME",
}
HIERARCHY = """
CREATE QUERY pair ON reads PATTERN SEQ(A x, B y) WHERE [tag] WITHIN 9 RETURN y.tag AS tag;
CREATE QUERY q ON pair, reads PATTERN SEQ(pair x, C y) WHERE [tag] WITHIN 9;
"""

WARD = """
CREATE TABLE staff (person STRING, room STRING);
CREATE STREAM doors (id LONG, person STRING, action STRING, room STRING, t LONG)
ID id TIME t TYPE action;
CREATE MODEL ward MOVES (
    OBJECTS staff, OWNER person, PLACE room, ENTER 'ENTER', EXIT 'EXIT', HALL 'H', STEP 1
);
CREATE STREAM owned AS IDENTIFY doors USING ward WITHIN 60;
"""
DOORS = [
    {"id": 1, "person": None, "action": "ENTER", "room": "R1", "t": 12},
    {"id": 2, "person": None, "action": "ENTER", "room": "R2", "t": 13},
    {"id": 3, "person": "ann", "action": "EXIT", "room": "R1", "t": 14},
]


class Compiled(event.Listener):
    """Notes the names of kernels that are compiled."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def on_start(self, event: Any) -> None:
        self.names.append(event.data["dispatcher"].py_func.__qualname__)

    def on_end(self, event: Any) -> None:
        pass


def session(script: str, rows: list[dict[str, Any]]) -> Session:
    ag = Session(engine="local")
    ag.sql(script)
    ag.bind("reads", rows)
    return ag


def confidences(ag: Session) -> list[float]:
    return sorted(round(each, 6) for each in ag.table("q").column("confidence").to_pylist())


def pushed(query: str, column: str) -> list[float]:
    ag = Session(engine="local")
    ag.sql(f"{TICKS} CREATE QUERY q ON reads {query};")
    found = [each for row in ROWS for each in ag.push("reads", row)] + ag.finish()
    return sorted(round(each[column], 6) for each in found)


def answers() -> dict[str, Any]:
    """Return the answers of all."""
    found: dict[str, Any] = {"the first query": confidences(session(READS, HOURS))}
    for name, query in ASKED.items():
        ag = session(f"{TICKS} CREATE QUERY q ON reads {query};", ROWS)
        found[name] = ag.table("q").to_pylist()
    found["a hierarchy"] = confidences(session(TICKS + HIERARCHY, ROWS))
    ward = Session(engine="local")
    ward.sql(WARD)
    ward.bind("staff", [{"person": person, "room": None} for person in ("ann", "bob")])
    ward.bind("doors", DOORS)
    found["owners"] = ward.table("owned").to_pylist()
    found["pushed matches"] = pushed(ASKED["a negation"], "confidence")
    found["pushed chances"] = pushed(ASKED["a probability by time"], "probability")
    return found


def main() -> None:
    compiled = Compiled()
    event.register("numba:compile", compiled)
    found = answers()
    loaded = {name.partition(".")[0] for name in sys.modules}
    told = {"answers": found, "compiled": compiled.names, "loaded": sorted(loaded)}
    sys.stdout.write(json.dumps(told, default=str))


if __name__ == "__main__":
    main()
