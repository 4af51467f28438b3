"""Subqueries of tables that stay as they are: conditions like others, wherever those may stand.

Random ones are in tests/matching (construct `subqueries`), against all possible worlds.
"""

from __future__ import annotations

from typing import Any

import pytest

from augury import AuguryError, Session
from augury.errors import DataError, QueryError
from matching.asking import rows, session, shown

TABLES = """
CREATE TABLE colours (n LONG, colour STRING) KEY n;
CREATE TABLE pairs (low LONG, high LONG, price DOUBLE) KEY low, high;
CREATE TABLE bands (low LONG, high LONG, name STRING);
"""
ROWS = {
    "colours": [{"n": 1, "colour": "red"}, {"n": 2, "colour": "blue"}, {"n": 3, "colour": None}],
    "pairs": [
        {"low": 1, "high": 2, "price": 2.0},
        {"low": 1, "high": 3, "price": None},
        {"low": 2, "high": 3, "price": 5.0},
    ],
    "bands": [{"low": 0, "high": 2, "name": "few"}, {"low": 2, "high": 9, "name": "many"}],
}
RED = "'red' = (SELECT colour FROM colours WHERE n = {0}.v)"


def asked(query: str, text: str, **columns: Any) -> dict[str, float]:
    return shown(opened(f"CREATE QUERY q ON s {query};", text, **columns).table("q").to_pylist())


def opened(script: str, text: str, **columns: Any) -> Session:
    return session(TABLES + script, rows(text, **columns), tables=ROWS)


@pytest.mark.parametrize(
    ("using", "expected"),
    [
        ("SKIP TILL ANY MATCH", {"a=a1 b=b3": 1.0, "a=a1 b=b4": 1.0}),
        ("SKIP TILL NEXT MATCH", {"a=a1 b=b3": 1.0}),
        ("STRICT", {}),
    ],
)
def test_what_is_looked_up_chooses(using: str, expected: dict[str, float]) -> None:
    query = f"PATTERN SEQ(A a, B b) WHERE {RED.format('b')} USING {using} WITHIN 9"
    assert asked(query, "a1 b2 b3 b4", v=[0, 2, 1, 1]) == expected


def test_it_ends_a_contiguous_run() -> None:
    query = f"PATTERN SEQ(A a, B+ b) WHERE {RED.format('a')} USING STRICT WITHIN 9"
    assert asked(query, "a1 b2 b3 c4", v=[1, 0, 0, 0]) == {"a=a1 b=b2,b3": 1.0}
    query = "PATTERN SEQ(A a, B b) WHERE b.v < (SELECT MAX(n) FROM colours) USING STRICT WITHIN 9"
    assert asked(query, "a1 b2 a3 b4", v=[0, 3, 0, 2]) == {"a=a3 b=b4": 1.0}


def test_several_events_are_asked_together() -> None:
    price = "(SELECT price FROM pairs WHERE low = a.v AND high = b.v)"
    query = f"PATTERN SEQ(A a, B b) WHERE {price} > 1.0 USING SKIP TILL NEXT MATCH WITHIN 9"
    assert asked(query, "a1 b2 b3 b4", v=[1, 3, 9, 2]) == {"a=a1 b=b4": 1.0}
    between = "(SELECT COUNT(*) FROM colours WHERE n > a.v AND n < b.v)"
    query = f"PATTERN SEQ(A a, B b) WHERE {between} >= 2 USING SKIP TILL NEXT MATCH WITHIN 9"
    assert asked(query, "a1 b2 b3", v=[0, 2, 3]) == {"a=a1 b=b3": 1.0}


def test_pairs_are_found_among_many_rows() -> None:
    places = [f"p{k}" for k in range(12)]
    far = {(a, b): (3 * i + 7 * j) % 40 for i, a in enumerate(places) for j, b in enumerate(places)}
    del far["p3", "p4"]
    script = """
    CREATE STREAM moves (id LONG, kind STRING, place STRING, t LONG) ID id TIME t TYPE kind;
    CREATE TABLE far (target STRING, origin STRING, steps LONG) KEY origin, target;
    CREATE QUERY q ON moves PATTERN SEQ(A a, B b)
    WHERE (SELECT steps FROM far WHERE origin = a.place AND b.place = target) < 9
    USING SKIP TILL NEXT MATCH WITHIN 500;
    """
    told = [("AB"[k % 3 > 0], places[(5 * k * k + k) % 12], k) for k in range(60)]
    ag = Session(engine="local")
    ag.sql(script)
    ag.bind("far", [{"origin": a, "target": b, "steps": n} for (a, b), n in far.items()])
    names = ("kind", "place", "t")
    ag.bind("moves", [{"id": r[2], **dict(zip(names, r, strict=True))} for r in told])
    expected = set()
    for kind, place, t in told:
        later = [r for r in told if r[2] > t and r[0] == "B" and far.get((place, r[1]), 99) < 9]
        if kind == "A" and later:
            expected.add((t, later[0][2]))
    rows_found = ag.table("q").to_pylist()
    assert {(row["start_ts"], row["end_ts"]) for row in rows_found} == expected
    assert len(expected) > 10


def test_texts_of_rows_are_ordered_as_others_are() -> None:
    least = "(SELECT MIN(colour) FROM colours WHERE n >= a.v AND n <= b.v)"
    query = f"PATTERN SEQ(A a, B b) WHERE {least} < b.tag USING SKIP TILL NEXT MATCH WITHIN 9"
    columns = {"v": [1, 1, 2], "tag": ["", "green", "green"]}
    assert asked(query, "a1 b2 b3", **columns) == {"a=a1 b=b3": 1.0}


def test_first_says_it_of_what_it_forbids() -> None:
    query = f"PATTERN SEQ(C c, FIRST(A a)) WHERE {RED.format('a')} WITHIN 9"
    assert asked(query, "c1 a2 a3 a4", v=[0, 2, 1, 1]) == {"a=a3 c=c1": 1.0}


def test_a_window_of_events_may_have_an_open_end() -> None:
    query = f"PATTERN SEQ(A a, !B b) WHERE {RED.format('a')} WITHIN 3 EVENTS"
    assert asked(query, "a1 c2 c3 a4 b5", v=[1, 0, 0, 1, 0]) == {"a=a1": 1.0}


def test_a_condition_on_no_event_holds_for_all_or_none() -> None:
    query = "PATTERN SEQ(A a, B b) WHERE (SELECT COUNT(*) FROM colours) {} USING STRICT WITHIN 9"
    assert asked(query.format("= 3"), "a1 b2") == {"a=a1 b=b2": 1.0}
    assert asked(query.format("= 2"), "a1 b2") == {}


def test_probabilities_and_counts_are_asked_with_it() -> None:
    where = f"WHERE {RED.format('b')}"
    script = f"""
    CREATE QUERY p ON s PATTERN SEQ(A a, B b) {where} USING SKIP TILL NEXT MATCH
    RETURN PROBABILITY BY TIME;
    CREATE QUERY w ON s PATTERN SEQ(A a, B b)
    WHERE (SELECT price FROM pairs WHERE low = a.v AND high = b.v) > 1.0 WITHIN 10
    RETURN PROBABILITY;
    CREATE QUERY n ON s PATTERN SEQ(A a, B b) {where} WITHIN 10 RETURN COUNT;
    """
    ag = opened(script, "a1 .5 b2 b3 .5 b4", v=[1, 2, 1, 2])
    assert [row["probability"] for row in ag.table("p").to_pylist()] == [0.0, 0.0, 0.25, 0.0]
    assert [row["probability"] for row in ag.table("w").to_pylist()] == [0.5]
    assert ag.table("n").column("count").to_pylist() == [1]


def test_a_forecast_is_made_with_it() -> None:
    script = f"""
    CREATE QUERY q ON s PATTERN SEQ(A a, B b) WHERE {RED.format("b")};
    CREATE FORECAST f ON q WITHIN 1 EVENTS RETURN FORECAST BY TIME;
    """
    clauses = "ID id TIME t TYPE kind"
    text = rows("a1 b2 b3 c4", v=[0, 2, 1, 0])
    ag = session(TABLES + script, text, tables=ROWS, clauses=clauses)
    assert [row["forecast"] for row in ag.table("f").to_pylist()][-1] == pytest.approx(1 / 3)


def test_edges_try_it_of_several_events() -> None:
    script = """
    CREATE QUERY q ON s PATTERN SEQ(A a, B b)
    WHERE (SELECT price FROM pairs WHERE low = a.v AND high = b.v) > 1.0 WITHIN 9 EVENTS;
    CREATE FORECAST f ON q WITHIN 1 EVENTS RETURN FORECAST BY MATCH;
    """
    text = rows("a1 b2 a3 b4 a5 c6", v=[1, 2, 1, 3, 1, 0])
    ag = session(TABLES + script, text, tables=ROWS, clauses="ID id TIME t TYPE kind")
    assert {row["method"] for row in ag.table("f").to_pylist()} == {"approximate"}
    with pytest.raises(QueryError, match="A104"):
        ag.sql("CREATE FORECAST g ON q WITHIN 1 EVENTS USING MARKOV 1 RETURN FORECAST BY MATCH;")


@pytest.mark.parametrize("where", ["a.v IN kept", "1 = (SELECT n FROM kept WHERE n = a.v)"])
def test_no_forecast_says_what_tables_that_change_will_say(where: str) -> None:
    script = f"""
    CREATE TABLE kept (n LONG) KEY n;
    CREATE QUERY q ON s PATTERN SEQ(A a, B b) WHERE {where};
    CREATE FORECAST f ON q WITHIN 2 EVENTS RETURN FORECAST BY MATCH;
    CREATE QUERY p ON s PATTERN SEQ(B b);
    CREATE RULE r ON p DO DELETE FROM kept;
    """
    ag = session(script, rows("a1 b2", v=[1, 1]), clauses="ID id TIME t TYPE kind")
    with pytest.raises(QueryError, match="no model says how those go on"):
        ag.table("f")


def test_a_rule_that_is_declared_later_makes_it_active() -> None:
    script = f"CREATE QUERY q ON s PATTERN SEQ(A a, B b) WHERE {RED.format('b')} WITHIN 9;"
    ag = opened(script, "a1 b2 b3", v=[0, 1, 1])
    assert "tested on the whole match" not in ag.explain("q")
    assert ag.table("q").num_rows == 2
    ag.sql("CREATE RULE r ON q DO UPDATE colours SET colour = 'blue' WHERE n = 1;")
    assert "tested on the whole match" in ag.explain("q")
    assert ag.table("q").num_rows == 1


def test_what_several_rows_may_answer_is_tested_on_whole_matches() -> None:
    name = "'few' = (SELECT name FROM bands WHERE low <= b.v AND high > b.v)"
    assert asked(f"PATTERN SEQ(A a, B b) WHERE {name} WITHIN 9", "a1 b2 b3", v=[0, 1, 5]) == {
        "a=a1 b=b2": 1.0
    }
    for using in ("STRICT", "SKIP TILL NEXT MATCH", "PARTITION CONTIGUITY"):
        with pytest.raises(QueryError, match="several rows may answer"):
            asked(f"PATTERN SEQ(A a, B b) WHERE {name} USING {using} WITHIN 9", "a1 b2")
    with pytest.raises(QueryError, match="several rows may answer"):
        asked(f"PATTERN SEQ(A a, FIRST(B b)) WHERE {name} WITHIN 9", "a1 b2")
    most = name.replace("SELECT name", "SELECT MAX(name)")
    query = f"PATTERN SEQ(A a, B b) WHERE {most} USING STRICT WITHIN 9"
    assert asked(query, "a1 b2 a3 b4", v=[0, 5, 0, 1]) == {"a=a3 b=b4": 1.0}


def test_a_fraction_may_equal_several_large_keys() -> None:
    query = "PATTERN SEQ(A a, B b) WHERE 'red' = (SELECT colour FROM colours WHERE n = b.v / 1)"
    with pytest.raises(QueryError, match="several rows may answer"):
        asked(f"{query} USING STRICT WITHIN 9", "a1 b2", v=[0, 1])


def test_a_table_begins_with_each_key_once() -> None:
    twice = [*ROWS["colours"], {"n": 1, "colour": "blue"}]
    query = f"PATTERN SEQ(A a, B b) WHERE {RED.format('b')} USING STRICT WITHIN 9"
    with pytest.raises(DataError, match="cannot begin so"):
        session(
            f"{TABLES} CREATE QUERY q ON s {query};", "a1 b2", tables=ROWS | {"colours": twice}
        ).table("q")


def test_a_table_that_is_not_bound_is_named() -> None:
    query = f"PATTERN SEQ(A a, B b) WHERE {RED.format('b')} USING STRICT WITHIN 9"
    with pytest.raises(AuguryError, match="colours"):
        session(f"{TABLES} CREATE QUERY q ON s {query};", "a1 b2").table("q")


def test_negated_components_stay_out_of_subqueries() -> None:
    with pytest.raises(QueryError, match="A050"):
        asked(f"PATTERN SEQ(A a, !C c, B b) WHERE {RED.format('c')} WITHIN 9", "a1 b2")


def test_what_is_negated_may_stand_beside_a_subquery() -> None:
    where = "c.v > (SELECT n FROM colours WHERE n = a.v)"
    query = f"PATTERN SEQ(A a, !C c, B b) WHERE {where} WITHIN 9"
    found = asked(query, "a1 c2 b3 a4 c5 b6", v=[1, 1, 0, 1, 2, 0])
    assert found == {"a=a1 b=b3": 1.0}


def test_each_event_of_a_repetition_may_stand_beside_a_subquery() -> None:
    where = "b[i].v >= (SELECT MIN(low) FROM bands WHERE high > a.v)"
    query = f"PATTERN SEQ(A a, B+ b) WHERE {where} USING SKIP TILL NEXT MATCH WITHIN 9"
    assert asked(query, "a1 b2 b3 b4", v=[3, 1, 2, 4]) == {"a=a1 b=b3,b4": 1.0}


@pytest.mark.parametrize(
    "query",
    [
        "PATTERN SEQ(A a, B b) WHERE (SELECT COUNT(*) FROM colours) = 3 WITHIN 9",
        "PATTERN SEQ(A a, B b) WHERE (SELECT COUNT(*) FROM colours) = 2 WITHIN 9",
        "PATTERN SEQ(A a, !C c, B b) WHERE c.v > (SELECT n FROM colours WHERE n = a.v) WITHIN 9",
        "PATTERN SEQ(A a, B+ b) WHERE b[i].v >= (SELECT MIN(low) FROM bands) "
        "USING SKIP TILL NEXT MATCH WITHIN 9",
    ],
)
def test_rows_that_come_one_by_one_are_searched_the_same(query: str) -> None:
    script, came = (
        f"{TABLES} CREATE QUERY q ON s {query};",
        rows("a1 c2 b3 a4 c5 b6", v=[1, 1, 0, 1, 2, 0]),
    )
    live = session(script, [], tables=ROWS)
    found = [row for each in came for row in live.push("s", each)] + live.finish()
    assert shown(found) == shown(session(script, came, tables=ROWS).table("q").to_pylist())


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("c.v > (SELECT low FROM bands WHERE low > a.v)", "several rows may answer"),
        ("c.v > (SELECT COUNT(*) FROM kept)", "reads a table that rules write"),
    ],
)
def test_nothing_is_forbidden_by_what_is_tested_on_whole_matches(where: str, reason: str) -> None:
    script = f"""
    CREATE TABLE kept (n LONG) KEY n;
    CREATE QUERY q ON s PATTERN SEQ(A a, !C c, B b) WHERE {where} WITHIN 9;
    CREATE RULE r ON q DO INSERT INTO kept VALUES (1) ON CONFLICT DO NOTHING;
    """
    with pytest.raises(QueryError, match=f"P003.*{reason}"):
        opened(script, "a1 c2 b3", v=[1, 1, 0]).table("q")


@pytest.mark.parametrize(("count", "weight"), [(3, 0.5), (2, 0.0)])
def test_a_constant_is_weighed_counted_and_forecast(count: int, weight: float) -> None:
    where = f"WHERE (SELECT COUNT(*) FROM colours) = {count}"
    script = f"""
    CREATE QUERY p ON s PATTERN SEQ(A a, B b) {where} WITHIN 9 RETURN PROBABILITY;
    CREATE QUERY t ON s PATTERN SEQ(A a, B b) {where} RETURN PROBABILITY BY TIME;
    CREATE QUERY n ON s PATTERN SEQ(A a, B b) {where} WITHIN 9 RETURN COUNT;
    CREATE QUERY e ON s PATTERN OR(A a, B b) {where} WITHIN 9 RETURN COUNT;
    CREATE QUERY l ON s PATTERN SEQ(A a, B b) {where} AFTER MATCH SKIP PAST LAST EVENT WITHIN 9;
    """
    ag = opened(script, "a1 .5 b2", v=[1, 2])
    assert [row["probability"] for row in ag.table("p").to_pylist()] == [weight]
    assert [row["probability"] for row in ag.table("t").to_pylist()] == [0.0, weight]
    assert ag.table("n").column("count").to_pylist() == [2 * weight]
    assert ag.table("e").column("count").to_pylist() == [4 * weight]
    assert shown(ag.table("l").to_pylist()) == ({"a=a1 b=b2": 0.5} if weight else {})
    ag = session(
        f"""{TABLES}
        CREATE QUERY q ON s PATTERN SEQ(A a, B b) {where};
        CREATE FORECAST f ON q WITHIN 1 EVENTS RETURN FORECAST BY TIME;
        """,
        rows("a1 b2 b3 c4", v=[0, 2, 1, 0]),
        tables=ROWS,
        clauses="ID id TIME t TYPE kind",
    )
    assert (ag.table("f").to_pylist()[-1]["forecast"] > 0) == (weight > 0)


def test_a_constant_becomes_active_when_a_rule_writes_its_table() -> None:
    script = """
    CREATE QUERY q ON s PATTERN SEQ(A a, B b) WHERE (SELECT COUNT(*) FROM colours) < 4 WITHIN 9;
    """
    ag = opened(script, "a1 b2 b3", v=[0, 1, 1])
    assert ag.table("q").num_rows == 2
    ag.sql("CREATE RULE r ON q DO INSERT INTO colours VALUES (4, 'red');")
    assert ag.explain("q").count("SELECT COUNT(*) FROM colours") == 1
    assert ag.table("q").num_rows == 1


def test_what_several_rows_may_answer_is_refused_for_that() -> None:
    where = "WHERE 'few' = (SELECT name FROM bands)"
    script = f"""
    CREATE QUERY p ON s PATTERN SEQ(A a, B b) {where} WITHIN 9 RETURN PROBABILITY;
    CREATE QUERY q ON s PATTERN SEQ(A a, B b) {where};
    CREATE FORECAST f ON q WITHIN 1 EVENTS RETURN FORECAST BY TIME;
    """
    ag = session(TABLES + script, rows("a1 b2"), tables=ROWS, clauses="ID id TIME t TYPE kind")
    for name in ("p", "f"):
        with pytest.raises(QueryError, match="several rows may answer"):
            ag.table(name)
