"""Matches that are told again: from a stage that revises, through answers, into every sink."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury import Session
from augury.errors import Source
from augury.evaluation.answers.revisions import floor_of, last_revisions, latest
from augury.language.parser import parse
from augury.language.tree import Having
from augury.operator import Operator
from augury.records import Events, Matches
from augury.runners.live.answers import Answers
from augury.sinks.console import ConsoleSink
from docs.markdown import read
from sinks.revising import Revising, RevisingState, logs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Row = tuple[str, int, float]
BATCHES = (3, 2, 1)


def told(table: pa.Table) -> list[Row]:
    """Return (last event, revision, confidence) of each row."""
    return [
        (row["events"][-1]["event_id"], row["revision"], row["confidence"])
        for row in table.to_pylist()
    ]


# The log, and what it comes to --------------------------------------------------------------------


def test_a_stage_that_revises_is_an_operator() -> None:
    stage: type[Operator[Events, RevisingState, Matches]] = Revising
    assert stage.revises


def test_answers_carry_the_revisions_of_their_matches() -> None:
    assert [told(table) for table in logs(BATCHES)] == [
        [("1", 0, 0.9), ("1", 1, 0.5)],
        [("1", 2, 0.7), ("3", 0, 0.9), ("1", 3, 0.0), ("3", 1, 0.5)],
        [("3", 2, 0.7)],
    ]


def test_a_match_keeps_its_id_when_it_is_revised() -> None:
    log = pa.concat_tables(logs(BATCHES))
    by_id = log.group_by("match_id").aggregate([("revision", "max")])
    assert sorted(by_id.column("revision_max").to_pylist()) == [2, 3]


def test_pushed_answers_carry_the_revisions_of_their_matches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = Answers.dicts
    monkeypatch.setattr(
        Answers, "dicts", lambda self, found: plain(self, replace(found, revision=found.row[::2]))
    )
    ag = Session(engine="local")
    ag.sql("CREATE STREAM s (kind STRING, t LONG) TIME t TYPE kind;")
    ag.sql("CREATE QUERY q ON s PATTERN SEQ(A a, B b) USING SKIP TILL NEXT MATCH WITHIN 2;")
    rows = [{"kind": kind, "t": t} for t, kind in enumerate("ABAB")]
    found = [match for row in rows for match in ag.push("s", row)] + ag.finish()
    assert [match["revision"] for match in found] == [0, 2]


def test_where_batches_end_does_not_change_the_log() -> None:
    whole = pa.concat_tables(logs((6,)))
    assert pa.concat_tables(logs((1,) * 6)) == whole == pa.concat_tables(logs(BATCHES))


def test_what_holds_is_the_last_revision_of_each_match_that_was_not_taken_back() -> None:
    log = pa.concat_tables(logs(BATCHES))
    assert told(last_revisions(log)) == [("1", 3, 0.0), ("3", 2, 0.7)]
    assert told(latest(log)) == [("3", 2, 0.7)]
    assert told(latest(log.slice(0, 0))) == []


def test_a_confidence_that_having_does_not_show_takes_a_match_back() -> None:
    log = pa.concat_tables(logs(BATCHES)[:1])
    assert told(latest(log, floor_of(Having("CONFIDENCE", 0.5)))) == [("1", 1, 0.5)]
    assert told(latest(log, floor_of(Having("CONFIDENCE", 0.5, strict=True)))) == []
    assert told(latest(log, floor_of(Having("PROBABILITY", 0.8)))) == [("1", 1, 0.5)]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("threshold", [0.0, 0.5, 1.0])
def test_the_floor_of_a_query_is_the_greatest_confidence_it_does_not_show(
    threshold: float, strict: bool
) -> None:
    floor = floor_of(Having("CONFIDENCE", threshold, strict))
    for confidence in (0.0, 0.5 - 2e-9, 0.5 - 5e-10, 0.5, 0.5 + 5e-10, 0.5 + 2e-9, 1.0):
        above = confidence > threshold + 1e-9
        shown = above if strict else confidence > 0 and confidence >= threshold - 1e-9
        assert (confidence > floor) == shown


entries = st.tuples(st.sampled_from("abc"), st.integers(0, 5), st.sampled_from([0.0, 0.4, 1.0]))
random_logs = st.lists(entries, unique_by=lambda entry: entry[:2])


def as_log(entries: list[Row]) -> pa.Table:
    columns = list(zip(*entries, strict=True)) or [(), (), ()]
    types = {"match_id": pa.string(), "revision": pa.int64(), "confidence": pa.float64()}
    return pa.table(
        {
            name: pa.array(column, kind)
            for (name, kind), column in zip(types.items(), columns, strict=True)
        }
    )


def as_rows(log: pa.Table) -> set[Row]:
    return {(row["match_id"], row["revision"], row["confidence"]) for row in log.to_pylist()}


def expected(entries: list[Row]) -> set[Row]:
    """Return what a dict comes to that takes the log in its order."""
    held = {entry[0]: entry for entry in sorted(entries, key=lambda entry: entry[1])}
    return {entry for entry in held.values() if entry[2] > 0}


@given(random_logs)
def test_a_log_may_come_in_any_order(entries: list[Row]) -> None:
    assert as_rows(latest(as_log(entries))) == expected(entries)


@given(random_logs, st.integers(0, 10))
def test_folding_the_log_batch_by_batch_changes_nothing(entries: list[Row], cut: int) -> None:
    parts = [last_revisions(as_log(part)) for part in (entries[:cut], entries[cut:])]
    assert as_rows(latest(pa.concat_tables(parts))) == expected(entries)


@pytest.mark.spark
def test_frames_are_folded_as_tables_are(spark: SparkSession) -> None:
    from augury.sinks.revisions import latest as latest_frame

    rng = np.random.default_rng(1)
    drawn = {(str(rng.integers(20)), int(rng.integers(9))): rng.integers(3) / 2 for _ in range(90)}
    log = as_log([(*place, float(weight)) for place, weight in drawn.items()])
    for floor in (0.0, 0.5):
        found = latest_frame(spark.createDataFrame(log), floor).toArrow()
        assert as_rows(found) == as_rows(latest(log, floor))


# Sinks --------------------------------------------------------------------------------------------


@pytest.mark.spark
def test_the_console_shows_every_revision_with_its_number(spark: SparkSession) -> None:
    lines: list[tuple[int, float]] = []
    sink = ConsoleSink("q", lambda _, row: lines.append((row["revision"], row["confidence"])))
    assert sink.mode == "append"
    for batch, table in enumerate(logs(BATCHES)):
        sink.write(spark.createDataFrame(table).coalesce(1), batch)
    assert lines == [(0, 0.9), (1, 0.5), (2, 0.7), (0, 0.9), (3, 0.0), (1, 0.5), (2, 0.7)]


def chosen(target: str, floors: dict[str, float] | None = None) -> Any:
    """Return the sink of a WRITE statement; nothing is opened."""
    from augury.sinks.choice import Choice

    (write,) = parse(Source("q.sql", f"WRITE Q TO {target};")).statements
    choice = Choice(None, "run", "state", lambda *_: None, floors or {})
    return choice.sink("q", write.target)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("target", "mode"),
    [
        ("console", "append"),
        ("console OPTIONS (revisions = 'log')", "append"),
        ("parquet 'hits/'", "upsert"),
        ("csv 'hits/' OPTIONS (Revisions = 'log', header = false)", "append"),
        ("kafka 'hits' OPTIONS (servers = 'a')", "upsert"),
        ("kafka 'hits' OPTIONS (servers = 'a', revisions = 'latest')", "upsert"),
        ("kafka 'hits' OPTIONS (servers = 'a', revisions = 'log')", "append"),
    ],
)
def test_a_target_upserts_unless_it_cannot_or_asks_for_the_log(target: str, mode: str) -> None:
    assert chosen(target).mode == mode


def test_options_about_revisions_do_not_go_to_spark() -> None:
    folder = chosen("csv 'hits/' OPTIONS (Revisions = 'log', header = false)")
    assert folder.options == {"header": "false"}
    topic = chosen("kafka OPTIONS (topic = 't', servers = 'a', retract = 'tombstone')")
    assert (topic.topic, topic.options) == ("t", {"kafka.bootstrap.servers": "a"})


def test_tombstones_are_for_what_the_query_does_not_show() -> None:
    target = "kafka 'hits' OPTIONS (servers = 'a', retract = '{}')"
    assert chosen(target.format("tombstone"), {"q": 0.5}).revisions.erased_up_to == 0.5
    assert chosen(target.format("tombstone")).revisions.erased_up_to == 0.0
    assert chosen(target.format("message"), {"q": 0.5}).revisions.erased_up_to is None


class Opened:
    """Answers that are rows already."""

    def rows(self, answers: DataFrame, kind: str, name: str) -> DataFrame:
        return answers.drop("kind", "name", "n")


def deliver(spark: SparkSession, sink: Any, tables: list[pa.Table]) -> None:
    from pyspark.sql import functions as f

    from augury.sinks.delivery import Delivery

    place = ("match", "q")
    delivery = Delivery(Opened(), {place: [sink]}, revised={place})
    for batch, table in enumerate(tables):
        answers = spark.createDataFrame(table).repartition(3)
        named = answers.withColumns(
            {"kind": f.lit("match"), "name": f.lit("Q"), "n": f.lit(1).cast("long")}
        )
        delivery.deliver(named, batch)


@pytest.mark.spark
def test_who_appends_gets_every_revision_of_a_batch_in_order(spark: SparkSession) -> None:
    lines: dict[str, list[int]] = {}

    def show(_: str, row: dict[str, Any]) -> None:
        lines.setdefault(row["match_id"], []).append(row["revision"])

    deliver(spark, ConsoleSink("q", show), logs((6,)))
    assert sorted(lines.values()) == [[0, 1, 2], [0, 1, 2, 3]]


def folder_sink(spark: SparkSession, folder: Path, **more: Any) -> Any:
    from augury.sinks.folder import FolderSink, Owner

    return FolderSink(spark, str(folder), "parquet", Owner("run", "q"), **more)


def in_folder(folder: Path) -> list[tuple[int, str, int]]:
    frame = pd.read_parquet(folder)
    last = [events[-1]["event_id"] for events in frame["events"]]
    return sorted(zip(frame["batch"].astype(int), last, frame["revision"], strict=True))


@pytest.mark.spark
def test_a_folder_has_the_last_revision_of_each_batch_and_its_log_has_all(
    spark: SparkSession, tmp_path: Path
) -> None:
    deliver(spark, folder_sink(spark, tmp_path / "hits"), logs(BATCHES))
    kept = [(0, "1", 1), (1, "1", 3), (1, "3", 1), (2, "3", 2)]
    assert in_folder(tmp_path / "hits") == kept
    deliver(spark, folder_sink(spark, tmp_path / "log", mode="append"), logs(BATCHES))
    rest = [(0, "1", 0), (1, "1", 2), (1, "3", 0)]
    assert in_folder(tmp_path / "log") == sorted(kept + rest)


@pytest.mark.spark
def test_the_documented_queries_show_what_holds(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "hits"
    deliver(spark, folder_sink(spark, folder), logs(BATCHES))
    # A run that was killed repeats its last batch.
    folder_sink(spark, folder).write(spark.createDataFrame(logs(BATCHES)[2]), 2)
    (query,) = re.findall(r"^SELECT [^`]*`hits/`.*?;", read("docs/language.md"), re.M | re.S)
    by_spark = spark.sql(query.rstrip(";").replace("hits/", str(folder))).drop("batch").toArrow()
    assert told(by_spark) == [("3", 2, 0.7)]
    (line,) = re.findall(r"^>>> last = (.*)$", read("docs/language.md"), re.M)
    last = eval(line, {"log": pd.read_parquet(folder)})
    assert list(last[last["confidence"] > 0]["match_id"]) == by_spark.column("match_id").to_pylist()
