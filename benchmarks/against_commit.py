"""Whether benchmarks got slower since a commit: both trees, turn by turn, on one machine.

Each benchmark is run in both trees alternately, by the scripts that each tree has; compared are the
medians of the figures that both write and that are seconds or rates. A ratio above 1 is slower.
Run: python benchmarks/against_commit.py COMMIT NAME [NAME ...], a name as in run_all.py
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from matching.harness import record

TREE = Path(__file__).parents[1]
ROUNDS = 3
Figures = dict[str, float]


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Return the numbers of a JSON value by their paths."""
    if isinstance(value, bool):
        return
    if isinstance(value, int | float):
        yield path, float(value)
        return
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in parts if isinstance(value, dict | list) else ():
        yield from leaves(each, f"{path}/{key}")


def run(tree: Path, name: str) -> Figures:
    """Run one benchmark of a tree; return the figures that it wrote."""
    paths = os.pathsep.join(str(tree / part) for part in ("src", "benchmarks", "tests"))
    folder = tree / "docs" / "benchmarks"
    before = {path: path.stat().st_mtime_ns for path in folder.glob("*.json")}
    command = [sys.executable, str(tree / "benchmarks" / f"{name}.py")]
    subprocess.run(
        command,
        cwd=tree,
        env={**os.environ, "PYTHONPATH": paths},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    written = [p for p in folder.glob("*.json") if before.get(p) != p.stat().st_mtime_ns]
    return {
        f"{path.stem}{leaf}": number
        for path in written
        for leaf, number in leaves(json.loads(path.read_text()))
        if "second" in leaf
    }


def slower(old: Figures, new: Figures) -> Figures:
    """Return how many times as long the new tree takes, by figure."""
    both = {path for path in old.keys() & new.keys() if old[path] > 0 and new[path] > 0}
    return {
        path: old[path] / new[path] if "per_" in path else new[path] / old[path]
        for path in sorted(both)
    }


def medians(runs: list[Figures]) -> Figures:
    """Return the median of each figure that all runs have."""
    return {path: median(each[path] for each in runs) for path in set.intersection(*map(set, runs))}


def compared(tree: Path, name: str) -> Figures:
    """Return the ratios of one benchmark, over some rounds in turn."""
    runs = [(run(tree, name), run(TREE, name)) for _ in range(ROUNDS)]
    return slower(medians([old for old, _ in runs]), medians([new for _, new in runs]))


def kept(tree: Path, name: str) -> Figures | str:
    """Return the same, or which tree's benchmark does not come to its end."""
    try:
        return compared(tree, name)
    except subprocess.CalledProcessError as error:
        return f"ended with {error.returncode}: {' '.join(map(str, error.cmd))}"


def main() -> None:
    """Compare this tree with that of a commit."""
    commit, *names = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        subprocess.run(["git", "worktree", "add", "-q", tree, commit], cwd=TREE, check=True)
        try:
            found = {name: kept(tree, name) for name in names}
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=TREE, check=True)
    record("against_commit", {"commit": commit, "slower": found})


if __name__ == "__main__":
    main()
