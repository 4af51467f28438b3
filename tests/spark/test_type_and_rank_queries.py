"""Type and rank queries, and hierarchies, are the same on Spark as in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from augury import QueryError, Session
from contracts.live_cases import comparable
from matching import test_correlations
from matching.asking import COLUMNS, rows
from matching.join_cases import answers, far, random_join
from matching.test_correlations import NOW, PAST, SCRIPT
from matching.test_examples import ACCIDENT, DPCEP, OVERSPEED, TRUCK_AND_CAR, accidents
from spark.queries import opened

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def listed(frame: Any) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in frame.collect()]


def test_the_paper_s_rank_query_comes_out(spark: SparkSession) -> None:
    ag = Session(spark)
    ag.sql(OVERSPEED.format("GROUP BY o.kind"))
    ag.bind("o", TRUCK_AND_CAR)
    ag.bind("x", accidents(("L1", 0.7), ("L1", 0.8), ("L2", 0.9)))
    found = ag.table("q")
    assert found.columns == ["query", "kind", "ts", "probability", "method", "error_bound"]
    assert {row["kind"]: row["probability"] for row in listed(found)} == pytest.approx(
        {"truck": 0.752, "car": 0.47}, abs=1e-12
    )


# An equality, an inequality, both, three streams, groups, sliding windows.
@pytest.mark.parametrize("seed", [8, 20, 27])
def test_joins_are_the_same_in_spark_sql(spark: SparkSession, seed: int) -> None:
    case = random_join(seed)
    here = case.asked()
    assert "marginalise" not in here.explain("q")
    there = Session(spark)
    there.sql(case.script)
    case.bound(there)
    found = answers(listed(there.table("q")), case.query)
    wanted = answers(here.table("q").to_pylist(), case.query)
    assert set(found) == set(wanted)
    assert far(found, wanted, 1e-9) == {}


NAMED = """
CREATE STREAM o (window LONG, v DOUBLE, t LONG, p DOUBLE) TIME t PROBABILITY p;
CREATE STREAM x (window LONG, v DOUBLE, t LONG, p DOUBLE) TIME t PROBABILITY p;
CREATE QUERY q ON o, x PATTERN AND(o, x) WHERE o.window = x.window AND o.v > x.v WITHIN 10
RETURN PROBABILITY;
"""


def test_a_column_named_window_and_values_that_are_no_number_are_the_same(
    spark: SparkSession,
) -> None:
    sessions = Session(engine="local"), Session(spark)
    for ag in sessions:
        ag.sql(NAMED)
        ag.bind("o", [{"window": 7, "v": v, "t": 11, "p": 0.5} for v in (float("nan"), 0.0)])
        ag.bind("x", [{"window": w, "v": 1.0, "t": 12, "p": 0.5} for w in (7, 8)])
    here, there = sessions[0].table("q").to_pylist(), listed(sessions[1].table("q"))
    assert [(row["ts"], row["probability"]) for row in here] == [(10, 0.25)]
    assert [(row["ts"], row["probability"]) for row in there] == [(10, 0.25)]


MOMENTS = """
CREATE STREAM o (id LONG, x STRING, at TIMESTAMP, p DOUBLE) ID id TIME at PROBABILITY p;
CREATE STREAM x (id LONG, x STRING, at TIMESTAMP, p DOUBLE) ID id TIME at PROBABILITY p;
CREATE TABLE known (x STRING);
CREATE QUERY q ON o, x PATTERN AND(o, x)
WHERE [x] AND o.x IN known AND x.at - o.at <= INTERVAL 10 MINUTES
WITHIN 1 HOUR EVERY 30 MINUTES HAVING PROBABILITY >= 0.2 RETURN PROBABILITY;
"""


def test_times_tables_bad_rows_and_repeated_ids_are_the_same(spark: SparkSession) -> None:
    from datetime import UTC, datetime

    def at(minute: int) -> datetime:
        return datetime(2024, 1, 1, minute // 60, minute % 60, tzinfo=UTC)

    told = {
        "o": [(1, "a", at(5), 0.5), (1, "a", at(6), 0.9), (2, "b", at(7), 1.0), (3, "a", at(9), 2)],
        "x": [(1, "a", at(14), 0.5), (2, "a", at(70), 0.9), (3, None, at(8), 0.9)],
    }
    sessions = Session(engine="local"), Session(spark)
    for ag in sessions:
        ag.sql(MOMENTS)
        ag.bind("known", [{"x": "a"}])
        for name, own in told.items():
            columns = ("id", "x", "at", "p")
            ag.bind(name, [dict(zip(columns, row, strict=True)) for row in own])
    here, there = sessions[0].table("q").to_pylist(), listed(sessions[1].table("q"))
    assert [row["probability"] for row in here] == [0.25, 0.25]
    assert {r["ts"].timestamp(): r["probability"] for r in here} == {
        r["ts"].replace(tzinfo=UTC).timestamp(): r["probability"] for r in there
    }


def test_whether_anything_ever_matches_is_refused_of_a_stream_without_end(
    spark: SparkSession,
) -> None:
    endless = spark.readStream.format("rate").load()
    data = endless.selectExpr("value AS id", "'a' AS x", "timestamp AS at", "1.0D AS p")
    ag = Session(spark)
    ag.sql(MOMENTS.replace("AND o.x IN known", "").replace("WITHIN 1 HOUR EVERY 30 MINUTES", ""))
    ag.bind("o", data)
    ag.bind("x", data)
    with pytest.raises(QueryError, match="ask for it over bounded rows"):
        ag.table("q")


HIERARCHY = f"""
CREATE STREAM s ({COLUMNS}) ID id TIME t TYPE kind PROBABILITY p;
CREATE QUERY p ON s PATTERN SEQ(A a, B b) WITHIN 9;
CREATE QUERY negated ON s, p PATTERN SEQ(X x, !p n, Y y) WITHIN 9;
CREATE QUERY skipped ON s, p PATTERN SEQ(X x, p n) USING SKIP TILL NEXT MATCH WITHIN 9;
CREATE QUERY above ON p, skipped PATTERN AND(p x, skipped y) WITHIN 20;
CREATE QUERY abd ON s PATTERN SEQ(A a, B b, D d) WHERE [tag] AND a.tag = 'stream' WITHIN 99;
CREATE QUERY next ON s PATTERN SEQ(A a, B b, D d) WHERE [tag] AND a.tag = 'stream'
USING SKIP TILL NEXT MATCH WITHIN 99;
CREATE QUERY guarded ON s PATTERN SEQ(A a, !C c, D d) WHERE [tag] AND a.tag = 'stream' WITHIN 99;
CREATE QUERY greedy ON s PATTERN SEQ(A a, B+ b, C c) WHERE [tag] AND a.tag = 'greedy'
USING SKIP TILL NEXT MATCH WITHIN 99;
"""
NAMES = ("p", "negated", "skipped", "above", "accident", "abd", "next", "guarded", "greedy")


def test_a_correlation_is_learned_from_a_frame(spark: SparkSession) -> None:
    ag = Session(spark, shards=2)
    ag.sql(SCRIPT + ";")
    ag.bind("past", spark.createDataFrame(test_correlations.rows(PAST)))
    ag.bind("s", test_correlations.rows(NOW))
    assert [row["confidence"] for row in listed(ag.table("q"))] == [pytest.approx(0.25)]


def example_rows() -> list[dict[str, Any]]:
    """Return the streams of several examples as one, each under a tag and a time of its own."""
    examples = {
        "derived": "x1 a2 .5 b3 .5 b4 .5 y5",
        "stream": DPCEP,
        "greedy": "a1 b2 .5 b3 .5 c4",
        "vehicle": "l1 o2 .9 l3 l5",
    }
    found: list[dict[str, Any]] = []
    for number, (tag, text) in enumerate(examples.items()):
        own = rows(text, tag=[tag] * len(rows(text)), tie=[0] * len(rows(text)))
        for row, place in zip(own, (1, 1, 2, 4, *(0 for _ in own)), strict=False):
            row |= {"id": f"{tag} {row['id']}", "t": row["t"] + 1000 * number, "v": place}
        found += own
    return found


def test_examples_and_three_levels_of_queries_are_one_plan(spark: SparkSession) -> None:
    sessions = Session(engine="local"), Session(spark)
    data, names = example_rows(), NAMES
    for ag in sessions:
        ag.sql(HIERARCHY + ACCIDENT.replace("QUERY q", "QUERY accident"))
        ag.bind("s", data)
    found = opened(sessions[1].pipeline(names).answers)
    wanted = [row for n in names for row in sessions[0].table(n).to_pylist()]
    assert {row["query"] for row in wanted} == set(names)
    assert comparable(found) == comparable(wanted)
    by_query = {name: [r["confidence"] for r in found if r["query"] == name] for name in names}
    assert sorted(by_query["greedy"]) == pytest.approx([0.25, 0.25, 0.25], abs=1e-12)
    assert by_query["negated"] == pytest.approx([0.625], abs=1e-12)
    assert sorted(by_query["skipped"]) == pytest.approx([0.125, 0.25], abs=1e-12)
    assert [len(by_query[name]) for name in ("abd", "next", "guarded")] == [20, 20, 12]
    assert by_query["accident"] == pytest.approx([0.9], abs=1e-12)
