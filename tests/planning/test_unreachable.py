"""A threshold that missed components cannot reach gets a warning, wherever the script is read."""

from __future__ import annotations

import pytest

from augury import Session
from cli.terminal import augury

SCRIPT = """
CREATE STREAM s (tag STRING, kind STRING, t LONG) KEY tag TIME t TYPE kind MISS RATE 0.1;
CREATE QUERY q ON s PATTERN SEQ(A a, B b, C c) WHERE [tag] WITHIN 20 ALLOW 1 MISSED OF (b)
{clauses};
CREATE GAPS g ON q (a TO b EXPONENTIAL(10));
"""


def warned(clauses: str) -> list[str]:
    ag = Session(engine="local")
    ag.sql(SCRIPT.format(clauses=clauses))
    return [f"{w.code} {w.message}" for w in ag.warnings]


@pytest.mark.parametrize(
    ("clauses", "best"),
    [
        ("HAVING CONFIDENCE >= 0.4", "the best, without b, scores 0.39"),
        ("HAVING CONFIDENCE >= 0.09 SCORING AYAC", "the best, without b, scores 0.0865"),
    ],
)
def test_a_threshold_above_every_score_is_warned_of(clauses: str, best: str) -> None:
    (warning,) = warned(clauses)
    assert warning.startswith("P005 no match with a missed component can reach")
    assert best in warning


@pytest.mark.parametrize(
    "clauses", ["", "HAVING CONFIDENCE >= 0.38", "HAVING CONFIDENCE >= 0.08 SCORING AYAC"]
)
def test_a_threshold_that_can_be_reached_is_not(clauses: str) -> None:
    assert warned(clauses) == []


def test_a_gap_longer_than_the_window_is_warned_of() -> None:
    ag = Session(engine="local")
    text = SCRIPT.format(clauses="").replace("EXPONENTIAL(10)", "UNIFORM(21, 30)")
    ag.sql(text)
    (warning,) = ag.warnings
    assert warning.code == "P006"
    assert "the gap of b is always longer than the window" in warning.message
    assert "P006" in ag.explain("q")


def test_a_gap_that_can_end_inside_the_window_is_not() -> None:
    ag = Session(engine="local")
    ag.sql(SCRIPT.format(clauses="").replace("EXPONENTIAL(10)", "UNIFORM(19, 30)"))
    assert ag.warnings == ()


def test_the_papers_dialect_which_implies_allow_is_not_warned_of() -> None:
    ag = Session(engine="local")
    text = SCRIPT.format(clauses="").split("ALLOW")[0].replace("PATTERN SEQ(", "SEQUENCE (")
    ag.sql(f"{text} THRESHOLD 0.4; CREATE GAPS g ON q (a TO b EXPONENTIAL(10));")
    assert [w.code for w in ag.warnings] == []


def test_explain_and_check_show_the_warning_too() -> None:
    text = SCRIPT.format(clauses="HAVING CONFIDENCE >= 0.4")
    ag = Session(engine="local")
    ag.sql(text)
    assert "P005" in ag.explain("q")
    found = augury("check", "-", stdin=text)
    assert "warning[P005]" in found.output
    assert "| HAVING CONFIDENCE >= 0.4" in found.output
    assert found.exit_code == 0
