"""The same calls work over Spark Connect."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark


@pytest.mark.rotating(2, 1)
def test_a_client_of_spark_connect_gets_the_same_answers(
    tmp_path: Path, repository: Path, spark: object
) -> None:
    pytest.importorskip("grpc", reason="Spark Connect needs grpcio")
    (tmp_path / "in").mkdir()
    tests = repository / "tests"
    paths = os.pathsep.join([str(tests), os.environ.get("PYTHONPATH", "")])
    more = {"PYTHONPATH": paths, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    run = subprocess.run(
        [sys.executable, str(tests / "spark" / "connect_client.py"), str(tmp_path / "in")],
        env={**os.environ, **more},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert [line for line in run.stdout.splitlines() if line.startswith(("batch", "stream"))] == [
        "batch True",
        "stream True",
    ], run.stdout + run.stderr[-3000:]
