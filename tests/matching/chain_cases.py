"""Random probability queries over independent and Markovian streams of people at places.

A case is drawn from a seed, as text and rows for augury and as data for the oracles. Streams are
sparse, so that all their worlds can be enumerated.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from augury import Session
from matching.as_text import query_text
from oracles.model import Comp, Event, Markov, Not, Query, Seq

PLACES = ("a", "b", "h")
CHANCES = (0.1, 0.25, 0.5, 0.75, 0.9)
AT = """
CREATE STREAM at (person STRING, place STRING, t LONG, p DOUBLE)
KEY person TIME t ALTERNATIVES place PROBABILITY p{markov};
CREATE STREAM moves (person STRING, t LONG, place_from STRING, place_to STRING, p DOUBLE)
KEY person TIME t PROBABILITY p;
"""
ROWS = pa.schema(
    {"person": pa.string(), "place": pa.string(), "t": pa.int64(), "p": pa.float64()}.items()
)
MOVES = pa.schema(
    {
        "person": pa.string(),
        "t": pa.int64(),
        "place_from": pa.string(),
        "place_to": pa.string(),
        "p": pa.float64(),
    }.items()
)


@dataclass
class World:
    """The rows of a case, as augury binds them and as the oracles read them."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    moves: list[dict[str, Any]] = field(default_factory=list)
    table: dict[Any, float] = field(default_factory=dict)

    @property
    def events(self) -> list[Event]:
        return [
            Event(
                (r["person"], r["t"], r["place"]),
                r["t"],
                None,
                r["p"],
                {"person": r["person"], "place": r["place"]},
                key=(r["person"],),
                group=(r["person"], r["t"]),
                stream="at",
            )
            for r in self.rows
        ]

    @property
    def chains(self) -> list[Markov]:
        return [Markov("at", ("place",), self.table)] if self.moves else []


@dataclass(frozen=True, eq=False)
class Case:
    """A query over people at places."""

    query: Query
    world: World

    @property
    def script(self) -> str:
        markov = " MARKOV moves" if self.world.moves else ""
        asked = "BY TIME" if self.query.probability == "by time" else ""
        asked += f" OVER {self.query.over}" if self.query.over > 1 else ""
        every = f"EVERY {self.query.every} " if self.query.every else ""
        groups = f"GROUP BY {', '.join(self.query.group_by)} " if self.query.group_by else ""
        text = query_text(self.query).removesuffix(";")
        return f"{AT.format(markov=markov)}{text}\n{every}{groups}RETURN PROBABILITY {asked};"

    def session(self, more: str = "") -> Session:
        """Return a session with the case's statements and rows."""
        ag = Session(engine="local")
        ag.sql(self.script.removesuffix(";") + f" {more};")
        ag.bind("at", pa.Table.from_pylist(self.world.rows, ROWS))
        ag.bind("moves", pa.Table.from_pylist(self.world.moves, MOVES))
        return ag

    def answers(self, more: str = "") -> dict[Any, float]:
        """Return what augury answers, in the oracle's form."""
        names = self.query.group_by
        rows = self.session(more).table("q").to_pylist()
        return {(tuple(r[n] for n in names), r["ts"]): r["probability"] for r in rows}


def weights(rng: random.Random, n: int, *, full: float = 0.3) -> list[float]:
    """Return n probabilities that sum to at most 1, in sixteenths."""
    cuts = sorted(rng.choices(range(17), k=n))
    shares = [b - a for a, b in zip([0, *cuts], cuts, strict=False)]
    if rng.random() < full:
        shares[-1] += 16 - sum(shares)
    return [share / 16 for share in shares]


def independent(rng: random.Random, people: int, steps: int) -> World:
    world = World()
    for person in range(people):
        for t in range(1, steps + 1):
            if rng.random() < 0.15:
                continue
            places = rng.sample(PLACES, rng.randint(1, 2))
            for place, p in zip(places, weights(rng, len(places)), strict=True):
                world.rows.append({"person": f"p{person}", "place": place, "t": t, "p": p})
    rng.shuffle(world.rows)
    return world


def markovian(rng: random.Random, people: int, steps: int) -> World:
    """Return chains whose marginals follow from their tables; NULL is nowhere."""
    world = World()
    for person in range(people):
        name, start = f"p{person}", rng.randint(1, 2)
        places = rng.sample(PLACES, 2)
        now: dict[Any, float] = dict(zip(places, weights(rng, 2), strict=True))
        now[None] = 1.0 - sum(now.values())
        _tell(world, name, start, now)
        for t in range(start, start + steps - 1):
            now = _move(rng, world, (name, t), now)
            _tell(world, name, t + 1, now)
    rng.shuffle(world.rows)
    return world


def _tell(world: World, name: str, t: int, now: dict[Any, float]) -> None:
    for place, p in now.items():
        if place is not None:
            world.rows.append({"person": name, "place": place, "t": t, "p": p})


def _move(
    rng: random.Random, world: World, at: tuple[str, int], now: dict[Any, float]
) -> dict[Any, float]:
    name, t = at
    after: dict[Any, float] = {None: 0.0}
    for origin, mass in now.items():
        targets = rng.sample((*PLACES, None), rng.randint(1, 2))
        for target, p in zip(targets, weights(rng, len(targets), full=0.7), strict=True):
            row = {"person": name, "t": t, "place_from": origin, "place_to": target, "p": p}
            world.moves.append(row)
            value = lambda place: None if place is None else (place,)  # noqa: E731
            world.table[(name,), t, value(origin), value(target)] = p
            after[target] = after.get(target, 0.0) + mass * p
    after[None] = 1.0 - sum(p for place, p in after.items() if place is not None)
    return after


def sequence(rng: random.Random, size: int, strategy: str, *, negated: float = 0.15) -> Query:
    """Return a random sequence of places, with repetitions, negations and judged candidates."""
    parts: list[Any] = []
    after = []
    for k in range(size):
        comp = _component(rng, f"c{k}")
        if 0 < k < size - 1 and rng.random() < negated:
            parts.append(Not(Comp(f"c{k}", None, 1, 1, comp.filter)))
            continue
        parts.append(comp)
        if strategy != "any" and rng.random() < 0.3:
            place = ("attr", f"c{k}", "place")
            after.append((rng.choice(("=", "<>")), place, ("lit", rng.choice(PLACES))))
    if any(isinstance(part, Not) for part in parts):
        # Beside what may be absent, a negation could have nothing on one side of it.
        parts = [part if isinstance(part, Not) else _present(part) for part in parts]
    pattern = Seq(tuple(parts)) if size > 1 else parts[0]
    return Query(
        pattern,
        streams=("at",),
        strategy=strategy,
        after_where=tuple(after),
        probability="by time",
    )


def _present(comp: Comp) -> Comp:
    return replace(comp, minimum=max(1, comp.minimum))


def _component(rng: random.Random, name: str) -> Comp:
    bounds = rng.choice([(1, 1)] * 5 + [(1, None), (1, None), (0, 1), (2, 3), (0, None)])
    place = ("attr", name, "place")
    filters = [
        None,
        ("=", place, ("lit", rng.choice(PLACES))),
        ("in", place, rng.sample(PLACES, 2)),
        ("<>", place, ("lit", rng.choice(PLACES))),
    ]
    return Comp(name, None, *bounds, filter=rng.choice(filters))
