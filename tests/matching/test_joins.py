"""Type and rank queries have the probability of all possible worlds, whichever way they go."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from augury import DataError, Session
from augury.evaluation.probability import lineage_probability as holding
from matching.join_cases import JoinCase, answers, far, random_join
from oracles.worlds import network

QUICK = settings(phases=(Phase.explicit, Phase.generate))
SEEDS = st.integers(min_value=0, max_value=10**9)


def expected(case: JoinCase) -> dict[Any, float]:
    return network([case.query], case.events)["q"]


def has_safe_plan(ag: Session, query: str) -> bool:
    """Return whether a query is answered by joining."""
    stages = json.loads(ag.explain(query, "json"))["stages"]
    return f"join {query}" in stages


@QUICK
@given(seed=SEEDS)
def test_type_and_rank_queries_have_the_probability_of_all_worlds(seed: int) -> None:
    case = random_join(seed)
    found = answers(case.asked().table("q").to_pylist(), case.query)
    assert far(found, expected(case), 1e-9) == {}, case.script


def windows_with_events(case: JoinCase) -> set[Any]:
    query = case.query
    if query.within is None:
        return {((), None)}
    length = query.within[1]
    starts = range(-20 * (query.every or length), 20, query.every or length)
    return {((), s) for s in starts for e in case.events if s <= e.ts < s + length}


@QUICK
@given(seed=SEEDS)
def test_without_groups_every_window_that_holds_an_event_has_a_row(seed: int) -> None:
    case = random_join(seed)
    case = replace(case, query=replace(case.query, group_by=()))
    found = answers(case.asked().table("q").to_pylist(), case.query)
    assert set(found) == windows_with_events(case), case.script


def test_most_random_joins_have_a_safe_plan_and_some_have_none() -> None:
    sessions = [random_join(seed).asked() for seed in range(100)]
    planned = sum(has_safe_plan(session, "q") for session in sessions)
    assert 50 < planned < 95


def test_most_random_joins_hold_with_some_probability() -> None:
    found = [sum(random_join(s).asked().table("q")["probability"].to_pylist()) for s in range(60)]
    assert sum(p > 0.0 for p in found) > 30


CROSSING = """
CREATE STREAM r (x LONG, t LONG, p DOUBLE) TIME t PROBABILITY p;
CREATE STREAM s (x LONG, y LONG, t LONG, p DOUBLE) TIME t PROBABILITY p;
CREATE STREAM u (y LONG, t LONG, p DOUBLE) TIME t PROBABILITY p;
CREATE QUERY q ON r, s, u PATTERN AND(r, s, u) WHERE r.x = s.x AND s.y = u.y RETURN PROBABILITY
"""


def crossing(size: int, more: str = "") -> Session:
    """Return the classic query without a safe plan, over a full grid."""
    ag = Session(engine="local")
    ag.sql(f"{CROSSING} {more};")
    places = range(size)
    ag.bind("r", [{"x": x, "t": 1, "p": 0.3} for x in places])
    ag.bind("s", [{"x": x, "y": y, "t": 1, "p": 0.2} for x in places for y in places])
    ag.bind("u", [{"y": y, "t": 1, "p": 0.4} for y in places])
    return ag


def grid(size: int) -> float:
    """Return what the crossing query must give: by the number of r and of u that are there."""
    from math import comb

    total = 0.0
    for i in range(size + 1):
        for j in range(size + 1):
            weight = comb(size, i) * 0.3**i * 0.7 ** (size - i)
            weight *= comb(size, j) * 0.4**j * 0.6 ** (size - j)
            total += weight * (1.0 - 0.8 ** (i * j))
    return total


def test_a_small_crossing_is_exact_and_says_that_it_has_no_safe_plan() -> None:
    ag = crossing(3)
    (row,) = ag.table("q").to_pylist()
    assert row["probability"] == pytest.approx(grid(3), abs=1e-9)
    assert [warning.code for warning in ag.warnings] == ["W014"]
    assert "value their joint lineage exactly" in ag.explain("q")


def test_a_small_crossing_that_may_be_sampled_is_still_exact() -> None:
    (row,) = crossing(3, "APPROXIMATE (0.05, 0.01)").table("q").to_pylist()
    assert (row["method"], row["error_bound"]) == ("exact", 0.0)
    assert row["probability"] == pytest.approx(grid(3), abs=1e-9)


@pytest.mark.slow
def test_a_large_crossing_is_sampled_within_its_bound() -> None:
    (row,) = crossing(12, "APPROXIMATE (0.05, 0.0001)").table("q").to_pylist()
    assert (row["method"], row["error_bound"]) == ("sampled", 0.05)
    assert row["probability"] == pytest.approx(grid(12), abs=0.05)


def random_grid(rng: random.Random) -> dict[str, list[dict[str, Any]]]:
    """Return rows of the three streams, twelve in all, where many share their places."""
    rows = {
        "r": [{"x": x} for x in range(3)],
        "u": [{"y": y} for y in range(3)],
        "s": [dict(zip("xy", rng.choices(range(3), k=2), strict=True)) for _ in range(6)],
    }
    return {
        name: [{**row, "t": 1, "p": rng.choice((0.2, 0.5, 0.8))} for row in own]
        for name, own in rows.items()
    }


def crossing_by_worlds(rows: dict[str, list[dict[str, Any]]]) -> float:
    """Return the weight of the worlds in which some r, s and u meet."""
    all_rows = [(name, row) for name, own in rows.items() for row in own]
    total = 0.0
    for there in product((False, True), repeat=len(all_rows)):
        world: dict[str, list[dict[str, Any]]] = {"r": [], "s": [], "u": []}
        weight = 1.0
        for (name, row), is_there in zip(all_rows, there, strict=True):
            weight *= row["p"] if is_there else 1.0 - row["p"]
            if is_there:
                world[name].append(row)
        xs, ys = {row["x"] for row in world["r"]}, {row["y"] for row in world["u"]}
        total += weight * any(row["x"] in xs and row["y"] in ys for row in world["s"])
    return total


@pytest.mark.parametrize("seed", range(12))
def test_random_crossings_are_sampled_within_their_bound(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    # No number of cases is few, so nothing is valued exactly that has to be split into cases.
    monkeypatch.setattr(holding, "FEW_CASES", -1)
    rows = random_grid(random.Random(seed))
    ag = Session(engine="local")
    ag.sql(f"{CROSSING} APPROXIMATE (0.02, 0.000001);")
    for name, own in rows.items():
        ag.bind(name, own)
    (row,) = ag.table("q").to_pylist()
    assert row["method"] == "sampled"
    assert row["probability"] == pytest.approx(crossing_by_worlds(rows), abs=row["error_bound"])


def test_a_large_crossing_is_refused_where_it_may_not_be_sampled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AUGURY_LINEAGE_LIMIT", "500")
    with pytest.raises(DataError, match=r"allow sampling with APPROXIMATE \(0.01, 0.05\)"):
        crossing(12).table("q")


PAIR = """
CREATE STREAM o (speed DOUBLE, t LONG, p DOUBLE) TIME t PROBABILITY p;
CREATE STREAM x (speed DOUBLE, t LONG, p DOUBLE) TIME t PROBABILITY p;
CREATE QUERY q ON o, x PATTERN AND(o, x) WHERE o.speed > x.speed RETURN PROBABILITY;
"""


def test_an_inequality_over_hundreds_of_events_takes_no_lineage() -> None:
    """Of 400 events each, matches would be 80,000, tied together in one formula."""
    ag = Session(engine="local")
    ag.sql(PAIR)
    for name, p in (("o", 0.004), ("x", 0.003)):
        ag.bind(name, [{"speed": float(k), "t": 1, "p": p} for k in range(400)])
    (found,) = ag.table("q")["probability"].to_pylist()
    # The least x is k with this probability, and then some o must lie above it.
    law = sum(0.003 * 0.997**k * (1.0 - 0.996 ** (399 - k)) for k in range(400))
    assert found == pytest.approx(law, abs=1e-12)


def test_explain_says_how_a_type_query_is_answered() -> None:
    ag = Session(engine="local")
    ag.sql(PAIR)
    text = " ".join(ag.explain("q").split())
    assert "q: safe" in text
    assert "weigh Spark sum over the greatest o.speed" in text
    assert "project Spark x by nothing: 1 - prod(1 - p)" in text


def test_an_event_that_may_play_two_components_has_no_safe_plan() -> None:
    ag = Session(engine="local")
    ag.sql(PAIR + "CREATE QUERY twice ON o PATTERN AND(o a, o b) RETURN PROBABILITY;")
    ag.bind("o", [{"speed": 1.0, "t": 1, "p": 0.5}, {"speed": 1.0, "t": 2, "p": 0.5}])
    assert not has_safe_plan(ag, "twice")
    assert ag.table("twice")["probability"].to_pylist() == [pytest.approx(0.25)]


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("DOUBLE", "1", "1.0"),
        ("LONG", "1", "1.0"),
        ("LONG", "9007199254740993", "9007199254740992.0"),
        ("DOUBLE", "9007199254740993", "9007199254740992"),
    ],
)
def test_constants_that_one_value_equals_do_not_keep_components_apart(
    kind: str, one: str, other: str
) -> None:
    ag = Session(engine="local")
    ag.sql(f"""
    CREATE STREAM o (v {kind}, t LONG, p DOUBLE) TIME t PROBABILITY p;
    CREATE QUERY q ON o PATTERN AND(o a, o b) WHERE a.v = {one} AND b.v = {other}
    RETURN PROBABILITY;
    """)
    value = float(one) if kind == "DOUBLE" else int(one)
    ag.bind("o", [{"v": value, "t": t, "p": 0.5} for t in (1, 2)])
    assert ag.table("q")["probability"].to_pylist() == [pytest.approx(0.25)]


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [("DOUBLE", "1", "1.5"), ("LONG", "1", "2"), ("STRING", "'a'", "'b'")],
)
def test_different_constants_keep_components_apart(kind: str, one: str, other: str) -> None:
    ag = Session(engine="local")
    ag.sql(f"""
    CREATE STREAM o (v {kind}, t LONG, p DOUBLE) TIME t PROBABILITY p;
    CREATE QUERY q ON o PATTERN AND(o a, o b) WHERE a.v = {one} AND b.v = {other}
    RETURN PROBABILITY;
    """)
    assert has_safe_plan(ag, "q")


DIFFERENCE = """
CREATE STREAM o (v LONG, t LONG, p DOUBLE) TIME t PROBABILITY p;
CREATE STREAM x (v LONG, t LONG, p DOUBLE) TIME t PROBABILITY p;
CREATE QUERY q ON o, x PATTERN AND(o, x) WHERE {} RETURN PROBABILITY;
"""


@pytest.mark.parametrize(
    ("condition", "one", "other", "law"),
    [
        ("o.v - x.v < 5", 2**63 - 10, 2**63 - 2, 0.25),
        ("5 > o.v - x.v", 2**63 - 10, 2**63 - 2, 0.25),
        ("o.v - x.v < 0.5", 2**53 + 1, 2**53, 0.0),
        ("o.v - x.v > 0.5", 2**60 + 1, 2**60, 0.25),
        ("o.v - x.v < 5", -(2**62) + 1, 2**62, 0.25),
        # The difference is beyond 64 bits: NULL.
        ("o.v - x.v < 5", -(2**62) - 1, 2**62, 0.0),
    ],
)
def test_differences_of_large_numbers_are_what_they_are(
    condition: str, one: int, other: int, law: float
) -> None:
    ag = Session(engine="local")
    ag.sql(DIFFERENCE.format(condition))
    ag.bind("o", [{"v": one, "t": 1, "p": 0.5}])
    ag.bind("x", [{"v": other, "t": 2, "p": 0.5}])
    assert ag.table("q")["probability"].to_pylist() == [pytest.approx(law)]


@pytest.mark.parametrize(
    ("condition", "is_planned"),
    [
        ("x.t - o.t <= 5", True),
        ("-5 <= x.t - o.t", True),
        ("x.t - o.t < 2.5", False),
        ("x.v - o.v <= 5", False),
    ],
)
def test_times_by_whole_bounds_are_taken_apart_and_no_other_numbers(
    condition: str, is_planned: bool
) -> None:
    ag = Session(engine="local")
    ag.sql(DIFFERENCE.format(condition))
    assert has_safe_plan(ag, "q") == is_planned


def test_columns_may_have_the_names_of_what_is_joined() -> None:
    ag = Session(engine="local")
    ag.sql("""
    CREATE STREAM o (window LONG, value LONG, best LONG, t LONG, p DOUBLE) TIME t PROBABILITY p;
    CREATE STREAM x (window LONG, value LONG, best LONG, t LONG, p DOUBLE) TIME t PROBABILITY p;
    CREATE QUERY q ON o, x PATTERN AND(o, x)
    WHERE o.window = x.window AND o.value = x.value AND o.best < x.best WITHIN 10
    RETURN PROBABILITY;
    """)
    row = {"value": 1, "p": 0.5}
    ag.bind("o", [row | {"window": 1, "best": 1, "t": 1}, row | {"window": 2, "best": 1, "t": 11}])
    ag.bind("x", [row | {"window": 7, "best": 2, "t": 2}, row | {"window": 2, "best": 2, "t": 12}])
    assert ag.table("q")["ts"].to_pylist() == [0, 10]
    assert ag.table("q")["probability"].to_pylist() == [0.0, pytest.approx(0.25)]


def test_a_window_whose_events_play_no_part_has_a_row_without_a_safe_plan_too() -> None:
    ag = Session(engine="local")
    ag.sql(
        PAIR + "CREATE QUERY twice ON o PATTERN AND(o a, o b) WHERE a.speed > 0 AND b.speed > 0 "
        "WITHIN 10 RETURN PROBABILITY;"
    )
    ag.bind("o", [{"speed": s, "t": t, "p": 0.5} for s, t in ((1.0, 1), (1.0, 2), (-1.0, 15))])
    assert not has_safe_plan(ag, "twice")
    found = ag.table("twice").to_pylist()
    assert [(row["ts"], row["probability"]) for row in found] == [(0, 0.25), (10, 0.0)]


def test_a_window_without_events_has_no_row() -> None:
    ag = Session(engine="local")
    ag.sql(PAIR.replace("RETURN", "WITHIN 10 RETURN"))
    ag.bind("o", [{"speed": 1.0, "t": 5, "p": 0.5}, {"speed": 1.0, "t": 45, "p": 0.5}])
    ag.bind("x", [{"speed": 0.0, "t": 6, "p": 0.5}])
    found = {row["ts"]: row["probability"] for row in ag.table("q").to_pylist()}
    assert found == {0: pytest.approx(0.25), 40: 0.0}
