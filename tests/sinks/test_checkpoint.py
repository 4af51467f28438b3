"""A checkpoint belongs to the queries that wrote it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from augury.errors import StateError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def claim(spark: SparkSession, folder: Path, state: int = 1, **texts: str) -> str:
    from augury.sinks.checkpoint import Identity
    from augury.sinks.checkpoint import claim as claimed
    from augury.sinks.store import Store

    return claimed(Store(spark, str(folder)), str(folder), Identity(texts, state))


def test_the_same_queries_go_on_with_their_run(spark: SparkSession, tmp_path: Path) -> None:
    first = claim(spark, tmp_path / "ck", theft="CREATE QUERY theft;")
    assert claim(spark, tmp_path / "ck", theft="CREATE QUERY theft;") == first
    assert claim(spark, tmp_path / "other", theft="CREATE QUERY theft;") != first


def test_other_queries_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    claim(spark, tmp_path / "ck", theft="CREATE QUERY theft;", reads="CREATE STREAM reads;")
    with pytest.raises(
        StateError, match="belongs to other streams or queries: back, theft were added"
    ):
        claim(spark, tmp_path / "ck", back="CREATE QUERY back;", reads="CREATE STREAM reads;")


def test_a_checkpoint_of_a_release_that_noted_every_query_goes_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    first = claim(spark, tmp_path, theft="CREATE QUERY theft;", never_run="CREATE QUERY never_run;")
    file = tmp_path / "augury.json"
    stored = json.loads(file.read_text())
    del stored["only_run"]
    file.unlink()
    file.with_name(".augury.json.crc").unlink()
    file.write_text(json.dumps(stored))
    assert claim(spark, tmp_path, theft="CREATE QUERY theft;") == first
    with pytest.raises(StateError, match="theft was added, removed or changed"):
        claim(spark, tmp_path, theft="CREATE QUERY theft ON other;")


def test_state_of_a_later_release_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    claim(spark, tmp_path / "ck", state=3)
    with pytest.raises(
        StateError, match=r"is of version 1\.3, and this release reads 1\.1 to 1\.2"
    ):
        claim(spark, tmp_path / "ck", state=2)


def test_state_of_an_earlier_release_is_read(spark: SparkSession, tmp_path: Path) -> None:
    assert claim(spark, tmp_path / "ck", state=1) == claim(spark, tmp_path / "ck", state=2)


def test_a_layout_of_checkpoints_that_is_gone_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "augury.json").write_text(json.dumps({"layout": 0, "state": 1, "run": "r"}))
    with pytest.raises(StateError, match="finish that run with the release that began it"):
        claim(spark, tmp_path)


def test_a_checkpoint_of_another_program_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "offsets").mkdir()
    with pytest.raises(StateError, match="augury did not write"):
        claim(spark, tmp_path)


def test_a_damaged_file_says_so(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "augury.json").write_text("{")
    with pytest.raises(StateError, match=r"augury\.json is damaged"):
        claim(spark, tmp_path)


def test_a_file_appears_as_a_whole_and_stays(spark: SparkSession, tmp_path: Path) -> None:
    from augury.sinks.store import Store

    store = Store(spark, str(tmp_path))
    store.write("a/one.json", {"n": 1})
    store.write("a/one.json", {"n": 2})
    assert store.read("a/one.json") == {"n": 1}
    assert store.read("a/two.json") is None
    assert [name for name in store.names("a") if not name.startswith(".")] == ["one.json"]
    assert store.names("b") == []
