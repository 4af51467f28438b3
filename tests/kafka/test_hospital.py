"""The hospital on Spark, from Kafka into PostgreSQL: killed again and again, it leaves the same.

The driver with its JVM, its Python alone, the workers, the broker and the database are killed with
signal 9 at moments that nobody chooses. `AUGURY_KILLS` says how often, `AUGURY_HOURS` how many
hours of the ward are read, `AUGURY_KILLS_SEED` repeats a plan.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from augury.demo.hospital.pipelines import KINDS, opened
from augury.demo.hospital.ward import Care, Ward, simulate
from cli.terminal import augury
from fault_tolerance.processes import end_session, end_workers
from kafka.driver import Driver
from kafka.hospital import Places, told_of
from stores.databases import Server
from stores.hooks import hook

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafka.broker import Broker

pytestmark = [pytest.mark.spark, pytest.mark.slow]

KILLS = int(os.environ.get("AUGURY_KILLS", "5"))
HOURS = float(os.environ.get("AUGURY_HOURS", "1"))
WHOM = ("driver", "python", "workers", "broker", "database")
LONGEST_WAIT_S = 12.0
PATIENCE_S = 120.0


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.stop()


@dataclass
class Job:
    """A run that goes on over as many drivers as it takes."""

    places: Places
    server: Server
    driver: Driver | None = None
    story: list[str] = field(default_factory=list)

    def drive(self, *more: str) -> Driver:
        """Return a driver that lives; one that ended because something died is started again."""
        if self.driver is None or self.driver.process.poll() is not None:
            self.close()
            self.driver = Driver(self.places.home, "ward.sql", "--checkpoint", "state", *more)
        return self.driver

    def kill(self, whom: str) -> None:
        self.story.append(whom)
        match whom:
            case "driver":
                self.drive().kill()
            case "python":
                self._kill_python(self.drive())
            case "workers":
                self._kill_workers()
            case "broker":
                self.places.broker.kill()
                self.places.broker.start()
            case "database":
                self.server.crash()

    def _kill_python(self, driver: Driver) -> None:
        """Kill Python alone: its JVM notices, and must be gone before another begins."""
        driver.process.kill()
        driver.process.wait()
        time.sleep(1)
        end_session(driver.process.pid)

    def _kill_workers(self) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not end_workers(self.drive().process.pid):
            assert time.monotonic() < deadline, f"no workers: {self.drive().errors()}"
            time.sleep(0.1)

    def finish(self) -> None:
        """Read to the end, and end."""
        self.close()
        driver = self.drive("--once")
        assert driver.end() == 0, driver.errors()

    def close(self) -> None:
        if self.driver is not None:
            self.driver.close()
            self.driver = None


@pytest.mark.rotating(3, 2)
def test_what_dies_on_the_way_changes_nothing(
    spark: SparkSession, broker: Broker, server: Server, tmp_path: Path
) -> None:
    seed = int(os.environ.get("AUGURY_KILLS_SEED", random.SystemRandom().randrange(2**32)))
    print(f"AUGURY_KILLS_SEED={seed}")  # noqa: T201
    rng = random.Random(seed)
    ward = simulate(seed % 1000, Care(corridors=2, hours=HOURS))
    rows, found = list(told_of(ward)), {}
    whom = [WHOM[k % len(WHOM)] for k in range(KILLS)]
    rng.shuffle(whom)
    with ExitStack() as stack:
        whole, broken = (
            Places(tmp_path / name, broker, f"{name}-{seed}", server.database(),
                   stack.enter_context(hook()))
            for name in ("whole", "broken")
        )  # fmt: skip
        whole.tell(spark, rows)
        whole.make(spark, ward)
        state = str(whole.home / "state")
        shown = augury("run", str(whole.home / "ward.sql"), "--once", "--checkpoint", state)
        assert shown.exit_code == 0, shown.output
        found["whole"] = whole.outcome(spark)

        broken.make(spark, ward, ", maxOffsetsPerTrigger = 60")
        job = Job(broken, server)
        stack.callback(job.close)
        size = len(rows) // KILLS + 1
        for k in range(KILLS):
            broken.tell(spark, rows[k * size : (k + 1) * size])
            job.drive()
            time.sleep(rng.uniform(0.0, LONGEST_WAIT_S))
            job.kill(whom[k])
        job.finish()
        found["broken"] = broken.outcome(spark)
    told = f"seed {seed}, killed: {', '.join(job.story)}"
    print(told, {name: len(each) for name, each in found["whole"].items()})  # noqa: T201
    for name, own in found["whole"].items():
        assert found["broken"][name] == own, f"{name}; {told}"
    _is_full(found["whole"])
    assert found["whole"]["stored badges"] == _badges_here(ward, rows)
    _nothing_private(found["broken"]["published"])


def _badges_here(ward: Ward, rows: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """Return the badges that are left when all is read at once, in this process."""
    ag = opened(ward)
    told = [row | {"at": datetime.fromisoformat(row["at"])} for row in rows]
    ag.bind("doors", pa.Table.from_pylist(told, KINDS))
    return sorted(tuple(row.values()) for row in ag.table("badges").to_pylist())


def _nothing_private(published: list[str]) -> None:
    """Hold that nobody, as told at first, is seen to wash twice or after the psychiatrist."""
    rows = [row for text in published if not (row := json.loads(text))["revision"]]
    for row in rows:
        row["at"] = datetime.fromisoformat(row["at"])
    for one, other in itertools.permutations(rows, 2):
        later = other["at"] - one["at"]
        if other["action"] != "WASH" or one["person"] != other["person"] or later <= timedelta(0):
            continue
        assert one["action"] != "WASH" or later > timedelta(minutes=20), (one, other)
        is_therapy = one["action"] == "EXIT" and one["room"] == "R6"
        assert not is_therapy or later > timedelta(minutes=15), (one, other)


def _is_full(found: dict[str, Any]) -> None:
    """Hold that there was something to lose."""
    assert all(found[name] for name in ("contact", "published", "soon", "badges", "webhook"))
