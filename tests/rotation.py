"""Which of many cases a run takes: a share that changes from day to day; runs go through all.

A test with many slow cases is marked `rotating(n)`: a run takes about one in n of its cases. Slow
tests of one subject are marked `rotating(n, turn)`: a run takes those whose turn it is. Which
these are, and the seed of property tests, follow from AUGURY_ROTATION, a number that `make test`
takes from the day of the commit: a run of the same commit is the same run. Without it, or with
`all`, none is left out.
"""

from __future__ import annotations

import os
import zlib

import pytest

ALL = "all"


def rotation() -> int | None:
    """Return the number of this run, or None if it takes every case."""
    given = os.environ.get("AUGURY_ROTATION", ALL)
    return None if given == ALL else int(given)


def left_out(items: list[pytest.Item], number: int) -> list[pytest.Item]:
    """Return the items whose turn it is not in the run of that number."""
    found: list[pytest.Item] = []
    met: dict[str, int] = {}
    for item in items:
        mark = item.get_closest_marker("rotating")
        if mark is None:
            continue
        if (_turn(item, mark, met) + number) % mark.args[0]:
            found.append(item)
    return found


def _turn(item: pytest.Item, mark: pytest.Mark, met: dict[str, int]) -> int:
    if len(mark.args) > 1:
        return int(mark.args[1])
    test = item.nodeid.split("[")[0]
    met[test] = met.get(test, -1) + 1
    # Tests begin apart, so that a run has some of each kind.
    return met[test] + zlib.crc32(test.encode())
