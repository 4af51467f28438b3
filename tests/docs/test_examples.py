"""Every example script is right and can be explained; every example program runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from augury import Session

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.sql"))
PROGRAMS = sorted([*EXAMPLES.glob("*.py"), *EXAMPLES.glob("hospital/*.py")])


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.name)
@pytest.mark.parametrize("shape", ["text", "json", "svg", "mermaid"])
def test_every_query_of_an_example_is_explained(script: Path, shape: str) -> None:
    ag = Session(engine="local")
    ag.run_file(script)
    assert ag.queries
    assert all(ag.explain(name, shape) for name in ag.queries)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_every_example_program_runs(program: Path, tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-W", "error", str(program)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.stderr == ""
    assert run.returncode == 0
    assert run.stdout


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_an_example_program_is_short(program: Path) -> None:
    assert 20 <= len(program.read_text(encoding="utf-8").splitlines()) <= 40
