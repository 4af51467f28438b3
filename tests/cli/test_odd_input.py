"""Files, options and names that nothing can be made of end in a sentence, never in a crash."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from augury import AuguryError, Session
from cli.terminal import augury

SCRIPT = """
CREATE STREAM reads (id LONG, reader STRING, at TIMESTAMP, p DOUBLE)
ID id TIME at TYPE reader PROBABILITY p FROM csv 'reads.csv' {options};
CREATE QUERY theft ON reads PATTERN SEQ(SHELF x, EXIT z) WITHIN 1 HOUR;
CREATE QUERY ever ON reads PATTERN SEQ(SHELF x, EXIT z) WITHIN 1 HOUR RETURN PROBABILITY;
"""
READS = "id,reader,at,p\n1,SHELF,2026-01-31T12:00:00Z,0.5\n2,EXIT,2026-01-31T12:01:00Z,1.0\n"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reads.csv").write_text(READS)
    (tmp_path / "store.sql").write_text(SCRIPT.format(options=""))
    return tmp_path


def option(place: Path, given: str) -> None:
    (place / "store.sql").write_text(SCRIPT.format(options=f"OPTIONS ({given})"))


@pytest.mark.parametrize("encoding", ["nope", "base64", "utf 99"])
@pytest.mark.parametrize("command", [("run", "store.sql", "--engine", "local"), ("report",)])
def test_an_encoding_that_is_none_is_named(
    place: Path, command: tuple[str, ...], encoding: str
) -> None:
    option(place, f"encoding = '{encoding}'")
    whole = ("report", "store.sql", "reads.csv") if command == ("report",) else command
    shown = augury(*whole)
    assert shown.exit_code == 1
    assert f"there is no encoding '{encoding}'" in shown.stderr


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_without_a_mark_the_higher_byte_comes_first(place: Path, encoding: str) -> None:
    option(place, f"encoding = '{encoding}'")
    (place / "reads.csv").write_bytes(READS.encode(f"{encoding}-be"))
    shown = augury("run", "store.sql", "--engine", "local", "--json")
    assert shown.exit_code == 0
    told = [json.loads(line) for line in shown.stdout.splitlines()]
    assert [each["row"]["confidence"] for each in told if each.get("query") == "theft"] == [0.5]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_what_is_in_another_encoding_is_no_crash(place: Path, encoding: str) -> None:
    option(place, f"encoding = '{encoding}'")
    shown = augury("run", "store.sql", "--engine", "local")
    assert shown.exit_code == 1
    assert shown.stderr


def test_a_form_of_times_that_is_not_read_here_is_told_of_bound_files_too(place: Path) -> None:
    option(place, "timestampFormat = 'QQQ'")
    shown = augury("diff", "store.sql", "store.sql", "reads.csv")
    assert shown.exit_code == 1
    assert "'QQQ'" in shown.stderr


def test_why_not_takes_a_query_for_a_probability_as_if_it_told_matches(place: Path) -> None:
    assert augury("why-not", "store.sql", "ever", "reads.csv").exit_code == 0


@pytest.mark.parametrize("option", ["--log", "--checkpoint"])
def test_a_place_that_cannot_be_had_is_named(place: Path, option: str) -> None:
    (place / "file").write_text("")
    shown = augury("run", "store.sql", "--engine", "local", option, "file/below")
    assert shown.exit_code == 1
    assert "file/below" in shown.stderr


def test_a_name_that_is_no_text_is_told_in_words() -> None:
    ag = Session(engine="local")
    asked = (ag.table, ag.explain, ag.rejected, ag.late, ag.gaps, ag.why, ag.why_not, ag.changes)
    for ask in (*asked, lambda name: ag.bind(name, []), lambda name: ag.push(name, {})):
        for name in (None, 1, b"q"):
            with pytest.raises(AuguryError, match="a name is needed here, as text"):
                ask(name)  # type: ignore[operator, arg-type]


def test_what_was_never_stored_is_no_state() -> None:
    for stored in (None, 1, b"", "text"):
        ag = Session(engine="local")
        with pytest.raises(AuguryError, match="no such state"):
            ag.restore(stored)  # type: ignore[arg-type]
