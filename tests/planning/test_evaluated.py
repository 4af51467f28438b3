"""EXPLAIN and the engine agree on what is not evaluated yet."""

from __future__ import annotations

import pytest

from augury import QueryError, Session

STREAM = """
CREATE STREAM reads (tag STRING, kind STRING, t LONG, p DOUBLE)
KEY tag TIME t TYPE kind PROBABILITY p MISS RATE 0.1;
"""
GAPS = "; CREATE GAPS g ON q (x TO y EXPONENTIAL(5))"
QUERIES = {
    "PATTERN SEQ(A x, B y) WHERE [tag] WITHIN 9": False,
    "PATTERN SEQ(A x, !B y, C z) WHERE [tag] WITHIN 9": False,
    "PATTERN SEQ(A x, B y) WHERE [tag] WITHIN 9 RETURN PROBABILITY": False,
    "PATTERN SEQ(A x, B+ b, C z) WHERE [tag] USING SKIP TILL NEXT MATCH WITHIN 9"
    " RETURN PROBABILITY": False,
    "PATTERN AND(A x, B+ b) WHERE [tag] USING SKIP TILL NEXT MATCH WITHIN 9"
    " RETURN PROBABILITY": False,
    "PATTERN SEQ(A x, B+ b UNTIL (b.t > 5), C z) WITHIN 9": False,
    "PATTERN SEQ(A x, B+ b UNTIL (b.t > 5), C z) USING SKIP TILL NEXT MATCH WITHIN 9": True,
    "PATTERN SEQ((SEQ(A x, B y))+ g, C z) WITHIN 9 RETURN PROBABILITY": False,
    f"PATTERN SEQ(A x, B y) WHERE [tag] WITHIN 9 ALLOW 1 MISSED OF (y){GAPS}": False,
    f"PATTERN SEQ(A x, !B y, C z) WHERE [tag] WITHIN 9{GAPS}": False,
    f"PATTERN SEQ(A x, B y) WHERE [tag] WITHIN 9 EVENTS ALLOW 1 MISSED OF (y){GAPS}": True,
    f"PATTERN SEQ(A x, !B y, C z) WHERE [tag] WITHIN 9 RETURN PROBABILITY{GAPS}": True,
}


@pytest.mark.parametrize(("query", "refused"), QUERIES.items())
def test_explain_says_what_the_engine_refuses(query: str, refused: bool) -> None:
    ag = Session(engine="local")
    ag.sql(f"{STREAM} CREATE QUERY q ON reads {query};")
    ag.bind("reads", [{"tag": "x", "kind": "A", "t": 1, "p": 0.5}])
    assert ("not evaluated yet: it uses" in ag.explain("q")) is refused
    assert ('"not_evaluated": null' in ag.explain("q", "json")) is not refused
    if refused:
        with pytest.raises(QueryError, match="P003"):
            ag.table("q")
    else:
        ag.table("q")
