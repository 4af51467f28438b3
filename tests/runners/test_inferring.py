"""From raw readings to the probability of a query: models and inferred streams in the language."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from augury import AuguryError, QueryError, Session
from augury.errors import ModelError
from runners.bound import bound

MODEL = """
CREATE TABLE places (place STRING);
CREATE TABLE start (place STRING, p DOUBLE);
CREATE TABLE steps (place_from STRING, place_to STRING, p DOUBLE);
CREATE TABLE heard (place STRING, reader STRING, p DOUBLE);
CREATE MODEL building HMM (STATES places, INITIAL start, TRANSITION steps, EMISSION heard);
CREATE STREAM reads (tag STRING, reader STRING, t LONG) KEY tag TIME t TYPE reader;
"""
COFFEE = """
CREATE QUERY coffee ON at PATTERN SEQ(at h, at c) WHERE [tag] AND h.place = 'hall'
AFTER WHERE c.place = 'room' USING SKIP TILL NEXT MATCH GROUP BY tag RETURN PROBABILITY BY TIME;
"""
TABLES: dict[str, list[dict[str, Any]]] = {
    "places": [{"place": "hall"}, {"place": "room"}],
    "start": [{"place": "hall", "p": 1.0}, {"place": "room", "p": 0.0}],
    "steps": [
        {"place_from": "hall", "place_to": "hall", "p": 0.5},
        {"place_from": "hall", "place_to": "room", "p": 0.5},
        {"place_from": "room", "place_to": "room", "p": 0.75},
        {"place_from": "room", "place_to": "hall", "p": 0.25},
    ],
    "heard": [{"place": "hall", "reader": "A", "p": 0.6}],
}
READS = [{"tag": "x", "reader": "A", "t": t} for t in (1, 4)]


def session(statement: str, reads: Any = READS, **tables: Any) -> Session:
    return bound(MODEL + statement, {**TABLES, "reads": reads, **tables})


def places(ag: Session, stream: str = "at") -> dict[tuple[int, str], float]:
    ag.sql(f"CREATE QUERY each_{stream} ON {stream} PATTERN _ x RETURN x.t AS t, x.place AS place;")
    rows = ag.table(f"each_{stream}").to_pylist()
    return {(row["t"], row["place"]): row["confidence"] for row in rows}


def test_a_filtered_stream_has_the_places_given_the_past() -> None:
    found = places(session("CREATE STREAM at AS FILTER reads USING building;"))
    assert found[1, "hall"] == 1.0
    assert found[2, "hall"] == pytest.approx(0.5 * 0.4 / (0.5 * 0.4 + 0.5))
    assert found[4, "hall"] == 1.0


def test_correlated_answers_after_a_lag_weigh_paths_by_what_is_read_by_then() -> None:
    ag = session("CREATE STREAM at AS SMOOTH reads USING building LAG 1 CORRELATED;" + COFFEE)
    found = {row["ts"]: row["probability"] for row in ag.table("coffee").to_pylist()}
    # By hand: the second and third steps are silent; at 4 the reading says hall.
    weight = {"hh": 0.5 * 0.4 * 0.5 * 0.4, "hr": 0.5 * 0.4 * 0.5, "rr": 0.5 * 0.75}
    weight["rh"] = 0.5 * 0.25 * 0.4
    at_two = (weight["rr"] + weight["rh"]) / sum(weight.values())
    home = {"hh": 0.5, "rh": 0.5, "hr": 0.25, "rr": 0.25}
    at_three = weight["hr"] * 0.25 / sum(weight[path] * home[path] for path in weight)
    assert found[2] == pytest.approx(at_two, abs=1e-12)
    assert found[3] == pytest.approx(at_three, abs=1e-12)


def test_a_correlated_stream_has_no_state_that_is_nowhere() -> None:
    tables = {
        "places": [{"place": "hall"}, {"place": None}],
        "start": [{"place": "hall", "p": 1.0}],
        "steps": [{"place_from": x, "place_to": "hall", "p": 1.0} for x in ("hall", None)],
    }
    ag = session("CREATE STREAM at AS FILTER reads USING building CORRELATED;" + COFFEE, **tables)
    with pytest.raises(AuguryError, match="which CORRELATED does not take"):
        ag.table("coffee")


def test_smoothed_streams_are_markovian_and_queries_count_the_correlation() -> None:
    ag = session("CREATE STREAM at AS SMOOTH reads USING building;" + COFFEE)
    found = {row["ts"]: row["probability"] for row in ag.table("coffee").to_pylist()}
    # By hand: paths hall, x, y, hall with silence in the middle weigh .5*.4*.5*.4*.5 and so on.
    weight = {"hh": 0.5 * 0.4 * 0.5 * 0.4 * 0.5, "hr": 0.5 * 0.4 * 0.5 * 0.25}
    weight |= {"rh": 0.5 * 0.25 * 0.4 * 0.5, "rr": 0.5 * 0.75 * 0.25}
    total = sum(weight.values())
    assert found[2] == pytest.approx((weight["rh"] + weight["rr"]) / total)
    assert found[3] == pytest.approx(weight["hr"] / total)
    assert found[4] == 0.0


def test_the_transitions_of_a_smoothed_stream_are_a_stream_of_their_own() -> None:
    ag = session("CREATE STREAM at AS SMOOTH reads USING building;")
    assert ag.streams[-2:] == ("at", "at_moves")


def test_a_lag_looks_ahead_and_viterbi_decides() -> None:
    lagged = places(session("CREATE STREAM at AS SMOOTH reads USING building LAG 2;"))
    smooth = places(session("CREATE STREAM at AS SMOOTH reads USING building LAG 9;"))
    assert lagged[2, "hall"] == pytest.approx(smooth[2, "hall"])
    assert lagged[1, "hall"] == 1.0
    path = places(session("CREATE STREAM at AS VITERBI reads USING building;"))
    assert set(path.values()) == {1.0}
    assert (2, "room") in path


def test_readings_that_no_model_explains_are_rejected_with_their_reason() -> None:
    reads = [*READS, {"tag": "x", "reader": "Z", "t": 2}, {"tag": None, "reader": "A", "t": 2}]
    ag = session("CREATE STREAM at AS FILTER reads USING building;", reads)
    ag.sql("CREATE QUERY q ON at PATTERN _ x;")
    ag.table("q")
    reasons = ag.rejected("at").column("reason").to_pylist()
    assert reasons == ["tag is null", "sensor 'Z' is not in model building"]


def test_tables_that_do_not_sum_to_1_are_an_error() -> None:
    ag = session(
        "CREATE STREAM at AS FILTER reads USING building; CREATE QUERY q ON at PATTERN _ x;",
        steps=TABLES["steps"][:3],
    )
    with pytest.raises(AuguryError, match=r"from 'room' sum to 0\.75; 1 was expected"):
        ag.table("q")


def test_a_model_is_learned_from_labelled_readings() -> None:
    ag = Session(engine="local")
    ag.sql("""
    CREATE STREAM reads (tag STRING, reader STRING, t LONG) KEY tag TIME t TYPE reader;
    CREATE STREAM truth (tag STRING, place STRING, t LONG) KEY tag TIME t;
    CREATE MODEL learned HMM LEARN FROM truth ON reads;
    CREATE STREAM at AS VITERBI reads USING learned;
    """)
    told = "hhhrrrhhhrrr" * 5
    ag.bind("truth", [{"tag": "x", "place": p, "t": t} for t, p in enumerate(told)])
    read = [{"tag": "x", "reader": "AB"["hr".index(p)], "t": t} for t, p in enumerate(told)]
    ag.bind("reads", read)
    found = places(ag)
    assert all((t, place) in found for t, place in enumerate(told))


def test_unlabelled_readings_improve_a_model() -> None:
    statement = """
    CREATE MODEL better HMM (STATES places, INITIAL start, TRANSITION steps, EMISSION heard)
    LEARN FROM reads;
    CREATE STREAM at AS FILTER reads USING better;
    """
    found = places(session(statement, [{"tag": "x", "reader": "A", "t": t} for t in range(20)]))
    assert found[10, "hall"] > 0.99


def test_times_that_are_no_ticks_have_a_step() -> None:
    ag = Session(engine="local")
    ag.sql(
        MODEL.replace("t LONG", "t TIMESTAMP").replace("heard);", "heard, STEP 5 SEC);")
        + "CREATE STREAM at AS SMOOTH reads USING building;"
        + COFFEE
    )
    for name, rows in TABLES.items():
        ag.bind(name, rows)
    times = ("2026-01-01 10:00:01", "2026-01-01 10:00:16")
    read = [{"tag": "x", "reader": "A", "t": datetime.fromisoformat(t)} for t in times]
    ag.bind("reads", read)
    found = ag.table("coffee").to_pylist()
    assert [row["ts"].second for row in found] == [0, 5, 10, 15]
    assert found[1]["probability"] > 0.0


def test_an_inferred_stream_is_not_bound_but_its_readings_are() -> None:
    ag = session("CREATE STREAM at AS FILTER reads USING building;")
    with pytest.raises(AuguryError, match="at is inferred from reads; bind the rows of reads"):
        ag.bind("at", [])


def test_push_leaves_out_queries_over_inferred_streams() -> None:
    ag = session(
        "CREATE STREAM at AS FILTER reads USING building; CREATE QUERY q ON at PATTERN _ x;"
    )
    with pytest.raises(QueryError, match=r"inferred.*PROBABILITY BY TIME with GROUP BY tag"):
        ag.push("reads", READS)


def as_they_come(ag: Session, stream: str, rows: list[dict[str, Any]]) -> dict[Any, float]:
    """Return what is told of each tag at each time while rows are pushed one by one."""
    told = [answer for row in rows for answer in ag.push(stream, [row])]
    return {(row["tag"], row["ts"]): row["probability"] for row in told}


SINGLE = "PATTERN at x WHERE x.place = 'room' GROUP BY tag RETURN PROBABILITY BY TIME;"


def test_a_single_state_of_each_key_is_told_as_readings_come() -> None:
    script = "CREATE STREAM at AS FILTER reads USING building;"
    asked = f"{script} CREATE QUERY inside ON at {SINGLE}"
    reads = sorted([*READS, *({**row, "tag": "y"} for row in READS[1:])], key=lambda row: row["t"])
    found = {
        (row["tag"], row["ts"]): row["probability"]
        for row in session(asked, reads).table("inside").to_pylist()
    }
    for tag in ("x", "y"):
        own = places(session(script, [row for row in reads if row["tag"] == tag]))
        for t in range(1, 5):
            assert found.get((tag, t), 0.0) == pytest.approx(own.get((t, "room"), 0.0), abs=1e-12)
    pushed = bound(MODEL + asked, TABLES)
    pairs = as_they_come(pushed, "reads", [*reads, {"tag": "x", "reader": "A", "t": 6}])
    # At 1 and 4 the reading says hall.
    assert set(pairs) >= {("x", 2), ("x", 3)}
    for pair in set(pairs) & set(found):
        assert pairs[pair] == pytest.approx(found[pair], abs=1e-12)


def test_a_single_event_of_each_key_is_told_as_rows_come() -> None:
    script = """
    CREATE STREAM seen (tag STRING, place STRING, t LONG, p DOUBLE)
    KEY tag TIME t ALTERNATIVES (place) PROBABILITY p;
    CREATE QUERY inside ON seen PATTERN seen x WHERE x.place <> 'hall' GROUP BY tag
    RETURN PROBABILITY BY TIME;
    """
    rows = [
        {"tag": tag, "place": place, "t": t, "p": p}
        for t, tag, place, p in [
            (1, "x", "hall", 0.5), (1, "x", "room", 0.25), (1, "x", "door", 0.125),
            (1, "y", "room", 0.5), (2, "y", "hall", 1.0), (3, "x", "door", 0.75),
            (4, "y", "hall", 1.0),
        ]
    ]  # fmt: skip
    by_hand = {("x", 1): 0.375, ("y", 1): 0.5, ("x", 3): 0.75}
    answers = bound(script, {"seen": rows}).table("inside").to_pylist()
    found = {(row["tag"], row["ts"]): row["probability"] for row in answers}
    told = as_they_come(bound(script, {}), "seen", rows)
    for each in (found, told):
        assert {pair: p for pair, p in each.items() if p} == pytest.approx(by_hand, abs=1e-12)


def test_the_most_likely_place_of_each_step_can_be_taken_for_certain() -> None:
    best = places(session("CREATE STREAM at AS MLE reads USING building;"))
    assert set(best.values()) == {1.0}
    assert (2, "room") in best
    path = session("CREATE STREAM at AS MAP reads USING building;")
    same = session("CREATE STREAM at AS VITERBI reads USING building;")
    assert places(path) == places(same)


@pytest.mark.parametrize("nothing", [[], (), {}], ids=repr)
def test_a_table_of_a_model_may_have_no_rows(nothing: Any) -> None:
    ag = session("CREATE STREAM at AS FILTER reads USING building;", heard=nothing)
    # Sensors that the model does not know are rejected, and tell nothing.
    assert places(ag) == {}
    assert ag.rejected("at").column("reason").to_pylist() == [
        "sensor 'A' is not in model building"
    ] * len(READS)
    with pytest.raises(ModelError, match="model building has no states"):
        places(session("CREATE STREAM at AS FILTER reads USING building;", places=nothing))
