"""What an attacker with Spark reads: plans, errors, numbers of a run, and folders."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from augury import Session
from cli.terminal import augury
from privacy.test_read_paths import BEFORE, RAW, SCRIPT, SECRET, SECRETS, on_the_command_line

pytestmark = pytest.mark.spark
ALL = [*RAW[:3], *SECRETS, *RAW[3:]]


def ward(spark: Any, rows: list[dict[str, Any]]) -> Session:
    ag = Session(spark)
    ag.sql(SCRIPT)
    for name, own in (("before", BEFORE), ("ward", rows)):
        ag.bind(name, own)
    ag.bind("badges", [{"who": "zoe", "colour": "green"}])
    return ag


def plan(answer: Any) -> str:
    return str(answer._jdf.queryExecution().toString())


READS: dict[str, Callable[[Session], Any]] = {
    "plan of a query": lambda ag: plan(ag.table("visits")),
    "plan of kept rows": lambda ag: plan(ag.table("published")),
    "rows": lambda ag: ag.table("visits").toArrow().to_pylist(),
    "kept rows": lambda ag: ag.table("published").toArrow().to_pylist(),
    "firings": lambda ag: ag.table("warn").toArrow().to_pylist(),
    "measured": lambda ag: ag.explain("visits", "json", analyze=True),
    "analyzed": lambda ag: ag.analyze(["upper"]),
    "private pipeline": lambda ag: ag.pipeline(["therapy"]),
    "private rows": lambda ag: ag.table("therapy"),
    "private analyzed": lambda ag: ag.analyze(["therapy"]),
    "policy with data": lambda ag: ag.explain("discreet", analyze=True),
    "page": lambda ag: ag.report(),
    "why not": lambda ag: ag.why_not("visits", around=4),
    "score": lambda ag: ag.score("soon", ALL),
}


def told(read: Callable[[Session], Any], ag: Session) -> str:
    """Return what comes of a way to read, and all of the error where it is one."""
    try:
        return str(read(ag))
    except Exception as error:
        return "".join(traceback.format_exception(error))


@pytest.mark.parametrize("how", READS)
def test_what_spark_tells_has_nothing_of_what_was_suppressed(spark: Any, how: str) -> None:
    assert SECRET not in told(READS[how], ward(spark, ALL))


@pytest.mark.parametrize("wrong", [{"t": SECRET}, {"p": 7.0}, {"id": None}])
def test_what_is_wrong_with_rows_is_not_told(spark: Any, wrong: dict[str, Any]) -> None:
    rows = [{**row, **(wrong if row["who"] == SECRET else {})} for row in ALL]
    if "t" in wrong:
        rows = [{**row, "t": str(row["t"])} for row in rows]
    assert SECRET not in told(lambda ag: ag.table("visits").collect(), ward(spark, rows))


def test_a_run_tells_no_numbers_of_raw_rows_and_keeps_its_state_to_itself(
    spark: Any, tmp_path: Path
) -> None:
    del spark  # The run takes the session that is there.
    home = tmp_path / "one"
    on_the_command_line("check", "SCRIPT")(ALL, home)
    (home / "in").mkdir()
    (home / "ward.json").rename(home / "in" / "ward.json")
    given = ("--query", "visits", "--source", f"ward=json:{home}/in", "--once", "--json")
    state = ("--checkpoint", str(home / "state"), "--sink", f"visits=json:{home}/out")
    done = augury("run", "--engine", "spark", str(home / "w.sql"), *given, *state)
    assert done.exit_code == 0, done.output
    assert SECRET not in done.output
    lines = [json.loads(line) for line in done.output.splitlines() if line.startswith("{")]
    progress = [each for each in lines if each["event"] == "progress"]
    hidden = ("events", "events_per_second", "watermark", "state_rows", "state_bytes")
    assert progress
    assert {each[name] for each in progress for name in hidden} == {None}
    assert (home / "state").stat().st_mode & 0o777 == 0o700
