"""Random type and rank queries over two or three streams, for the possible worlds to judge.

Streams are `a`, `b` and `c`; each has the numbers `x`, `y` and `v`, any of which may be NULL. A
query asks for one event of each, tied by equalities and inequalities that are drawn.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import pyarrow as pa

from augury import Session
from matching.as_text import expression_text
from oracles.model import And, Comp, Event, Expr, Query

COLUMNS = "id STRING, x LONG, y LONG, v DOUBLE, t LONG, p DOUBLE"
CHANCES = (0.5, 0.5, 0.3, 0.9, 0.7, 0.25, 1.0, 0.0)


@dataclass(frozen=True)
class JoinCase:
    """One query, and the events that it is asked about."""

    query: Query
    events: tuple[Event, ...]

    @property
    def script(self) -> str:
        streams = [
            f"CREATE STREAM {name} ({COLUMNS}) ID id TIME t PROBABILITY p;"
            for name in self.query.streams
        ]
        return "\n".join([*streams, self.text()])

    def text(self) -> str:
        query = self.query
        names = ", ".join(query.streams)
        where = " AND ".join(expression_text(e) for e in query.where)
        window = f" WITHIN {query.within[1]}" if query.within else ""
        window += f" EVERY {query.every}" if query.every else ""
        groups = ", ".join(expression_text(e) for e in query.group_by)
        return (
            f"CREATE QUERY q ON {names} PATTERN AND({names})"
            + (f" WHERE {where}" if where else "")
            + window
            + (f" GROUP BY {groups}" if groups else "")
            + " RETURN PROBABILITY;"
        )

    def bound(self, session: Session) -> Session:
        for name in self.query.streams:
            rows = [
                {**e.attrs, "id": e.id, "t": e.ts, "p": e.p}
                for e in self.events
                if e.stream == name
            ]
            session.bind(name, rows or empty())
        return session

    def asked(self) -> Session:
        session = Session(engine="local")
        session.sql(self.script)
        return self.bound(session)


def empty() -> Any:
    """Return no rows."""
    kinds = {"STRING": pa.string(), "LONG": pa.int64(), "DOUBLE": pa.float64()}
    columns = [column.split() for column in COLUMNS.split(", ")]
    return pa.schema([(name, kinds[kind]) for name, kind in columns]).empty_table()


def answers(rows: list[dict[str, Any]], query: Query) -> dict[Any, float]:
    """Return the rows of an answer as the oracle's: by group and window."""
    names = [f"{e[2]}" for e in query.group_by]
    known = ("query", "ts", "probability", "method", "error_bound")
    groups = [[row[n] for n in row if n not in known] for row in rows]
    assert all(len(group) == len(names) for group in groups)
    return {
        (tuple(group), row["ts"]): row["probability"]
        for group, row in zip(groups, rows, strict=True)
    }


def far(found: dict[Any, float], wanted: dict[Any, float], error: float) -> dict[Any, Any]:
    """Return the rows that differ; one that is not there has probability 0."""
    rows = set(found) | set(wanted)
    pairs = {row: (found.get(row, 0.0), wanted.get(row, 0.0)) for row in rows}
    return {row: pair for row, pair in pairs.items() if abs(pair[0] - pair[1]) > error}


def random_join(seed: int, *, most: int = 8) -> JoinCase:
    """Return the case of this number."""
    rng = random.Random(seed)
    names = ("a", "b", "c")[: rng.choice((2, 2, 3))]
    events = [_event(rng, k, rng.choice(names)) for k in range(rng.randint(len(names) + 3, most))]
    window = ("time", rng.randint(3, 9)) if rng.random() < 0.6 else None
    query = Query(
        And(tuple(Comp(name, name) for name in names)),
        streams=names,
        where=tuple(_conditions(rng, names)),
        within=window,
        every=rng.randint(1, 4) if window and rng.random() < 0.5 else None,
        probability="ever",
        group_by=_groups(rng, names),
    )
    return JoinCase(query, tuple(events))


def _event(rng: random.Random, k: int, stream: str) -> Event:
    t = rng.randint(1, 8)
    attrs: dict[str, Any] = {
        "x": rng.choice((1, 2, 2, 2, 2, None)),
        "y": rng.choice((1, 2)),
        "v": rng.choice((0.0, 0.5, 1.0, 1.0, 2.5, None)),
    }
    return Event(f"e{k}", t, None, rng.choice(CHANCES), {**attrs, "t": t}, stream=stream)


def _conditions(rng: random.Random, names: tuple[str, ...]) -> list[Expr]:
    found: list[Expr] = []
    for one, other in combinations(names, 2):
        kind = rng.choice(("equal", "equal", "less", "less", "late", "none"))
        if kind == "equal":
            column = rng.choice("xxy")
            found.append(("=", ("attr", one, column), ("attr", other, column)))
        elif kind == "less":
            order, column = rng.choice(("<", "<=", ">", ">=")), rng.choice("vvx")
            found.append((order, ("attr", one, column), ("attr", other, rng.choice("vx"))))
        elif kind == "late":
            gap = ("-", ("attr", one, "t"), ("attr", other, "t"))
            found.append((rng.choice(("<", ">=")), gap, ("lit", rng.randint(-3, 3))))
    if rng.random() < 0.3:
        found.append((">", ("attr", rng.choice(names), "v"), ("lit", 0.0)))
    if rng.random() < 0.2:
        found.append(("=", ("attr", rng.choice(names), "x"), ("lit", 2)))
    return found


def _groups(rng: random.Random, names: tuple[str, ...]) -> tuple[Any, ...]:
    if rng.random() < 0.5:
        return ()
    chosen = rng.sample([(name, column) for name in names for column in "xy"], rng.randint(1, 2))
    columns = {column: ("attr", name, column) for name, column in chosen}
    return tuple(columns.values())
