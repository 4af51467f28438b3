"""The Spark session of a run: flags as spark-submit takes them, the Kafka connector by itself.

A session that is there already (a notebook, spark-submit) is used as it is, and left running.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from augury import brokers
from augury.errors import AuguryError
from augury.runners.process import local_spark
from augury.runners.process.failures import OF_SPARK, explained
from augury.runners.process.java_process import JAVA
from augury.sinks import delta

KAFKA_JARS = "AUGURY_KAFKA_JARS"
# What goes wrong is said by augury; Spark's own words are there for who asks for them.
_QUIET = {"spark.log.level": "FATAL", "spark.ui.showConsoleProgress": "false"}
_ONLY_LOCAL = ("spark.driver.", "spark.ui.", "spark.sql.shuffle.")


@dataclass(frozen=True)
class Launch:
    """Flags of a run; `kafka` and `delta` tell whether a script uses them."""

    master: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    packages: Sequence[str] = ()
    jars: Sequence[str] = ()
    kafka: bool = False
    kafka_jars: str | None = None
    delta: bool = False


def spark_session(launch: Launch) -> tuple[SparkSession, bool]:
    """Return a session, and whether it was started here and is to be stopped here."""
    running = SparkSession.getActiveSession()
    if running is not None:
        return running, False
    refuse_connect(launch)
    expect_jars(launch.jars)
    settings = {**_QUIET, **class_path(launch), **launch.settings}
    try:
        with JAVA.starting():
            return _started(launch, settings), True
    except OF_SPARK as problem:
        raise _did_not_start(problem, launch) from problem


def _started(launch: Launch, settings: Mapping[str, str]) -> SparkSession:
    if runs_elsewhere(launch):
        return _on_a_cluster(launch.master, settings)
    # Spark would warn of any other name that the machine has.
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    return local_spark.start(settings, launch.master)


def _did_not_start(problem: Exception, launch: Launch) -> AuguryError:
    """Return why there is no session: Java's own last words, if it ended before it answered."""
    words = JAVA.last_words()
    if words is not None:
        return AuguryError(
            f"Spark did not start: {words}; correct --master, --conf, --packages or --jars, and "
            "start again"
        )
    if launch.master is not None:
        problem.add_note(f"the master is {launch.master}; is it right, and can it be reached?")
    return explained(problem, "Spark did not start")


def refuse_connect(launch: Launch) -> None:
    """Raise where Spark is behind Connect: a run keeps notes through the driver's own JVM."""
    remote = os.environ.get("SPARK_REMOTE") or launch.settings.get("spark.remote")
    if remote or (launch.master or "").startswith("sc://"):
        raise AuguryError(
            "augury run needs Spark's driver in this process, not Spark Connect; unset "
            "SPARK_REMOTE, name a --master such as spark://host:7077, or use Session(spark)"
        )


def runs_elsewhere(launch: Launch) -> bool:
    """Whether Spark runs elsewhere, or spark-submit has chosen where."""
    if launch.master is not None:
        return not launch.master.startswith("local")
    return "PYSPARK_GATEWAY_PORT" in os.environ or "spark.master" in launch.settings


def _on_a_cluster(master: str | None, settings: Mapping[str, str]) -> SparkSession:
    own = {k: v for k, v in local_spark.SETTINGS.items() if not k.startswith(_ONLY_LOCAL)}
    builder = SparkSession.builder.appName("augury").config(map={**own, **settings})
    return (builder.master(master) if master is not None else builder).getOrCreate()


def class_path(launch: Launch) -> dict[str, str]:
    """Return the settings for jars and packages, with the connectors that are needed."""
    jars, packages = list(launch.jars), list(launch.packages)
    if launch.kafka:
        folder = launch.kafka_jars or os.environ.get(KAFKA_JARS)
        if folder is not None:
            jars += _jars_in(folder)
        elif not _brings_kafka((*jars, *packages, *launch.settings.values())):
            packages.append(brokers.connector(pyspark.__version__))
    if launch.delta and not any("delta-spark" in each for each in (*jars, *packages)):
        packages.append(delta.coordinates(pyspark.__version__))
    found = {"spark.jars": ",".join(jars), "spark.jars.packages": ",".join(packages)}
    own = delta.SETTINGS if launch.delta else {}
    return {key: value for key, value in found.items() if value} | own


def expect_jars(jars: Sequence[str]) -> None:
    """Raise where a jar is not there: Spark would start without it, and say so in its log only."""
    for jar in jars:
        is_elsewhere = ":" in jar or any(sign in jar for sign in "*?[")
        if not is_elsewhere and not Path(jar).is_file():
            raise AuguryError(f"--jars names {jar}, which is no file; correct the path")


def _brings_kafka(named: Sequence[str]) -> bool:
    return any("spark-sql-kafka" in each for each in named)


def _jars_in(folder: str) -> list[str]:
    found = sorted(str(path) for path in Path(folder).glob("*.jar"))
    if not _brings_kafka(found):
        raise AuguryError(
            f"{folder} has no jar of Spark's Kafka connector; expected spark-sql-kafka-0-10_2.13 "
            "with its token provider, kafka-clients and commons-pool2; name the folder that has "
            f"them with --kafka-jars or {KAFKA_JARS}, or leave it out: Spark then fetches them"
        )
    return found
