"""Ways around a policy that are shut: each was open once."""

from __future__ import annotations

from typing import Any

import pytest

from augury import Session
from augury.errors import AuguryError, DataError, QueryError

WARD = "CREATE STREAM ward (id STRING, act STRING, t LONG) ID id TIME t TYPE act;"
THERAPY = "CREATE QUERY therapy ON ward PATTERN SEQ(A a, B b) WITHIN 50;"
POLICY = "CREATE POLICY p ON ward PRIVATE therapy USING GREEDY;"


def session(script: str) -> Session:
    ag = Session(engine="local")
    ag.sql(script)
    return ag


def rows(*events: tuple[str, int]) -> list[dict[str, Any]]:
    return [{"id": f"{act}{t}", "act": act, "t": t} for act, t in events]


def test_revisions_of_a_private_query_are_refused() -> None:
    ag = session(WARD + THERAPY + POLICY.replace("therapy", "therapy WEIGHT 0"))
    ag.bind("ward", rows(("A", 1), ("B", 2)))
    with pytest.raises(QueryError, match="A124"):
        ag.revisions("therapy")


def test_alternatives_of_several_types_are_refused() -> None:
    script = """
    CREATE STREAM ward (id STRING, act STRING, place STRING, t LONG, p DOUBLE)
    ID id TIME t TYPE act ALTERNATIVES place PROBABILITY p;
    """
    copy = THERAPY.replace("therapy", "copy")
    ag = session(script + THERAPY + copy + POLICY)
    events = [("1", "A", "x", 1, 1.0), ("2", "Q", "x", 2, 0.5), ("2", "B", "y", 2, 0.5)]
    names = ("id", "act", "place", "t", "p")
    ag.bind("ward", [dict(zip(names, event, strict=True)) for event in events])
    with pytest.raises(DataError, match="different types"):
        ag.table("copy")


BETWEEN = """
CREATE QUERY ex ON ward PATTERN SEQ(P a, R b) WITHIN 2;
CREATE QUERY ey ON ward PATTERN SEQ(C a, B b) WITHIN 2;
"""


@pytest.mark.parametrize(
    "pattern",
    ["SEQ(ex a, ex b) USING STRICT WITHIN 50", "NEXT(ex a, ex b) WITHIN 50"],
)
def test_what_stands_between_derived_neighbours_is_kept(pattern: str) -> None:
    query = f"CREATE QUERY st ON ex, ey PATTERN {pattern};"
    weighed = POLICY.replace("therapy", "therapy WEIGHT 5")
    ag = session(WARD + THERAPY + BETWEEN + query + weighed)
    events = [("A", 0), ("P", 1), ("R", 2), ("C", 3), ("B", 4), ("P", 5), ("R", 6)]
    ag.bind("ward", rows(*events))
    assert ag.table("st").num_rows == 0


def test_an_alias_comes_before_the_rows() -> None:
    ag = session(WARD + THERAPY + POLICY)
    ag.push("ward", rows(("A", 1)))
    with pytest.raises(QueryError, match="P009"):
        ag.sql("CREATE STREAM published AS SUPPRESS ward USING p;")


TWO = """
CREATE STREAM other (id STRING, act STRING, t LONG) ID id TIME t TYPE act;
CREATE QUERY two ON ward, other PATTERN SEQ(P a, !N n, Z b) WITHIN 50;
"""


def test_a_push_that_fails_loses_no_row() -> None:
    ag = session(WARD + TWO + THERAPY + POLICY)
    ag.push("other", rows(("P", 1)))
    with pytest.raises(DataError):
        ag.push("ward", [*rows(("N", 5), ("Q", 100)), "junk"])
    ag.push("ward", rows(("N", 5), ("Q", 100)))
    assert ag.push("other", rows(("Z", 8), ("Y", 90))) == []


def test_nothing_is_told_after_rows_that_a_policy_could_not_decide() -> None:
    history = WARD.replace("ward", "before")
    learns = POLICY.replace("GREEDY", "HYBRID RATES LEARN FROM before ONLINE")
    ag = session(WARD + history + TWO + THERAPY + learns)
    ag.bind("before", rows(("A", 1000), ("B", 1001)))
    ag.push("other", rows(("P", 1)))
    with pytest.raises(DataError):
        ag.push("ward", rows(("N", 5), ("Q", 100)))
    with pytest.raises(DataError, match="could not decide"):
        ag.push("other", rows(("Z", 8), ("Y", 90)))
    with pytest.raises(DataError, match="could not decide"):
        ag.finish()
    with pytest.raises(DataError, match="could not decide"):
        ag.checkpoint()


def test_tables_are_bound_before_rows_are_decided_about() -> None:
    private = THERAPY.replace(" WITHIN", " WHERE b.id IN rooms WITHIN")
    ag = session(WARD + "CREATE TABLE rooms (id STRING);" + private + POLICY)
    ag.bind("rooms", [{"id": "B2"}])
    ag.push("ward", rows(("A", 1)))
    with pytest.raises(AuguryError, match="before them"):
        ag.bind("rooms", [{"id": "B3"}])
