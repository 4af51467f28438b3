"""Time that passes without events: `advance`, IDLE AFTER, and partial matches without time."""

from __future__ import annotations

import os
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from augury import AuguryError, DataError, QueryError, Session
from augury.planning.evaluated import refuse_idle
from augury.planning.refusal import PlanError
from matching.as_text import Case, engine_answers, session_of
from matching.random_cases import random_case
from oracles.model import Not, Seq
from oracles.worlds import network

DOORS = """
CREATE STREAM doors (id LONG, kind STRING, tag STRING, t LONG)
ID id KEY tag TIME t TYPE kind LATENESS 2;
CREATE STREAM alarms (id LONG, tag STRING, t LONG) ID id KEY tag TIME t IDLE AFTER 30 SECONDS;
CREATE QUERY stays ON doors PATTERN SEQ(IN a, !OUT b) WHERE [tag] WITHIN 10;
CREATE QUERY both ON doors, alarms PATTERN SEQ(doors a, alarms b) WHERE [tag] WITHIN 10;
CREATE QUERY enters ON doors PATTERN SEQ(IN a, OUT b) WHERE [tag] WITHIN 10;
"""


def session() -> Session:
    ag = Session(engine="local")
    ag.sql(DOORS)
    return ag


def door(t: int, kind: str = "IN") -> dict[str, Any]:
    return {"id": t, "kind": kind, "tag": "x", "t": t}


def names(found: list[dict[str, Any]]) -> list[str]:
    return [row["query"] for row in found]


def test_a_match_is_told_when_time_has_passed_and_not_before() -> None:
    ag = session()
    assert ag.push("doors", door(1)) == []
    # The window ends at 11, and a row of 11 may come until 13.
    assert ag.advance(13) == []
    assert names(ag.advance(14)) == ["stays"]
    assert ag.advance(14) == ag.advance(3) == []


def test_rows_before_the_time_that_has_passed_are_late() -> None:
    ag = session()
    ag.advance(20, stream="doors")
    with pytest.warns(UserWarning, match="before the watermark 18"):
        ag.push("doors", door(17))
    assert ag.push("doors", door(18)) == []
    assert ag.late("doors").num_rows == 1
    assert ag.late("alarms").num_rows == 0


def test_a_moment_is_of_the_kind_of_the_streams_time() -> None:
    with pytest.raises(DataError, match="no moment of stream"):
        session().advance("noon")


def test_time_goes_on_from_a_checkpoint() -> None:
    ag = session()
    ag.push("doors", door(1))
    ag.advance(13)
    again = session()
    again.restore(ag.checkpoint())
    assert names(again.advance(14)) == ["stays"]


def test_a_silent_stream_holds_others_back_no_longer_than_it_may() -> None:
    ag = session()
    now = [0.0]
    ag._pushed.runner().silence.clock = lambda: now[0]
    ag._pushed.runner().silence.heard["alarms"] = 0.0
    ag.push("doors", door(1))
    ag.push("alarms", {"id": 1, "tag": "x", "t": 2})
    # A match of both is known once no row before its end can come on either.
    assert "both" not in names(ag.push("doors", door(9)))
    now[0] = 29.0
    assert "both" not in names(ag.push("doors", door(10)))
    now[0] = 30.0
    assert "both" in names(ag.push("doors", door(11)))
    # What comes too late for what was told is put aside.
    with pytest.warns(UserWarning, match="before the watermark 9"):
        ag.push("alarms", {"id": 2, "tag": "x", "t": 8})
    # It is heard again, and waited for.
    now[0] = 31.0
    ag.push("alarms", {"id": 3, "tag": "x", "t": 12})
    assert "both" not in names(ag.push("doors", door(30)))
    now[0] = 61.0
    assert "both" in names(ag.advance())


def test_idle_needs_a_while() -> None:
    with pytest.raises(QueryError, match="A023"):
        Session(engine="local").sql("CREATE STREAM s (t LONG) TIME t IDLE AFTER 0 SECONDS;")


def test_a_streaming_run_says_that_it_waits_for_silent_streams() -> None:
    streams = session()._declared.catalog.streams
    refuse_idle([streams["alarms"]])
    with pytest.raises(PlanError, match="alarms is IDLE AFTER a while, beside other streams"):
        refuse_idle([streams["doors"], streams["alarms"]])


# --- partial matches ---


def test_pushed_partial_matches_are_kept_apart() -> None:
    ag = session()
    assert ag.expired("enters") == []
    told = ag.push("doors", [door(1), door(5, "OUT"), door(6)]) + ag.advance(100)
    assert [row["start_ts"] for row in told if row["query"] == "enters"] == [1]
    (lost,) = ag.expired("enters")
    assert (lost["query"], lost["waiting_for"], lost["start_ts"]) == ("enters", "b", 6)


LOST = """
CREATE QUERY longer ON doors PATTERN SEQ(IN a, OUT b, IN c) WHERE [tag] WITHIN 10;
CREATE QUERY twice ON enters_without_b
PATTERN SEQ(enters_without_b x, enters_without_b y) WITHIN 50;
WRITE longer_without_b TO parquet 'lost/';
"""


def test_partial_matches_are_named_like_queries() -> None:
    rows = [door(1), door(5, "OUT"), door(6), door(30), door(31, "OUT")]
    ag = session()
    ag.sql(LOST)
    ag.bind("doors", rows)
    assert ag.table("longer_without_b").column("start_ts").to_pylist() == [6]
    assert ag.table("twice").num_rows == 0
    lost = ag.expired("longer").sort_by("start_ts").select(["start_ts", "waiting_for"]).to_pylist()
    assert [tuple(row.values()) for row in lost] == [(6, "b"), (30, "c")]
    pushed = session()
    pushed.sql(LOST)
    told = pushed.push("doors", rows) + pushed.advance(100)
    assert [m["start_ts"] for m in told if m["query"] == "longer_without_b"] == [6]


@pytest.mark.spark
@pytest.mark.rotating(3)
def test_a_streaming_run_has_partial_matches_as_one_stream(spark: Any, tmp_path: Path) -> None:
    ag = Session(spark, shards=2)
    ag.sql(
        DOORS + "CREATE QUERY longer ON doors PATTERN SEQ(IN a, OUT b, IN c) WHERE [tag] WITHIN 10;"
    )
    rows = pa.Table.from_pylist([door(1), door(5, "OUT"), door(6), door(30), door(31, "OUT")])
    end = pa.Table.from_pylist([door(1000, "END")])
    for k, part in enumerate((rows, end)):
        pq.write_table(part, tmp_path / f"{k}.parquet")
        os.utime(tmp_path / f"{k}.parquet", (1_000_000_000 + k, 1_000_000_000 + k))
    reader = spark.readStream.schema(spark.createDataFrame(rows).schema)
    ag.bind("doors", reader.option("maxFilesPerTrigger", 1).parquet(str(tmp_path)))
    found: list[Any] = []
    writer = ag.expired("longer").writeStream.trigger(availableNow=True)
    writer = writer.foreachBatch(lambda batch, _: found.extend(batch.toArrow().to_pylist()))
    writer.option("checkpointLocation", str(tmp_path / "state")).start().awaitTermination()
    told = sorted((row["query"], row["start_ts"], row["waiting_for"]) for row in found)
    assert told == [("longer", 6, "b"), ("longer", 30, "c")]


QUICK = settings(phases=(Phase.explicit, Phase.generate))


def in_a_world(case: Case, world: list[Any]) -> dict[Any, float]:
    """Return the partial matches of a sequence that run out of time, by brute force.

    The first components, taken as the query takes them, after which no event fits the next.
    """
    query = case.queries[-1]
    found: dict[Any, float] = {}
    for k in range(1, len(query.pattern.parts)):
        part = replace(query, pattern=Seq((*query.pattern.parts[:k], Not(query.pattern.parts[k]))))
        found |= network([part], world)[query.name]
    return found


@pytest.mark.parametrize("strategy", ["any", "next"])
@QUICK
@given(seed=st.integers(0, 10**9))
def test_what_waited_is_what_nothing_followed(strategy: str, seed: int) -> None:
    case = random_case("seq", strategy, seed)
    query = replace(case.queries[-1], within=("time", random.Random(seed).randint(2, 9)))
    case = replace(case, queries=(replace(query, where=(), threshold=None),))
    whole = engine_answers(case)[query.name]
    lost = session_of(case).expired(query.name).to_pylist()
    expected = in_a_world(case, list(case.events))
    assert len(lost) == len(expected)
    assert sorted(row["confidence"] for row in lost) == pytest.approx(sorted(expected.values()))
    # Nothing is both.
    full = {frozenset(key) for key in whole}
    assert not full & set(expected)


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("PATTERN SEQ(IN a, OUT b)", "no window of time"),
        ("PATTERN SEQ(IN a, OUT b) USING STRICT WITHIN 5", "neighbours"),
        ("PATTERN SEQ(IN a, OUT+ b) WITHIN 5", "more than a SEQ"),
        ("PATTERN SEQ(IN a, OUT b) AFTER MATCH SKIP PAST LAST EVENT WITHIN 5", "AFTER MATCH"),
    ],
)
def test_what_does_not_run_out_of_time_says_why(query: str, why: str) -> None:
    ag = session()
    ag.sql(f"CREATE QUERY q ON doors {query};")
    with pytest.raises(AuguryError, match=why):
        ag.expired("q")
