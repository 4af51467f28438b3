"""Why a match was found: events, conditions, and a confidence whose sum is right."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from augury import AuguryError, Session
from matching.as_text import Case, Refused, declared, session_of, stream_table
from matching.random_cases import random_case

STREAM = """CREATE STREAM reads (id LONG, tag STRING, reader STRING, t LONG, p DOUBLE)
ID id KEY tag TIME t TYPE reader PROBABILITY p;
CREATE QUERY theft ON reads PATTERN SEQ(SHELF x, !COUNTER y, EXIT z)
WHERE [tag] AND z.t - x.t < 50 WITHIN 100;"""
ROWS = [("SHELF", 0, 0.9), ("COUNTER", 3, 0.5), ("COUNTER", 4, 0.01), ("EXIT", 10, 0.8)]


def session() -> Session:
    ag = Session(engine="local")
    ag.sql(STREAM)
    names = ("reader", "t", "p", "id", "tag")
    ag.bind("reads", [dict(zip(names, (*r, k, "t1"), strict=True)) for k, r in enumerate(ROWS)])
    return ag


def test_a_confidence_is_told_as_a_product_with_what_would_change_it_most() -> None:
    ag = session()
    (match_id,) = ag.table("theft").column("match_id").to_pylist()
    told = ag.why(match_id)
    assert told.formula == "0.9 * 0.8 * (1 - 0.5) * (1 - 0.01) = 0.3564"
    assert told.conditions == (("[tag]", "tag is t1"), ("z.t - x.t < 50", "z.t is 10, x.t is 0"))
    assert told.most is not None
    assert (told.most.event.event_id, told.surest) == ("1", pytest.approx(0.7128))
    assert "most would change if 1 were out of the way: 0.7128" in str(told)


def test_a_match_that_is_not_there_is_an_error() -> None:
    with pytest.raises(AuguryError, match="there is no match 0815 of theft"):
        session().why("0815")


PATTERNS = ("seq", "negation_in_the_middle", "repetition", "conjunction", "keys", "hierarchy")
FEW = settings(
    phases=(Phase.explicit, Phase.generate), max_examples=max(2, settings().max_examples // 12)
)


def confidences(case: Case, changed: dict[str, float]) -> dict[Any, float]:
    """Return the matches of a case, by their events, with other probabilities of some events."""
    ag = declared(case)
    for stream in case.streams:
        rows = stream_table(case, stream).to_pylist()
        ag.bind(stream, [row | {"p": changed.get(row["id"], row["p"])} for row in rows])
    return {
        row["match_id"]: row["confidence"] for row in ag.table(case.queries[-1].name).to_pylist()
    }


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("construct", PATTERNS)
@FEW
@given(strategy=st.sampled_from(("any", "next")), seed=st.integers(min_value=0, max_value=10**9))
def test_a_confidence_moves_by_what_is_said_when_a_probability_does(
    construct: str, strategy: str, seed: int
) -> None:
    case = random_case(construct, strategy, seed)
    try:
        ag = session_of(case)
        found = ag.table(case.queries[-1].name).to_pylist()[:1]
    except (Refused, AuguryError):
        return
    for row in found:
        told = ag.why(row["match_id"], case.queries[-1].name)
        base = {str(event.id): event for event in case.events}
        for factor in told.factors[:3]:
            event = base.get(factor.event.event_id)
            if event is None or len({e.id for e in case.events}) < len(case.events):
                continue
            moved = confidences(case, {str(event.id): event.p / 2})
            expected = row["confidence"] - factor.influence * event.p / 2
            assert moved.get(row["match_id"], 0.0) == pytest.approx(expected, abs=1e-9), told
