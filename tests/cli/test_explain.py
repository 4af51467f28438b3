"""`augury explain`: formats, files, unknown queries, and scripts with mistakes."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from cli.terminal import BROKEN, STORE, augury

TWO = STORE + "CREATE QUERY back ON reads PATTERN SEQ(EXIT a, ENTRY b) WHERE [tag] WITHIN 1 HOUR;"


def test_text_names_the_query_and_its_class() -> None:
    shown = augury("explain", "-", "theft", stdin=STORE)
    assert shown.exit_code == 0
    assert "theft" in shown.output
    assert "deterministic" in shown.output


def test_without_a_query_every_query_is_explained() -> None:
    shown = augury("explain", "-", stdin=TWO)
    assert "theft" in shown.output
    assert "back" in shown.output


def test_a_name_is_found_without_regard_to_case() -> None:
    assert augury("explain", "-", "THEFT", stdin=STORE).exit_code == 0


def test_json_is_one_object_for_a_query_and_a_list_for_all() -> None:
    one = json.loads(augury("explain", "-", "theft", "--json", stdin=TWO).output)
    every = json.loads(augury("explain", "-", "--format", "json", stdin=TWO).output)
    assert isinstance(one, dict)
    assert one in every
    assert len(every) == 2


def test_errors_are_json_where_json_is_asked_for() -> None:
    shown = augury("explain", "-", "--json", stdin=BROKEN)
    document = json.loads(shown.output)
    assert shown.exit_code == 2
    assert not document["ok"]
    assert document["diagnostics"][0]["severity"] == "error"


def test_svg_is_written_to_a_file(tmp_path: Path) -> None:
    out = tmp_path / "theft.svg"
    shown = augury("explain", "-", "theft", "--format", "svg", "-o", str(out), stdin=STORE)
    assert shown.exit_code == 0
    assert ET.parse(out).getroot().tag.endswith("svg")


def test_mermaid_draws_the_automaton() -> None:
    shown = augury("explain", "-", "--format", "mermaid", stdin=STORE)
    assert shown.exit_code == 0
    assert "-->" in shown.output


@pytest.mark.parametrize("shape", ["svg", "mermaid"])
def test_a_picture_shows_one_query(shape: str) -> None:
    shown = augury("explain", "-", "--format", shape, stdin=TWO)
    assert shown.exit_code == 2
    assert "theft, back" in shown.output


def test_an_unknown_query_suggests_a_near_one() -> None:
    shown = augury("explain", "-", "thef", stdin=STORE)
    assert shown.exit_code == 2
    assert "did you mean theft?" in shown.output


def test_a_script_with_mistakes_shows_them_instead() -> None:
    shown = augury("explain", "-", stdin=BROKEN)
    assert shown.exit_code == 2
    assert "did you mean door?" in shown.stderr
    assert shown.stdout == ""


def test_a_script_without_queries_says_so() -> None:
    shown = augury("explain", "-", stdin=STORE.split("CREATE QUERY")[0])
    assert shown.exit_code == 2
    assert "no query" in shown.output


def test_a_missing_file_is_the_environments_fault(tmp_path: Path) -> None:
    shown = augury("explain", str(tmp_path / "nowhere" / "a.sql"))
    assert shown.exit_code == 1
    assert "does not exist" in shown.output


def test_a_file_that_cannot_be_written_is_the_environments_fault(tmp_path: Path) -> None:
    shown = augury("explain", "-", "theft", "-o", str(tmp_path), stdin=STORE)
    assert shown.exit_code == 1
    assert "cannot be written" in shown.output
