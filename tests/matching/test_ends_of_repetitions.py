"""UNTIL, reluctant repetitions and single steps between neighbours, against all possible worlds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from augury import QueryError, Session
from augury.errors import Source
from augury.language.parser import parse
from augury.language.printer import script_text
from matching.as_text import Case, query_text, session_of
from matching.random_cases import random_case
from matching.test_against_worlds import assert_equal, keyed
from oracles.model import Comp, Seq
from oracles.worlds import network

QUICK = settings(phases=(Phase.explicit, Phase.generate))
SEEDS = st.integers(min_value=0, max_value=10**9)


def by_text(case: Case, old: str, new: str) -> list[dict[str, Any]]:
    """Return what the engine answers where a piece of the query's text is another."""
    query = case.queries[-1]
    ag = session_of(replace(case, queries=()))
    text = query_text(query)
    assert old in text
    ag.sql(text.replace(old, new))
    found: list[dict[str, Any]] = ag.table(query.name).to_pylist()
    return found


def judge(case: Case, old: str, new: str) -> None:
    expected = network(case.queries, case.events)[case.queries[-1].name]
    plain = keyed(session_of(case).table("q").to_pylist())
    found = keyed(by_text(case, old, new))
    assert len(plain) == len(expected)
    assert_equal(found, plain, case)


@pytest.mark.parametrize("strategy", ["strict", "partition"])
@QUICK
@given(seed=SEEDS)
def test_until_ends_a_run_before_the_event_for_which_it_holds(strategy: str, seed: int) -> None:
    case = random_case("runs", strategy, seed)
    v = ("attr", "b", "v")
    low = ("or", ("is null", v), ("<=", v, ("lit", 1)))
    pattern = Seq((Comp("a", "A"), Comp("b", "B", 1, None, filter=low)))
    query = replace(case.queries[-1], pattern=pattern, where=(), after_where=())
    case = replace(case, queries=(replace(query, within=("time", 20)),))
    judge(case, " (((b.v IS NULL) OR (b.v <= 1)))", " UNTIL (b.v > 1)")


@pytest.mark.parametrize("strategy", ["next", "strict", "partition"])
@QUICK
@given(seed=SEEDS)
def test_a_reluctant_end_takes_its_minimum(strategy: str, seed: int) -> None:
    case = random_case("runs", strategy, seed)
    pattern = Seq((Comp("a", "A"), Comp("b", "B", 2, 2)))
    query = replace(case.queries[-1], pattern=pattern, where=(), after_where=())
    case = replace(case, queries=(replace(query, within=("time", 20)),))
    judge(case, "B{2,2} b", "B{2,}? b")


@pytest.mark.parametrize("strategy", ["next", "strict"])
@QUICK
@given(seed=SEEDS)
def test_in_the_middle_every_repetition_gives_way(strategy: str, seed: int) -> None:
    case = random_case("runs", strategy, seed)
    pattern = Seq((Comp("a", "A"), Comp("b", "B", 1, None), Comp("c", "A")))
    query = replace(case.queries[-1], pattern=pattern, where=(), after_where=())
    case = replace(case, queries=(replace(query, within=("time", 20)),))
    judge(case, "B+ b", "B+? b")


def read(text: str) -> Any:
    found = parse(Source("s", f"CREATE QUERY q ON s PATTERN {text};"))
    assert found.diagnostics == ()
    return found.statements


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("SEQ(A a, NEXT B b, C c)", "SEQ(NEXT(A a, B b), C c)"),
        ("SEQ(A a, NEXT B b, NEXT C c)", "SEQ(NEXT(A a, B b, C c))"),
        ("SEQ(A a, NEXT B b, C c, NEXT D d)", "SEQ(NEXT(A a, B b), NEXT(C c, D d))"),
        ("SEQ(OR(A a, B b), NEXT C+ c)", "SEQ(NEXT(OR(A a, B b), C+ c))"),
        ("SEQ(next a, B b)", "SEQ(`next` a, B b)"),
    ],
)
def test_a_step_between_neighbours_is_a_next_of_its_own(short: str, long: str) -> None:
    assert read(short) == read(long)
    assert parse(Source("again", script_text(read(short)))).statements == read(short)


STREAM = "CREATE STREAM s (kind STRING, v LONG, t LONG) TIME t TYPE kind;"


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("PATTERN SEQ(A a, B+? b) WITHIN 9", "SKIP TILL ANY MATCH"),
        ("PATTERN SEQ(A a, B+? b, C? c) USING STRICT WITHIN 9", "may be absent"),
        ("PATTERN SEQ(A a, B*? b) USING STRICT WITHIN 9", "may be absent"),
        ("PATTERN SEQ(NEXT A a, B b) WITHIN 9", "the one before it"),
        ("PATTERN SEQ(A+ a, NEXT B b) WITHIN 9", "the one before it"),
        ("PATTERN SEQ(A a, !B b, NEXT C c) WITHIN 9", "the one before it"),
        ("PATTERN AND(A a, NEXT B b) WITHIN 9", "the one before it"),
    ],
)
def test_misuse_is_told(query: str, said: str) -> None:
    with pytest.raises(QueryError) as told:
        Session(engine="local").sql(f"{STREAM} CREATE QUERY q ON s {query};")
    assert said in str(told.value)
