"""A property test cannot be skipped, neither by a mark nor by itself."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
HEAD = "import pytest\nfrom hypothesis import given, strategies as st\n"
PROPERTY = "@given(st.integers())\ndef test_law(n):\n    "


def outcome(folder: Path, text: str) -> str:
    for name in ("conftest.py", "rotation.py"):
        shutil.copy(TESTS / name, folder)
    (folder / "test_it.py").write_text(HEAD + text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]
    run = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    return run.stdout + run.stderr


@pytest.mark.parametrize(
    "text",
    [
        "@pytest.mark.skip\n" + PROPERTY + "assert True",
        "@pytest.mark.skipif(True, reason='no')\n" + PROPERTY + "assert True",
        PROPERTY + "pytest.skip('not today')",
    ],
)
def test_a_skipped_property_test_fails(tmp_path: Path, text: str) -> None:
    assert "a property test must not be skipped" in outcome(tmp_path, text)


def test_other_tests_may_be_skipped(tmp_path: Path) -> None:
    text = "@pytest.mark.skip\ndef test_plain():\n    pass\n" + PROPERTY + "assert True"
    assert "1 passed, 1 skipped" in outcome(tmp_path, text)
