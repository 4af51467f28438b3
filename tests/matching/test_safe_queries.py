"""Safe queries, in Lahar's own spelling, against Lahar's own definition over all worlds."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from augury import Session
from oracles.model import Event
from oracles.probabilities import Goal, Var, probability_by_time

QUICK = settings(phases=(Phase.explicit, Phase.generate))
STREAMS = """
CREATE STREAM R (value STRING, t LONG, p DOUBLE) KEY value TIME t PROBABILITY p;
CREATE STREAM S (value STRING, t LONG, p DOUBLE) KEY value TIME t PROBABILITY p;
CREATE STREAM T (value STRING, other STRING, t LONG, p DOUBLE) KEY value TIME t PROBABILITY p;
CREATE STREAM U (value STRING, t LONG, p DOUBLE) KEY value TIME t PROBABILITY p;
"""
UNCERTAIN, CHANCES = 7, (0.25, 0.5, 0.75)
R, S = Goal("R", {"value": Var("x")}), Goal("S", {"value": Var("x")})
SAFE = {
    "R(x); S(x); T('a', y)": [R, S, Goal("T", {"value": "a", "other": Var("y")})],
    "R(x); S(x)+<{x}, >; T('a', y)": [
        R,
        Goal("S", {"value": Var("x")}, shared=frozenset("x")),
        Goal("T", {"value": "a", "other": Var("y")}),
    ],
    "R(x); S(x); T(z, 'b')": [R, S, Goal("T", {"value": Var("z"), "other": "b"})],
    "R(x); S(x); U(x); T('a', y)": [
        R,
        S,
        Goal("U", {"value": Var("x")}),
        Goal("T", {"value": "a", "other": Var("y")}),
    ],
}


def events(seed: int) -> list[Event]:
    """Return events of three values over eight steps; a few are uncertain, so worlds are few."""
    rng = random.Random(seed)
    found = []
    for k in range(rng.randint(6, 14)):
        # The streams in the order of the query more often than not, so that matches are there.
        ts = rng.randint(1, 8)
        stream = rng.choice("RSTU") if rng.random() < 0.4 else "RSUT"[(ts - 1) // 2]
        attrs = {"value": rng.choice("abc")}
        attrs |= {"other": rng.choice("bc")} if stream == "T" else {}
        p = rng.choice(CHANCES) if k < UNCERTAIN else 1.0
        found.append(Event(k, ts, None, p, attrs, stream=stream))
    return found


def rows(drawn: list[Event], stream: str) -> list[dict[str, Any]]:
    return [{**e.attrs, "t": e.ts, "p": e.p} for e in drawn if e.stream == stream]


@pytest.mark.parametrize("text", SAFE)
@QUICK
@given(seed=st.integers(min_value=0, max_value=10**9))
def test_safe_queries_have_the_probability_of_all_worlds(text: str, seed: int) -> None:
    asked = {goal.stream for goal in SAFE[text]}
    drawn = [event for event in events(seed) if event.stream in asked]
    ag = Session(engine="local")
    ag.sql(f"{STREAMS} CREATE QUERY q AS {text};")
    for stream in "RSTU":
        ag.bind(stream, rows(drawn, stream))
    found = {row["ts"]: row["probability"] for row in ag.table("q").to_pylist()}
    expected = probability_by_time(SAFE[text], drawn)
    assert set(found) == set(expected)
    for time, value in expected.items():
        assert found[time] == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("text", SAFE)
def test_they_are_safe_and_not_extended_regular(text: str) -> None:
    ag = Session(engine="local")
    ag.sql(f"{STREAMS} CREATE QUERY q AS {text};")
    assert ag.explain("q").startswith("q: safe")


def test_forty_objects_cost_no_more_than_their_number() -> None:
    """Remembering which of forty values are under way would take two to the fortieth states."""
    ag = Session(engine="local")
    ag.sql(f"{STREAMS} CREATE QUERY q AS R(x); S(x); T('a', y);")
    names = [f"v{k}" for k in range(40)]
    ag.bind("R", [{"value": v, "t": 1, "p": 0.5} for v in names])
    ag.bind("S", [{"value": v, "t": 2, "p": 0.1} for v in names])
    ag.bind("T", [{"value": "a", "other": "b", "t": 3, "p": 0.8}])
    found = {row["ts"]: row["probability"] for row in ag.table("q").to_pylist()}
    assert found[3] == pytest.approx(0.8 * (1 - (1 - 0.5 * 0.1) ** 40), abs=1e-12)
