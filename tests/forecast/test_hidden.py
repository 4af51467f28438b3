"""USING MODEL: a hidden Markov model goes on by itself, as the sum over all its paths has it."""

from __future__ import annotations

import random
import warnings
from dataclasses import replace
from typing import Any

import pyarrow.compute as pc
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from augury import QueryError, Session
from augury.evaluation.evaluator import Evaluator
from augury.evaluation.stages.forecast import ForecastStage
from augury.evaluation.stages.forecast_streams import with_step_ids
from augury.planning.forecast_plan import plan_forecast
from oracles.hidden_forecasts import NOWHERE, Hmm, Part, forecast
from oracles.model import And, Comp, Next, Not, Or, Query, Seq

PLACES = "ABC"
TABLES = """
    CREATE TABLE places (place STRING);
    CREATE TABLE first_place (place STRING, p DOUBLE);
    CREATE TABLE walks (place_from STRING, place_to STRING, p DOUBLE);
    CREATE TABLE heard (place STRING, reader STRING, p DOUBLE);
    CREATE MODEL building HMM
        (STATES places, INITIAL first_place, TRANSITION walks, EMISSION heard);
    CREATE STREAM readings (tag STRING, reader STRING, t LONG) KEY tag TIME t TYPE reader;
    CREATE STREAM now AS FILTER readings USING building;
"""
A, B, C = (Comp(name.lower(), name) for name in PLACES)
PATTERNS: dict[str, Any] = {
    "SEQ(now a (place = 'A'), now b (place = 'B'))": Seq((A, B)),
    "SEQ(now a (place = 'A'), !now c (place = 'C'), now b (place = 'B'))": Seq((A, Not(C), B)),
    "SEQ(now a (place = 'A'), now b (place = 'B'), now c (place = 'C'))": Seq((A, B, C)),
    "AND(now a (place = 'A'), now b (place = 'B'))": And((A, B)),
    "SEQ(now a (place = 'A'), OR(now b (place = 'B'), now c (place = 'C')))": Seq((A, Or((B, C)))),
    "NEXT(now a (place = 'A'), now b (place = 'B'))": Next((A, B)),
}
STRATEGIES = {"any": "SKIP TILL ANY MATCH", "next": "SKIP TILL NEXT MATCH"}
QUICK = settings(phases=(Phase.explicit, Phase.generate), max_examples=40)


def bind(ag: Session, hmm: Hmm, readings: list[set[str]]) -> None:
    """Bind tables and readings; a step is made known by a reader that reads everywhere."""
    bind_tables(ag, hmm)
    ag.bind("readings", rows_of(readings))


def rows_of(readings: list[set[str]]) -> list[dict[str, Any]]:
    return [{"tag": "x", "reader": r, "t": t} for t, own in enumerate(readings) for r in own]


def bind_tables(ag: Session, hmm: Hmm) -> None:
    name = {NOWHERE: None} | {place: place for place in PLACES}
    ag.bind("places", [{"place": name[place]} for place in hmm.initial])
    ag.bind("first_place", [{"place": name[place], "p": p} for place, p in hmm.initial.items()])
    walks = [(name[a], name[b], p) for (a, b), p in hmm.moves.items()]
    ag.bind("walks", [{"place_from": a, "place_to": b, "p": p} for a, b, p in walks])
    heard = [{"place": name[place], "reader": r, "p": p} for (place, r), p in hmm.heard.items()]
    ag.bind("heard", heard)


def told(ag: Session, last: int) -> list[dict[str, Any]]:
    return [row for row in ag.table("f").to_pylist() if row["ts"] == last]


def part_of(row: dict[str, Any]) -> Part:
    bound: dict[str, tuple[int, ...]] = {}
    for event in row["events"]:
        bound[event["component"]] = (*bound.get(event["component"], ()), event["ts"])
    return frozenset(bound.items())


def some_hmm(draw: random.Random, places: str = PLACES) -> Hmm:
    def some(states: str) -> dict[str, float]:
        weights = [draw.choice((0.0, 1.0, 2.0, 5.0)) for _ in states]
        weights[draw.randrange(len(states))] += 1.0
        return {s: w / sum(weights) for s, w in zip(states, weights, strict=True)}

    moves = {(a, b): p for a in places for b, p in some(places).items()}
    heard = {(a, r): draw.choice((0.1, 0.4, 0.9)) for a in places for r in "rs"}
    everywhere = {(a, "e"): 0.5 for a in places}
    return Hmm(some(places), moves, heard | everywhere)


@pytest.mark.parametrize("pattern", PATTERNS)
@QUICK
@given(seed=st.integers(min_value=0, max_value=10**9))
def test_a_forecast_is_the_weight_of_all_paths(pattern: str, seed: int) -> None:
    draw = random.Random(seed)
    # Sometimes one may be nowhere, where there is no event, though something was read.
    nowhere = draw.random() < 0.4 and not pattern.startswith("NEXT")
    hmm = some_hmm(draw, "AB" + NOWHERE if nowhere else PLACES)
    horizon = draw.randint(1, 3)
    readings = [{"e", *(r for r in "rs" if draw.random() < 0.4)} for _ in range(draw.randint(1, 4))]
    strategy = draw.choice(["any", "next"])
    window = draw.choice([None, None, 2, 3])
    timed = nowhere or window is not None or draw.random() < 0.5
    keyed = "WHERE [tag]" if not pattern.startswith("NEXT") else ""
    within = "" if window is None else f"WITHIN {window}"
    query = Query(
        PATTERNS[pattern], strategy=strategy, within=None if window is None else ("time", window)
    )
    whole, parts = forecast(hmm, query, readings, horizon)
    for how in ("TIME", "MATCH"):
        ag = Session(engine="local")
        ag.sql(f"""{TABLES}
            CREATE QUERY q ON now PATTERN {pattern} {keyed} USING {STRATEGIES[strategy]} {within};
            CREATE FORECAST f ON q WITHIN {horizon}{"" if timed else " EVENTS"} USING MODEL building
            RETURN FORECAST BY {how};
        """)
        bind(ag, hmm, readings)
        rows = told(ag, len(readings) - 1)
        if nowhere and not rows:
            # Nowhere for sure: there is no event to tell anything after.
            continue
        if how == "TIME":
            (row,) = rows
            assert row["method"] == "exact"
            assert row["forecast"] == pytest.approx(whole[0], abs=1e-9)
            if whole[1] is not None and whole[0] > 1e-9:
                assert row["expected"] == pytest.approx(whole[1], abs=1e-6)
            continue
        found = {part_of(row): (row["forecast"], row["expected"]) for row in rows}
        wanted = {part: own for part, own in parts.items() if own[0] > 1e-9}
        assert {part for part, own in found.items() if own[0] > 1e-9} == set(wanted)
        for part, (chance, expected) in wanted.items():
            assert found[part][0] == pytest.approx(chance, abs=1e-9)
            assert found[part][1] == pytest.approx(expected, abs=1e-6)


COFFEE = """
    CREATE QUERY coffee ON now PATTERN now c WHERE c.place = 'C' USING PARTITION CONTIGUITY;
    CREATE FORECAST f ON coffee WITHIN 2 USING MODEL building RETURN FORECAST BY TIME;
"""
# From A one may go to B, from B to C, and everybody stays with a half.
WALK = {("A", "A"): 0.5, ("A", "B"): 0.5, ("B", "B"): 0.5, ("B", "C"): 0.5, ("C", "C"): 1.0}


def test_whether_somebody_will_be_in_the_coffee_room() -> None:
    # A reader hears everything in A and half in B: silence is of B, or of C where it may be.
    hmm = Hmm({"A": 1.0, "B": 0.0, "C": 0.0}, WALK, {("A", "r"): 1.0, ("B", "r"): 0.5})
    ag = Session(engine="local")
    ag.sql(TABLES + COFFEE)
    bind(ag, hmm, [{"r"}, {"r"}, set(), {"r"}])
    rows = ag.table("f").to_pylist()
    # At 1 it is A with 2/3. At 2 it was silent: B .6, C .4. At 3 it was heard again: B.
    assert [row["forecast"] for row in rows] == pytest.approx([0.25, 5 / 12, 0.85, 0.75])
    assert [row["tag"] for row in rows] == ["x"] * 4
    assert "building goes on by itself" in ag.explain("f")


def test_a_stage_goes_on_where_it_was_stored() -> None:
    hmm = Hmm({"A": 1.0, "B": 0.0, "C": 0.0}, WALK, {(place, "r"): 0.5 for place in PLACES})
    ag, pattern = Session(engine="local"), "SEQ(now a (place = 'A'), now c (place = 'C'))"
    ag.sql(f"""{TABLES}
        CREATE QUERY q ON now PATTERN {pattern} WHERE [tag] USING SKIP TILL NEXT MATCH WITHIN 3;
        CREATE FORECAST f ON q WITHIN 2 USING MODEL building RETURN FORECAST BY MATCH;
    """)
    bind(ag, hmm, [{"r"}, set(), {"r"}, set(), {"r"}])
    catalog = ag._declared.catalog
    evaluator = Evaluator(catalog, {}, dict(ag._bound.rows))
    plan = plan_forecast(ag._declared.forecasts["f"][0], catalog)
    stage = ForecastStage(plan, {}, model=evaluator.model("now"))
    rows = evaluator.rows("now")
    table = with_step_ids(rows).table
    state, found = stage.start(), list[dict[str, Any]]()
    for t in range(5):
        part = table.filter(pc.equal(table.column("t"), t))
        state, answers = stage.advance(state, {"now": replace(rows, table=part)}, t + 1)
        found += answers.found["f"].to_pylist()
        data, stage = stage.dump(state), stage.learned()
        state = stage.restore({}, t + 1, data)
    assert found == ag.table("f").to_pylist()
    assert any(row["ts"] == 4 for row in found)


HEARD_IN_TURN = [{"r"}, {"r"}, set(), {"r"}, {"s"}, set(), set(), {"r"}]


@pytest.mark.filterwarnings("ignore:query q cannot be evaluated")
@pytest.mark.parametrize("how", ["TIME", "MATCH"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_pushed_readings_tell_what_bound_ones_tell(pattern: str, how: str) -> None:
    keyed = "" if pattern.startswith("NEXT") else "WHERE [tag]"
    script = f"""{TABLES}
        CREATE QUERY q ON now PATTERN {pattern} {keyed} USING SKIP TILL NEXT MATCH WITHIN 4;
        CREATE FORECAST f ON q WITHIN 2 USING MODEL building RETURN FORECAST BY {how};
    """
    draw = random.Random(f"{pattern} {how}")
    moves = {
        (a, b): 0.2 + 0.2 * (k == n) for k, a in enumerate(PLACES) for n, b in enumerate("BCA")
    }
    moves |= {(a, "C"): 1.0 - moves[a, "A"] - moves[a, "B"] for a in PLACES}
    heard = {(a, r): draw.choice((0.1, 0.4, 0.9)) for a in PLACES for r in "rse"}
    hmm = Hmm({"A": 0.5, "B": 0.25, "C": 0.25}, moves, heard)
    rows = rows_of(HEARD_IN_TURN)
    # Of another tag, and later: steps of x without a reading are told when x is read again.
    rows += [{"tag": "y", "reader": "e", "t": t} for t in (2, 3, 5, 6)]
    rows.sort(key=lambda row: row["t"])

    def session() -> Session:
        ag = Session(engine="local")
        ag.sql(script)
        bind_tables(ag, hmm)
        return ag

    here, live, found = session(), session(), list[dict[str, Any]]()
    here.bind("readings", rows)
    for number, row in enumerate(rows):
        found += live.push("readings", row)
        if number % 3 == 1:
            data, live = live.checkpoint(), session()
            live.restore(data)
    found += [row for row in live.finish() if row["query"] == "f"]
    wanted = here.table("f").to_pylist()
    assert len(found) == len(wanted) > 0

    def place(row: dict[str, Any]) -> tuple[Any, ...]:
        return row["ts"], row["tag"], row.get("match_id", "")

    for one, other in zip(sorted(found, key=place), sorted(wanted, key=place), strict=True):
        assert place(one) == place(other)
        assert one["forecast"] == pytest.approx(other["forecast"], abs=1e-12)


def test_readings_that_no_model_takes_are_put_aside_by_push() -> None:
    ag = Session(engine="local")
    ag.sql(TABLES + COFFEE)
    bind_tables(ag, Hmm({"A": 1.0, "B": 0.0, "C": 0.0}, WALK, {("A", "r"): 1.0}))
    with pytest.warns(UserWarning, match="query coffee reads stream now"):
        ag.push("readings", {"tag": "x", "reader": "r", "t": 0})
    told = ag.push("readings", {"tag": "x", "reader": "unheard of", "t": 1})
    with pytest.warns(UserWarning, match="stream readings"):
        told += ag.finish()
    assert len(told) == 1
    (row,) = ag.rejected("readings").to_pylist()
    assert "unheard of" in row["reason"]


def assert_push_refuses(ag: Session, why: str) -> None:
    with warnings.catch_warnings():
        # Of the query that is forecast there is one.
        warnings.simplefilter("ignore")
        with pytest.raises(QueryError, match=why):
            ag.push("readings", {"tag": "x", "reader": "r", "t": 0})


def test_what_must_hear_a_model_in_time_is_refused_by_push() -> None:
    tables = "CREATE TABLE seen (tag STRING) KEY tag;"
    rule = "CREATE RULE r ON f WHEN new.forecast > 0.5 DO INSERT INTO seen VALUES (new.tag);"
    query = "CREATE QUERY over ON f PATTERN SEQ(f x, f y) WITHIN 3;"
    for more, who in ((tables + rule, "a rule"), (query, "query over")):
        ag = Session(engine="local")
        ag.sql(TABLES + COFFEE + more)
        bind_tables(ag, Hmm({"A": 1.0, "B": 0.0, "C": 0.0}, WALK, {("A", "r"): 1.0}))
        assert_push_refuses(ag, f"P003.*{who}")


def test_a_model_that_is_learned_from_a_stream_is_refused_by_push() -> None:
    ag = Session(engine="local")
    ag.sql(
        TABLES.replace("EMISSION heard)", "EMISSION heard) LEARN FROM lessons").replace(
            "CREATE MODEL",
            "CREATE STREAM lessons (tag STRING, reader STRING, t LONG) KEY tag TIME t TYPE reader;"
            " CREATE MODEL",
        )
        + COFFEE
    )
    bind_tables(ag, Hmm({"A": 1.0, "B": 0.0, "C": 0.0}, WALK, {("A", "r"): 1.0}))
    assert_push_refuses(ag, r"P003.*learned from stream lessons")
