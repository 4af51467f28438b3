"""Queries over matches with unread parts: exact where these are not the same, refused elsewhere."""

from __future__ import annotations

from math import exp
from typing import Any

import numpy as np
import pytest

from augury import QueryError, Session
from cli.terminal import augury

STREAM = """
CREATE STREAM reads (tag STRING, reader STRING, t LONG, p DOUBLE)
KEY tag TIME t TYPE reader PROBABILITY p MISS RATE 0.1;
"""
BOUGHT = """
CREATE QUERY bought ON reads PATTERN SEQ(SHELF x, COUNTER y, EXIT z) WHERE [tag] WITHIN 500
ALLOW 1 MISSED OF (y);
CREATE QUERY stolen ON reads PATTERN SEQ(SHELF x, !COUNTER y, EXIT z) WHERE [tag] WITHIN 500;
CREATE QUERY seen ON reads PATTERN SEQ(SHELF x, COUNTER y) WHERE [tag] WITHIN 500;
CREATE QUERY ending ON reads PATTERN SEQ(SHELF x, EXIT z) WHERE [tag] WITHIN 500
ALLOW 1 MISSED OF (z);
CREATE QUERY anyone ON reads PATTERN SEQ(SHELF x, !COUNTER y, EXIT z)
WHERE x.tag = z.tag WITHIN 500;
"""
GAPS = "".join(
    f"CREATE GAPS {query}_gaps ON {query} ({gap} EXPONENTIAL(20) REACHES 0.9);"
    for query, gap in (
        ("bought", "x TO y"),
        ("stolen", "x TO y"),
        ("ending", "x TO z"),
        ("anyone", "x TO y"),
    )
)


def session(upper: str, *reads: tuple[str, str, int, float]) -> Session:
    ag = Session(engine="local")
    ag.sql(f"{STREAM}{BOUGHT}{GAPS} CREATE QUERY u ON {upper};")
    ag.bind("reads", [dict(zip(("tag", "reader", "t", "p"), read, strict=True)) for read in reads])
    return ag


def answer(upper: str, *reads: tuple[str, str, int, float]) -> list[dict[str, Any]]:
    return session(upper, *reads).table("u").to_pylist()


def missed(length: float) -> float:
    """Return P(y came, and was missed | nothing was read) in a stretch, in closed form."""
    came = 0.9 * (1 - exp(-length / 20))
    return 0.1 * came / (0.1 * came + 1 - came)


def drawn(*stretches: tuple[float, float]) -> float:
    """Return the share of worlds, of those with nothing read, where each stretch has a y.

    One y is drawn after the start of each stretch.
    """
    rng, n = np.random.default_rng(11), 400_000
    silent, true = np.ones(n, bool), np.ones(n, bool)
    for start, end in stretches:
        comes = rng.random(n) < 0.9
        inside = comes & (start + rng.exponential(20.0, n) < end)
        read = inside & (rng.random(n) >= 0.1)
        silent &= ~read
        true &= inside
    return float((silent & true).sum() / silent.sum())


TWICE = (("k", "SHELF", 0, 1.0), ("k", "EXIT", 60, 1.0), ("k", "SHELF", 60, 1.0),
         ("k", "EXIT", 90, 1.0))  # fmt: skip

# Exact ----------------------------------------------------------------------------------------


def test_an_answer_that_rests_on_one_match_is_exact() -> None:
    upper = "bought, reads PATTERN SEQ(bought a, ALARM b) WHERE [tag] WITHIN 500"
    (row,) = answer(upper, ("k", "SHELF", 0, 0.8), ("k", "EXIT", 60, 1.0), ("k", "ALARM", 70, 0.5))
    assert row["confidence"] == pytest.approx(0.4 * missed(60), abs=1e-8)


def test_matches_that_pass_through_keep_their_confidence() -> None:
    found = answer("bought PATTERN SEQ(bought a) WITHIN 900", *TWICE)
    lower = session("bought PATTERN SEQ(bought a) WITHIN 900", *TWICE).table("bought").to_pylist()
    assert len(found) == 3
    assert [r["confidence"] for r in found] == [r["confidence"] for r in lower]


def test_a_count_adds_up_what_overlaps() -> None:
    reads = [("k", "SHELF", 0, 1.0), ("k", "EXIT", 60, 1.0), ("k", "EXIT", 70, 1.0)]
    (row,) = answer("bought PATTERN SEQ(bought a) WITHIN 900 RETURN COUNT", *reads)
    assert row["count"] == 2
    assert row["expected"] == pytest.approx(missed(60) + missed(70), abs=1e-8)


@pytest.mark.parametrize(
    "rule",
    ["b.start_ts >= a.end_ts", "a.end_ts <= b.start_ts"],
)
def test_matches_one_after_the_other_are_independent(rule: str) -> None:
    upper = f"bought PATTERN SEQ(bought a, bought b) WHERE [tag] AND {rule} WITHIN 900"
    (row,) = answer(upper, *TWICE)
    assert row["confidence"] == pytest.approx(missed(60) * missed(30), abs=1e-8)
    assert row["confidence"] == pytest.approx(drawn((0, 60), (60, 90)), abs=0.01)


def test_matches_of_different_keys_are_independent() -> None:
    upper = "bought, stolen PATTERN AND(bought a, stolen b) WHERE a.tag <> b.tag WITHIN 900"
    reads = [("k", "SHELF", 0, 1.0), ("l", "SHELF", 10, 1.0), ("k", "EXIT", 60, 1.0),
             ("l", "EXIT", 50, 1.0)]  # fmt: skip
    found = sorted(row["confidence"] for row in answer(upper, *reads))
    pairs = (missed(60) * (1 - missed(40)), missed(40) * (1 - missed(60)))
    assert found == pytest.approx(sorted(pairs), abs=1e-8)


def test_a_match_with_nothing_unread_may_meet_one_that_has_some() -> None:
    upper = "bought, seen PATTERN AND(bought a, seen b) WHERE [tag] WITHIN 900"
    reads = [("k", "SHELF", 0, 1.0), ("k", "COUNTER", 20, 0.5), ("k", "EXIT", 60, 1.0)]
    # Where the counter's read happened, nothing was missed: only the match that was read is there.
    assert [row["confidence"] for row in answer(upper, *reads)] == pytest.approx([0.5])


def test_alternatives_of_a_pattern_do_not_meet() -> None:
    upper = "bought, stolen PATTERN OR(bought a, stolen b) WITHIN 900"
    reads = [("k", "SHELF", 0, 1.0), ("k", "EXIT", 60, 1.0)]
    found = sorted(row["confidence"] for row in answer(upper, *reads))
    assert found == pytest.approx([missed(60), 1 - missed(60)], abs=1e-8)


# Refused --------------------------------------------------------------------------------------

REFUSED = {
    "bought PATTERN SEQ(bought a) WHERE [tag] WITHIN 900 RETURN PROBABILITY": "RETURN PROBABILITY",
    "bought PATTERN SEQ(bought a, bought b) WHERE [tag] WITHIN 900": "a and b of bought",
    "bought, stolen PATTERN AND(bought a, stolen b) WHERE [tag] WITHIN 900": "a and b of bought",
    "bought, reads PATTERN SEQ(ALARM a, !bought b, EXIT c) WITHIN 900": "a negation of matches",
    "bought PATTERN SEQ(bought+ a) WITHIN 900": "a repetition of matches",
    "bought, reads PATTERN SEQ(bought a, ALARM b) USING SKIP TILL NEXT MATCH WITHIN 900":
    "a selection, or a window of events",
    "bought, reads PATTERN SEQ(bought a, ALARM b) WITHIN 9 EVENTS":
    "a selection, or a window of events",
    "bought PATTERN SEQ(bought a, bought b) WHERE a.match_id <> b.match_id WITHIN 900":
    "a and b of bought",
    "bought PATTERN SEQ(bought a, bought b) WHERE a.end_ts >= b.start_ts WITHIN 900":
    "a and b of bought",
    "ending PATTERN SEQ(ending a, ending b) WHERE b.start_ts >= a.end_ts WITHIN 900":
    "a and b of ending",
    "anyone PATTERN SEQ(anyone a, anyone b) WHERE a.tag <> b.tag WITHIN 900": "a and b of anyone",
}  # fmt: skip


@pytest.mark.parametrize(("upper", "what"), REFUSED.items())
def test_answers_that_may_rest_on_the_same_unread_event_are_refused(upper: str, what: str) -> None:
    ag = session(upper, *TWICE)
    with pytest.raises(QueryError, match="P003") as refused:
        ag.table("u")
    assert what in str(refused.value)
    assert what in " ".join(ag.explain("u").split())


def test_the_refusal_says_how_to_keep_matches_apart() -> None:
    upper = "bought PATTERN SEQ(bought a, bought b) WITHIN 900"
    with pytest.raises(QueryError, match=r"b.start_ts >= a.end_ts or a.tag <> b.tag"):
        session(upper, *TWICE).table("u")


def test_what_reads_a_match_hands_on_what_was_unread_below_it() -> None:
    upper = "bought PATTERN SEQ(bought a) WITHIN 900; CREATE QUERY v ON u PATTERN SEQ(u a, u b)"
    with pytest.raises(QueryError, match="a and b of u"):
        session(f"{upper} WHERE b.start_ts >= a.end_ts WITHIN 900", *TWICE).table("v")
    by_key = "bought PATTERN SEQ(bought a) WITHIN 900; CREATE QUERY v ON u PATTERN AND(u a, u b)"
    found = session(f"{by_key} WHERE a.tag <> b.tag WITHIN 900", *TWICE).table("v")
    assert found.num_rows == 0


def test_gaps_that_come_in_a_later_script_are_known_to_readers() -> None:
    ag = Session(engine="local")
    ag.sql(f"{STREAM}{BOUGHT} CREATE QUERY u ON bought PATTERN SEQ(bought a, bought b) WITHIN 900;")
    assert "not evaluated yet" not in ag.explain("u")
    ag.sql(GAPS)
    assert "not evaluated yet" in ag.explain("u")


def test_check_lists_them_among_what_is_not_evaluated() -> None:
    upper = "bought PATTERN SEQ(bought a, bought b) WITHIN 900"
    shown = augury("check", "-", stdin=f"{STREAM}{BOUGHT}{GAPS} CREATE QUERY u ON {upper};")
    assert shown.exit_code == 0
    assert "note[P003]: query u uses a and b of bought" in " ".join(shown.output.split())
