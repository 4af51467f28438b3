"""What all components share is read from those that are there: by groups, by RETURN, by FIRST."""

from __future__ import annotations

import pytest

from augury import Session
from runners.every_runner import Row, Runner, bounded_runner, every_runner

STREAM = """
CREATE STREAM s (who STRING, kind STRING, t LONG, p DOUBLE) {key} TIME t TYPE kind PROBABILITY p;
"""
ROWS = {
    "s": [
        {"who": "c", "kind": "A", "t": 1, "p": 0.5},
        {"who": "c", "kind": "B", "t": 2, "p": 0.5},
        {"who": "d", "kind": "B", "t": 3, "p": 0.5},
    ]
}
END = {"s": {"who": "e", "kind": "Z", "t": 100, "p": 1.0}}


def by_group(found: list[Row]) -> dict[tuple[object, ...], float]:
    return {(row["who"], row["ts"]): row["probability"] for row in found if row["probability"]}


@bounded_runner
@pytest.mark.parametrize("key", ["", "KEY who"])
def test_a_group_is_read_from_whichever_branch_is_there(runner: Runner, key: str) -> None:
    script = f"""{STREAM.format(key=key)}
        CREATE QUERY q ON s PATTERN OR(A a, B b) WHERE [who] GROUP BY who RETURN PROBABILITY;"""
    found = runner(script, "q", ROWS, END)
    assert by_group(found) == {("c", None): 0.75, ("d", None): 0.5}


@bounded_runner
@pytest.mark.parametrize("pattern", ["OR(A a, B b)", "SEQ(A? a, OR(B b, C c))"])
def test_by_time_too(runner: Runner, pattern: str) -> None:
    script = f"""{STREAM.format(key="")}
        CREATE QUERY q ON s PATTERN {pattern} WHERE [who] GROUP BY who
        RETURN PROBABILITY BY TIME;"""
    alone = {("c", 1): 0.5} if pattern.startswith("OR") else {}
    assert by_group(runner(script, "q", ROWS, END)) == {**alone, ("c", 2): 0.5, ("d", 3): 0.5}


@bounded_runner
def test_a_group_of_a_named_component_is_null_where_that_is_absent(runner: Runner) -> None:
    script = f"""{STREAM.format(key="KEY who")}
        CREATE QUERY q ON s PATTERN SEQ(A? a, B b) WHERE [who] GROUP BY a.who
        RETURN PROBABILITY BY TIME;"""
    found = runner(script, "q", ROWS, END)
    assert by_group(found) == {("c", 2): 0.25, (None, 2): 0.5, (None, 3): 0.5}


@every_runner
def test_what_is_returned_is_read_so(runner: Runner) -> None:
    script = f"""{STREAM.format(key="")}
        CREATE QUERY q ON s PATTERN OR(A a, B b) WHERE [who] WITHIN 5
        RETURN who, a.t[b.t] AS at;"""
    found = runner(script, "q", ROWS, END)
    assert sorted((row["who"], row["at"]) for row in found) == [("c", 1), ("c", 2), ("d", 3)]


def test_what_a_component_that_may_be_missed_shares_is_read_from_another() -> None:
    ag = Session(engine="local")
    ag.sql("""
        CREATE STREAM s (tag LONG, kind STRING, t LONG) TIME t TYPE kind MISS RATE 0.1;
        CREATE QUERY q ON s PATTERN SEQ(A a, B b) WHERE [tag] WITHIN 20 ALLOW 1 MISSED OF (a)
        RETURN tag;
        CREATE GAPS g ON q (a TO b EXPONENTIAL(10), a BEFORE b EXPONENTIAL(10));""")
    ag.bind("s", [{"tag": 7, "kind": "B", "t": 3}])
    assert ag.table("q").column("tag").to_pylist() == [7]


# FIRST and LAST -----------------------------------------------------------------------------------


@every_runner
@pytest.mark.parametrize("condition", ["[who]", "a.who = b.who"])
def test_the_first_is_the_first_of_what_the_closure_equates(runner: Runner, condition: str) -> None:
    script = f"""{STREAM.format(key="")}
        CREATE QUERY q ON s PATTERN SEQ(FIRST(A a), B b) WHERE {condition} WITHIN 9
        RETURN a.t AS a, b.t AS b;"""
    told = (("c", "A", 1), ("d", "A", 2), ("d", "A", 3), ("d", "B", 4))
    rows = [{"who": who, "kind": kind, "t": t, "p": 1.0} for who, kind, t in told]
    (found,) = runner(script, "q", {"s": rows}, END)
    assert (found["a"], found["b"]) == (2, 4)


@every_runner
def test_the_last_is_the_last_of_it(runner: Runner) -> None:
    script = f"""{STREAM.format(key="")}
        CREATE QUERY q ON s PATTERN SEQ(A a, B b, LAST(C c))
        WHERE a.who = b.who AND b.who = c.who WITHIN 9 RETURN c.t AS c;"""
    told = (("c", "A", 1), ("c", "B", 2), ("c", "C", 3), ("c", "C", 4), ("d", "C", 5))
    rows = [{"who": who, "kind": kind, "t": t, "p": 1.0} for who, kind, t in told]
    (found,) = runner(script, "q", {"s": rows}, END)
    assert found["c"] == 4
