"""CREATE CORRELATION ... LEARN FROM: what a history says of events that follow each other."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from augury import DataError, QueryError, Session
from oracles.model import Comp, Event, Query, Seq
from oracles.worlds import matches, matches_in_world

QUICK = settings(phases=(Phase.explicit, Phase.generate))
COLUMNS = "(id STRING, kind STRING, tag STRING, t LONG, p DOUBLE)"
DECLARED = f"{COLUMNS} ID id TIME t TYPE kind PROBABILITY p"
SCRIPT = f"""
CREATE STREAM s {DECLARED};
CREATE STREAM past {DECLARED};
CREATE CORRELATION moves LEARN FROM past;
CREATE QUERY q ON s PATTERN SEQ(A a, B b, C c) WHERE [tag] WITHIN 6 CORRELATED BY moves
"""
ABC = Query(
    Seq((Comp("a", "A"), Comp("b", "B"), Comp("c", "C"))), equate=("tag",), within=("time", 6)
)


def event(name: str, kind: str, t: int, p: float, tag: str = "x") -> Event:
    return Event(name, t, kind, p, {"tag": tag})


def rows(events: list[Event]) -> list[dict[str, Any]]:
    return [{"id": e.id, "kind": e.type, "t": e.ts, "p": e.p, **e.attrs} for e in events]


def asked(past: list[Event], now: list[Event], more: str = "") -> Session:
    ag = Session(engine="local")
    ag.sql(f"{SCRIPT} {more};")
    ag.bind("past", rows(past))
    ag.bind("s", rows(now))
    return ag


def confidences(ag: Session) -> dict[tuple[str, ...], float]:
    found = ag.table("q").to_pylist()
    return {tuple(e["event_id"] for e in row["events"]): row["confidence"] for row in found}


# --- the oracle: every match of the history in one certain world, counted by hand ---


def counted(past: list[Event]) -> dict[tuple[str, str], float]:
    """Return P(later component | earlier component) from the matches of the history."""
    certain = [Event(e.id, e.ts, e.type, 1.0, e.attrs) for e in past]
    happened = {e.id: e.p for e in past}
    pairs = set()
    for match in matches_in_world(ABC, certain):
        ids = dict(match.key)
        for earlier, later in pairwise("abc"):
            pairs.add((earlier, ids[earlier][0], later, ids[later][0]))
    both: dict[tuple[str, str], float] = {}
    first: dict[tuple[str, str], float] = {}
    for a, earlier, b, later in pairs:
        first[a, b] = first.get((a, b), 0.0) + happened[earlier]
        both[a, b] = both.get((a, b), 0.0) + happened[earlier] * happened[later]
    return {pair: both[pair] / total for pair, total in first.items() if total > 0.0}


def expected(past: list[Event], now: list[Event]) -> dict[tuple[str, ...], float]:
    """Return the confidences, with the oracle's own chain of conditional probabilities."""
    learned = counted(past)
    kinds = {"A": "a", "B": "b", "C": "c"}
    table = {
        (x.id, y.id): learned[kinds[x.type or ""], kinds[y.type or ""]]
        for x in now
        for y in now
        if (kinds[x.type or ""], kinds[y.type or ""]) in learned
    }
    query = Query(
        ABC.pattern,
        equate=ABC.equate,
        within=ABC.within,
        correlated=table,
        unlisted_independent=True,
    )
    found = matches(query, now)
    return {tuple(dict(key)[name][0] for name in "abc"): p for key, p in found.items()}


def random_events(rng: random.Random, chances: tuple[float, ...], n: int) -> list[Event]:
    t, found = 0, []
    for k, kind in enumerate(["A", "B", "C", *rng.choices("ABC", k=n)]):
        t += rng.choice((0, 1, 1, 2))
        found.append(event(f"e{k}", kind, t, rng.choice(chances), rng.choice("xxy")))
    return found


@QUICK
@given(seed=st.integers(min_value=0, max_value=10**9))
def test_confidences_are_chains_of_what_the_history_counts(seed: int) -> None:
    rng = random.Random(seed)
    past = random_events(rng, (0.0, 1.0, 1.0, 0.5), 9)
    now = random_events(rng, (0.5, 0.25, 0.9), 6)
    found = confidences(asked(past, now, "OPTIONS (unlisted = 'independent')"))
    wanted = expected(past, now)
    assert set(found) == set(wanted)
    for key, value in wanted.items():
        assert found[key] == pytest.approx(value, abs=1e-9)


PAST = [
    event("a1", "A", 1, 1.0),
    event("b2", "B", 2, 1.0),
    event("c3", "C", 3, 1.0),
    event("a11", "A", 11, 1.0),
    event("b12", "B", 12, 0.0),
    event("c13", "C", 13, 1.0),
]
NOW = [event("a", "A", 1, 0.5), event("b", "B", 2, 0.9), event("c", "C", 3, 0.1)]


def test_half_of_the_past_a_were_followed_by_b_and_all_b_by_c() -> None:
    assert confidences(asked(PAST, NOW)) == {("a", "b", "c"): pytest.approx(0.5 * 0.5 * 1.0)}


def test_a_threshold_judges_the_learned_confidence() -> None:
    assert confidences(asked(PAST, NOW, "HAVING CONFIDENCE > 0.25")) == {}
    assert len(confidences(asked(PAST, NOW, "HAVING CONFIDENCE >= 0.25"))) == 1


def test_a_pair_that_the_history_lacks_is_refused_or_taken_as_independent() -> None:
    with pytest.raises(DataError, match="no match in its history has b after a"):
        confidences(asked(PAST[:2], NOW))
    lenient = asked(PAST[:2], NOW, "OPTIONS (unlisted = 'independent')")
    assert confidences(lenient) == {("a", "b", "c"): pytest.approx(0.5 * 0.9 * 0.1)}


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (
            SCRIPT.replace("CREATE STREAM past", "CREATE STREAM older"),
            "past, which is not declared",
        ),
        (
            SCRIPT.replace(f"past {DECLARED}", f"past {COLUMNS} ID id TIME t TYPE kind"),
            "does not say what turned out to have happened",
        ),
        (
            SCRIPT.replace(
                f"past {DECLARED}", f"past {DECLARED}".replace("tag STRING", "label STRING")
            ),
            "has no column tag STRING",
        ),
        (
            SCRIPT.replace("CREATE QUERY q ON s", "CREATE QUERY q ON s, past"),
            "the query reads several streams",
        ),
    ],
)
def test_a_history_that_cannot_teach_the_query_is_refused(script: str, message: str) -> None:
    with pytest.raises(QueryError, match="A065") as caught:
        Session(engine="local").sql(script + ";")
    assert message in str(caught.value)


def test_pushed_events_are_as_correlated_as_bound_ones() -> None:
    ag = asked(PAST, NOW)
    expected = {row["match_id"]: row["confidence"] for row in ag.table("q").to_pylist()}
    found = [*ag.push("s", rows(NOW)), *ag.finish()]
    assert {row["match_id"]: row["confidence"] for row in found} == pytest.approx(expected)
    assert expected
