"""Random probability queries over one or two streams, with what the data of others are full of.

NULL, NaN, minus zero, whole numbers that a fraction cannot tell apart, and events of equal time; in
the attributes that are equated, compared, and grouped by. Patterns have branches and options, so
that not every component is in every match.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace
from typing import Any

from augury import Session
from matching.as_text import Case, query_text, script, stream_table
from oracles.model import And, Comp, Event, Or, Query, Seq

ATTRIBUTES = {"v": "LONG", "w": "DOUBLE", "tag": "STRING"}
CHANCES = (0.5, 0.25, 0.75, 0.9, 1.0)
NOT_A_NUMBER = "NaN"


@dataclass(frozen=True, eq=False)
class Asked:
    """A probability query, and the case that has its streams and events."""

    case: Case
    query: Query

    @property
    def script(self) -> str:
        query = self.query
        every = f"EVERY {query.every} " if query.every else ""
        groups = f"GROUP BY {', '.join(map(_group_text, query.group_by))} "
        asked = "BY TIME" if query.probability == "by time" else ""
        text = query_text(query).removesuffix(";")
        tail = f"{every}{groups if query.group_by else ''}RETURN PROBABILITY {asked};"
        return f"{script(self.case)}\n{text}\n{tail}"

    def answers(self) -> dict[Any, float]:
        """Return what augury answers, in the oracle's form."""
        ag = Session(engine="local")
        ag.sql(self.script)
        for stream in self.case.streams:
            ag.bind(stream, stream_table(self.case, stream))
        table = ag.table("q")
        names = table.column_names[1 : 1 + len(self.query.group_by)]
        return known(
            {(tuple(r[n] for n in names), r["ts"]): r["probability"] for r in table.to_pylist()}
        )


def known(rows: dict[Any, float]) -> dict[Any, float]:
    """Return the rows that may hold, with groups that equal themselves; none stands twice."""
    found: dict[Any, float] = {}
    for (group, label), p in rows.items():
        settled = tuple(_settled(value) for value in group), label
        assert settled not in found, f"{settled} stands twice"
        found[settled] = p
    return {row: p for row, p in found.items() if p > 1e-12}


def _settled(value: Any) -> Any:
    return NOT_A_NUMBER if isinstance(value, float) and math.isnan(value) else value


def _group_text(group: Any) -> str:
    return group if isinstance(group, str) else f"{group[1]}.{group[2]}"


def drawn(seed: int) -> Asked:
    """Return the question of this number."""
    rng = random.Random(seed)
    streams = rng.choice((("s",), ("s", "u")))
    pattern = _pattern(rng, streams)
    names = [comp.name for comp in _components(pattern)]
    query = Query(
        pattern,
        streams=streams,
        strategy=rng.choice(("any", "any", "next")),
        probability=rng.choice(("ever", "by time")),
        within=("time", rng.randint(2, 6)) if rng.random() < 0.4 else None,
    )
    query = _with_conditions(rng, query, names)
    query = replace(query, group_by=_groups(rng, query, names))
    if query.probability == "ever" and query.within and rng.random() < 0.4:
        query = replace(query, every=rng.randint(1, 3))
    events = [_event(rng, k, streams) for k in range(rng.randint(3, 6))]
    return Asked(Case((), tuple(events), ATTRIBUTES, streams=streams), query)


def _pattern(rng: random.Random, streams: tuple[str, ...]) -> Any:
    kinds = ("A", "B", None) if len(streams) == 1 else streams
    comps = [Comp(name, rng.choice(kinds)) for name in "abc"[: rng.choice((1, 2, 2, 2, 3))]]
    if len(comps) == 1:
        return comps[0]
    if len(comps) == 3 and rng.random() < 0.6:
        parts = (comps[0], Or(tuple(comps[1:])))
        return Seq(parts if rng.random() < 0.5 else parts[::-1])
    if rng.random() < 0.3:
        k = rng.randrange(len(comps))
        bounds = rng.choice(((0, 1), (1, None), (1, 2)))
        comps[k] = replace(comps[k], minimum=bounds[0], maximum=bounds[1])
        return Seq(tuple(comps))
    return rng.choice((Seq, Seq, And, Or))(tuple(comps))


def _components(node: Any) -> list[Comp]:
    return (
        [node] if isinstance(node, Comp) else [c for part in node.parts for c in _components(part)]
    )


def _with_conditions(rng: random.Random, query: Query, names: list[str]) -> Query:
    if rng.random() < 0.5:
        return replace(query, equate=(rng.choice(("v", "w", "tag", "tag")),))
    if len(names) < 2:
        return query
    x, y = rng.sample(names, 2)
    left, right = rng.choice((("tag", "tag"), ("w", "w"), ("v", "w"), ("w", "v"), ("v", "v")))
    compare = rng.choice(("=", "=", "=", "<", "<=", ">", "<>"))
    return replace(query, where=((compare, ("attr", x, left), ("attr", y, right)),))


def _groups(rng: random.Random, query: Query, names: list[str]) -> tuple[Any, ...]:
    if rng.random() < 0.4:
        return ()
    if query.equate:
        return query.equate
    single = [c.name for c in _components(query.pattern) if c.maximum == 1]
    if not single:
        return ()
    return (("attr", rng.choice(single), rng.choice(list(ATTRIBUTES))),)


def _event(rng: random.Random, k: int, streams: tuple[str, ...]) -> Event:
    attrs = {
        "v": rng.choice((0, 1, 2**53, 2**53 + 1)),
        "w": rng.choice((math.nan, 0.0, -0.0, 1.0, 2.0**53)),
        "tag": rng.choice(("red", "blue")),
    }
    attrs = {name: None if rng.random() < 0.2 else value for name, value in attrs.items()}
    return Event(
        f"e{k}",
        rng.randint(0, 5),
        rng.choice("AB"),
        rng.choice(CHANCES),
        attrs,
        stream=rng.choice(streams),
    )
