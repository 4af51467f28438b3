"""A worker that dies changes no answer, whichever way rows are moved."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cluster import moving

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.mark.rotating(3, 2)
def test_both_plans_survive_a_worker_that_is_killed(tmp_path: Path) -> None:
    home = os.environ.get("JAVA_HOME")
    if shutil.which(str(Path(home, "bin", "java")) if home else "java") is None:
        pytest.skip("Java is absent; `make setup` says how to install it")
    from cluster.standalone import running

    # First, so that the kernels are compiled before the executors need them.
    wanted = moving.expected()
    with running(tmp_path, workers=3) as cluster:
        paths = [str(Path(moving.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        environment = os.environ | {
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": os.pathsep.join(paths),
        }
        command = [sys.executable, moving.__file__, cluster.master, str(tmp_path)]
        job = subprocess.Popen(command, env=environment)
        try:
            deadline = time.monotonic() + 400
            while not (tmp_path / "started").exists():
                assert job.poll() is None
                assert time.monotonic() < deadline, "no task has started"
                time.sleep(0.1)
            cluster.kill(1)
            assert job.wait(400) == 0
        finally:
            job.kill()
    assert all(len(each) > 50 for each in wanted)
    assert json.loads((tmp_path / "answer.json").read_text()) == wanted
    log = log_of(tmp_path)
    assert "SparkListenerExecutorRemoved" in log
    # It died with work in hand: a task of its own, or rows that others came for.
    assert "ExecutorLostFailure" in log or "FetchFailed" in log


def log_of(folder: Path) -> str:
    return "".join(path.read_text() for path in folder.glob("app-*"))
