"""docs/status.md tells what is refused as yet; when that changes, so must the document."""

from __future__ import annotations

from pathlib import Path

import pytest

from augury import AuguryError, QueryError, Session

STREAM = """
CREATE STREAM reads (tag STRING, kind STRING, t LONG, p DOUBLE)
KEY tag TIME t TYPE kind PROBABILITY p MISS RATE 0.1;
"""
REFUSED = {
    "until": "PATTERN SEQ(A x, B+ b UNTIL (b.t > 9), C z) USING SKIP TILL NEXT MATCH WITHIN 9",
    "next-match": "PATTERN SEQ(A x, B z) WHERE [tag] USING SKIP TILL NEXT MATCH WITHIN 9"
    " ALLOW 1 MISSED OF (z); CREATE GAPS g ON q (x TO z EXPONENTIAL(5))",
    "window of events": "PATTERN SEQ(A x, B z) WHERE [tag] WITHIN 9 EVENTS"
    " ALLOW 1 MISSED OF (z); CREATE GAPS g ON q (x TO z EXPONENTIAL(5))",
    "probability query": "PATTERN SEQ(A x, !B y, C z) WHERE [tag] WITHIN 9 RETURN PROBABILITY;"
    " CREATE GAPS g ON q (x TO y EXPONENTIAL(5))",
    "negation at the ends": "PATTERN SEQ(A x, B y, !N n, C z, D w) WHERE [tag] WITHIN 9"
    " ALLOW 3 MISSED; CREATE GAPS g ON q (x BEFORE y EXPONENTIAL(5), y TO n EXPONENTIAL(5),"
    " y TO z EXPONENTIAL(5), z TO w EXPONENTIAL(5))",
}
MARKOV = """
CREATE STREAM at (person STRING, place STRING, t LONG, p DOUBLE)
KEY person TIME t ALTERNATIVES place PROBABILITY p MARKOV moves;
CREATE STREAM moves (person STRING, t LONG, place_from STRING, place_to STRING, p DOUBLE)
KEY person TIME t PROBABILITY p;
CREATE QUERY q ON at PATTERN SEQ(at a, at b) WHERE [person]
AFTER MATCH SKIP PAST LAST EVENT WITHIN 9;
"""
STATUS = Path(__file__).parents[2] / "docs" / "status.md"


@pytest.mark.parametrize("clauses", REFUSED.values(), ids=REFUSED)
def test_what_is_said_to_be_refused_is_refused(clauses: str) -> None:
    ag = Session(engine="local")
    ag.sql(STREAM + f"CREATE QUERY q ON reads {clauses};")
    ag.bind("reads", [{"tag": "t", "kind": "A", "t": 1, "p": 1.0}])
    with pytest.raises(QueryError, match="P003"):
        ag.table("q")


def test_what_is_taken_along_paths_is_refused() -> None:
    ag = Session(engine="local")
    ag.sql(MARKOV)
    ag.bind("at", [{"person": "joe", "place": "a", "t": 1, "p": 1.0}])
    with pytest.raises(QueryError, match="P003"):
        ag.table("q")


def test_a_stream_that_names_files_is_bound_from_python_all_the_same() -> None:
    ag = Session(engine="local")
    ag.sql(
        "CREATE STREAM s (kind STRING, t LONG) TIME t TYPE kind FROM csv 'nowhere.csv';"
        "CREATE QUERY q ON s PATTERN SEQ(A a, B b) WITHIN 9;"
    )
    with pytest.raises(AuguryError, match="bind"):
        ag.table("q")


def test_the_exception_of_checking_is_refused() -> None:
    clauses = "PATTERN SEQ(A x, B z) WHERE x.t < z.t + 1 RETURN PROBABILITY BY TIME"
    with pytest.raises(QueryError, match="A066"):
        Session(engine="local").sql(STREAM + f"CREATE QUERY q ON reads {clauses};")


def test_every_row_that_is_refused_has_a_test() -> None:
    rows = [line for line in STATUS.read_text(encoding="utf-8").splitlines() if "P003" in line]
    # That of the second row is in tests/runners/test_hidden_worlds.py, those of the third in
    # tests/planning/test_entangled.py, forecasts in tests/forecast/test_forecasts.py,
    # rules in tests/rules/test_rules.py and tests/spark/test_stages.py, identities in
    # tests/identity, what comes after a match in tests/runners/test_after_match.py,
    # UNTIL in tests/planning/test_evaluated.py,
    # silent streams in tests/runners/test_passing_time.py, what only the end tells in
    # tests/contracts/test_live_runner.py.
    shown = (
        "`B+ b UNTIL (...)`",
        "`AFTER MATCH SKIP`",
        "hard queries over `CORRELATED` streams",
        "queries over queries with missed parts",
        "`ALLOW n MISSED` with next-match selection",
        "`MARKOV`",
        "`LATENESS`",
        "time without events",
        "queries over streams `AS IDENTIFY`",
        "forecasts `USING MODEL`",
        "forecasts with [`APPROXIMATE (e, d)`]",
        "forecasts without `APPROXIMATE`",
        "forecasts of queries over queries",
        "rules and active conjuncts",
        "a query over a query that has active conjuncts",
        "a subquery of a table that no rule writes",
        "`UNCERTAIN` tables",
    )
    assert len(rows) == len(shown)
    assert all(what in row for what, row in zip(shown, rows, strict=True))
