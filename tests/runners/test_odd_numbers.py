"""Numbers are ordered as Spark SQL orders them, wherever a condition is evaluated.

NaN equals NaN and is larger than any other number, minus zero is zero, and a LONG meets a DOUBLE as
a DOUBLE.
"""

from __future__ import annotations

from math import inf, isnan, nan
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from augury import Session
from runners.every_runner import Row, Runner, bounded_runner, every_runner

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAM = "CREATE STREAM s (id LONG, kind STRING, t LONG, n LONG, x DOUBLE) ID id TIME t TYPE kind;"
END = {"s": {"id": 99, "kind": "Z", "t": 1000, "n": 7, "x": 7.0}}
GREAT = 2**53


def rows(*given: tuple[str, int, float]) -> dict[str, list[Row]]:
    """Return events of these types and numbers, one after the other; their times are their ids."""
    return {
        "s": [
            {"id": k, "kind": kind, "t": k, "n": n, "x": x}
            for k, (kind, n, x) in enumerate(given, 1)
        ]
    }


def pairs(found: list[Row]) -> set[tuple[int, ...]]:
    return {tuple(int(event["event_id"]) for event in row["events"]) for row in found}


@every_runner
def test_an_event_that_is_not_a_number_passes_what_asks_for_more(runner: Runner) -> None:
    # Statistics of files leave NaN out: by those, nothing here is above 1, or other than 1.
    script = f"""{STREAM}
        CREATE QUERY q ON s
        PATTERN SEQ(A a (a.x > 5), B b (b.x <> 1), C c (NOT c.x <= 1), D d (d.x >= 5.5))
        WITHIN 9;"""
    given = rows(("A", 1, nan), ("A", 1, 1.0), ("B", 1, nan), ("C", 1, nan), ("D", 1, nan))
    assert pairs(runner(script, "q", given, END)) == {(1, 3, 4, 5)}


@pytest.mark.spark
@pytest.mark.parametrize("scan", ["workers", "spark"])
def test_files_whose_statistics_leave_nan_out_are_read(
    spark: SparkSession, tmp_path: Path, scan: str
) -> None:
    given = rows(("A", 1, nan), ("B", 1, nan), ("A", 1, 1.0))["s"]
    pq.write_table(pa.Table.from_pylist(given), tmp_path / "rows.parquet")
    ag = Session(spark, shards=1)
    ag.sql(f"""{STREAM}
        CREATE QUERY q ON s PATTERN SEQ(A a (a.x > 5), B b (NOT b.x <= 1.5)) WITHIN 9;""")
    spark.conf.set("spark.augury.scan", scan)
    try:
        ag.bind("s", spark.read.parquet(str(tmp_path)))
        found = [row.asDict(recursive=True) for row in ag.table("q").collect()]
    finally:
        spark.conf.unset("spark.augury.scan")
    assert pairs(found) == {(1, 2)}


@every_runner
@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("a.x = b.x", {(1, 5), (2, 6)}),
        ("a.x <= b.x", {(1, 5), (2, 5), (2, 6), (3, 5), (2, 7), (3, 7)}),
        ("a.x = CAST(' nan ' AS DOUBLE) AND b.x IN (1, CAST('-Inf' AS DOUBLE) * -1)", {(1, 7)}),
        (
            "a.x BETWEEN 0 AND 9 AND b.x BETWEEN 0 AND CAST('NaN' AS DOUBLE)",
            {(2, 5), (2, 6), (2, 7), (3, 5), (3, 6), (3, 7)},
        ),
    ],
)
def test_nan_is_the_greatest_number(runner: Runner, condition: str, expected: object) -> None:
    script = f"{STREAM} CREATE QUERY q ON s PATTERN SEQ(A a, B b) WHERE {condition} WITHIN 9;"
    a, b = (nan, -0.0, 2.0), (nan, 0.0, inf)
    given = rows(*(("A", 1, x) for x in a), ("Z", 1, 0.0), *(("B", 1, x) for x in b))
    assert pairs(runner(script, "q", given, END)) == expected


@every_runner
def test_keys_that_are_not_numbers_are_equal(runner: Runner) -> None:
    script = f"{STREAM} CREATE QUERY q ON s PATTERN SEQ(A a, B b) WHERE [x, n] WITHIN 9;"
    given = rows(("A", 1, nan), ("A", 1, 0.0), ("A", 2, nan), ("B", 1, nan), ("B", 1, -0.0))
    assert pairs(runner(script, "q", given, END)) == {(1, 4), (2, 5)}


@every_runner
def test_the_greatest_of_several_is_nan(runner: Runner) -> None:
    script = f"""{STREAM}
        CREATE QUERY q ON s PATTERN SEQ(A a, B+ b, C c) USING SKIP TILL NEXT MATCH WITHIN 9
        RETURN MIN(b.x) AS least, MAX(b.x) AS most;"""
    given = rows(("A", 1, 0.0), ("B", 1, nan), ("B", 1, 2.0), ("B", 1, 3.0), ("C", 1, 0.0))
    (found,) = runner(script, "q", given, END)
    assert found["least"] == 2.0
    assert isnan(found["most"])


@every_runner
def test_a_whole_number_meets_a_fraction_as_a_fraction(runner: Runner) -> None:
    script = f"""{STREAM}
        CREATE QUERY q ON s PATTERN SEQ(A a, B b) WHERE a.n = b.x AND b.x >= a.n WITHIN 9;"""
    given = rows(("A", GREAT + 1, 0.0), ("A", GREAT + 2, 0.0), ("B", 0, float(GREAT)))
    assert pairs(runner(script, "q", given, END)) == {(1, 3)}


@bounded_runner
@pytest.mark.parametrize("kind", ["", "BY TIME"])
def test_it_does_in_a_chain(runner: Runner, kind: str) -> None:
    script = f"""{STREAM}
        CREATE QUERY q ON s PATTERN SEQ(A a, B b) WHERE a.n = b.x WITHIN 9
        RETURN PROBABILITY {kind};"""
    given = rows(("A", GREAT + 1, 0.0), ("B", 0, float(GREAT)))
    found = runner(script, "q", given, END)
    assert max(row["probability"] for row in found) == 1.0


def test_a_fraction_is_not_in_a_table_of_whole_numbers() -> None:
    script = f"""{STREAM} CREATE TABLE wholes (n LONG);
        CREATE QUERY q ON s PATTERN SEQ(A a (a.x IN wholes), B b) WHERE b.x IN wholes WITHIN 9;"""
    given = rows(("A", 0, 2.5), ("A", 0, 2.0), ("B", 0, 2.5), ("B", 0, 2.0))["s"]
    bound, pushing = Session(engine="local"), Session(engine="local")
    for session in (bound, pushing):
        session.sql(script)
        session.bind("wholes", [{"n": 2}])
    bound.bind("s", given)
    assert pairs(bound.table("q").to_pylist()) == {(2, 4)}
    assert pairs(pushing.push("s", given) + pushing.finish()) == {(2, 4)}


@bounded_runner
def test_events_that_are_not_numbers_are_one_group(runner: Runner) -> None:
    script = """
        CREATE STREAM s (id LONG, t LONG, x DOUBLE, p DOUBLE) ID id TIME t PROBABILITY p;
        CREATE QUERY q ON s PATTERN s a (a.t < 9) GROUP BY a.x RETURN PROBABILITY;"""
    given = [{"id": k, "t": k, "x": x, "p": 0.5} for k, x in enumerate((nan, 0.0, nan, -0.0), 1)]
    found = runner(script, "q", {"s": given}, {"s": {"id": 9, "t": 99, "x": 1.0, "p": 0.5}})
    told = sorted((repr(abs(row["x"])), row["probability"]) for row in found)
    assert told == [("0.0", 0.75), ("nan", 0.75)]
