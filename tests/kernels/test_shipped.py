"""With the kernels that are shipped, an ordinary query compiles nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from augury.kernels import kept
from kernels import handful


# Before all tests, `tools/check-wheel` looks at the same in the wheel.
@pytest.mark.rotating(3, 0)
@pytest.mark.slow
@pytest.mark.skipif(kept.baseline() is None, reason="for this machine no kernels are shipped")
def test_nothing_is_compiled_where_the_home_is_empty(repository: Path, tmp_path: Path) -> None:
    shipped, home = tmp_path / "shipped", tmp_path / "home"
    home.mkdir()
    tool = repository / "tools" / "ship-kernels"
    subprocess.run([sys.executable, tool, shipped], check=True)
    # The one place beside the package itself where kernels for the baseline are looked for.
    there = {"HOME": str(home), "AUGURY_KERNEL_CACHE": str(shipped)}
    asked = subprocess.run(
        [sys.executable, handful.__file__],
        env=os.environ | there,
        stdout=subprocess.PIPE,
        check=True,
    )
    told = json.loads(asked.stdout)
    assert told["compiled"] == []
    assert told["answers"] == json.loads(json.dumps(handful.answers(), default=str))
