"""The two promises, over thousands of random policies and streams.

What the kept events match is a subset of what all of them match; of what is NEVER put together no
match exists over what was kept, however unlikely its events are. Matches are listed by the oracle.
`make fuzz` tries AUGURY_FUZZ_EXAMPLES of each: of plain sequences without the language, and of all
that the language lets into a policy.
"""

from __future__ import annotations

import math
import os
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any, cast

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from augury.analysis.declarations.catalog import DataType, PolicySchema, StreamSchema
from augury.evaluation.policies.decider import ColumnDecider
from augury.evaluation.stages.suppress import events_of
from augury.evaluation.stream_rows import StreamRows
from augury.planning.expressions.typed import Apply, Constant, Input
from augury.planning.policy_plan import Played, PolicyPlan, Summable
from augury.privacy.policy import NEVER, Decider, Method, Policy, Weighted
from oracles.policies import Row, Sequence, is_unbroken, runs
from privacy import drawn
from privacy.test_decisions import binds, pattern
from privacy.wards import session

EXAMPLES = int(os.environ.get("AUGURY_FUZZ_EXAMPLES", "2000"))
# Drawing an example takes longer than trying a policy: so many are tried with each.
AT_ONCE = 20
# Patterns of any shape take longer: in a test fewer are tried, and a fuzz has several at work.
ANY_SHAPE = EXAMPLES if "AUGURY_FUZZ_EXAMPLES" in os.environ else EXAMPLES // 10
PARTS = 4
METHODS: tuple[Method, ...] = ("GREEDY", "TYPES", "RATES", "PERIODIC", "HYBRID")


@cache
def schema() -> StreamSchema:
    return session("")._declared.catalog.streams["s"]


def played(wanted: tuple[str, int | None]) -> Played:
    kind, least = wanted
    if least is None:
        return Played(kind, ())
    operands = (Constant(DataType.LONG, least), Input(DataType.LONG, 0, "v"))
    return Played(kind, (Apply(DataType.BOOLEAN, "less_equal", operands),))


def sequence(name: str, draw: Random, *, public: bool) -> Sequence:
    """Return a random sequence: with negations and next-match selection where it is public."""

    def wanted() -> tuple[str, int | None]:
        return draw.choice("ABCD"), draw.choice((None, None, None, 1))

    count = draw.choice((1, 2, 2, 2, 3, 3))
    steps = tuple(wanted() for _ in range(count))
    forbidden: list[tuple[tuple[str, int | None], ...]] = [() for _ in range(count + 1)]
    if public and draw.random() < 0.4:
        forbidden[draw.randint(1, count)] = tuple(wanted() for _ in range(draw.randint(1, 2)))
    return Sequence(
        name,
        steps,
        draw.randint(2, 9),
        tuple(forbidden),
        public and draw.random() < 0.3,
        draw.random() < 0.3,
        ((0, count - 1),) if count > 1 and draw.random() < 0.2 else (),
    )


def rows(draw: Random, count: int, begin: int) -> list[Row]:
    found, time = list[Row](), begin
    for number in range(count):
        time += draw.choice((0, 1, 1, 2))
        own: Row = {"id": f"{number:02}", "type": draw.choice("ABCD"), "t": time}
        chance = draw.choice((1.0, 1.0, 1.0, 1e-200))
        found.append(own | {"p": chance, "k": draw.choice("xxy"), "v": draw.randint(0, 2)})
    return found


def table(own: list[Row]) -> StreamRows:
    kinds = {"STRING": pa.string(), "LONG": pa.int64(), "DOUBLE": pa.float64()}
    declared = pa.schema([(c.name, kinds[c.type.value]) for c in schema().columns])
    made = pa.Table.from_pylist(own, declared)
    return StreamRows(schema(), made, made.slice(0, 0))


def policy(draw: Random) -> tuple[Policy, list[Sequence], list[Sequence]]:
    """Return a policy, what is public, and what is private."""
    public = [sequence(f"q{k}", draw, public=True) for k in range(draw.randint(1, 2))]
    private = [sequence(f"p{k}", draw, public=False) for k in range(draw.randint(1, 2))]
    bound = frozenset(kind for each in public for kind in binds(each))
    weights = [
        NEVER if each.types - bound and draw.random() < 0.7 else draw.choice((0.0, 1.0, 5.0))
        for each in private
    ]
    made = Policy(
        tuple(Weighted(pattern(each), draw.choice((0.0, 1.0, 9.0))) for each in public),
        tuple(Weighted(pattern(each), w) for each, w in zip(private, weights, strict=True)),
        bound,
        draw.choice(METHODS),
        patience=draw.choice((1.0, 0.25, None)),
    )
    period = draw.randint(3, 9) if made.method == "PERIODIC" else None
    return replace(made, period=period, by=draw.choice((None, None, "k"))), public, private


def kept_of(made: Policy, every: list[Sequence], own: list[Row], past: list[Row]) -> list[Row]:
    """Return what a policy keeps: over columns where it can be."""
    if any(each.rising or (each.takes_next and _takes_forbidden(each)) for each in every):
        decider = Decider(made, [event for event, _ in events_of(table(past), ("k", "v"))])
        decided = [
            (event.id, decider.decide(event).kept) for event, _ in events_of(table(own), ("k", "v"))
        ]
        gone = {name for name, stays in decided if not stays}
        return [row for row in own if row["id"] not in gone]
    shapes = tuple(
        Summable(
            tuple(map(played, each.steps)),
            tuple(tuple(map(played, gap)) for gap in each.forbidden),
        )
        for each in every
    )
    plan = PolicyPlan(cast("PolicySchema", None), made, ("k", "v"), summable=shapes)
    events, out = ColumnDecider(plan, table(past)).decide(table(own))
    kept = {own[row]["id"] for row, stays in zip(events.rows, out.kept, strict=True) if stays}
    return [row for row in own if row["id"] in kept]


def _takes_forbidden(each: Sequence) -> bool:
    gaps = zip(each.steps, each.forbidden, strict=False)
    return any(step[0] in {kind for kind, _ in gap} for step, gap in gaps)


def matches(each: Sequence, world: list[Row]) -> set[tuple[Any, ...]]:
    return {
        tuple(row["id"] for row in chosen)
        for chosen in runs(each, world, len(each.steps))
        if is_unbroken(each, chosen, world, to_end=True)
    }


@settings(max_examples=EXAMPLES // AT_ONCE, deadline=None)
@given(seed=st.integers(0, 2**40))
def test_kept_events_match_less_and_never_what_must_not_be(seed: int) -> None:
    for number in range(AT_ONCE):
        both_promises_hold(seed * AT_ONCE + number)


def both_promises_hold(seed: int) -> None:
    draw = Random(seed)
    made, public, private = policy(draw)
    own, past = rows(draw, 10, 0), rows(draw, draw.choice((0, 10)), -30)
    kept = kept_of(made, [*public, *private], own, past)
    for each in public:
        assert matches(each, kept) <= matches(each, own), seed
    for each, weighted in zip(private, made.private, strict=True):
        possible = set() if weighted.weight != math.inf else matches(each, kept)
        assert possible == set(), seed


@pytest.mark.parametrize("part", range(PARTS))
@settings(max_examples=max(1, ANY_SHAPE // PARTS // AT_ONCE), deadline=None)
@given(seed=st.integers(0, 2**40))
def test_both_promises_hold_of_all_that_may_stand_in_a_policy(part: int, seed: int) -> None:
    for number in range(AT_ONCE):
        draw = Random((seed * AT_ONCE + number) * PARTS + part)
        made = drawn.case(draw)
        raw, past = drawn.events(draw, 8, 0), drawn.events(draw, draw.choice((0, 8)), -40)
        kept = drawn.kept_of(made, raw, past, draw.choice((None, 4, 6)))
        assert drawn.broken(made, raw, kept) == [], (seed, number)


@pytest.mark.parametrize(("broken", "first"), [("nothing is never", 20), ("nothing is bound", 150)])
def test_a_policy_that_breaks_a_promise_is_found(
    broken: str, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if broken == "nothing is never":
        monkeypatch.setattr(Decider, "_completes_never", lambda *_: False)
    else:
        monkeypatch.setattr(Policy, "is_bound", lambda *_: False)
    for seed in range(first, first + 200):
        draw = Random(seed)
        made, raw = drawn.case(draw), drawn.events(draw, 8, 0)
        if drawn.broken(made, raw, drawn.kept_of(made, raw, [])):
            return
    pytest.fail("no random policy shows it")
