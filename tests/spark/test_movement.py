"""Four streams at four places: both plans find the same, and move what the planner expects."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from augury import DataError, Session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def example(repository: Path) -> ModuleType:
    path = repository / "examples" / "spark" / "movement.py"
    spec = importlib.util.spec_from_file_location("movement_example", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_both_plans_find_the_same_and_move_what_was_estimated(
    spark: SparkSession, example: ModuleType
) -> None:
    ag = example.session(spark)
    ag.analyze(["abc"])
    explained = ag.explain("abc")
    assert "in 7 fragments" in explained
    assert "chosen: moving temporal results, because it moves fewer bytes" in explained
    estimates = json.loads(ag.explain("abc", "json"))["movement"]["estimates"]
    wanted = example.facts(example.session(engine="local").table("abc").to_pylist())
    assert len(wanted) > 100
    found = example.on_spark(ag)
    for plan, (matches, rows, size) in found.items():
        assert matches == wanted
        assert rows == pytest.approx(estimates[plan]["rows"], rel=0.1)
        # Most of these few bytes are those of the blobs, whose number is known roughly.
        assert size == pytest.approx(estimates[plan]["bytes"], rel=0.25)
    assert found["results"][2] < found["events"][2]


def test_only_rows_that_time_cuts_are_analysed(spark: SparkSession) -> None:
    ag = Session(spark)
    ag.sql(
        "CREATE STREAM s (id LONG, tag STRING, t LONG) ID id TIME t;"
        "CREATE QUERY q ON s PATTERN SEQ(_ a, _ b) WHERE [tag] WITHIN 5;"
    )
    ag.bind("s", [{"id": 1, "tag": "x", "t": 1}])
    with pytest.raises(DataError, match="not cut by time"):
        ag.analyze(["q"])
