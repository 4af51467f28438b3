"""Lahar's worked examples, through the parser, the planner and the chains."""

from __future__ import annotations

from typing import Any

import pytest

from augury import AuguryError, Session

AT = """
CREATE STREAM at (person STRING, place STRING, t LONG, p DOUBLE)
KEY person TIME t ALTERNATIVES place PROBABILITY p;
CREATE TABLE hallway (place STRING);
CREATE TABLE croom (place STRING);
CREATE TABLE office (person STRING, place STRING);
CREATE TABLE people (person STRING);
"""
MARKOV = """
CREATE STREAM at (person STRING, place STRING, t LONG, p DOUBLE)
KEY person TIME t ALTERNATIVES place PROBABILITY p MARKOV moves;
CREATE STREAM moves (person STRING, t LONG, place_from STRING, place_to STRING, p DOUBLE)
KEY person TIME t PROBABILITY p;
"""
IN_A_ROW = """
CREATE QUERY q ON at PATTERN SEQ(at a, at b) WHERE [person] AND a.place = 'room'
AFTER WHERE b.place = 'room' USING SKIP TILL NEXT MATCH RETURN PROBABILITY BY TIME;
"""


def rows(*told: tuple[Any, ...]) -> list[dict[str, Any]]:
    return [dict(zip(("person", "place", "t", "p"), row, strict=True)) for row in told]


def moves(*told: tuple[Any, ...]) -> list[dict[str, Any]]:
    names = ("person", "t", "place_from", "place_to", "p")
    return [dict(zip(names, row, strict=True)) for row in told]


def by_time(ag: Session, query: str = "q") -> dict[int, float]:
    return {row["ts"]: row["probability"] for row in ag.table(query).to_pylist()}


def asked(script: str, at: list[dict[str, Any]], **tables: Any) -> Session:
    ag = Session(engine="local")
    ag.sql(script)
    ag.bind("at", at)
    for name, table in tables.items():
        ag.bind(name, table)
    return ag


def test_example_3_11_a_filter_inside_holds_at_3_and_one_outside_does_not() -> None:
    world = rows(("r", "a", 1, 1.0), ("r", "c", 2, 1.0), ("r", "b", 3, 1.0))
    inside = "CREATE QUERY q ON at AS At('r', 'a'); At('r', 'b');"
    outside = "CREATE QUERY q ON at AS SIGMA_{y = 'b'}(At('r', 'a'); At('r', y));"
    assert by_time(asked(AT + inside, world)) == {1: 0.0, 2: 0.0, 3: 1.0}
    assert by_time(asked(AT + outside, world)) == {1: 0.0, 2: 0.0, 3: 0.0}


def test_three_independent_events_of_three_quarters() -> None:
    world = rows(("joe", "a", 1, 0.75), ("joe", "b", 2, 0.75), ("joe", "c", 3, 0.75))
    script = "CREATE QUERY q ON at AS At('joe', 'a'); At('joe', 'b'); At('joe', 'c');"
    assert by_time(asked(AT + script, world))[3] == pytest.approx(0.421875, abs=1e-12)


def test_two_steps_in_a_row_with_correlation_and_without() -> None:
    world = rows(("joe", "room", 1, 0.15), ("joe", "room", 2, 0.15))
    stay, come = ("joe", 1, "room", "room", 0.6), ("joe", 1, None, "room", 0.06 / 0.85)
    linked = asked(MARKOV + IN_A_ROW, world, moves=moves(stay, come))
    alone = asked(AT + IN_A_ROW, world)
    assert by_time(linked)[2] == pytest.approx(0.09, abs=1e-12)
    assert by_time(alone)[2] == pytest.approx(0.0225, abs=1e-12)


def test_ticks_that_no_double_has_are_as_good_as_others() -> None:
    far = 2**60
    world = rows(("joe", "room", far + 1, 0.15), ("joe", "room", far + 2, 0.15))
    stay, come = ("joe", far + 1, "room", "room", 0.6), ("joe", far + 1, None, "room", 0.06 / 0.85)
    found = by_time(asked(MARKOV + IN_A_ROW, world, moves=moves(stay, come)))
    assert list(found) == [far + 1, far + 2]
    assert found[far + 2] == pytest.approx(0.09, abs=1e-12)


def test_the_coffee_queries_of_example_2_2_run() -> None:
    world = rows(
        *(("joe", place, t, 0.8) for t, place in enumerate(("220", "h1", "h2", "coffee", "220"))),
        *(("sue", place, t, 0.5) for t, place in enumerate(("221", "h1", "coffee", "221"))),
    )
    joe = """
    CREATE QUERY joe ON at
    AS At('joe', '220'); (SIGMA_{CRoom(l)} At('joe', l)); At('joe', '220');
    """
    anyone = """
    CREATE QUERY anyone ON at
    AS SIGMA_{People(p) AND Office(p, l1) AND CRoom(l3)}(
        At(p, l1); At(p, l2)+<{p}, Hallway(l2)>; At(p, l3));
    """
    ag = asked(
        AT + joe + anyone,
        world,
        hallway=[{"place": "h1"}, {"place": "h2"}],
        croom=[{"place": "coffee"}],
        office=[{"person": "joe", "place": "220"}, {"person": "sue", "place": "221"}],
        people=[{"person": "joe"}, {"person": "sue"}],
    )
    assert by_time(ag, "joe")[4] == pytest.approx(0.8**3, abs=1e-12)
    found = by_time(ag, "anyone")
    assert found[2] == pytest.approx(0.5**3, abs=1e-12)
    # Each time that joe was seen in a hallway is an unfolding; with none, he did not come by one.
    assert found[3] == pytest.approx(0.8 * (1 - 0.2**2) * 0.8, abs=1e-12)


def test_the_hallway_query_of_example_3_6_runs_for_each_person() -> None:
    world = rows(
        *(("joe", place, t, 0.9) for t, place in enumerate("ahc", 1)),
        *(("sue", place, t, 0.5) for t, place in enumerate("abc", 1)),
    )
    script = """
    CREATE QUERY q ON at
    AS SIGMA_{People(x)}(At(x, 'a'); At(x, l2)+<{x}, Hallway(l2)>; At(x, 'c'));
    """
    ag = asked(
        AT + script, world, hallway=[{"place": "h"}], people=[{"person": "joe"}, {"person": "sue"}]
    )
    assert by_time(ag)[3] == pytest.approx(0.9**3, abs=1e-12)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([("joe", 1, "room", "room", 0.6)], "marginal of 'room' at 2 is 0.15.*give 0.09"),
        ([("joe", 1, "room", "attic", 0.6)], "leads from 'room' to 'attic'.*no row"),
        ([("joe", 1, "room", "room", 0.6), ("joe", 1, "room", None, 0.6)], "sums to 1.2 from"),
        ([("joe", 5, "room", "room", 0.6)], "marginal of 'room' at 2"),
    ],
)
def test_marginals_that_contradict_the_tables_are_an_error(
    table: list[tuple[Any, ...]], message: str
) -> None:
    world = rows(("joe", "room", 1, 0.15), ("joe", "room", 2, 0.15))
    ag = asked(MARKOV + IN_A_ROW, world, moves=moves(*table))
    with pytest.raises(AuguryError, match=message):
        ag.table("q")


def test_a_gap_in_time_is_nowhere() -> None:
    world = rows(("joe", "room", 1, 1.0), ("joe", "room", 4, 0.5))
    ag = asked(MARKOV + IN_A_ROW, world, moves=moves(("joe", 3, None, "room", 0.5)))
    assert by_time(ag) == {1: 0.0, 4: pytest.approx(0.5)}


def test_two_rows_of_one_value_are_an_error() -> None:
    world = rows(("joe", "room", 1, 0.15), ("joe", "room", 1, 0.15))
    ag = asked(MARKOV + IN_A_ROW, world, moves=moves())
    with pytest.raises(AuguryError, match="two rows"):
        ag.table("q")
