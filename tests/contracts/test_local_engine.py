"""The local engine needs neither Spark's packages nor pandas."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from kernels import handful

ABSENT = {"pyspark", "py4j", "pandas"}
# As if they were not installed. Arrow looks for pandas by itself, where it is.
WITHOUT = f"""
import runpy, sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {sorted(ABSENT)!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
runpy.run_path({handful.__file__!r}, run_name="__main__")
"""


def told(program: str) -> dict[str, object]:
    """Return what the handful says of itself, asked by a program in a process of its own."""
    source = Path(__file__).parents[2] / "src"
    asked = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": str(source)},
        stdout=subprocess.PIPE,
        check=True,
    )
    return dict(json.loads(asked.stdout))


def test_local_queries_are_answered_where_the_packages_of_spark_are_absent() -> None:
    found = told(WITHOUT)
    assert found["answers"] == json.loads(json.dumps(handful.answers(), default=str))
    assert not ABSENT & set(found["loaded"])  # type: ignore[call-overload]
