"""`augury backtest` and `augury diff`: what rules would do, over rows of the past."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from augury.cli.main import cli

SCRIPT = """
CREATE STREAM doors (id LONG, worker STRING, action STRING, at TIMESTAMP)
ID id KEY worker TIME at TYPE action;
CREATE TABLE badges (worker STRING, colour STRING) KEY worker;
CREATE QUERY came ON doors PATTERN SEQ(ENTER e)
WHERE [worker] AND 'green' = (SELECT colour FROM badges WHERE worker = e.worker)
WITHIN 1 SECOND;
CREATE RULE warn ON came DO UPDATE badges SET colour = 'yellow' WHERE worker = new.worker;
"""
DOORS = """id,worker,action,at
1,ann,ENTER,2026-01-01T08:00:00Z
2,bob,ENTER,2026-01-02T08:00:00Z
3,ann,ENTER,2026-01-02T09:00:00Z
4,ann,LEAVE,2026-01-03T09:00:00Z
"""


@pytest.fixture
def ward(tmp_path: Path) -> Path:
    (tmp_path / "ward.sql").write_text(SCRIPT)
    (tmp_path / "doors.csv").write_text(DOORS)
    badges = pa.table({"worker": ["ann", "bob"], "colour": ["green", "green"]})
    pq.write_table(badges, tmp_path / "badges.parquet")
    return tmp_path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(each) for each in arguments])


def test_a_backtest_tells_firings_by_day_and_changes(ward: Path) -> None:
    data = (ward / "doors.csv", ward / "badges.parquet")
    done = run("backtest", ward / "ward.sql", *data)
    assert done.exit_code == 0, done.output
    assert done.output.splitlines() == [
        "rule warn: 2 firings, 0 without a change, 0 put aside",
        "  2026-01-01: 1",
        "  2026-01-02: 1",
        "table badges: 2 UPDATE",
    ]
    told = json.loads(run("backtest", ward / "ward.sql", *data, "--json").output)
    assert told["rules"]["warn"]["firings"] == 2
    assert told["tables"] == {"badges": {"UPDATE": 2}}


def test_a_backtest_leaves_a_store_alone(ward: Path) -> None:
    where = ward / "ward.db"
    script = SCRIPT.replace("KEY worker;\nCREATE QUERY", "KEY worker STORE w;\nCREATE QUERY")
    assert script != SCRIPT
    (ward / "ward.sql").write_text(f"CREATE STORE w AT 'sqlite:///{where}';{script}")
    done = run("backtest", ward / "ward.sql", ward / "doors.csv")
    assert done.exit_code == 0, done.output
    assert "rule warn: 0 firings" in done.output
    from stores.databases import asked

    assert asked(f"sqlite:///{where}", "SELECT name FROM sqlite_master") == []


def test_a_diff_tells_what_two_versions_do_not_share(ward: Path) -> None:
    data = (ward / "doors.csv", ward / "badges.parquet")
    other = SCRIPT.replace("WHERE [worker] AND", "WHERE [worker] AND e.worker <> 'bob' AND")
    (ward / "new.sql").write_text(other.replace("ENTER e", "LEAVE e"))
    same = run("diff", ward / "ward.sql", ward / "ward.sql", *data)
    assert same.exit_code == 0, same.output
    assert "query came: 2 in both, 0 only old, 0 only new" in same.output
    done = run("diff", ward / "ward.sql", ward / "new.sql", *data)
    assert done.exit_code == 1
    assert "query came: 0 in both, 2 only old, 1 only new" in done.output
    assert "rule warn: 0 in both, 2 only old, 1 only new" in done.output
    told = json.loads(run("diff", ward / "ward.sql", ward / "new.sql", *data, "--json").output)
    assert len(told["rule warn"]["only_old"]) == 2


@pytest.mark.parametrize(
    ("script", "data", "told"),
    [
        (SCRIPT, "gates.csv", "is named after no stream or table"),
        (SCRIPT, "badges.xls", "is no file of Parquet, CSV or JSON"),
        ("CREATE STREAM doors (id LONG, t LONG) ID id TIME t;", "doors.csv", "there is no rule"),
    ],
)
def test_what_cannot_be_told_is_said(ward: Path, script: str, data: str, told: str) -> None:
    (ward / "ward.sql").write_text(script)
    (ward / data).touch()
    if data == "doors.csv":
        (ward / data).write_text("id,t\n1,1\n")
    done = run("backtest", ward / "ward.sql", ward / data)
    assert done.exit_code == 1
    assert told in done.output


def test_a_wrong_script_is_shown_with_its_mistakes(ward: Path) -> None:
    (ward / "ward.sql").write_text("CREATE QUERY q ON nothing PATTERN SEQ(A a);")
    done = run("backtest", ward / "ward.sql")
    assert done.exit_code == 2
    assert "error[" in done.output


GUARDED = """
CREATE STREAM acts (id STRING, act STRING, at TIMESTAMP) ID id TIME at TYPE act;
CREATE QUERY cleaned ON acts PATTERN SEQ(EXIT a, SANITIZE b) WITHIN 2 MINUTES;
CREATE QUERY washed ON acts PATTERN SEQ(WASH a, OFFICE b) WITHIN 2 MINUTES;
CREATE QUERY therapy ON acts PATTERN SEQ(EXIT a, OFFICE b) WITHIN 5 MINUTES;
CREATE POLICY discreet ON acts PUBLIC cleaned, washed PRIVATE therapy USING GREEDY;
"""
ACTS = """id,act,at
e2,EXIT,2026-01-01T08:02:00Z
s4,SANITIZE,2026-01-01T08:04:00Z
w5,WASH,2026-01-01T08:05:00Z
o6,OFFICE,2026-01-01T08:06:00Z
"""


def test_a_backtest_tells_the_owner_what_a_policy_would_publish(tmp_path: Path) -> None:
    (tmp_path / "ward.sql").write_text(GUARDED)
    (tmp_path / "acts.csv").write_text(ACTS)
    done = run("backtest", tmp_path / "ward.sql", tmp_path / "acts.csv")
    assert done.exit_code == 0, done.output
    assert done.output.splitlines() == [
        "policy discreet: 1 of 4 events suppressed",
        "  by rule: never 1",
        "  by type: OFFICE 1",
        "  by day: 2026-01-01 1",
        "  public cleaned: 1 of 1 matches left",
        "  public washed: 0 of 1 matches left",
        "  private therapy: 0 of 1 matches left",
    ]


def test_private_queries_are_no_part_of_a_difference(tmp_path: Path) -> None:
    (tmp_path / "old.sql").write_text(GUARDED)
    (tmp_path / "new.sql").write_text(
        GUARDED.replace("PRIVATE therapy", "PRIVATE therapy WEIGHT 1")
    )
    (tmp_path / "acts.csv").write_text(ACTS)
    done = run("diff", tmp_path / "old.sql", tmp_path / "new.sql", tmp_path / "acts.csv")
    assert "therapy" not in done.output
    assert "query washed: 0 in both, 0 only old, 1 only new" in done.output
