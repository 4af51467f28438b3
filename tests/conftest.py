"""What every test shares: hypothesis profiles, the law on skipping, one Spark session per run."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from rotation import left_out, rotation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Machines are shared and noisy: slowness is never a failure.
_PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("dev", max_examples=25, **_PATIENT)
# The seed comes from the day of the commit (tools/test).
settings.register_profile("ci", max_examples=60, database=None, **_PATIENT)
settings.register_profile("nightly", max_examples=5000, **_PATIENT)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))
# Jobs of tests are short: a JVM that compiles them thoroughly takes twice the processor for it.
# These reach every driver, master and worker that a test starts; see `cluster.standalone`, too.
for _options in ("SPARK_SUBMIT_OPTS", "SPARK_DAEMON_JAVA_OPTS"):
    os.environ.setdefault(_options, "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


def _is_property(item: pytest.Item) -> bool:
    function = getattr(item, "obj", None)
    return bool(getattr(function, "is_hypothesis_test", False))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse a property test that is marked to be skipped; leave out what is not of this run."""
    for item in filter(_is_property, items):
        if {"skip", "skipif", "xfail"} & {mark.name for mark in item.iter_markers()}:
            raise pytest.UsageError(f"{item.nodeid}: a property test must not be skipped")
    number = rotation()
    if number is not None and (out := left_out(items, number)):
        config.hook.pytest_deselected(items=out)
        gone = set(out)
        items[:] = [item for item in items if item not in gone]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, pytest.TestReport]:
    """Fail a property test that skips itself, unless Spark is absent."""
    report: pytest.TestReport = yield
    if report.skipped and _is_property(item) and not item.get_closest_marker("spark"):
        report.outcome = "failed"
        report.longrepr = "a property test must not be skipped"
    return report


@pytest.fixture(scope="session")
def repository() -> Path:
    """Return the root of the work tree."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One small Spark session for the whole run; starting it takes many seconds."""
    home = os.environ.get("JAVA_HOME")
    if shutil.which(str(Path(home, "bin", "java")) if home else "java") is None:
        pytest.skip("Java is absent; `make setup` says how to install it")
    from pyspark.sql import SparkSession

    from kafka.jars import connector_jars

    # Without this the workers take another interpreter, which lacks the packages.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings: dict[str, Any] = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        # A JVM takes jars when it starts, and only then.
        "spark.jars": ",".join(map(str, connector_jars())),
    }
    builder = SparkSession.builder.master("local[2]").appName("augury-tests")
    session = builder.config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture
def runner(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Return the runner that `every_runner` names: local, pushed, batch or streaming."""
    from runners.every_runner import Runner

    return Runner(request.param, request, tmp_path)


@pytest.fixture(scope="module")
def far() -> Iterator[None]:
    """Let every table be far away, so that moments are settled by threads."""
    from augury.rules.flights import Pace

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Pace, "following", lambda _: (True, 1024))
        yield
