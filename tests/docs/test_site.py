"""The documents can be read as a site, which fetches nothing from elsewhere."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest


def pages(nav: list[Any]) -> list[str]:
    """Return the pages that a table of contents names, in order."""
    found: list[str] = []
    for entry in nav:
        for under in entry.values():
            found += [under] if isinstance(under, str) else pages(under)
    return found


def test_every_page_is_in_the_table_of_contents(repository: Path) -> None:
    config = tomllib.loads((repository / "zensical.toml").read_text(encoding="utf-8"))
    named = pages(config["project"]["nav"])
    assert sorted(named) == sorted(path.name for path in (repository / "docs").glob("*.md"))


@pytest.mark.slow
def test_the_site_is_written_without_a_warning_and_fetches_nothing(
    repository: Path, tmp_path: Path
) -> None:
    shutil.copy(repository / "zensical.toml", tmp_path)
    shutil.copytree(repository / "docs", tmp_path / "docs")
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    written = sorted((tmp_path / "out" / "site").glob("**/*.html"))
    assert len(written) > len(list((repository / "docs").glob("**/*.md")))
    loads = r"<(?:script|link|img|iframe)\b[^>]*?(?:src|href)=\"?(https?:[^\" >]+)"
    assert [found for page in written for found in re.findall(loads, page.read_text("utf-8"))] == []
