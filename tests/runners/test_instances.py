"""The reads of a history become the same instances however its rows are cut into batches."""

from __future__ import annotations

from functools import cache
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury import DataError, Session
from augury.evaluation.learning.instances import Lesson, lesson_of
from augury.evaluation.learning.learned_gaps import learned
from augury.planning.match_plan import plan_match

QUERY = "CREATE QUERY q ON h PATTERN SEQ(A a, B b, C c) WHERE [tag] AND b.v > 0 WITHIN 10;"
STREAM = (
    "CREATE STREAM h (tag STRING, kind STRING, t LONG, v LONG, p DOUBLE) "
    "KEY tag TIME t TYPE kind PROBABILITY p;"
)
SCHEMA = pa.schema([("tag", pa.string()), ("t", pa.int64()), ("kind", pa.string()),
                    ("p", pa.float64()), ("v", pa.int64())])  # fmt: skip


@cache
def lesson() -> Lesson:
    ag = Session(engine="local")
    ag.sql(STREAM + QUERY)
    plan = plan_match(ag._declared.queries["q"][0], ag._declared.catalog)
    return lesson_of(plan, ag._declared.catalog.streams["h"], ((0, 1, 2),), {})


def instances(rows: list[dict[str, Any]], size: int) -> list[tuple[float | None, ...]]:
    """Return the times of each instance since its first read, None for what was not read."""
    table = pa.Table.from_pylist([{"p": 1.0, "v": 1} | row for row in rows], SCHEMA)
    batches = [b for k in range(0, len(rows), size) for b in table.slice(k, size).to_batches()]
    found = pa.Table.from_batches(lesson()(batches)).select(["t0", "t1", "t2"]).to_pylist()
    return [tuple(None if v != v else v for v in row.values()) for row in found]  # noqa: PLR0124


def read(tag: str, kind: str, t: int, **more: Any) -> dict[str, Any]:
    return {"tag": tag, "kind": kind, "t": t, **more}


@pytest.mark.parametrize("size", [1, 2, 100])
def test_a_read_that_does_not_go_on_begins_the_next_instance(size: int) -> None:
    rows = [read("x", "A", 1), read("x", "C", 3), read("x", "B", 5), read("x", "B", 6)]
    rows += [read("y", "C", 7)]
    assert instances(rows, size) == [
        (0, None, 2),
        (None, 0, None),
        (None, 0, None),
        (None, None, 0),
    ]


def test_what_is_outside_the_window_begins_the_next_instance() -> None:
    assert instances([read("x", "A", 1), read("x", "B", 12)], 9) == [
        (0, None, None),
        (None, 0, None),
    ]


def test_rows_that_fail_a_condition_or_probably_did_not_happen_are_no_reads() -> None:
    rows = [read("x", "A", 1), read("x", "B", 2, v=0), read("x", "B", 3), read("x", "C", 4, p=0.4)]
    assert instances(rows, 9) == [(0, 2, None)]


def test_rows_of_no_object_are_no_reads() -> None:
    assert instances([read(None, "A", 1), read("x", "A", 2)], 9) == [(0, None, None)]  # type: ignore[arg-type]


@given(
    reads=st.lists(st.tuples(st.sampled_from("xy"), st.integers(0, 30), st.sampled_from("ABCD"))),
    size=st.integers(1, 5),
)
def test_instances_are_runs_in_order(reads: list[tuple[str, int, str]], size: int) -> None:
    rows = [read(tag, kind, t) for tag, t, kind in sorted(reads)]
    found = instances(rows, size)
    assert found == instances(rows, 1000)
    assert sum(t is not None for each in found for t in each) == sum(k != "D" for _, _, k in reads)
    for each in found:
        known = [t for t in each if t is not None]
        assert known == sorted(set(known))
        assert known[-1] - known[0] <= 10


def test_more_instances_than_the_limit_are_sampled_alike_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ag = Session(engine="local")
    ag.sql(
        "CREATE STREAM s (tag LONG, kind STRING, t LONG) KEY tag TIME t TYPE kind MISS RATE 0.1;"
        "CREATE STREAM h (tag LONG, kind STRING, t LONG) KEY tag TIME t TYPE kind;"
        "CREATE QUERY q ON s PATTERN SEQ(A a, B b) WHERE [tag] WITHIN 100 ALLOW 1 MISSED OF (b);"
        "CREATE GAPS g ON q LEARN FROM h;"
    )
    rows = [{"tag": k, "kind": kind, "t": t} for k in range(40) for kind, t in (("A", 0), ("B", k))]
    query = ag._declared.queries["q"][0]
    monkeypatch.setenv("AUGURY_HISTORY_LIMIT", "10")
    one, other = (
        learned(query, ag._declared.catalog, {"h": pa.Table.from_pylist(own)})
        for own in (rows, rows[::-1])
    )
    monkeypatch.setenv("AUGURY_HISTORY_LIMIT", "1000")
    whole = learned(query, ag._declared.catalog, {"h": pa.Table.from_pylist(rows)})
    assert one.gaps == other.gaps
    assert one.gaps != whole.gaps


@pytest.mark.parametrize(
    ("stream", "told"),
    [
        ("CREATE STREAM h (t LONG, kind STRING) TIME t TYPE kind;", "no column tag, v"),
        ("CREATE STREAM h (tag STRING, t LONG, v LONG) KEY tag TIME t;", "has no TYPE"),
        (
            "CREATE STREAM h (tag STRING, kind STRING, t TIMESTAMP, v LONG) "
            "KEY tag TIME t TYPE kind;",
            r"TIME is a TIMESTAMP, but that of the query's streams is ticks \(LONG\)",
        ),
        (
            "CREATE STREAM h (tag LONG, kind STRING, t LONG, v STRING) KEY tag TIME t TYPE kind;",
            r"tag is a LONG \(the query reads a STRING\), v is a STRING \(the query reads a LONG",
        ),
    ],
)
def test_a_history_that_lacks_what_the_query_reads_or_has_it_otherwise_is_refused(
    stream: str, told: str
) -> None:
    ag = Session(engine="local")
    ag.sql(STREAM.replace("STREAM h", "STREAM s") + stream + QUERY.replace("ON h", "ON s"))
    plan = plan_match(ag._declared.queries["q"][0], ag._declared.catalog)
    with pytest.raises(DataError, match=told):
        lesson_of(plan, ag._declared.catalog.streams["h"], ((0, 1, 2),), {})
