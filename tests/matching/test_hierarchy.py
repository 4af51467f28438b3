"""Queries over queries: three levels over shared base events, as all possible worlds say."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from augury import QueryError, Session
from matching.as_text import Case, Refused, engine_answers, query_text, session_of
from oracles.model import And, Comp, Event, Not, Query, Seq
from oracles.worlds import network

QUICK = settings(phases=(Phase.explicit, Phase.generate))
SEEDS = st.integers(min_value=0, max_value=10**9)


# --- three levels ---


def three_levels(seed: int) -> Case:
    """Return a query over queries over queries: `top` and `middle` both read `low` and `s`."""
    rng = random.Random(seed)
    low = Query(
        Seq((Comp("a", "A"), Comp("b", rng.choice("AB")))),
        name="low",
        strategy=rng.choice(("any", "any", "next")),
        within=("time", rng.randint(4, 9)),
        threshold=rng.choice((None, None, (0.2, False))),
        returns={"v": ("attr", "b", "v")},
    )
    middle = Query(
        _pattern(rng, Comp("m", "low"), Comp("c", rng.choice("BC")), "m"),
        name="middle",
        streams=("s", "low"),
        strategy=rng.choice(("any", "any", "next")),
        within=("time", rng.randint(6, 12)),
        returns={"v": ("attr", "m", "v")},
    )
    top = Query(
        _pattern(rng, Comp("x", "low"), Comp("y", "middle"), "y"),
        streams=("s", "low", "middle"),
        strategy=rng.choice(("any", "any", "next", "strict")),
        within=("time", rng.randint(8, 20)),
        where=rng.choice(((), ((">=", ("attr", "y", "v"), ("lit", 1)),))),
    )
    return Case((low, middle, top), tuple(_events(rng)), {"v": "LONG"})


def _pattern(rng: random.Random, derived: Comp, other: Comp, kept: str) -> Any:
    """Return how the level above uses the one below: taken, in any order, or negated.

    `kept` is a name that the pattern has in every form.
    """
    form = rng.choice(("first", "last", "any order", "any order", "negated"))
    if form == "any order":
        return And((derived, other))
    if form == "negated":
        return Seq((Comp("n", "A"), Not(replace(derived, name="gone")), replace(other, name=kept)))
    return Seq((derived, other) if form == "first" else (other, derived))


def _events(rng: random.Random) -> list[Event]:
    t, found = 0, []
    for k, kind in enumerate(
        ["A", "B", "A", *rng.choices("BC", k=2), *rng.choices("ABBC", k=rng.randint(0, 2))]
    ):
        t += rng.choice((1, 1, 2))
        p = rng.choice((0.5, 0.3, 0.9, 0.7, 1.0))
        found.append(Event(f"{kind.lower()}{k}", t, kind, p, {"v": rng.randint(0, 3)}))
    return found


@QUICK
@given(seed=SEEDS)
def test_three_levels_over_shared_events_are_those_of_all_worlds(seed: int) -> None:
    case = three_levels(seed)
    found, expected = engine_answers(case), network(case.queries, case.events)
    told = "\n".join([*map(query_text, case.queries), *map(str, case.events)])
    for query in case.queries:
        ours, theirs = found[query.name], expected[query.name]
        assert set(ours) == set(theirs), told
        assert {k for k in ours if abs(ours[k] - theirs[k]) > 1e-9} == set(), told


def test_most_random_hierarchies_have_matches_at_the_top() -> None:
    found = sum(bool(engine_answers(three_levels(seed))["q"]) for seed in range(60))
    assert found > 25


@QUICK
@given(seed=SEEDS)
def test_the_probability_of_a_hierarchy_is_that_of_all_worlds(seed: int) -> None:
    case = three_levels(seed)
    *lower, top = case.queries
    asked = replace(top, probability="ever", within=None, strategy="any")
    ag = session_of(replace(case, queries=tuple(lower)))
    ag.sql(query_text(asked)[:-1] + " RETURN PROBABILITY;")
    (row,) = ag.table("q").to_pylist()
    expected = network([*lower, asked], case.events)["q"]
    assert row["probability"] == pytest.approx(expected[(), None], abs=1e-9)


# --- what the checker and EXPLAIN say ---

LEVELS = """
CREATE STREAM s (id LONG, kind STRING, tag STRING, v LONG, t LONG, p DOUBLE)
ID id KEY tag TIME t TYPE kind PROBABILITY p;
CREATE QUERY low ON s PATTERN SEQ(A a, B b) WHERE [tag] WITHIN 9 RETURN {low};
CREATE QUERY middle ON low, s PATTERN SEQ(low x, C c) WHERE [tag] WITHIN 9 RETURN x.speed AS speed;
CREATE QUERY top ON middle, low PATTERN SEQ(low x, middle y) WHERE [tag] AND y.speed > 1 WITHIN 20;
"""


def test_explain_draws_the_network_to_the_declared_streams() -> None:
    ag = Session(engine="local")
    ag.sql(LEVELS.format(low="b.v AS speed"))
    drawn = [
        "Network",
        "  top",
        "  ├─ middle (query)",
        "  │  ├─ low (query)",
        "  │  │  └─ s",
        "  │  └─ s",
        "  └─ low (query)",
        "     └─ s",
    ]
    assert "\n".join(drawn) in ag.explain("top")


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ("b.v AS pace", "component x uses attribute speed, which query low does not have"),
        ("b.tag AS speed", "y.speed > 1"),
    ],
)
def test_a_lower_query_that_returns_other_columns_is_caught_above(
    columns: str, expected: str
) -> None:
    with pytest.raises(QueryError) as caught:
        Session(engine="local").sql(LEVELS.format(low=columns))
    assert expected in str(caught.value)


def test_a_query_that_others_read_cannot_be_declared_anew() -> None:
    ag = Session(engine="local")
    ag.sql(LEVELS.format(low="b.v AS speed"))
    with pytest.raises(QueryError, match="A010"):
        ag.sql("CREATE QUERY low ON s PATTERN SEQ(A a, B b) WITHIN 9 RETURN b.v AS pace;")
    assert "speed" in ag.explain("middle")


def test_a_hierarchy_that_is_refused_leaves_nothing_behind() -> None:
    case = three_levels(1)
    broken = replace(case.queries[1], returns={"v": ("attr", "m", "unknown")})
    with pytest.raises(Refused, match="unknown"):
        session_of(replace(case, queries=(case.queries[0], broken, case.queries[2])))
