"""Policies and streams at random: all that may stand in a policy, and some that reads beside it.

What is drawn has two forms: the text of the language, and the plain data of the oracle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pyarrow as pa

from augury import QueryError, Session
from augury.evaluation.stages.suppress import SuppressStage
from augury.evaluation.stream_rows import StreamRows
from augury.planning.policy_plan import plan_policy
from oracles.futures import pattern_text, private
from oracles.model import And, Comp, Event, Expr, First, Last, Not, Or, Query, Rounds, Seq
from oracles.worlds import matches

SHAPE = (
    "CREATE STREAM {} (id LONG, type STRING, t LONG, p DOUBLE, k STRING, v LONG) "
    "ID id TIME t TYPE type ALTERNATIVES v PROBABILITY p;\n"
)
METHODS = (
    "GREEDY",
    "TYPES LEARN FROM h",
    "HYBRID RATES LEARN FROM h",
    "HYBRID RATES ESTIMATES WANG LEARN FROM h PATIENCE 0.5",
    "HYBRID PERIODIC PERIOD 6 LEARN FROM h PATIENCE 1",
    "HYBRID LEARN FROM h BY k PATIENCE 0.25",
    "HYBRID RATES LEARN ONLINE",
    "TYPES LEARN ONLINE OVER 9",
)
REPEATS = ((1, 1), (1, 1), (1, 1), (1, None), (0, 1), (0, None), (1, 2), (2, 2))
# What the engine gives to a row that may not have happened: an event is told of its rows.
FACES = 10


@dataclass(frozen=True)
class Drawn:
    """A query as the oracle has it, and what its text says in WHERE and of selection."""

    query: Query
    where: str = ""

    @property
    def text(self) -> str:
        query, tests = self.query, [f"[{name}]" for name in self.query.equate]
        tests += [self.where] if self.where else []
        where = f"WHERE {' AND '.join(tests)} " if tests else ""
        skips = "USING SKIP TILL NEXT MATCH " if query.strategy == "next" else ""
        assert query.within is not None
        return (
            f"CREATE QUERY {query.name} ON s PATTERN {_text(query.pattern)} "
            f"{where}{skips}WITHIN {query.within[1]};\n"
        )


def _text(pattern: Any) -> str:
    if isinstance(pattern, First | Last):
        return f"{type(pattern).__name__.upper()}({pattern_text(pattern.comp)})"
    if isinstance(pattern, Seq):
        return f"SEQ({', '.join(map(_text, pattern.parts))})"
    return pattern_text(pattern)


# Patterns -----------------------------------------------------------------------------------------


@dataclass
class Shapes:
    """Draws patterns whose components have names of their own."""

    draw: Random
    kinds: str = "ABC"
    count: int = 0

    def comp(self, kind: str, low: int = 1, high: int | None = 1) -> Comp:
        self.count += 1
        return Comp(f"x{self.count}", kind, low, high)

    def leaf(self) -> Comp:
        return self.comp(self.draw.choice(self.kinds), *self.draw.choice(REPEATS))

    def rounds(self) -> Rounds:
        inner = Seq((self.comp(self.draw.choice(self.kinds)), self.comp(self.draw.choice("AB"))))
        self.count += 1
        return Rounds(
            inner, *self.draw.choice([(1, None), (0, 1), (1, 2), (2, 2)]), f"g{self.count}"
        )

    def part(self, depth: int, *, negated: bool) -> Any:
        how = self.draw.choice(["leaf", "leaf", "AND", "OR", "SEQ", "rounds"])
        if not depth or how == "leaf":
            return self.leaf()
        if how == "rounds":
            return self.rounds()
        parts = [self.part(depth - 1, negated=negated) for _ in range(2)]
        if how == "SEQ":
            return Seq(tuple(self.gaps(parts, negated=negated)))
        return (And if how == "AND" else Or)(tuple(parts))

    def gaps(self, parts: list[Any], *, negated: bool) -> list[Any]:
        found = list(parts)
        if negated and self.draw.random() < 0.5:
            place = self.draw.randint(0, len(found))
            found.insert(place, Not(self.comp(self.draw.choice("BCD"))))
        return found

    def pattern(self, *, negated: bool) -> Any:
        if self.draw.random() < 0.3:
            # A plain sequence, which kernels decide about.
            own = [self.comp(self.draw.choice("ABCD")) for _ in range(self.draw.randint(2, 4))]
            return Seq(tuple(self.gaps(own, negated=negated)))
        first = self.part(2, negated=negated)
        if self.draw.random() < 0.4:
            return first
        parts = [first, self.part(1, negated=negated)]
        return Seq(tuple(self.gaps(parts, negated=negated)))

    def beside(self) -> Any:
        """Return the pattern of a query that is published, and that no policy weighs."""
        first, last = self.comp("A"), self.comp("B")
        ban = Not(Seq((self.comp("C"), self.comp("D"))))
        return self.draw.choice(
            [Seq((first, ban, last)), Seq((First(first), last)), Seq((first, Last(last)))]
        )


def comps_of(pattern: Any) -> Iterator[Comp]:
    """Yield the positive components of a pattern that are in no group."""
    if isinstance(pattern, Comp):
        yield pattern
    elif isinstance(pattern, And | Or | Seq):
        for part in pattern.parts:
            yield from comps_of(part)


def condition(draw: Random, pattern: Any) -> tuple[Expr, str] | None:
    """Return a condition on the components of a pattern, and its text; None of some."""
    found = list(comps_of(pattern))
    single = [each.name for each in found if (each.minimum, each.maximum) == (1, 1)]
    many = [each.name for each in found if each.maximum != 1]
    how = draw.choice(["own", "pair", "rises", "count", "sum"])

    def v(name: str, *at: Any) -> Expr:
        return ("attr", name, "v", *at)

    if how == "own" and single:
        name = draw.choice(single)
        return (">=", v(name), ("lit", 1)), f"{name}.v >= 1"
    if how == "pair" and len(single) > 1:
        one, other = draw.sample(single, 2)
        return ("<=", v(one), v(other)), f"{one}.v <= {other}.v"
    if how == "rises" and many:
        name = draw.choice(many)
        return (">=", v(name, "i"), v(name, "i-1")), f"{name}[i].v >= {name}[i-1].v"
    if how == "count" and many:
        name = draw.choice(many)
        return ("<=", ("count", name), ("lit", 2)), f"COUNT({name}) <= 2"
    if how == "sum" and many:
        name = draw.choice(many)
        return (">=", ("agg", "SUM", name, "v"), ("lit", 1)), f"SUM({name}.v) >= 1"
    return None


def query(draw: Random, name: str, *, public: bool, beside: bool = False) -> Drawn:
    """Return a query at random."""
    shapes = Shapes(draw)
    pattern = shapes.beside() if beside else shapes.pattern(negated=public or draw.random() < 0.2)
    tested = condition(draw, pattern) if draw.random() < 0.35 else None
    made = Query(
        pattern,
        name,
        where=() if tested is None else (tested[0],),
        equate=("k",) if draw.random() < 0.25 else (),
        strategy="next" if public and not beside and draw.random() < 0.3 else "any",
        within=("time", draw.randint(2, 8)),
    )
    return Drawn(made, "" if tested is None else tested[1])


# Streams ------------------------------------------------------------------------------------------


def events(draw: Random, count: int, begin: int, uncertain: int = 2) -> list[Event]:
    """Return events, some that may not have happened, some of which one of two things is true."""
    found, time = list[Event](), begin
    for number in range(count):
        time += draw.choice((0, 1, 1, 1, 2))
        kind, name = draw.choice("AABBCCD"), FACES * (begin + 1000 + number)
        attrs = {"k": draw.choice("xxy"), "v": draw.randint(0, 1)}
        chances = [1.0]
        if uncertain and draw.random() < 0.4:
            uncertain -= 1
            chances = draw.choice([[0.5], [0.25], [1e-9], [0.5, 0.25], [0.5, 0.5]])
        for place, p in enumerate(chances):
            own = attrs if len(chances) == 1 else attrs | {"v": place}
            group = name if len(chances) > 1 else None
            found.append(Event(name + place, time, kind, p, own, group=group))
    return found


def rows_of(stage: SuppressStage, own: Sequence[Event]) -> StreamRows:
    """Return events as the rows of a stream; those of one group have one id."""
    made = [
        {"id": e.id if e.group is None else e.group, "type": e.type, "t": e.ts, "p": e.p, **e.attrs}
        for e in own
    ]
    kinds = {"STRING": pa.string(), "LONG": pa.int64(), "DOUBLE": pa.float64()}
    declared = pa.schema([(c.name, kinds[c.type.value]) for c in stage.stream.columns])
    table = pa.Table.from_pylist(made, declared)
    return StreamRows(stage.stream, table, table.slice(0, 0))


# Policies -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A policy at random: what is published, what is private, and which of that is NEVER."""

    stage: SuppressStage
    published: list[Query]
    private: list[Query]
    never: list[Query]


def case(draw: Random) -> Case:
    """Return a policy that is not refused."""
    while True:
        found = _tried(draw)
        if found is not None:
            return found


def _tried(draw: Random) -> Case | None:
    public = [query(draw, f"q{k}", public=True) for k in range(draw.choice((1, 1, 2)))]
    hidden = [query(draw, f"p{k}", public=False) for k in range(draw.choice((1, 1, 2)))]
    beside = [query(draw, "o0", public=True, beside=True)] if draw.random() < 0.2 else []
    costs = [draw.choice(("NEVER", "NEVER", "WEIGHT 1", "WEIGHT 9")) for _ in hidden]
    weighted = ", ".join(f"{q.query.name} WEIGHT {draw.choice((0, 1, 9))}" for q in public)
    secret = ", ".join(f"{q.query.name} {c}" for q, c in zip(hidden, costs, strict=True))
    script = SHAPE.format("s") + SHAPE.format("h")
    script += "".join(each.text for each in (*public, *hidden, *beside))
    script += f"CREATE POLICY pol ON s PUBLIC {weighted} PRIVATE {secret} USING "
    ag = Session(engine="local")
    try:
        ag.sql(script + draw.choice(METHODS) + ";")
    except QueryError as refused:
        errors = {each.code for each in refused.diagnostics if each.severity == "error"}
        # No query, not weighed, WANG of more than sequences, and what cannot be promised.
        if all(code < "A120" or code in ("A121", "A122", "A123") for code in errors):
            return None
        raise
    catalog = ag._declared.catalog
    plan = plan_policy(catalog.policies["pol"], ag._declared.checked_queries, catalog, {})
    stage = SuppressStage(plan, catalog.streams["s"])
    never = [q.query for q, cost in zip(hidden, costs, strict=True) if cost == "NEVER"]
    return Case(stage, [q.query for q in (*public, *beside)], [q.query for q in hidden], never)


def kept_of(
    made: Case, own: Sequence[Event], past: Sequence[Event], cut: int | None = None
) -> list[Event]:
    """Return the rows of what a policy keeps; it is stored, and goes on, before the time `cut`."""
    stage, kept = made.stage, list[Event]()
    state = stage.start(rows_of(stage, past))
    before = [each for each in own if cut is None or each.ts < cut]
    for part in (before, own[len(before) :]):
        state, passed = stage.advance(state, rows_of(stage, part))
        kept += [each for each, keeps in zip(part, passed.keeps, strict=True) if keeps]
        state = stage.load(stage.dump(state))
    return kept


def broken(made: Case, raw: Sequence[Event], kept: Sequence[Event]) -> list[str]:
    """Return which of the two promises do not hold, by query."""
    found = list[str]()
    for own in made.published:
        true, shown = matches(own, raw), matches(own, kept)
        alike = all(abs(shown[each] - true.get(each, -1.0)) < 1e-12 for each in shown)
        found += [] if alike else [f"{own.name} has a match that is not true"]
    # What may have happened counts, however unlikely.
    possible = [replace(row, p=0.5 if row.group is None else 0.4) for row in kept]
    found += [
        f"{own.name} is put together" for own in made.never if matches(private(own), possible)
    ]
    return found
