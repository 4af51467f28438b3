"""`augury run` where the data or the environment is at fault: a sentence, never a crash report."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from augury import AuguryError, Session
from augury.cli.progress import Reporter, as_json
from cli.terminal import STORE, augury

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(autouse=True)
def _no_tracebacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AUGURY_TRACEBACK", raising=False)


# Without Spark ------------------------------------------------------------------------------------


def test_errors_of_the_environment_are_json_where_json_is_asked_for(tmp_path: Path) -> None:
    shown = augury("run", str(tmp_path / "absent.sql"), "--json")
    assert shown.exit_code == 1
    document = json.loads(shown.stdout)
    assert document["event"] == "error"
    assert "absent.sql" in document["message"]
    assert shown.stderr == f"error: {document['message']}\n"


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def test_what_json_has_no_number_for_is_text() -> None:
    row = {"a": float("nan"), "b": [float("-inf"), {"c": float("inf")}], "d": 0.5}
    found = json.loads(as_json(row), parse_constant=_refused)
    assert found == {"a": "NaN", "b": ["-Infinity", {"c": "Infinity"}], "d": 0.5}


@pytest.mark.parametrize("wanted", [True, False])
def test_printed_answers_are_json_whatever_they_hold(
    wanted: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    Reporter(wanted).row("theft", {"score": float("nan")})
    found = json.loads(capsys.readouterr().out, parse_constant=_refused)
    assert found.get("row", found) == {"score": "NaN"}


INTERRUPTED = """
import os, signal, sys, time
from pyspark import java_gateway
from augury.cli.main import main
from augury.runners.process import launch
from augury.runners.process.java_process import JAVA

number = getattr(signal, sys.argv.pop())

def start(_):
    with JAVA.starting():
        java = java_gateway.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        print(java.pid, flush=True)
        os.kill(os.getpid(), number)
        time.sleep(600)

launch.spark_session = start
main()
"""


def _is_there(process: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{process}/stat").read_text().split()[2]
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(("signal", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_start_that_is_interrupted_ends_at_once_and_leaves_no_java(
    signal: str, code: int, tmp_path: Path
) -> None:
    script = tmp_path / "store.sql"
    script.write_text(STORE)
    command = [sys.executable, "-c", INTERRUPTED, "run", str(script), signal]
    command[4:4] = ["--engine", "spark"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code, done.stderr
    assert done.stderr == "stopped before the first batch\n"
    assert not _is_there(int(done.stdout))


# With Spark ---------------------------------------------------------------------------------------

READ = "tag,reader,door,at\na,SHELF,1,2026-01-01T10:00:00Z\n"


def _no_parquet(folder: Path) -> str:
    (folder / "a.parquet").write_text("this is text")
    return f"reads=parquet:{folder}"


def _another_header(folder: Path) -> str:
    (folder / "a.csv").write_text(READ)
    (folder / "b.csv").write_text("reader,tag,door,at\nEXIT,a,1,2026-01-01T11:00:00Z\n")
    return f"reads=csv:{folder}"


def _no_such_host(folder: Path) -> str:
    return "reads=json:hdfs://no-such-host.invalid:1/x"


def _no_jars(folder: Path) -> str:
    return "reads=json:s3a://bucket/x"


@pytest.mark.spark
@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (_no_parquet, "a.parquet. Could not read footer"),
        (_another_header, "Expected: tag but found: reader"),
        (_no_such_host, "UnknownHostException: no-such-host.invalid"),
        (_no_jars, "S3AFileSystem not found"),
    ],
)
def test_a_source_that_spark_cannot_read_is_a_sentence(
    source: Callable[[Path], str], reason: str, spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    place = source(tmp_path / "in")
    given = ("--source", place, "--side-tables", str(tmp_path / "side"), "--batch")
    shown = augury("run", "-", "--engine", "spark", *given, stdin=STORE)
    assert shown.exit_code == 1
    assert shown.stderr.startswith("error: ")
    assert len(shown.stderr.splitlines()) == 1
    assert reason in shown.stderr


@pytest.mark.spark
def test_an_option_that_spark_refuses_is_to_be_corrected(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text(READ)
    # Spark looks at this option only once the stream runs.
    origin = f"TYPE reader FROM csv '{tmp_path}/in' OPTIONS (maxFilesPerTrigger = 'many');"
    given = ("--once", "--checkpoint", str(tmp_path / "state"))
    shown = augury(
        "run", "-", "--engine", "spark", *given, stdin=STORE.replace("TYPE reader;", origin)
    )
    assert shown.exit_code == 1
    assert "what was written stays; correct the cause" in shown.stderr
    assert "STREAM_FAILED" not in shown.stderr


def test_spark_that_is_not_installed_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "store.sql").write_text(STORE)
    monkeypatch.setattr("augury.cli.run.find_spec", lambda _: None)
    reads = "reads=parquet:reads"
    shown = augury("run", str(tmp_path / "store.sql"), "--engine", "spark", "--source", reads)
    assert shown.exit_code == 1
    assert "error: Spark is not installed: pip install 'augury[spark]'" in shown.stderr
    monkeypatch.setattr("augury.session.bound.find_spec", lambda _: None)
    ag = Session()
    ag.sql(STORE)
    ag.bind("reads", [])
    with pytest.raises(AuguryError, match=r"Session\(engine='local'\)"):
        ag.table("theft")
