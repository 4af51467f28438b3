"""The packed environment is all that the executors of a cluster need to run a query."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from augury import Session
from cluster import job
from cluster.job import facts, matches

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(scope="module")
def archive(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("packed") / "environment.tar.gz"
    script = repository / "tools" / "pack-environment"
    subprocess.run([sys.executable, script, target, "0"], check=True)
    return target


def test_a_node_without_the_packages_lacks_augury() -> None:
    from cluster.standalone import bare_environment

    python = f"python{sys.version_info.major}.{sys.version_info.minor}"
    asked = subprocess.run(
        [python, "-c", "import augury"],
        env=bare_environment(),
        cwd="/",
        capture_output=True,
        check=False,
    )
    assert b"No module named 'augury'" in asked.stderr


@pytest.mark.rotating(3, 2)
def test_executors_run_a_query_with_the_packed_environment_alone(
    archive: Path, tmp_path: Path
) -> None:
    home = os.environ.get("JAVA_HOME")
    if shutil.which(str(Path(home, "bin", "java")) if home else "java") is None:
        pytest.skip("Java is absent; `make setup` says how to install it")
    from cluster.standalone import cluster

    answer = tmp_path / "answer.json"
    with cluster(tmp_path, workers=2) as master:
        subprocess.run(
            [sys.executable, job.__file__, master, str(archive), str(answer)],
            env=os.environ | {"PYSPARK_PYTHON": "./environment/bin/python"},
            check=True,
            timeout=400,
        )
    told = json.loads(answer.read_text())
    wanted = facts(matches(Session(engine="local")).to_pylist())
    assert len(wanted) > 0
    assert told["facts"] == wanted
    assert told["executors"] == 2
    for package, kernels, compiled in told["places"]:
        assert f"{tmp_path}/work" in package
        assert any(path.is_dir() for path in Path(kernels).iterdir())
        assert compiled == 0
