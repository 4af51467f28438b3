"""The scene of the store on Spark: the same finds as in this process."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from augury import Session
from augury.demo.readers.play import Readers
from augury.demo.readers.visits import simulate as hear
from augury.demo.store.play import Store
from augury.demo.store.truth import Day
from augury.demo.store.visits import simulate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_the_store_is_judged_alike_on_spark_and_in_this_process(spark: SparkSession) -> None:
    store, day = Store(), Day(tuple(simulate(4, items=600)))
    here = store.run(day, Session(engine="local"))
    there = store.run(day, Session(spark, shards=2))
    assert len(here.matches) > 20
    assert there == here


def test_readers_that_miss_are_judged_alike_on_spark_and_in_this_process(
    spark: SparkSession,
) -> None:
    readers, day = Readers(), hear(4, items=300)
    here = readers.run(day, Session(engine="local"))
    there = readers.run(day, Session(spark, shards=2))
    assert here.inferred
    assert there == here


def test_what_spark_says_is_shown_when_a_scene_fails(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from augury.demo import engine
    from augury.runners.process import local_spark

    class Stopped:
        def stop(self) -> None:
            pass

    def start(_: object) -> Stopped:

        os.write(2, b"a warning of Spark\n")
        return Stopped()

    monkeypatch.setattr(local_spark, "start", start)
    with engine.opened("spark"):
        pass
    assert capfd.readouterr().err == ""
    with pytest.raises(ValueError, match="broken"), engine.opened("spark"):
        raise ValueError("broken")
    assert "a warning of Spark" in capfd.readouterr().err
