"""What a policy has decided can be stored, belongs to it, and goes on wherever rows are cut."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury import AuguryError, QueryError, Session
from augury.errors import StateError
from augury.evaluation.stages.suppress import SuppressStage
from augury.evaluation.stream_rows import StreamRows
from augury.planning.policy_plan import PolicyPlan, plan_policy
from augury.planning.policy_shards import policy_cut
from privacy.wards import Row, history, row, session

QUERIES = """
CREATE QUERY q1 ON s PATTERN SEQ(A a, B b) WHERE [k] WITHIN 6;
CREATE QUERY q2 ON s PATTERN SEQ(A a, !D d, B b, C c) WHERE [k] WITHIN 9;
CREATE QUERY p1 ON s PATTERN SEQ(A a, C b) WHERE [k] WITHIN 6;
"""
POLICY = "CREATE POLICY pol ON s PUBLIC q1 WEIGHT 3, q2 PRIVATE p1 WEIGHT 2 USING {};"
HOWS = (
    "GREEDY",
    "HYBRID RATES LEARN FROM h",
    "HYBRID PERIODIC PERIOD 4 LEARN FROM h",
    "HYBRID RATES LEARN FROM h ONLINE",
    "HYBRID RATES LEARN FROM h ONLINE BY k",
    "HYBRID LEARN ONLINE OVER 12",
    "TYPES LEARN ONLINE",
)
HISTORY = history("ABCABDABCC", keys="kklkklkkll")


def taught(how: str, queries: str = QUERIES) -> Session:
    ag = session(queries + POLICY.format(how))
    ag.bind("h", HISTORY)
    return ag


ROWS = st.lists(
    st.tuples(st.sampled_from("ABCDX"), st.integers(0, 2), st.sampled_from("kl")), max_size=14
)


def rows_of(drawn: list[tuple[str, int, str]]) -> list[Row]:
    at, found = 0, []
    for number, (kind, gap, key) in enumerate(drawn):
        at += gap
        found.append(row(f"{kind}{at} k={key} p=0.5") | {"id": f"{number:02}"})
    return found


@given(drawn=ROWS, cut=st.integers(0, 14), how=st.sampled_from(HOWS))
def test_a_session_goes_on_where_it_was_stored(
    drawn: list[tuple[str, int, str]], cut: int, how: str
) -> None:
    rows = rows_of(drawn)
    whole, first = taught(how), taught(how)
    expected = [whole.push("s", each) for each in rows] + [whole.finish()]
    found = [first.push("s", each) for each in rows[:cut]]
    # What was stored brings along what was learned.
    second = session(QUERIES + POLICY.format(how))
    if not found:
        second.bind("h", HISTORY)
    second.restore(first.checkpoint())
    found += [second.push("s", each) for each in rows[cut:]] + [second.finish()]
    assert found == expected
    assert second.audit("pol").equals(whole.audit("pol"))


def test_a_checkpoint_belongs_to_its_policy() -> None:
    first = taught("GREEDY")
    first.push("s", row("a1"))
    stored = first.checkpoint()
    for other in (
        taught("HYBRID RATES LEARN FROM h"),
        taught("GREEDY", QUERIES.replace("WITHIN 6", "WITHIN 7")),
        # It binds A, so that other events may be suppressed.
        taught("GREEDY", QUERIES + "CREATE QUERY q ON s PATTERN SEQ(B b, !A a, C c) WITHIN 5;"),
        session(QUERIES),
    ):
        with pytest.raises(StateError, match="other declarations"):
            other.restore(stored)


def test_nothing_binds_more_once_decisions_were_restored() -> None:
    first = taught("GREEDY")
    first.push("s", [row("a1"), row("c2"), row("x9")])
    second = taught("GREEDY")
    second.restore(first.checkpoint())
    with pytest.raises(QueryError, match="may have suppressed events"):
        second.sql("CREATE QUERY late ON s PATTERN SEQ(B b, !C c, A a) WITHIN 5;")
    with pytest.raises(AuguryError, match="before them"):
        second.bind("h", HISTORY)


def planned(how: str, queries: str = QUERIES) -> tuple[PolicyPlan, SuppressStage]:
    ag = taught(how, queries)
    catalog = ag._declared.catalog
    plan = plan_policy(catalog.policies["pol"], ag._declared.checked_queries, catalog, {})
    return plan, SuppressStage(plan, catalog.streams["s"])


def stream_rows(stage: SuppressStage, rows: list[Row]) -> StreamRows:
    kinds = {"id": pa.string(), "type": pa.string(), "t": pa.int64(), "p": pa.float64()}
    schema = pa.schema([*kinds.items(), ("k", pa.string()), ("v", pa.int64())])
    table = pa.Table.from_pylist(rows, schema)
    return StreamRows(stage.stream, table, table.slice(0, 0))


@given(drawn=ROWS, cuts=st.sets(st.integers(0, 14), max_size=3), how=st.sampled_from(HOWS))
def test_steps_of_the_stage_change_nothing(
    drawn: list[tuple[str, int, str]], cuts: set[int], how: str
) -> None:
    _, stage = planned(how)
    rows = rows_of([(kind, gap + 1, key) for kind, gap, key in drawn])
    past = stream_rows(stage, HISTORY)
    _, expected = stage.advance(stage.start(past), stream_rows(stage, rows))
    state, places = stage.start(past), [0, *sorted(cuts), len(rows)]
    logs = []
    for begin, end in pairwise(places):
        state, passed = stage.advance(
            stage.load(stage.dump(state)), stream_rows(stage, rows[begin:end])
        )
        logs.append(passed.audit)
    assert pa.concat_tables(logs).equals(expected.audit)


def test_a_number_that_is_none_is_one_key_after_it_was_stored() -> None:
    ag = Session(engine="local")
    ag.sql("""
CREATE STREAM s (id STRING, type STRING, t LONG, k DOUBLE) ID id TIME t TYPE type;
CREATE QUERY p1 ON s PATTERN SEQ(A a, C b) WHERE [k] WITHIN 6;
CREATE POLICY pol ON s PRIVATE p1 NEVER USING GREEDY;
""")
    catalog = ag._declared.catalog
    plan = plan_policy(catalog.policies["pol"], ag._declared.checked_queries, catalog, {})
    stage = SuppressStage(plan, catalog.streams["s"])

    def one(name: str, at: int) -> StreamRows:
        each: dict[str, Any] = {"id": [name], "type": [name[0]], "t": [at], "k": [math.nan]}
        table = pa.table(each)
        return StreamRows(stage.stream, table, table.slice(0, 0))

    state, _ = stage.advance(stage.start(), one("A1", 1))
    _, passed = stage.advance(stage.load(stage.dump(state)), one("C2", 2))
    assert passed.keeps.tolist() == [False]


@pytest.mark.parametrize(
    ("how", "queries", "columns", "reason"),
    [
        ("GREEDY", QUERIES, ("k",), "equates k"),
        ("HYBRID RATES LEARN FROM h", QUERIES, ("k",), "equates k"),
        ("HYBRID RATES LEARN ONLINE BY k", QUERIES, None, "learns online"),
        ("GREEDY LEARN ONLINE", QUERIES, ("k",), "equates k"),
        ("GREEDY", QUERIES.replace("!D d, B b, C c) WHERE [k]", "B b)"), None, "q2 equates no"),
        ("GREEDY", QUERIES.replace("b) WHERE [k] WITHIN 6", "b) WHERE [v] WITHIN 6"), None, "in"),
    ],
)
def test_decisions_are_cut_by_what_every_query_equates(
    how: str, queries: str, columns: tuple[str, ...] | None, reason: str
) -> None:
    plan, stage = planned(how, queries)
    found = policy_cut(plan, stage.stream)
    assert found.columns == columns
    assert reason in found.reason


@given(drawn=ROWS, how=st.sampled_from(HOWS[:3]))
def test_shards_change_nothing(drawn: list[tuple[str, int, str]], how: str) -> None:
    _, stage = planned(how)
    rows, past = rows_of(drawn), stream_rows(stage, HISTORY)
    _, expected = stage.advance(stage.start(past), stream_rows(stage, rows))
    found = []
    for key in "kl":
        own = stream_rows(stage, [each for each in rows if each["k"] == key])
        found += stage.advance(stage.start(past), own)[1].audit.to_pylist()
    assert sorted(found, key=str) == sorted(expected.audit.to_pylist(), key=str)
