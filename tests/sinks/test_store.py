"""Small files beside the data: one that is damaged is named, however that is found out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from augury.errors import StateError
from augury.sinks.store import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_a_file_that_was_cut_off_is_damaged(spark: SparkSession, tmp_path: Path) -> None:
    store = Store(spark, str(tmp_path))
    store.write("owner.json", {"run": "a"})
    (tmp_path / "owner.json").write_text('{"run"')
    with pytest.raises(StateError, match=r"owner\.json is damaged \(its checksum is another\); "):
        store.read("owner.json")


def test_a_file_that_is_no_json_is_damaged(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "owner.json").write_text('{"run"')
    with pytest.raises(StateError, match=r"owner\.json is damaged"):
        Store(spark, str(tmp_path)).read("owner.json")
