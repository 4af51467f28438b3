"""`augury why` and `augury why-not`: how a match came about, and what one lacks that did not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from augury.cli.main import cli

SCRIPT = """
CREATE STREAM reads (id LONG, tag STRING, reader STRING, at TIMESTAMP, p DOUBLE)
ID id KEY tag TIME at TYPE reader PROBABILITY p;
CREATE QUERY theft ON reads PATTERN SEQ(SHELF x, !COUNTER y, EXIT z) WHERE [tag] WITHIN 1 HOUR;
"""
READS = """id,tag,reader,at,p
1,t1,SHELF,2026-01-01T10:00:00,0.9
2,t1,EXIT,2026-01-01T10:20:00,0.5
3,t2,SHELF,2026-01-01T10:00:00,1
4,t2,COUNTER,2026-01-01T10:10:00,1
5,t2,EXIT,2026-01-01T10:20:00,1
"""


@pytest.fixture
def store(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "store.sql").write_text(SCRIPT)
    (tmp_path / "reads.csv").write_text(READS)
    return tmp_path / "store.sql", tmp_path / "reads.csv"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(each) for each in arguments])


def test_what_has_no_match_says_what_stopped_it(store: tuple[Path, Path]) -> None:
    done = run("why-not", store[0], "theft", store[1], "--key", "t2")
    assert done.exit_code == 0, done.output
    assert "without the event COUNTER 4 of reads at 2026-01-01 10:10:00" in done.output
    asked = ("--key", "tag=t2", "--around", "2026-01-01T10:00", "--json")
    told = json.loads(run("why-not", store[0], "theft", store[1], *asked).output)
    assert told["changes"][0]["removed"]["reads"][0]["id"] == 4


def test_a_key_without_a_value_or_a_column_is_a_mistake(store: tuple[Path, Path]) -> None:
    for asked in ("tag=", ""):
        done = run("why-not", store[0], "theft", store[1], "--key", asked)
        assert (done.exit_code, done.output) == (
            1,
            "error: no row has an empty tag; give a value for it\n",
        )
    done = run("why-not", store[0], "theft", store[1], "--key", "=t2")
    assert "--key names no column; write COLUMN=VALUE" in done.output


def test_the_empty_text_is_a_key_where_rows_have_it(store: tuple[Path, Path]) -> None:
    rows = [
        {"id": 1, "tag": "", "reader": "SHELF", "at": "2026-01-01T10:00:00", "p": 1.0},
        {"id": 2, "tag": "t1", "reader": "EXIT", "at": "2026-01-01T10:20:00", "p": 1.0},
    ]
    reads = store[1].with_suffix(".json")
    reads.write_text("\n".join(map(json.dumps, rows)))
    told = json.loads(run("why-not", store[0], "theft", reads, "--key", "tag=", "--json").output)
    assert told["changes"][0]["added"]["reads"][0]["reader"] == "EXIT"


def test_a_match_says_what_its_confidence_is_made_of(store: tuple[Path, Path]) -> None:
    found = json.loads(run("why-not", store[0], "theft", store[1], "--key", "t1", "--json").output)
    done = run("why", store[0], found["found"][0], store[1])
    assert done.exit_code == 0, done.output
    assert "confidence  0.9 * 0.5 = 0.45" in done.output
    # The beginning of an id will do, as long as no other match begins so.
    told = json.loads(run("why", store[0], found["found"][0][:6], store[1], "--json").output)
    assert told["match_id"] == found["found"][0]
    assert told["confidence"] == pytest.approx(0.45)
    assert "begins 2 matches of theft" in run("why", store[0], "", _of_two(store[1])).output


def _of_two(reads: Path) -> Path:
    reads.write_text(READS.replace("COUNTER", "DOOR"))
    return reads


def test_what_is_not_there_is_said(store: tuple[Path, Path]) -> None:
    assert run("why", store[0], "0815", store[1]).exit_code == 1
    done = run("why-not", store[0], "thefts", store[1])
    assert (done.exit_code, "A029" in done.output) == (2, True)
    done = run("why-not", store[0], "theft", store[1], "--key", "t1", "--key", "t2")
    assert "several keys need their columns" in done.output
    done = run("why-not", store[0], "theft", store[1], "--around", "tomorrow")
    assert "expected a time, as 2026-01-01T12:00" in done.output
    done = run("why-not", store[1], "theft")
    assert (done.exit_code, "holds rows, by its name" in done.output) == (1, True)
