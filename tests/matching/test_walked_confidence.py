"""Confidences that are walked are those of the possible worlds, and those of formulas."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.matching.walked_confidence import Walks
from matching.asking import ask, shown
from oracles.model import Comp, Event, Not, Query, Seq
from oracles.notation import shown as worlds_shown
from oracles.worlds import matches
from runners.every_runner import every_runner

A, B, C = Comp("a", "A"), Comp("b", "B"), Comp("c", "C")
# As written, as the oracle reads it, and the window.
QUERIES: dict[str, tuple[str, Any, tuple[str, int]]] = {
    "composite": (
        "SEQ(A a, !SEQ(B b, A x), C c) WITHIN 6",
        Seq((A, Not(Seq((B, Comp("x", "A")))), C)),
        ("time", 6),
    ),
    "composite of three": (
        "SEQ(A a, !SEQ(B b, A x, B y), C c) WITHIN 9",
        Seq((A, Not(Seq((B, Comp("x", "A"), Comp("y", "B")))), C)),
        ("time", 9),
    ),
    "leading composite": (
        "SEQ(!SEQ(B b, A x), C c, A a) WITHIN 5",
        Seq((Not(Seq((B, Comp("x", "A")))), C, A)),
        ("time", 5),
    ),
    "trailing composite": (
        "SEQ(C c, A a, !SEQ(B b, A x)) WITHIN 5",
        Seq((C, A, Not(Seq((B, Comp("x", "A")))))),
        ("time", 5),
    ),
    "absent at both ends": (
        "SEQ(!B b, A a, C c, !B x) WITHIN 3 EVENTS",
        Seq((Not(B), A, C, Not(Comp("x", "B")))),
        ("events", 3),
    ),
    "perhaps nothing before": (
        "SEQ(C* a, !B b, B{2,3} c, A d) WITHIN 4 EVENTS",
        Seq((Comp("a", "C", 0, None), Not(B), Comp("c", "B", 2, 3), Comp("d", "A"))),
        ("events", 4),
    ),
}
CHANCES = (0.3, 0.5, 0.9, 1.0)


Rows = list[dict[str, Any]]


def stream(kinds: str, chances: list[float], gaps: list[int]) -> Rows:
    found, at = list[dict[str, Any]](), 0
    for k, (kind, p, gap) in enumerate(zip(kinds, chances, gaps, strict=True)):
        at += gap
        found.append({"id": f"e{k}", "kind": kind, "t": at, "p": p})
        found[-1] |= {"tie": None, "v": None, "tag": None}
    return found


@st.composite
def streams(draw: st.DrawFn) -> Rows:
    """Return seven events of three kinds; some are certain, some have one time."""
    kinds = draw(st.text("ABC", min_size=7, max_size=7))
    chances = draw(st.lists(st.sampled_from(CHANCES), min_size=7, max_size=7))
    gaps = draw(st.lists(st.sampled_from((0, 1, 1, 1, 2)), min_size=7, max_size=7))
    return stream(kinds, chances, gaps)


def long_stream(n: int, seed: int) -> Rows:
    rng = random.Random(seed)
    kinds = "".join(rng.choice("ABC") for _ in range(n))
    return stream(kinds, [round(rng.uniform(0.1, 0.9), 2) for _ in kinds], [1] * n)


@pytest.mark.parametrize("name", QUERIES)
@given(events=streams())
def test_walked_confidences_are_those_of_all_possible_worlds(name: str, events: Rows) -> None:
    written, pattern, within = QUERIES[name]
    own = [Event(row["id"], row["t"], row["kind"], row["p"]) for row in events]
    expected = worlds_shown(matches(Query(pattern, within=within), own))
    assert ask(f"PATTERN {written}", events) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", QUERIES)
def test_walks_and_formulas_tell_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    query, events = f"PATTERN {QUERIES[name][0]}", long_stream(18, 3)
    walked = ask(query, events)
    monkeypatch.setattr(Walks, "of", lambda pattern, events: None)
    assert len(walked) > 10
    assert walked == pytest.approx(ask(query, events), abs=1e-12)


@every_runner
@pytest.mark.parametrize("name", ["composite", "perhaps nothing before"])
def test_every_runner_walks(name: str, runner: Any) -> None:
    script = "CREATE STREAM s (id STRING, kind STRING, t LONG, p DOUBLE) ID id TIME t TYPE kind"
    script += f" PROBABILITY p; CREATE QUERY q ON s PATTERN {QUERIES[name][0]};"
    events = [{c: row[c] for c in ("id", "kind", "t", "p")} for row in long_stream(9, 5)]
    end = {"id": "end", "kind": "Z", "t": 1000, "p": 1.0}
    found = shown(runner(script, "q", {"s": events}, {"s": end}))
    assert found == pytest.approx(ask(f"PATTERN {QUERIES[name][0]}", long_stream(9, 5)))


def test_a_repetition_takes_no_more_events_than_its_window_has() -> None:
    """Each of 120 events may be one of the first: of subsets there are more than atoms."""
    events = stream("A" * 120 + "B", [1.0] * 121, [1] * 121)
    found = ask("PATTERN SEQ(A* a, B b) WITHIN 3 EVENTS", events)
    assert found == {
        "b=e120": 1.0,
        "a=e119 b=e120": 1.0,
        "a=e118 b=e120": 1.0,
        "a=e118,e119 b=e120": 1.0,
    }


def test_what_almost_surely_lies_beyond_the_window_is_not_looked_at() -> None:
    query = "PATTERN SEQ(A a, A b) WITHIN 2 EVENTS HAVING CONFIDENCE >= 0.2"
    found = ask(query, stream("A" * 2000, [0.5] * 2000, [1] * 2000))
    # Next to each other 1/4; with one between them, which must be absent, 1/8.
    assert set(found.values()) == {0.25}
    assert len(found) == 1999
