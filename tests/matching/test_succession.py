"""Plain sequences of certain events need no search, and give what the search gives."""

from __future__ import annotations

import random
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury import DataError, Session
from augury.matching import matcher as matching
from augury.matching.find import Found, find
from augury.matching.matcher import Matcher
from augury.matching.succession import followed, is_plain
from augury.planning.match_plan import plan_match
from augury.records import Events, Matches

STREAM = "CREATE STREAM s (id LONG, tag STRING, kind STRING, t LONG, p DOUBLE, v LONG) "
CERTAIN = STREAM + "ID id KEY tag TIME t TYPE kind;"
UNCERTAIN = STREAM + "ID id KEY tag TIME t TYPE kind PROBABILITY p;"
PLAIN = [
    "SEQ(A a, B b) WHERE [tag] WITHIN 9",
    "SEQ(A a, B b, C c) WHERE [tag] WITHIN 30 HAVING CONFIDENCE >= 0.25",
    "SEQ(A a, A b, s c) WHERE [tag] WITHIN 9 HAVING CONFIDENCE > 0.5",
    "SEQ(A a, B b, C c, A d) WITHIN 14",
    "SEQ(A a)",
    "SEQ(A a, B b) WHERE [tag] USING SKIP TILL NEXT MATCH WITHIN 9",
    "SEQ(A a, B b, C c) WHERE [tag] USING SKIP TILL NEXT MATCH WITHIN 14",
    "SEQ(A a, A b, A c) WHERE [tag] USING SKIP TILL NEXT MATCH WITHIN 14",
    "SEQ(A a, B b, A c) USING SKIP TILL NEXT MATCH WITHIN 5",
    "SEQ(A a (a.v > 0), s b (b.v < 2), s c) WHERE [tag] USING SKIP TILL NEXT MATCH WITHIN 20",
    "SEQ(A a, B b) WHERE [tag] USING SKIP TILL NEXT MATCH",
    "SEQ(A a) USING SKIP TILL NEXT MATCH WITHIN 3",
    "SEQ(A a, B b) USING SKIP TILL NEXT MATCH WITHIN 9 HAVING CONFIDENCE > 0.5",
]
SEARCHED = [
    "SEQ(A a, !C c, B b) WHERE [tag] USING SKIP TILL NEXT MATCH WITHIN 9",
    "SEQ(A a, B+ b) WHERE [tag] USING SKIP TILL NEXT MATCH WITHIN 9",
    "SEQ(A a, B b) WHERE [tag] AND a.v < b.v USING SKIP TILL NEXT MATCH WITHIN 9",
    "SEQ(A a, B b) WHERE [tag] AFTER WHERE a.v < b.v USING SKIP TILL NEXT MATCH WITHIN 9",
    "SEQ(A a, B b) WHERE [tag] USING PARTITION CONTIGUITY WITHIN 9",
    "SEQ(A a, B b) WHERE [tag] USING STRICT WITHIN 9",
    "AND(A a, B b) WHERE [tag] USING SKIP TILL NEXT MATCH WITHIN 9",
    "SEQ(A a, B b) USING SKIP TILL NEXT MATCH WITHIN 4 EVENTS",
    "SEQ(A a, OR(B b, C c)) USING SKIP TILL NEXT MATCH WITHIN 4",
]


def session(stream: str, query: str) -> Session:
    ag = Session(engine="local")
    ag.sql(f"{stream} CREATE QUERY q ON s PATTERN {query};")
    return ag


def rows(seed: int, n: int, *, apart: bool = True, certain: bool = True) -> pa.Table:
    rng = random.Random(seed)
    times = sorted(rng.sample(range(2 * n), n)) if apart else sorted(rng.choices(range(n), k=n))
    return pa.table(
        {
            "id": range(n),
            "tag": [rng.choice("xyz") for _ in range(n)],
            "kind": [rng.choice("ABC") for _ in range(n)],
            "t": times,
            "p": [1.0 if certain else rng.choice((1.0, 0.5)) for _ in range(n)],
            "v": [rng.randrange(3) for _ in range(n)],
        }
    )


def answered(stream: str, query: str, data: pa.Table) -> tuple[list[Any], bool]:
    """Return the rows of the answer, and whether they came without a search."""
    ag = session(stream, query)
    ag.bind("s", data)
    found: list[Found | None] = []

    def kept(*given: Any) -> Found | None:
        found.append(followed(*given))
        return found[-1]

    with patch.object(matching, "followed", kept):
        answer = ag.table("q").sort_by("match_id").to_pylist()
    return answer, any(each is not None for each in found)


@pytest.mark.parametrize("query", [*PLAIN, *SEARCHED])
def test_which_patterns_are_plain(query: str) -> None:
    ag = session(CERTAIN, query)
    checked, _ = ag._declared.queries["q"]
    assert is_plain(plan_match(checked, ag._declared.catalog).pattern) == (query in PLAIN)


@given(
    seed=st.integers(0, 2**20),
    n=st.integers(1, 40),
    query=st.sampled_from(PLAIN),
    certain=st.booleans(),
)
def test_following_is_searching(seed: int, n: int, query: str, certain: bool) -> None:
    certain |= "NEXT" in query
    data = rows(seed, n, certain=certain)
    found, without_search = answered(UNCERTAIN, query, data)
    # Where no row can play there is nothing to follow.
    assert without_search or not found
    with patch.object(matching, "can_follow", return_value=False):
        wanted, without_search = answered(UNCERTAIN, query, data)
    assert not without_search
    assert found == wanted


@pytest.mark.parametrize("using", ["", "USING SKIP TILL NEXT MATCH"])
@pytest.mark.parametrize(
    ("times", "matches"),
    [
        ([-(2**62) + 1, 2**62 - 7], 0),
        ([2**62 - 4, 2**62 - 2], 1),
        ([2**61 - 3, 2**61 - 1], 1),
        ([-(2**61) + 1, 2**61 - 1], 0),
    ],
)
def test_times_far_off(using: str, times: list[int], matches: int) -> None:
    one = {"tag": "x", "kind": "A", "p": 1.0, "v": 0}
    data = pa.Table.from_pylist([{**one, "id": k, "t": t} for k, t in enumerate(times)])
    found, _ = answered(CERTAIN, f"SEQ(A a, A b) WHERE [tag] {using} WITHIN 5", data)
    assert len(found) == matches


def test_certain_is_not_more_likely_than_all_but_certain() -> None:
    """By a tolerance that all ways to find matches share."""
    query = "SEQ(A a, A b) USING SKIP TILL NEXT MATCH HAVING CONFIDENCE > 0.9999999995"
    data = pa.table(
        {
            "id": [1, 2],
            "tag": ["x", "x"],
            "kind": ["A", "A"],
            "t": [1, 2],
            "p": [1.0] * 2,
            "v": [0] * 2,
        }
    )
    assert answered(UNCERTAIN, query, data) == ([], False)


def test_steps_in_vain_are_left_to_the_search() -> None:
    """From one start all pass the threshold for long, and no sequence of all does."""
    kinds = "FEDCBA" + "".join(kind * 60 for kind in "BCDEF")
    n = len(kinds)
    data = pa.table(
        {
            "id": range(n),
            "tag": ["x"] * n,
            "kind": list(kinds),
            "t": range(n),
            "p": [1.0] * 6 + [0.9] * (n - 6),
            "v": [0] * n,
        }
    )
    parts = ", ".join(f"{kind} {kind.lower()}" for kind in "ABCDEF")
    ag = session(UNCERTAIN, f"SEQ({parts}) WITHIN 100000 HAVING CONFIDENCE >= 0.6")
    ag.bind("s", data)
    with patch.object(matching, "find", wraps=find) as searched:
        assert ag.table("q").num_rows == 0
    assert searched.called


OPTIONAL = [
    "SEQ(A a, B b, C? c) WHERE [tag] WITHIN 9 RETURN a.v AS av, c.v AS cv",
    "SEQ(A a, OR(B b, C c)) WHERE [tag] WITHIN 9 RETURN c.v AS cv",
    "SEQ(A a, B b, C* c) WHERE [tag] WITHIN 9 RETURN LAST(c).v AS cv",
]


@pytest.mark.parametrize("query", OPTIONAL)
def test_a_component_that_no_match_has_is_null(query: str) -> None:
    ag = session(CERTAIN, query)
    data = {"id": [1, 2, 3, 4], "tag": list("xxyy"), "kind": list("ABAB"), "t": [1, 2, 3, 4]}
    ag.bind("s", pa.table({**data, "p": [1.0] * 4, "v": [10, 20, 30, 40]}))
    assert ag.table("q").column("cv").to_pylist() == [None, None]


def test_too_many_matches_of_one_event_are_refused() -> None:
    ag = session(CERTAIN, "SEQ(A a, B b) WITHIN 1000 MATCH LIMIT 20")
    ag.bind("s", rows(3, 200))
    with pytest.raises(DataError, match="more than 20 matches begin with one event"):
        ag.table("q")


def listed(matches: Matches) -> list[Any]:
    """Return matches as they are, whatever their order."""
    items = zip(matches.component.tolist(), matches.row.tolist(), strict=True)
    taken = np.split(np.array(list(items)).reshape(-1, 2), matches.first_item[1:-1])
    told = (matches.confidence, matches.report_time, matches.is_final, matches.missed)
    rest = zip(*(each.tolist() for each in told), strict=True)
    if not len(matches):
        return []
    return sorted(
        (tuple(map(tuple, own.tolist())), *each) for own, each in zip(taken, rest, strict=True)
    )


@given(
    seed=st.integers(0, 2**20),
    cut=st.integers(0, 60),
    query=st.sampled_from(PLAIN[:-2]),
    shuffled=st.booleans(),
)
def test_what_is_known_in_a_span_is_the_same(
    seed: int, cut: int, query: str, shuffled: bool
) -> None:
    ag = session(CERTAIN, query)
    ag.bind("s", rows(seed, 30))
    spans: list[tuple[Matches, Matches]] = []

    def both(own: Matcher, events: Events, reported: int, horizon: int) -> Matches:
        if shuffled:
            events = events.take(np.random.default_rng(seed).permutation(len(events)))
        for span in ((reported, cut), (cut, horizon)):
            without_search = found_in(own, events, *span)
            with patch.object(matching, "can_follow", return_value=False):
                spans.append((without_search, found_in(own, events, *span)))
        return found_in(own, events, reported, horizon)

    found_in = Matcher.matches
    with patch.object(Matcher, "matches", both):
        ag.table("q")
    assert len(spans) == 2
    for without_search, searched in spans:
        assert listed(without_search) == listed(searched)


@pytest.mark.parametrize("query", PLAIN[5:7])
def test_doubt_and_equal_times_are_searched(query: str) -> None:
    assert answered(CERTAIN, query, rows(1, 40))[1]
    assert answered(UNCERTAIN, query, rows(1, 40))[1]
    assert not answered(UNCERTAIN, query, rows(1, 40, certain=False))[1]
    assert not answered(CERTAIN, query, rows(1, 120, apart=False))[1]
