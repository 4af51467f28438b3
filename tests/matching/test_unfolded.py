"""Repetitions in probability queries under next-match and contiguity, in patterns of every shape.

A query holds if it holds for some number of repetitions; the oracle fixes each at every number.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from augury import DataError, QueryError, Session
from matching.probability_cases import Asked
from matching.random_cases import random_case
from oracles.worlds import probability, probability_by_time

SHAPES = ("conjunction", "disjunction", "groups", "neighbours", "nesting", "repetition_conditions")


@given(
    construct=st.sampled_from(SHAPES),
    strategy=st.sampled_from(("next", "strict", "partition")),
    asked=st.sampled_from(("ever", "by time")),
    seed=st.integers(0, 10**6),
)
def test_some_number_of_repetitions_will_do(
    construct: str, strategy: str, asked: str, seed: int
) -> None:
    case = random_case(construct, strategy, seed)
    query = replace(case.queries[0], probability=asked)
    how = probability_by_time if asked == "by time" else probability
    try:
        found = Asked(replace(case, queries=()), query).answers()
    except QueryError as error:
        # Hard at every time step: only sampling is offered.
        assume(error.diagnostics[0].code not in ("A066", "A028"))
        raise
    expected = {row: p for row, p in how(query, case.events).items() if p > 1e-12}
    assert found == pytest.approx(expected, abs=1e-9)


STREAM = (
    "CREATE STREAM s (id LONG, kind STRING, t LONG, p DOUBLE) ID id TIME t TYPE kind PROBABILITY p;"
)
BOTH = "PATTERN AND(A a, B+ b) USING SKIP TILL NEXT MATCH"


def of_both(n: int) -> Session:
    ag = Session(engine="local")
    ag.sql(f"{STREAM} CREATE QUERY q ON s {BOTH} WITHIN 10 RETURN PROBABILITY;")
    ag.bind("s", [{"id": k, "kind": "AB"[k % 3 > 0], "t": k % 10, "p": 0.5} for k in range(n)])
    return ag


def test_rows_that_come_one_by_one_get_the_same_probability() -> None:
    bound = of_both(9).table("q").column("probability").to_pylist()
    ag = Session(engine="local")
    ag.sql(f"{STREAM} CREATE QUERY q ON s {BOTH} WITHIN 10 RETURN PROBABILITY;")
    rows = [{"id": k, "kind": "AB"[k % 3 > 0], "t": k % 10, "p": 0.5} for k in range(9)]
    found = [row for each in rows for row in ag.push("s", each)] + ag.finish()
    assert [row["probability"] for row in found] == pytest.approx(bound)


def test_what_is_too_entangled_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUGURY_LINEAGE_LIMIT", "20")
    with pytest.raises(DataError, match="lineage_limit"):
        of_both(30).table("q")
