"""The forecast stage obeys `augury.operator`: steps, stored states and shards change nothing."""

from __future__ import annotations

import random
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given

from augury import QueryError
from augury.errors import StateError
from augury.evaluation.stages.forecast import ForecastStage
from augury.matching.matcher import ALWAYS
from augury.operator import Operator
from forecast.asking import rows_of as worded
from forecast.asking import script
from forecast.random_cases import CONSTRUCTS, STRATEGIES, Maker, rows_of
from forecast.staging import Row, batch, stage_of
from forecast.test_against_futures import QUARTER, SEEDS

AB = "SEQ(A a, B b)"
HISTORY = "A/k@0 B/k@1 X/k@2 A/l@3"


def told(stage: ForecastStage, rows: list[Row]) -> list[Row]:
    """Return what is told of rows that come at once."""
    _, answers = stage.advance(stage.start(), batch(stage, rows), ALWAYS)
    found: list[Row] = answers.found["f"].to_pylist()
    return found


def in_steps(make: Any, rows: list[Row], *, stores: bool) -> list[Row]:
    """Return what is told of rows that come time by time, each time by another process."""
    stage = make()
    state, found = stage.start(), list[Row]()
    for time, group in groupby(sorted(rows, key=lambda row: row["t"]), lambda row: row["t"]):
        state, answers = stage.advance(state, batch(stage, group), time + 1)
        found += answers.found["f"].to_pylist()
        if stores:
            data = stage.dump(state)
            stage = make()
            state = stage.restore({}, time + 1, data)
    _, answers = stage.finish(state)
    assert not answers.found["f"].num_rows
    return found


def assert_same(found: list[Row], wanted: list[Row]) -> None:
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        numbers = [name for name in one if isinstance(one[name], float)]
        assert {n: one[n] for n in one if n not in numbers} == {
            n: other[n] for n in other if n not in numbers
        }
        assert [one[n] for n in numbers] == pytest.approx([other[n] for n in numbers], abs=1e-12)


@pytest.mark.rotating(4)
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("construct", CONSTRUCTS)
@QUARTER
@given(seed=SEEDS)
def test_a_state_that_was_stored_goes_on(construct: str, strategy: str, seed: int) -> None:
    case = Maker(seed, construct, strategy).case()
    rows, history = rows_of(case.stream), rows_of(case.history)
    for by_time in (False, True):

        def make(by_time: bool = by_time) -> ForecastStage:
            return stage_of(case.script(by_time=by_time), history)

        try:
            whole = told(make(), rows)
        except QueryError as error:
            if "[P003]" not in str(error):
                raise
            continue
        assert_same(in_steps(make, rows, stores=False), whole)
        assert_same(in_steps(make, rows, stores=True), whole)


EDGES = "WITHIN 2 EVENTS USING EDGES LEARN FROM history ONLINE"
STREAM = "A1/k@1 X2/l@2 A3/l@3 B4/l@4 A5/k@4 A6@5 B7/k@6 B8@7"


@pytest.mark.parametrize("by_time", [False, True])
@pytest.mark.parametrize(
    ("pattern", "clauses"),
    [
        (f"{AB} WHERE [k]", EDGES),
        (f"{AB} WHERE [k]", f"{EDGES} BY g"),
        (f"{AB} WHERE [k] WITHIN 4 EVENTS", "WITHIN 2 EVENTS USING MARKOV 1 LEARN FROM history"),
        (f"{AB} WHERE [k]", "WITHIN 5 USING MARKOV 2 BY g LEARN FROM history ONLINE"),
    ],
)
def test_what_is_learned_online_is_stored(pattern: str, clauses: str, by_time: bool) -> None:
    def make() -> ForecastStage:
        text = script(pattern, clauses, keyed=True, by_time=by_time)
        return stage_of(text, worded(HISTORY))

    rows = worded(STREAM)
    whole = told(make(), rows)
    assert whole
    assert_same(in_steps(make, rows, stores=True), whole)


def test_the_stage_is_an_operator() -> None:
    stage = stage_of(script(AB, "WITHIN 2 EVENTS", keyed=False, by_time=False))
    asked = [name for name in vars(Operator) if not name.startswith("_")]
    assert [name for name in asked if not hasattr(stage, name)] == []
    state = stage.start()
    assert state.is_empty
    assert stage.oldest(state, 7) == 7
    assert stage.due(state) is None


# Tables -------------------------------------------------------------------------------------------

FOLLOWED = [
    ("SEQ(A a, B b, C c) WHERE [k] USING SKIP TILL NEXT MATCH", "WITHIN 4 EVENTS"),
    ("SEQ(A a, B b, C c) WHERE [k] WITHIN 9", "WITHIN 4 EVENTS"),
    ("SEQ(A a, B+ b, C c) WHERE [k] USING SKIP TILL NEXT MATCH WITHIN 30", "WITHIN 12"),
    ("SEQ(A a, B b, C c) WHERE [k] WITHIN 12", "WITHIN 5 EVENTS ARRIVALS STEADY BY g"),
    ("SEQ(A a, !X n, B b) WITHIN 7 EVENTS", "WITHIN 8 BY g"),
    ("NEXT(A a, B b, C c)", "WITHIN 4 EVENTS"),
    ("AND(A a, B b, C c) WHERE [k] WITHIN 10", "WITHIN 20 EVENTS"),
]


@pytest.mark.parametrize("by_time", [False, True])
@pytest.mark.parametrize(("pattern", "clauses"), FOLLOWED)
@pytest.mark.parametrize("order", [0, 2])
def test_what_is_followed_by_tables_is_what_is_read_one_by_one(
    pattern: str, clauses: str, by_time: bool, order: int
) -> None:
    learned = f"{clauses} USING MARKOV {order} LEARN FROM history"
    if by_time and " ARRIVALS" not in clauses:
        learned += " ARRIVALS STEADY"
    text = script(pattern, learned, keyed=True, by_time=by_time)
    draw = random.Random(f"{pattern} {clauses} {order}")
    # Several have one time, and there are more than fit into the first room.
    times = sorted(draw.randrange(900) for _ in range(700))
    words = (f"{draw.choice('ABCX')}{n}/{draw.choice('klm')}@{t}" for n, t in enumerate(times, 1))
    rows = worded(" ".join(words))
    stage = stage_of(text, rows[:200])
    state = stage.start()
    state.lives.read_one_by_one()
    _, answers = stage.advance(state, batch(stage, rows), ALWAYS)
    whole = answers.found["f"].to_pylist()
    assert len(whole) > 100
    assert_same(told(stage, rows), whole)


SPARSE = [
    "SEQ(A a, B b, C c)",
    "SEQ(A a, B b, C c) USING SKIP TILL NEXT MATCH",
    "SEQ(A a, B b) USING STRICT",
    "SEQ(A a, !C n, B b)",
    "SEQ(NEXT(A a, B b), NEXT(C c, A d))",
    "SEQ(A a, B+ b, C c) USING SKIP TILL NEXT MATCH",
    "AND(A a, SEQ(B b, C c)) USING SKIP TILL NEXT MATCH",
]


@pytest.mark.rotating(4)
@pytest.mark.parametrize("by_time", [False, True])
@pytest.mark.parametrize("pattern", SPARSE)
@pytest.mark.parametrize("order", [0, 2])
def test_events_that_mean_nothing_are_left_out_and_told_of(
    pattern: str, by_time: bool, order: int
) -> None:
    draw = random.Random(f"{pattern} {by_time} {order}")
    kinds = ["A", "B", "C", "X", "X", "X", "X", "X", "X"]
    rows = worded(" ".join(f"{draw.choice(kinds)}{t}@{t}" for t in range(1, 200)))
    for threshold in (0.05, 0.4):
        clauses = f"WITHIN 9 EVENTS USING MARKOV {order} LEARN FROM history"
        clauses += f" HAVING FORECAST > {threshold}"
        stage = stage_of(script(pattern, clauses, keyed=False, by_time=by_time), rows[:90])
        state = stage.start()
        state.lives.read_one_by_one()
        _, answers = stage.advance(state, batch(stage, rows), ALWAYS)
        whole = answers.found["f"].to_pylist()
        assert_same(told(stage, rows), whole)
        state, found = stage.start(), list[Row]()
        for first in range(0, 199, 67):
            part = rows[first : first + 67]
            state, answers = stage.advance(state, batch(stage, part), part[-1]["t"] + 1)
            found += answers.found["f"].to_pylist()
        assert_same(found, whole)


# Shards -------------------------------------------------------------------------------------------


def cut_of(pattern: str, clauses: str) -> Any:
    return stage_of(script(pattern, clauses, keyed=True, by_time=True), worded(HISTORY)).cut


def test_rows_may_be_cut_by_what_parts_a_forecast() -> None:
    learned = "WITHIN 2 EVENTS LEARN FROM history"
    assert cut_of(f"{AB} WHERE [k]", learned).columns == {"s": ("k",)}
    assert cut_of(f"{AB} USING PARTITION CONTIGUITY", learned).columns == {"s": ("k",)}
    for pattern, clauses, reason in (
        (AB, learned, "equates nothing"),
        (f"{AB} WHERE [k] USING STRICT", learned, "between neighbours"),
        (f"{AB} WHERE [k] WITHIN 4 EVENTS", learned, "count towards the window"),
        (f"{AB} WHERE [k]", "WITHIN 2 EVENTS LEARN ONLINE BY k", "learns online"),
    ):
        cut = cut_of(pattern, clauses)
        assert cut.columns is None
        assert reason in cut.reason


@pytest.mark.parametrize("by_time", [False, True])
@pytest.mark.parametrize("unit", ["EVENTS", "EVENTS OF STREAM"])
def test_shards_tell_what_one_tells(unit: str, by_time: bool) -> None:
    clauses = f"WITHIN 2 {unit} USING MARKOV 1 LEARN FROM history"
    text = script(f"{AB} WHERE [k]", clauses, keyed=True, by_time=by_time)
    stage = stage_of(text, worded(HISTORY))
    assert stage.cut.columns == {"s": ("k",)}
    rows = worded(STREAM)
    # What a history taught travels in its place.
    shards = [stage.learned() for _ in "kl"]
    assert all(shard.history is None for shard in shards)
    apart = [
        row
        for shard, keys in zip(shards, (("k", None), ("l",)), strict=True)
        for row in told(shard, [row for row in rows if row["k"] in keys])
    ]

    def by_all(row: Row) -> str:
        return repr((row["ts"], row["k"], row.get("match_id")))

    assert_same(sorted(apart, key=by_all), sorted(told(stage, rows), key=by_all))


# What is kept -------------------------------------------------------------------------------------


def test_rows_are_kept_while_they_are_bound() -> None:
    clauses = "WITHIN 2 EVENTS LEARN FROM history"
    stage = stage_of(script(f"{AB} WITHIN 5", clauses, keyed=False, by_time=False), worded(HISTORY))
    state = stage.start()
    sizes = []
    for t in range(0, 20_000, 1_000):
        text = " ".join(f"{'AXB'[k % 3]}{k + 1}@{k}" for k in range(t, t + 1_000))
        state, _ = stage.advance(state, batch(stage, worded(text)), t + 1_000)
        sizes.append(state.rows_held)
    assert max(sizes) < 6_000
    assert len(stage.dump(state)) < 5_000


@pytest.mark.parametrize("by_time", [False, True])
def test_partitions_that_are_as_new_are_forgotten(
    by_time: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("augury.evaluation.stages.forecast.LEAST", 10)
    monkeypatch.setattr("augury.evaluation.stages.forecast_state.MANY_CODES", 10)
    text = script(
        f"{AB} WHERE [k] WITHIN 5",
        "WITHIN 2 EVENTS LEARN FROM history ARRIVALS STEADY",
        keyed=True,
        by_time=by_time,
    )

    def make() -> ForecastStage:
        return stage_of(text, worded(HISTORY))

    rows = [
        {"id": t, "kind": "AXB"[t % 3], "k": f"k{t // 4}", "g": None, "t": t, "p": 1.0}
        for t in range(400)
    ]
    stage = make()
    state, found = stage.start(), list[Row]()
    for first in range(0, 400, 20):
        state, answers = stage.advance(state, batch(stage, rows[first : first + 20]), first + 20)
        found += answers.found["f"].to_pylist()
        assert len(state.lives.partitions) < 60
        assert len(state.encoder.partitions.known) < 200
    assert_same(found, told(make(), rows))


# Stored bytes -------------------------------------------------------------------------------------


def test_the_state_of_another_forecast_is_refused() -> None:
    one, other = (
        stage_of(script(f"SEQ(A a, {kind} b)", "WITHIN 2 EVENTS", keyed=False, by_time=True))
        for kind in "BC"
    )
    data = one.dump(one.start())
    with pytest.raises(StateError, match="other declarations than forecast f"):
        other.restore({}, 0, data)
    with pytest.raises(StateError, match="damaged"):
        one.restore({}, 0, data[:-1] + bytes([data[-1] ^ 1]))
