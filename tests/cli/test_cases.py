"""`augury test` and `augury init`: scripts are tried on rows whose answers are known."""

from __future__ import annotations

import json
import os
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from augury.cli.cases import differences
from augury.cli.main import cli

SCRIPT = """
CREATE STREAM reads (tag STRING, kind STRING, t LONG, p DOUBLE)
KEY tag TIME t TYPE kind PROBABILITY p;
CREATE QUERY pair ON reads PATTERN SEQ(A a, B b) WHERE [tag] WITHIN 10;
"""
ROWS = """
[case.rows]
reads = [{tag = "x", kind = "A", t = 1, p = 0.5}, {tag = "x", kind = "B", t = 2, p = 0.5}]
"""


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(each) for each in arguments])


def case(expect: str, more: str = "") -> str:
    return f"[[case]]\nname = 'one'\n{more}{ROWS}[case.expect]\n{expect}\n"


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    (tmp_path / "pairs.sql").write_text(SCRIPT)
    return tmp_path


@pytest.mark.parametrize(
    ("expect", "more", "wrong"),
    [
        ("pair = [{tag = 'x', confidence = 0.25}]", "", []),
        ("pair = [{confidence = 0.3}]", "tolerance = 0.1", []),
        ("pair = 1", "", []),
        ("pair = [{events = [{component = 'a'}, {component = 'b'}]}]", "", []),
        ("pair = 2", "", ["pair: 1 rows, expected 2"]),
        (
            "pair = [{confidence = 0.3}]",
            "",
            [
                "pair: a row is missing: {'confidence': 0.3}",
                "pair: a row that was not expected: {'confidence': 0.25}",
            ],
        ),
        ("pair = [{colour = 1}]", "", ["pair: a row is missing: {'colour': 1}"]),
        ("theft = 1", "", ["A029"]),
    ],
)
def test_a_case_holds_where_every_row_is_as_expected(
    pairs: Path, expect: str, more: str, wrong: list[str]
) -> None:
    (pairs / "pairs.test.toml").write_text(case(expect, more))
    done = run("test", pairs, "--json")
    assert done.exit_code == int(bool(wrong)), done.output
    (told,) = json.loads(done.output)["cases"]
    assert all(any(line in each for each in told["wrong"]) for line in wrong)
    assert bool(told["wrong"]) is bool(wrong)


def test_verdicts_are_told_and_written_for_a_ci_server(pairs: Path) -> None:
    (pairs / "pairs.test.toml").write_text(case("pair = 1") + case("pair = 3"))
    done = run("test", pairs, "--junit", pairs / "out.xml")
    assert done.output.splitlines()[-2:] == ["      pair: 1 rows, expected 3", "1 passed, 1 failed"]
    (suite,) = ET.parse(pairs / "out.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert [len(each) for each in suite] == [0, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[case]", "is no TOML"),
        ("script = 'pairs.sql'", "has no case; expected script = '...' and [[case]] tables"),
        ("[[case]]\nrow = 1", "there is no key 'row'; expected expect, name, rows, tolerance"),
        ("[[case]]\nname = 'x'", "nothing is expected; write [case.expect]"),
        ("[[case]]\n[case.expect]\npair = 'x'", "pair is 'x'; expected rows or their number"),
    ],
)
def test_a_wrong_file_of_cases_is_one_sentence(pairs: Path, text: str, message: str) -> None:
    (pairs / "pairs.test.toml").write_text(text)
    done = run("test", pairs)
    assert (done.exit_code, message in done.output) == (1, True), done.output


def test_where_there_is_no_case_one_is_told_how_to_begin(tmp_path: Path) -> None:
    done = run("test", tmp_path)
    assert (done.exit_code, "augury init" in done.output) == (1, True)


def test_a_folder_to_begin_with_holds_and_is_never_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = run("init", tmp_path / "shop")
    assert made.exit_code == 0, made.output
    monkeypatch.chdir(tmp_path / "shop")
    assert sorted(os.listdir()) == ["README.md", "reads.csv", "thefts.sql", "thefts.test.toml"]
    assert run("check", "thefts.sql").exit_code == 0
    assert run("test").output.splitlines()[-1] == "3 passed, 0 failed"
    again = run("init")
    assert (again.exit_code, "is there already" in again.output) == (1, True)


@given(rows=st.lists(st.sampled_from([1.0, 1.05, 1.1, 2.0]), max_size=6), seed=st.randoms())
def test_the_order_of_rows_does_not_matter(rows: list[float], seed: object) -> None:
    told = [{"x": value} for value in rows]
    expected = list(told)
    seed.shuffle(expected)  # type: ignore[attr-defined]
    assert differences(told, expected, 0.06) == []
    assert differences([*told, {"x": 9.0}], expected, 0.06) != []
