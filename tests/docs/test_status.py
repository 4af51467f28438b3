"""docs/status.md tells what is refused as yet; when that changes, so must the document."""

from __future__ import annotations

import pytest

from augury import QueryError, Session

STREAM = """
CREATE STREAM reads (tag STRING, kind STRING, t LONG, p DOUBLE)
KEY tag TIME t TYPE kind PROBABILITY p MISS RATE 0.1;
"""
REFUSED = {
    "repetition": "PATTERN SEQ(A x, B+ b, C z) WHERE [tag] USING SKIP TILL NEXT MATCH"
    " WITHIN 9 RETURN PROBABILITY",
    "ALLOW": "PATTERN SEQ(A x, B z) WHERE [tag] WITHIN 9 ALLOW 1 MISSED OF (z)",
}
GAPS = "CREATE GAPS g ON q (x TO z EXPONENTIAL(5));"


@pytest.mark.parametrize("clauses", REFUSED.values(), ids=REFUSED)
def test_what_is_said_to_be_refused_is_refused(clauses: str) -> None:
    ag = Session(engine="local")
    ag.sql(STREAM + f"CREATE QUERY q ON reads {clauses};" + (GAPS if "ALLOW" in clauses else ""))
    ag.bind("reads", [{"tag": "t", "kind": "A", "t": 1, "p": 1.0}])
    with pytest.raises(QueryError, match="P003"):
        ag.table("q")
