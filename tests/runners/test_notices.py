"""What only gaps, histories and rows tell about missed events is said where a query is answered."""

from __future__ import annotations

import warnings

import pytest

from augury import Session

STREAM = """
CREATE STREAM s (tag LONG, kind STRING, t LONG) KEY tag TIME t TYPE kind
MISS RATE BY kind ('A' 0.1, 'B' 0.1, 'C' 0.1);
CREATE STREAM h (tag LONG, kind STRING, t LONG) KEY tag TIME t TYPE kind;
CREATE QUERY q ON s PATTERN SEQ(A a, B b, C c) WHERE [tag] WITHIN 20 ALLOW 1 MISSED OF (b)
HAVING CONFIDENCE >= {threshold};
"""
GIVEN = "CREATE GAPS g ON q (a TO b EXPONENTIAL(10));"
LEARNED = "CREATE GAPS g ON q LEARN FROM h;"
ROWS = [{"tag": 1, "kind": kind, "t": t} for kind, t in (("A", 0), ("B", 3), ("C", 9))]
# The gap takes 10 on average, as the given one does.
HISTORY = [{"tag": k, "kind": kind, "t": t} for k in range(2, 5)
           for kind, t in (("A", 0), ("B", 2 * k + 4), ("C", 19))]  # fmt: skip


def session(gaps: str, threshold: float, rows: list[dict[str, object]] = ROWS) -> Session:
    ag = Session(engine="local")
    ag.sql(STREAM.format(threshold=threshold) + gaps)
    ag.bind("s", rows)
    ag.bind("h", HISTORY)
    return ag


@pytest.mark.parametrize("gaps", [GIVEN, LEARNED], ids=["given", "learned"])
def test_a_threshold_above_every_score_is_warned_of_with_the_answer(gaps: str) -> None:
    ag = session(gaps, 0.4)
    with pytest.warns(UserWarning, match=r"query q: no match .* can reach 0.4.*\(P005\); lower"):
        assert ag.table("q").num_rows == 1
    assert [w.code for w in ag.warnings] == ["P005"]


def test_a_warning_is_given_once() -> None:
    ag = session(GIVEN, 0.4)
    with pytest.warns(UserWarning, match="P005"):
        ag.table("q")
    with warnings.catch_warnings(record=True) as again:
        warnings.simplefilter("always")
        ag.table("q")
    assert again == []


def test_a_query_over_it_says_so_too() -> None:
    ag = session(GIVEN.replace("EXPONENTIAL(10)", "UNIFORM(21, 30)"), 0.0)
    ag.sql("CREATE QUERY u ON q PATTERN SEQ(q a) WITHIN 9;")
    with pytest.warns(UserWarning, match=r"query q: the gap of b .*\(P006\)"):
        ag.table("u")


@pytest.mark.parametrize("gaps", [GIVEN, LEARNED], ids=["given", "learned"])
def test_a_threshold_that_can_be_reached_is_not(gaps: str) -> None:
    assert session(gaps, 0.3).table("q").num_rows == 1


def test_rates_of_values_that_no_row_has_are_warned_of() -> None:
    rows = [{**row, "kind": {"B": "b", "C": "c"}.get(str(row["kind"]), row["kind"])}
            for row in ROWS]  # fmt: skip
    expected = r"MISS RATE BY kind of stream s gives a rate to 'B' and 'C', which no row has, and "
    with pytest.warns(UserWarning, match=expected + "none to 'b' and 'c', which 2 rows have"):
        session(GIVEN, 0.0, rows).table("q")


def test_a_reader_that_read_nothing_is_no_mistake() -> None:
    assert session(GIVEN, 0.0, ROWS[:1]).table("q").num_rows == 0
