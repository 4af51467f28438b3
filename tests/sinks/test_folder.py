"""Folders as sinks: whole batches, each once, owned by one run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from augury.errors import StateError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from augury.sinks.folder import FolderSink

pytestmark = pytest.mark.spark


def sink(
    spark: SparkSession, folder: Path, form: str = "parquet", run: str = "one", name: str = "theft"
) -> FolderSink:
    from augury.sinks.folder import FolderSink, Owner

    return FolderSink(spark, str(folder), form, Owner(run, name))


def hits(spark: SparkSession, *names: str) -> DataFrame:
    values = ", ".join(f"('{name}', array(named_struct('c', 'x')))" for name in names)
    return spark.sql(f"SELECT * FROM VALUES {values} AS t(match_id, events)")


def ids(spark: SparkSession, folder: Path, form: str = "parquet") -> list[tuple[int, str]]:
    reader: Any = spark.read.option("header", "true").format(form)
    rows = reader.load(str(folder)).collect()
    return sorted((row["batch"], row["match_id"]) for row in rows)


@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
def test_every_batch_has_a_folder_of_its_own(
    spark: SparkSession, tmp_path: Path, form: str
) -> None:
    target = sink(spark, tmp_path / "hits", form)
    target.open()
    target.write(hits(spark, "a", "b"), 0)
    target.write(hits(spark, "c"), 7)
    assert ids(spark, tmp_path / "hits", form) == [(0, "a"), (0, "b"), (7, "c")]
    assert sorted(p.name for p in (tmp_path / "hits").glob("batch=*")) == [
        "batch=000000",
        "batch=000007",
    ]


def test_a_batch_that_is_repeated_takes_the_place_of_the_first(
    spark: SparkSession, tmp_path: Path
) -> None:
    target = sink(spark, tmp_path / "hits")
    target.write(hits(spark, "a", "b"), 3)
    target.write(hits(spark, "a", "b"), 3)
    assert ids(spark, tmp_path / "hits") == [(3, "a"), (3, "b")]


def test_what_a_killed_run_left_half_written_is_not_seen(
    spark: SparkSession, tmp_path: Path
) -> None:
    target = sink(spark, tmp_path / "hits")
    target.write(hits(spark, "a"), 0)
    hits(spark, "half").write.parquet(str(tmp_path / "hits" / "_pending" / "batch=000001"))
    assert ids(spark, tmp_path / "hits") == [(0, "a")]
    target.write(hits(spark, "b"), 1)
    assert ids(spark, tmp_path / "hits") == [(0, "a"), (1, "b")]


def test_whole_batches_are_marked(spark: SparkSession, tmp_path: Path) -> None:
    target = sink(spark, tmp_path / "hits")
    target.write(hits(spark, "a"), 12)
    marker = tmp_path / "hits" / "_committed" / "000012.json"
    assert json.loads(marker.read_text()) == {"batch": 12}


def test_a_batch_without_rows_is_cleared(spark: SparkSession, tmp_path: Path) -> None:
    target = sink(spark, tmp_path / "hits")
    target.write(hits(spark, "a"), 0)
    target.write(hits(spark, "b"), 1)
    target.clear(0)
    assert ids(spark, tmp_path / "hits") == [(1, "b")]
    assert not (tmp_path / "hits" / "_committed" / "000000.json").exists()


def test_csv_holds_structure_as_json(spark: SparkSession, tmp_path: Path) -> None:
    sink(spark, tmp_path / "hits", "csv").write(hits(spark, "a"), 0)
    (file,) = (tmp_path / "hits" / "batch=000000").glob("*.csv")
    assert file.read_text().splitlines() == ["match_id,events", 'a,"[{""c"":""x""}]"']
    assert pd.read_csv(file).to_dict("records") == [{"match_id": "a", "events": '[{"c":"x"}]'}]


@pytest.mark.parametrize("form", ["csv", "json"])
def test_text_holds_times_to_the_microsecond(
    spark: SparkSession, tmp_path: Path, form: str
) -> None:
    moment = "timestamp '2026-01-01 10:00:00.123456Z'"
    rows = spark.sql(f"SELECT {moment} AS start_ts, array(named_struct('ts', {moment})) AS events")
    sink(spark, tmp_path / "hits", form).write(rows, 0)
    (file,) = (tmp_path / "hits" / "batch=000000").glob(f"*.{form}")
    assert file.read_text().count("2026-01-01T10:00:00.123456Z") == 2


def test_a_folder_belongs_to_one_run(spark: SparkSession, tmp_path: Path) -> None:
    sink(spark, tmp_path / "hits").write(hits(spark, "a"), 0)
    sink(spark, tmp_path / "hits").open()
    with pytest.raises(StateError, match="holds the answers of another run"):
        sink(spark, tmp_path / "hits", run="two").open()


def test_a_folder_belongs_to_one_query_and_has_one_format(
    spark: SparkSession, tmp_path: Path
) -> None:
    sink(spark, tmp_path / "hits").write(hits(spark, "a"), 0)
    with pytest.raises(StateError, match="holds rows of theft as parquet, and these are of visit"):
        sink(spark, tmp_path / "hits", name="visit").open()
    with pytest.raises(StateError, match="and these are of theft as json"):
        sink(spark, tmp_path / "hits", form="json").open()


def test_a_folder_of_an_older_release_is_gone_on_with(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "batch=000000").mkdir()
    (tmp_path / "_augury.json").write_text('{"run": "one"}')
    sink(spark, tmp_path).open()
    with pytest.raises(StateError, match="holds the answers of another run"):
        sink(spark, tmp_path, run="two").open()


@pytest.mark.parametrize("place", ["afile", "afile/hits"])
def test_a_file_is_no_folder(spark: SparkSession, tmp_path: Path, place: str) -> None:
    (tmp_path / "afile").touch()
    with pytest.raises(StateError, match="is a file, or lies below one"):
        sink(spark, tmp_path / place).open()


def test_batches_that_augury_did_not_write_are_left_alone(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "batch=000000").mkdir()
    with pytest.raises(StateError, match="batches of unknown origin"):
        sink(spark, tmp_path).open()
