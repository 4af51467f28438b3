"""The Spark session of a run: what is put on its class path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyspark
import pytest

from augury.errors import AuguryError
from augury.runners.process.launch import (
    Launch,
    class_path,
    expect_jars,
    refuse_connect,
    runs_elsewhere,
)

CONNECTOR = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"
JAR = "spark-sql-kafka-0-10_2.13-4.2.0.jar"


@pytest.fixture(autouse=True)
def _no_jars_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AUGURY_KAFKA_JARS", raising=False)


@pytest.mark.parametrize(
    ("flags", "settings"),
    [
        ({}, {}),
        ({"kafka": True}, {"spark.jars.packages": CONNECTOR}),
        (
            {"kafka": True, "packages": ["a:b:1"]},
            {"spark.jars.packages": f"a:b:1,{CONNECTOR}"},
        ),
        ({"kafka": True, "jars": [JAR]}, {"spark.jars": JAR}),
        ({"jars": ["x.jar", "y.jar"]}, {"spark.jars": "x.jar,y.jar"}),
        ({"kafka": True, "settings": {"spark.jars": JAR}}, {}),
    ],
)
def test_the_connector_comes_by_itself_unless_it_is_given(
    flags: dict[str, Any], settings: dict[str, str]
) -> None:
    assert class_path(Launch(**flags)) == settings


def test_a_folder_of_jars_takes_the_place_of_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / JAR).touch()
    (tmp_path / "kafka-clients.jar").touch()
    jars = {"spark.jars": f"{tmp_path}/kafka-clients.jar,{tmp_path}/{JAR}"}
    assert class_path(Launch(kafka=True, kafka_jars=str(tmp_path))) == jars
    monkeypatch.setenv("AUGURY_KAFKA_JARS", str(tmp_path))
    assert class_path(Launch(kafka=True)) == jars
    assert class_path(Launch()) == {}


def test_a_folder_without_the_connector_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AuguryError, match="has no jar of Spark's Kafka connector"):
        class_path(Launch(kafka=True, kafka_jars=str(tmp_path)))


def test_a_jar_that_is_not_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.jar").touch()
    expect_jars([str(tmp_path / "x.jar"), "hdfs://host/y.jar", "libs/*.jar"])
    with pytest.raises(AuguryError, match=r"--jars names nowhere/x\.jar, which is no file"):
        expect_jars(["nowhere/x.jar"])


def test_a_local_master_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    assert not runs_elsewhere(Launch())
    assert not runs_elsewhere(Launch(master="local[2]"))
    assert runs_elsewhere(Launch(master="spark://host:7077"))
    assert runs_elsewhere(Launch(settings={"spark.master": "yarn"}))
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1234")
    assert runs_elsewhere(Launch())


def test_spark_connect_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    refuse_connect(Launch(master="local[2]"))
    with pytest.raises(AuguryError, match="not Spark Connect; unset SPARK_REMOTE"):
        refuse_connect(Launch(master="sc://host:15002"))
    monkeypatch.setenv("SPARK_REMOTE", "sc://host:15002")
    with pytest.raises(AuguryError, match="not Spark Connect"):
        refuse_connect(Launch())
