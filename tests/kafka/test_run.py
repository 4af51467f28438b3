"""`augury run` from topic to topic: what goes wrong on the way loses and repeats nothing."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import Result

from cli.terminal import augury
from kafka.driver import Driver
from kafka.topics import create, received, script, send, store, thefts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafka.broker import Broker

pytestmark = [pytest.mark.spark, pytest.mark.slow]

Fresh = Callable[[str], str]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a folder of its own for the run, where checkpoints and side tables go."""
    return tmp_path


@pytest.fixture
def drive(home: Path) -> Iterator[Callable[..., Driver]]:
    """Start drivers that end with the test."""
    made: list[Driver] = []

    def start(*arguments: str) -> Driver:
        made.append(Driver(home, *arguments))
        return made[-1]

    yield start
    for driver in made:
        driver.close()


def run_once(home: Path) -> Result:
    """Run the script in this process, on the session of the tests."""
    return augury("run", str(home / "store.sql"), "--once", "--checkpoint", str(home / "state"))


def found(spark: SparkSession, broker: Broker, topic: str) -> dict[str, float]:
    """Return match ids with their confidence; an id that arrived twice fails the test."""
    messages = received(spark, broker, topic)
    ids = [message["key"] for message in messages]
    assert len(ids) == len(set(ids))
    return {message["key"]: message["value"]["confidence"] for message in messages}


def side_table(spark: SparkSession, path: str) -> list[dict[str, Any]]:
    return [row.asDict() for row in spark.read.parquet(path).collect()]


def test_matches_go_from_topic_to_topic_and_bad_messages_to_side_tables(
    spark: SparkSession, broker: Broker, fresh_topic: Fresh, home: Path
) -> None:
    reads, source, target = store(150), fresh_topic("reads"), fresh_topic("thefts")
    bad = ["{oops", {**reads[0], "id": "x"}, {"id": 900, "tag": "t1"}, {**reads[3], "p": 1.5}]
    send(spark, broker, source, [*reads[:50], *bad, *reads[50:]])
    (home / "store.sql").write_text(script(broker, source, target))
    shown = run_once(home)
    assert shown.exit_code == 0, shown.output
    assert found(spark, broker, target) == pytest.approx(thefts(reads))
    rejected = side_table(spark, str(home / "state-side-tables/rejected/reads"))
    assert sorted(row["reason"] for row in rejected) == [
        "column at is missing",
        "id is declared LONG, but is x",
        "p is not a probability between 0 and 1",
        "the text is not a JSON object",
    ]
    assert "{oops" in {row["raw"] for row in rejected}
    assert "4 rows of reads rejected" in shown.output


def test_a_second_run_goes_on_where_the_first_ended(
    spark: SparkSession, broker: Broker, fresh_topic: Fresh, home: Path
) -> None:
    reads, source, target = store(100), fresh_topic("reads"), fresh_topic("thefts")
    (home / "store.sql").write_text(script(broker, source, target))
    send(spark, broker, source, reads[:60])
    assert run_once(home).exit_code == 0
    send(spark, broker, source, reads[60:])
    assert run_once(home).exit_code == 0
    assert found(spark, broker, target) == pytest.approx(thefts(reads))


def test_an_unknown_topic_is_an_error_of_the_data(
    spark: SparkSession, broker: Broker, home: Path
) -> None:
    (home / "store.sql").write_text(script(broker, "nowhere", "thefts"))
    shown = run_once(home)
    assert shown.exit_code == 1
    assert "reads reads topic nowhere" in shown.output


@pytest.mark.rotating(3, 0)
def test_a_driver_that_is_killed_loses_and_repeats_nothing(
    spark: SparkSession,
    broker: Broker,
    fresh_topic: Fresh,
    home: Path,
    drive: Callable[..., Driver],
) -> None:
    reads, source, target = store(400), fresh_topic("reads"), fresh_topic("thefts")
    send(spark, broker, source, reads)
    create(spark, broker, target)
    text = script(broker, source, target, ", maxOffsetsPerTrigger = 60")
    (home / "store.sql").write_text(text)
    first = drive("store.sql")
    first.wait_for(batch=1, matches=1)
    first.kill()
    second = drive("store.sql", "--once")
    assert second.end() == 0, second.errors()
    assert found(spark, broker, target) == pytest.approx(thefts(reads))


def test_a_broker_that_restarts_is_waited_for_and_sigterm_ends_in_good_order(
    spark: SparkSession,
    broker: Broker,
    fresh_topic: Fresh,
    home: Path,
    drive: Callable[..., Driver],
) -> None:
    reads, source, target = store(200), fresh_topic("reads"), fresh_topic("thefts")
    (home / "store.sql").write_text(script(broker, source, target))
    send(spark, broker, source, reads[:100])
    driver = drive("store.sql")
    driver.wait_for(batch=0, events=0)
    broker.stop()
    broker.start()
    send(spark, broker, source, reads[100:])
    driver.wait_for(matches=len(thefts(reads)))
    assert driver.stop(signal.SIGTERM) == 0, driver.errors()
    assert found(spark, broker, target) == pytest.approx(thefts(reads))
