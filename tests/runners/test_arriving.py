"""What a file has when it grows: whole lines, each once, however its writer stops and goes on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from augury.analysis.script import check_text
from augury.runners.local.arriving import SETTLED_S, Folder
from augury.sources.local_files import LocalFiles

SCRIPT = "CREATE STREAM s (id LONG, tag STRING) TIME id FROM {form} '{place}';"


def folder(place: Path, form: str = "csv", seen: dict[str, Any] | None = None) -> Folder:
    checked = check_text(SCRIPT.format(form=form, place=place), "s.sql")
    stream = checked.catalog.streams["s"]
    return Folder(LocalFiles.of(stream), {} if seen is None else seen)


def ids(found: Folder) -> list[int]:
    return [row["id"] for table in found.take() for row in table.to_pylist()]


def add(file: Path, text: str) -> None:
    with file.open("a") as out:
        out.write(text)


def leave_alone(file: Path) -> None:
    before = os.path.getmtime(file) - 2 * SETTLED_S
    os.utime(file, (before, before))


@pytest.mark.parametrize(
    ("form", "parts"),
    [
        ("csv", ["id,t", "ag\n1,", "a\n2,b\n3", "1,c\n", "4,d\n"]),
        ("json", ['{"id": 1', '}\n{"id": 2}\n{"id": 3', '1}\n{"id"', ": 4}\n"]),
    ],
)
def test_half_a_line_waits_for_its_other_half(tmp_path: Path, form: str, parts: list[str]) -> None:
    file, found = tmp_path / f"a.{form}", list[int]()
    seen: dict[str, Any] = {}
    for part in parts:
        add(file, part)
        # Every time as if the run had stopped, and another one went on.
        own = folder(tmp_path, form, seen)
        found += [*ids(own), *ids(own)]
    assert found == [1, 2, 31, 4]


def test_a_last_line_without_an_end_is_one_when_nobody_writes_any_more(tmp_path: Path) -> None:
    file, own = tmp_path / "a.csv", folder(tmp_path)
    add(file, "id,tag\n1,a\n2,b")
    assert ids(own) == [1]
    leave_alone(file)
    assert ids(own) == [2]
    assert ids(own) == []
    add(file, "\n3,c\n")
    assert ids(own) == [3]


def test_a_file_that_is_begun_anew_is_read_from_its_beginning(tmp_path: Path) -> None:
    file, own = tmp_path / "a.csv", folder(tmp_path)
    add(file, "id,tag\n1,a\n2,b\n")
    assert ids(own) == [1, 2]
    file.write_text("id,tag\n3,c\n")
    assert ids(own) == [3]
    add(file, "4,d\n")
    assert ids(own) == [4]


def test_who_reads_once_takes_what_is_there(tmp_path: Path) -> None:
    add(tmp_path / "a.csv", "id,tag\n1,a\n2,b")
    own = folder(tmp_path)
    own.once = True
    assert ids(own) == [1, 2]
