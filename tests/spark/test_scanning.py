"""Where a DataFrame is nothing but Parquet files, workers read them; elsewhere Spark does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from augury import AuguryError, Session
from augury.runners.spark import file_scans as spark_scanning
from augury.runners.spark import scanning
from augury.runners.spark.scanning import ScanTask
from augury.sources import parquet_frames
from augury.sources.parquet_files import Files
from augury.sources.parquet_frames import SETTING, groups_of
from contracts.live_cases import comparable
from spark.queries import NAMES, events, local, opened, script

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark
COLUMNS = ["id", "tag", "t"]
TURNED = {"t": "v", "v": "t"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = events(60)
    for k in range(3):
        part = tmp_path / f"part {k}.parquet"
        pq.write_table(rows.slice(20 * k, 20), part, row_group_size=7)
    return tmp_path


@pytest.fixture
def by_spark(spark: SparkSession) -> Iterator[None]:
    spark.conf.set(SETTING, "spark")
    yield
    spark.conf.unset(SETTING)


def session(spark: SparkSession, frame: DataFrame | Path) -> Session:
    ag = Session(spark, shards=3)
    ag.sql(script())
    ag.bind("s", frame)
    return ag


def is_scanned(answer: DataFrame) -> bool:
    return "FileScan parquet" not in answer._jdf.queryExecution().toString()


def rows_of(answer: DataFrame) -> dict[str, Any]:
    return comparable(answer.toArrow().to_pylist())


@pytest.mark.parametrize(
    "name", ["plain", "trailing", "contiguous", "unread_middle", "over", "anywhere", "strict"]
)
def test_one_query(spark: SparkSession, folder: Path, name: str) -> None:
    answer = session(spark, spark.read.parquet(str(folder))).table(name)
    assert is_scanned(answer)
    assert rows_of(answer) == comparable([r for r in local(events(60)) if r["query"] == name])


def test_a_path_is_its_files(spark: SparkSession, folder: Path) -> None:
    answer = session(spark, folder).table("plain")
    assert is_scanned(answer)
    assert rows_of(answer) == comparable([r for r in local(events(60)) if r["query"] == "plain"])


def test_more_tasks_than_a_few_share_the_files(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("augury.runners.spark.file_scans.FEW_TASKS", 0)
    answer = session(spark, spark.read.parquet(str(folder))).table("plain")
    assert is_scanned(answer)
    assert "Exchange" in answer._jdf.queryExecution().toString()
    assert rows_of(answer) == comparable([r for r in local(events(60)) if r["query"] == "plain"])


def test_files_in_the_order_of_time_are_cut_by_it(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scanning, "LEAST", 1)
    rows = events(4000).sort_by("t")
    for k in range(4):
        part = tmp_path / f"{k}.parquet"
        pq.write_table(rows.slice(1000 * k, 1000), part, row_group_size=100)
    session_, wanted = session(spark, spark.read.parquet(str(tmp_path))), Session(engine="local")
    wanted.sql(script())
    wanted.bind("s", rows)
    for name in ("plain", "trailing", "contiguous", "anywhere", "nowhere_after", "strict"):
        with patch.object(spark_scanning, "ScanTask", wraps=ScanTask) as task:
            answer = session_.table(name, ["match_id", "confidence"])
        assert len(task.call_args.args[3]) == spark.sparkContext.defaultParallelism > 1
        found = answer.toArrow().sort_by("match_id")
        assert found.equals(wanted.table(name, ["match_id", "confidence"]).sort_by("match_id"))


@pytest.mark.parametrize(
    "options", ["movement = 'events'", "movement = 'results'", "partitions = 2"]
)
def test_what_is_to_be_moved_is_moved(
    spark: SparkSession, folder: Path, options: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scanning, "LEAST", 1)
    monkeypatch.setattr(scanning, "MOST_TWICE", 1000)
    ag = session(spark, spark.read.parquet(str(folder)))
    head = "ON s PATTERN SEQ(A a, C c) WITHIN 4"
    ag.sql(f"CREATE QUERY stays {head}; CREATE QUERY moves {head} OPTIONS ({options});")
    stays, moves = ag.table("stays"), ag.table("moves")
    assert [is_scanned(each) for each in (stays, moves)] == [True, False]
    columns = [name for name in stays.columns if name not in ("query", "match_id")]
    found = [each.select(columns).toArrow().to_pylist() for each in (stays, moves)]
    assert sorted(map(str, found[0])) == sorted(map(str, found[1])) != []


def test_columns_that_are_asked_for_are_all_that_is_sent(spark: SparkSession, folder: Path) -> None:
    ag = session(spark, spark.read.parquet(str(folder)))
    for frame in (None, spark.createDataFrame(events(60))):
        if frame is not None:
            ag.bind("s", frame)
        answer = ag.table("plain", ["confidence", "match_id"])
        assert answer.columns == ["confidence", "match_id"]
        (sent,) = re.findall(
            r"MapInArrow .*", answer._jdf.queryExecution().optimizedPlan().toString()
        )[:1]
        assert "events" not in sent
        wanted = {
            r["match_id"]: r["confidence"] for r in local(events(60)) if r["query"] == "plain"
        }
        assert {row["match_id"]: row["confidence"] for row in answer.collect()} == wanted
    with pytest.raises(AuguryError, match="has no column 'nothing'"):
        ag.table("plain", ["nothing"])


def test_many_queries(spark: SparkSession, folder: Path) -> None:
    answers = session(spark, spark.read.parquet(str(folder))).pipeline(NAMES).answers
    assert comparable(opened(answers)) == comparable(local(events(60)))


def test_who_wants_spark_to_read_says_so(spark: SparkSession, folder: Path, by_spark: None) -> None:
    answer = session(spark, spark.read.parquet(str(folder))).table("plain")
    assert not is_scanned(answer)
    assert rows_of(answer) == comparable([r for r in local(events(60)) if r["query"] == "plain"])


def test_names_and_choices_of_columns_do_no_harm(spark: SparkSession, folder: Path) -> None:
    rows = spark.read.parquet(str(folder))
    rows.createOrReplaceTempView("parquet_rows")
    for frame in (
        rows,
        rows.alias("r"),
        rows.select("t", "tag", "id"),
        spark.table("parquet_rows"),
        spark.read.schema("id long, tag string, t long").parquet(str(folder)),
    ):
        found = groups_of(frame, COLUMNS, "t")
        assert found is not None
        assert sum(group.rows for group in found) == 60
    times = events(60).column("t").to_pylist()
    assert min(group.first for group in found if group.first is not None) == min(times)
    assert max(group.last for group in found if group.last is not None) == max(times)


def test_a_folder_may_be_written_in_any_way(spark: SparkSession, folder: Path) -> None:
    names = [f"{folder}/", f"file:{folder}", f"file://{folder}", f"{folder}/part 1.parquet"]
    for name in names:
        found = groups_of(spark.read.parquet(name), COLUMNS, "t")
        assert found is not None, name
        assert sum(group.rows for group in found) == (20 if "part" in name else 60)


def test_files_of_other_machines_are_read_by_workers(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = spark.read.parquet(str(folder))
    here = groups_of(frame, COLUMNS, "t")
    monkeypatch.setattr(parquet_frames, "is_remote", lambda frame: True)
    there = groups_of(frame, COLUMNS, "t")
    assert here is not None
    assert there is not None
    assert set(here) == set(there)
    answer = session(spark, frame).table("plain")
    assert is_scanned(answer)
    assert rows_of(answer) == comparable([r for r in local(events(60)) if r["query"] == "plain"])
    pq.write_table(events(5), folder / "one more.parquet")
    assert groups_of(frame, COLUMNS, "t") is None


def test_spark_reads_what_arrow_cannot_find(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_frames, "address", lambda uri: f"nowhere:/{uri}")
    assert groups_of(spark.read.parquet(str(folder)), COLUMNS, "t") is None


def test_texts_that_change_their_encoding_are_read_on(spark: SparkSession, tmp_path: Path) -> None:
    texts = pa.table({"t": range(20_000), "tag": [f"tag {k}" for k in range(20_000)]})
    writer = spark.createDataFrame(texts).coalesce(1).write.option("parquet.writer.version", "v2")
    writer.option("parquet.dictionary.page.size", 50_000).mode("overwrite").parquet(str(tmp_path))
    groups = groups_of(spark.read.parquet(str(tmp_path)), ["t", "tag"], "t")
    assert groups is not None
    (path,) = {group.path for group in groups}
    used = set(pq.read_metadata(path).row_group(0).column(1).encodings)
    assert "DELTA_BYTE_ARRAY" in used
    read = [batch for group in groups for batch in Files().batches(group, ["t", "tag"], 300)]
    assert [row for batch in read for row in batch.to_pylist()] == texts.to_pylist()


def test_spark_reads_what_is_more_than_files(spark: SparkSession, folder: Path) -> None:
    rows = spark.read.parquet(str(folder))
    rows.createOrReplaceTempView("parquet_all")
    files = [str(path) for path in folder.iterdir()]
    spark.sql(
        "CREATE OR REPLACE TEMP VIEW turned AS SELECT id, tag, v AS t, t AS v FROM parquet_all"
    )
    frames = {
        "under other names": rows.toDF(*(TURNED.get(name, name) for name in rows.columns)),
        "under other names in a view": spark.table("turned"),
        "twice": spark.read.parquet(str(folder), str(folder)),
        "a file twice": spark.read.parquet(*files, files[0]),
        "some of the files": spark.read.parquet(*files[:2]),
        "found by a pattern": spark.read.parquet(f"{folder}/*.parquet"),
        "merged": spark.read.option("mergeSchema", "true").parquet(str(folder)),
        "sampled": rows.sample(0.5),
        "distinct": rows.distinct(),
        "filtered": rows.where("v > 1"),
        "computed": rows.withColumn("t", rows.t + 1),
        "renamed": rows.withColumnRenamed("v", "w"),
        "joined": rows.union(rows),
        "limited": rows.limit(3),
        "of other types": spark.read.schema("id int, tag string, t long").parquet(str(folder)),
        "without a column": spark.read.schema("id long, tag string, t long, w long").parquet(
            str(folder)
        ),
        "with an option": spark.read.option("modifiedAfter", "2001-01-01T00:00:00").parquet(
            str(folder)
        ),
        "no file": spark.createDataFrame(events(5)),
    }
    wanted = {"without a column": [*COLUMNS, "w"]}
    for name, frame in frames.items():
        assert groups_of(frame, wanted.get(name, COLUMNS), "t") is None, name


def test_spark_reads_what_it_keeps_in_memory(spark: SparkSession, folder: Path) -> None:
    rows = spark.read.parquet(str(folder))
    kept = rows.select("*").cache()
    for frame in (kept, rows, rows.select("t", "tag", "id")):
        assert groups_of(frame, COLUMNS, "t") is None
    kept.unpersist()
    assert groups_of(rows, COLUMNS, "t") is not None


def test_spark_reads_folders_that_are_columns(spark: SparkSession, tmp_path: Path) -> None:
    spark.createDataFrame(events(9)).write.partitionBy("kind").parquet(str(tmp_path / "by kind"))
    frame = spark.read.parquet(str(tmp_path / "by kind"))
    assert groups_of(frame, COLUMNS, "t") is None


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("spark.sql.files.ignoreCorruptFiles", "TRUE"),
        ("spark.sql.parquet.int96TimestampConversion", "true"),
        ("spark.sql.legacy.pathOptionBehavior.enabled", "true"),
        ("spark.sql.parquet.datetimeRebaseModeInRead", "LEGACY"),
        ("spark.sql.parquet.datetimeRebaseModeInRead", "EXCEPTION"),
    ],
)
def test_spark_reads_what_its_settings_change(
    spark: SparkSession, folder: Path, setting: str, value: str
) -> None:
    spark.conf.set(setting, value)
    try:
        assert groups_of(spark.read.parquet(str(folder)), COLUMNS, "t") is None
    finally:
        spark.conf.unset(setting)


@pytest.mark.parametrize(
    ("version", "is_left"), [("2.4.8", True), ("3.0.3", True), ("4.0.0", False)]
)
def test_spark_reads_days_of_its_old_calendar(
    spark: SparkSession, tmp_path: Path, version: str, is_left: bool
) -> None:
    rows = pa.table({"t": pa.array([1], pa.int64()), "day": pa.array([1], pa.date32())})
    told = {"org.apache.spark.version": version}
    pq.write_table(rows.replace_schema_metadata(told), tmp_path / "rows.parquet")
    frame = spark.read.parquet(str(tmp_path))
    assert (groups_of(frame, ["t", "day"], "t") is None) == is_left
    assert groups_of(frame, ["t"], "t") is not None


def test_spark_tells_about_damaged_files(spark: SparkSession, folder: Path) -> None:
    frame = spark.read.parquet(str(folder))
    (folder / "part 1.parquet").write_bytes(b"PAR1 but not much more PAR1")
    assert groups_of(frame, COLUMNS, "t") is None


def test_files_without_statistics_are_moved(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(events(60), tmp_path / "all.parquet", write_statistics=False)
    frame = spark.read.parquet(str(tmp_path))
    found = groups_of(frame, COLUMNS, "t")
    assert found is not None
    assert found[0].first is None
    answer = session(spark, frame).table("plain")
    assert is_scanned(answer)
    assert "Exchange" in answer._jdf.queryExecution().toString()
    assert rows_of(answer) == comparable([r for r in local(events(60)) if r["query"] == "plain"])


def test_rows_that_would_have_to_wait_are_moved(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("augury.runners.spark.file_scans.MOST_HELD", 6)
    answer = session(spark, spark.read.parquet(str(folder))).table("plain")
    assert "Exchange" in answer._jdf.queryExecution().toString()


TIMED = """
CREATE STREAM s (id LONG, tag STRING, kind STRING, at TIMESTAMP, day DATE, ok BOOLEAN, x DOUBLE)
ID id KEY tag TIME at TYPE kind;
CREATE QUERY q ON s PATTERN SEQ(A a, B b) WHERE [tag] AND a.day = b.day AND b.ok WITHIN 10 SECONDS
RETURN a.id AS a, b.id AS b, a.x + b.x AS x;
"""


@pytest.mark.parametrize("unit", ["ms", "us"])
@pytest.mark.parametrize("writer", ["arrow", "spark"])
def test_times_days_and_small_numbers(
    spark: SparkSession, tmp_path: Path, unit: str, writer: str
) -> None:
    start = datetime(2026, 3, 29, 0, 59, 50, tzinfo=UTC)
    n = 400
    kinds = pa.array([("A", "B", "C")[k % 3] for k in range(n)])
    seconds = [int(start.timestamp()) * 1000 + 700 * k for k in range(n)]
    rows = pa.table(
        {
            "id": pa.array(range(n), pa.int32()),
            "tag": pa.array([f"tag {k % 4}" for k in range(n)]),
            "kind": kinds,
            "at": pa.array(seconds, pa.timestamp("ms", "UTC")).cast(pa.timestamp(unit, "UTC")),
            "day": pa.array([20_000 + k // 9 for k in range(n)], pa.int32()).cast(pa.date32()),
            "ok": pa.array([k % 5 > 0 for k in range(n)]),
            "x": pa.array([k / 4 for k in range(n)], pa.float32()),
        }
    )
    if writer == "arrow":
        pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=50)
    else:
        spark.createDataFrame(rows).write.mode("overwrite").parquet(str(tmp_path))
    here, there = Session(engine="local"), Session(spark, shards=2)
    for ag in (here, there):
        ag.sql(TIMED)
    here.bind("s", rows)
    there.bind("s", spark.read.parquet(str(tmp_path)))
    answer = there.table("q")
    assert is_scanned(answer)
    wanted = here.table("q").to_pylist()
    assert wanted
    assert rows_of(answer) == comparable(wanted)
