"""Rows of a log that are equal in all they say have ids of their own, also in a run that is killed.

The files are cut where seconds go on, so that equal rows come in several micro-batches.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.csv
import pytest

from augury import Session
from fault_tolerance import logins
from fault_tolerance.scenario import Facts, facts
from fault_tolerance.test_kills import Run

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PARTS = 4


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    home = os.environ.get("JAVA_HOME")
    if shutil.which(str(Path(home, "bin", "java")) if home else "java") is None:
        pytest.skip("Java is absent; `make setup` says how to install it")
    if not logins.DATA.exists():
        pytest.skip(f"{logins.DATA.name} is absent")
    made = Run(tmp_path, logins.__file__, ("guessing",))
    yield made
    made.close()


def expected(log: Any) -> Facts:
    ag = Session(engine="local")
    ag.sql(logins.SCRIPT)
    ag.bind("logins", log)
    return sorted(facts("guessing", ag.table("guessing")))


def cut_within_seconds(rows: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return the rows in parts, each of which ends between two equal rows."""
    between = [k for k in range(1, len(rows)) if rows[k] == rows[k - 1]]
    ends = [between[len(between) * k // PARTS] for k in range(1, PARTS)]
    return [rows[a:b] for a, b in zip([0, *ends], [*ends, len(rows)], strict=True)]


def as_json(row: dict[str, Any]) -> dict[str, Any]:
    return row | {"ts": f"{row['ts'].isoformat()}Z"}


def mark(year: int) -> dict[str, Any]:
    """Return a row that no pattern uses, and that lets the last matches be known."""
    return {"ts": f"{year}-01-01T00:00:00Z", "event": "END", "user": "", "ip": ""}


@pytest.mark.rotating(3, 2)
def test_a_log_of_seconds_has_as_many_ids_as_matches_after_kills(run: Run) -> None:
    log = pyarrow.csv.read_csv(logins.DATA).sort_by("ts")
    parts = cut_within_seconds(log.to_pylist())
    for number, part in enumerate(parts):
        run.feed([as_json(row) for row in part])
        if number % 2:
            run.drive()
            run.wait_for_batches(number)
            run.kill("driver" if number == 1 else "workers")
    run.feed([mark(2030)])
    run.drive()
    run.feed([mark(2031)])
    run.finish()
    found = run.found()
    assert len(found) == len({match_id for _, match_id, _ in found}) == 444
    assert found == expected(log)
    assert run.put_aside() == 0
