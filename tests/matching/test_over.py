"""RETURN PROBABILITY BY TIME OVER a while is the weight of the worlds where a match ended in it."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from augury import QueryError, Session
from matching.asking import rows, session
from matching.chain_cases import Case, World, independent
from matching.test_chains import STREAMS, assert_by_worlds, drawn, rng_strategy
from oracles.model import And, Comp, Query

SEEDS = st.integers(min_value=0, max_value=10**9)
QUICK = settings(phases=(Phase.explicit, Phase.generate))
AT = """
CREATE STREAM at (tag STRING, place STRING, t {time}, p DOUBLE)
KEY tag TIME t ALTERNATIVES place PROBABILITY p;
CREATE QUERY q ON at PATTERN SEQ(at h, at c) WHERE [tag] AND h.place = 'hall'
AFTER WHERE c.place = 'coffee' USING SKIP TILL NEXT MATCH {groups}RETURN PROBABILITY BY TIME {over};
"""
WALKS = [
    ("joe", "hall", 1, 0.5),
    ("joe", "coffee", 2, 0.5),
    ("sue", "hall", 3, 1.0),
    ("sue", "coffee", 4, 0.25),
    ("joe", "hall", 9, 0.5),
    ("sue", "hall", 12, 0.5),
]


def walks(time: Any = int) -> list[dict[str, Any]]:
    return [{"tag": g, "place": x, "t": time(t), "p": p} for g, x, t, p in WALKS]


def asked(over: str, groups: str = "", time: str = "LONG") -> Session:
    ag = Session(engine="local")
    ag.sql(AT.format(time=time, over=over, groups=groups))
    return ag


def looking_back(case: Case, rng: random.Random) -> Case:
    return replace(case, query=replace(case.query, over=rng.randint(2, 5)))


def spread(world: World, rng: random.Random) -> World:
    """Return the rows of an independent stream with gaps between their times."""
    at = [0]
    for _ in range(10):
        at.append(at[-1] + rng.randint(1, 4))
    return World([{**row, "t": at[row["t"]]} for row in world.rows])


# Chains -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("strategy", ["next", "any", "strict"])
@QUICK
@given(seed=SEEDS)
def test_one_object(kind: str, strategy: str, seed: int) -> None:
    rng, case = drawn(seed, kind, 1, 5, strategy)
    if kind == "independent":
        case = replace(case, world=spread(case.world, rng))
    assert_by_worlds(looking_back(case, rng))


@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("strategy", ["next", "any", "partition"])
@QUICK
@given(seed=SEEDS)
def test_one_chain_per_key(kind: str, strategy: str, seed: int) -> None:
    rng, case = drawn(seed, kind, 2, 3, strategy)
    if kind == "independent":
        case = replace(case, world=spread(case.world, rng))
    groups = rng.choice([(), ("person",)])
    query = replace(case.query, equate=("person",), group_by=groups)
    assert_by_worlds(looking_back(replace(case, query=query), rng))


@pytest.mark.parametrize("kind", STREAMS)
@QUICK
@given(seed=SEEDS)
def test_several_objects_in_one_chain(kind: str, seed: int) -> None:
    rng, case = drawn(seed, kind, 2, 3, rng_strategy(seed))
    assert_by_worlds(looking_back(case, rng))


@pytest.mark.parametrize("kind", STREAMS)
@QUICK
@given(seed=SEEDS)
def test_runs_under_a_window(kind: str, seed: int) -> None:
    rng, case = drawn(seed, kind, 1, 5, rng_strategy(seed))
    query = replace(case.query, within=("time", rng.randint(1, 3)))
    assert_by_worlds(looking_back(replace(case, query=query), rng))


# Other ways ---------------------------------------------------------------------------------------


@QUICK
@given(seed=SEEDS)
def test_what_is_no_chain_is_answered_from_lineage(seed: int) -> None:
    rng = random.Random(seed)
    world = spread(independent(rng, 2, 3), rng)
    x, y = (Comp(n, None, 1, 1, ("=", ("attr", n, "place"), ("lit", n))) for n in "ab")
    query = Query(And((x, y)), streams=("at",), equate=("person",), probability="by time")
    assert_by_worlds(looking_back(Case(query, world), rng))


SAFE = """
CREATE QUERY q ON s PATTERN SEQ(A x, B y, C z) WHERE x.tag = y.tag USING SKIP TILL NEXT MATCH
RETURN PROBABILITY BY TIME {over};
"""


def test_a_safe_query_that_looks_back_is_carried_as_worlds() -> None:
    text = "a1 .5 a1' .5 b2 .5 b3' .5 c4 .5 c5 .5 a6 c9"
    events = rows(text, tag=["u", "v", "u", "v", None, None, "u", None])
    found = session(SAFE.format(over="OVER 2"), events).table("q").to_pylist()
    plain = session(SAFE.format(over=""), events).table("q").to_pylist()
    at, now = ({row["ts"]: row["probability"] for row in own} for own in (found, plain))
    assert at[4] == pytest.approx(now[4])
    # The first C takes both values along, so that of two ends the second needs it to be missing.
    assert at[5] == pytest.approx(now[4] + now[5])
    assert at[9] == pytest.approx(now[9])


HARD = """
CREATE QUERY q ON s PATTERN SEQ(A x, B y, C z)
WHERE x.tag = z.tag AND y.v = z.v USING SKIP TILL NEXT MATCH
RETURN PROBABILITY BY TIME {over} APPROXIMATE (0.02, 0.001);
"""


def test_sampled_worlds_look_back_too() -> None:
    events = rows(
        "a1 .5 b2 .5 c3 .5 c4 .5 c8 .5", tag=["u", None, "u", "u", "u"], v=[None, 1, 1, 1, 1]
    )
    answers = session(HARD.format(over="OVER 2"), events).table("q").to_pylist()
    assert {row["method"] for row in answers} == {"sampled"}
    found = {row["ts"]: row["probability"] for row in answers}
    # One run, which the first C ends: at 3, at 4 if not at 3, at 8 if at neither.
    expected = {1: 0.0, 2: 0.0, 3: 0.125, 4: 0.1875, 8: 0.03125}
    assert found == pytest.approx(expected, abs=0.02)


# Meaning ------------------------------------------------------------------------------------------


def test_one_tick_is_that_time_alone() -> None:
    plain, one = asked(""), asked("OVER 1")
    for ag in (plain, one):
        ag.bind("at", walks())
    assert one.table("q") == plain.table("q")


def test_a_time_counts_for_as_long_as_it_is_less_than_the_length_ago() -> None:
    ag = asked("OVER 8")
    ag.bind("at", walks())
    found = {row["ts"]: row["probability"] for row in ag.table("q").to_pylist()}
    assert found == {1: 0.0, 2: 0.25, 3: 0.25, 4: 0.4375, 9: 0.4375, 12: 0.0}


def test_a_silent_key_is_answered_where_others_have_rows() -> None:
    ag = asked("OVER 8", "GROUP BY tag ")
    ag.bind("at", walks())
    own = [row for row in ag.table("q").to_pylist() if row["tag"] == "joe"]
    found = {row["ts"]: row["probability"] for row in own}
    assert found == {1: 0.0, 2: 0.25, 3: 0.25, 4: 0.25, 9: 0.25, 12: 0.0}


def test_as_rows_come_a_silent_key_is_not_told() -> None:
    ag = asked("OVER 8", "GROUP BY tag ")
    found = [row for each in walks() for row in ag.push("at", each)] + ag.finish()
    told = [(row["tag"], row["ts"], row["probability"]) for row in found]
    assert told == [("joe", 2, 0.25), ("sue", 4, 0.25), ("joe", 9, 0.25)]


def test_as_rows_come_a_silent_key_still_counts_for_anyone() -> None:
    ag, whole = asked("OVER 8"), asked("OVER 8")
    whole.bind("at", walks())
    found = [row for each in walks() for row in ag.push("at", each)] + ag.finish()
    assert found == whole.table("q").to_pylist()


def test_timestamps_are_looked_back_over_in_units_of_time() -> None:
    begin = datetime(2024, 1, 1, tzinfo=UTC)
    ag = asked("OVER 7.5 SECONDS", time="TIMESTAMP")
    ag.bind("at", walks(lambda t: begin + timedelta(seconds=t)))
    found = [row["probability"] for row in ag.table("q").to_pylist()]
    assert found == pytest.approx([0.0, 0.25, 0.25, 0.4375, 0.4375, 0.0])


def test_events_that_equal_nothing_count_each_by_itself() -> None:
    script = (
        "CREATE STREAM s (tag STRING, kind STRING, t LONG, p DOUBLE)"
        " TIME t TYPE kind PROBABILITY p;"
        "CREATE QUERY q ON s PATTERN SEQ(A a, C? c) WHERE [tag] RETURN PROBABILITY BY TIME OVER 3;"
    )
    data = [{"tag": None, "kind": "A", "t": t, "p": 0.5} for t in (1, 1, 2, 4, 9)]
    data.append({"tag": "x", "kind": "B", "t": 3, "p": 0.5})
    ag = Session(engine="local")
    ag.sql(script)
    ag.bind("s", data)
    found = {row["ts"]: row["probability"] for row in ag.table("q").to_pylist()}
    assert found == pytest.approx({1: 0.75, 2: 0.875, 3: 0.875, 4: 0.75, 9: 0.5})


def test_what_is_explained_says_how_far_it_looks_back() -> None:
    text = asked("OVER 8").explain("q")
    assert "skip till next match; over the last 8 ticks" in text
    assert "times since a match ended (within 8 ticks)" in text


# What is refused ----------------------------------------------------------------------------------


def test_timestamps_that_follow_no_step_are_for_bounded_rows() -> None:
    begin = datetime(2024, 1, 1, tzinfo=UTC)
    ag = asked("OVER 8 SECONDS", time="TIMESTAMP")
    with pytest.raises(QueryError, match=r"timestamps that follow no model's step"):
        ag.push("at", walks(lambda t: begin + timedelta(seconds=t))[0])


def test_a_table_that_would_be_too_large_is_refused_before_any_row() -> None:
    ag = asked("OVER 5000")
    with pytest.raises(QueryError, match=r"looks back OVER 5000 steps, of which at most"):
        ag.push("at", walks()[0])
    ag.bind("at", walks())
    assert [row["probability"] for row in ag.table("q").to_pylist()][-1] == pytest.approx(0.4375)


@pytest.mark.parametrize(
    ("tail", "code", "message"),
    [
        ("BY TIME OVER 0", "A023", "OVER 0 is not positive"),
        ("BY TIME OVER -1", "A001", "expected a number"),
        ("OVER 5", "A082", "OVER looks back from each time"),
        ("BY TIME OVER 5 SECONDS", "A022", "OVER is in seconds, but TIME is a LONG tick"),
        ("BY TIME OVER 5 EVENTS", "A001", "EVENTS is not expected here"),
    ],
)
def test_other_forms_are_refused(tail: str, code: str, message: str) -> None:
    ag = Session(engine="local")
    text = AT.format(time="LONG", over="", groups="").replace("BY TIME ", tail)
    with pytest.raises(QueryError, match=rf"(?s){code}.*{message}"):
        ag.sql(text)


def test_a_number_without_a_unit_does_not_fit_timestamps() -> None:
    with pytest.raises(QueryError, match=r"(?s)A022.*OVER 5 has no unit, but TIME is a TIMESTAMP"):
        asked("OVER 5", time="TIMESTAMP")
