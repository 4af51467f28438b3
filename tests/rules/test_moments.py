"""When matches act: runs with the event that ends them, events of several streams, unseen ends."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from augury.errors import QueryError
from contracts.test_stage_shards import acting_network, answers_of, asks_of, ordered, told
from oracles.rules import Event, Query, Rule, Script
from rules.acting import bind, contents_of, many, pushed, session
from rules.test_reference import (
    acts,
    asks,
    check_effects,
    expected_of,
    histories,
    kinds,
    opened,
    rows_of,
    stops,
)

pytestmark = pytest.mark.filterwarnings("ignore::augury.errors.RowsWarning")


def runs(name: str) -> st.SearchStrategy[Query]:
    last = st.sampled_from(["A+", "B+", "B{1,2}", "A{1,3}"])
    parts = st.one_of(st.tuples(last), st.tuples(kinds, last))
    run = st.sampled_from(["STRICT", "PARTITION CONTIGUITY"])
    return st.builds(
        Query, st.just(name), st.integers(0, 1), parts, st.integers(1, 6),
        ask=st.none() | asks, run=run,
    )  # fmt: skip


def over_both(name: str) -> st.SearchStrategy[Query]:
    a, b = kinds, kinds
    shapes = st.one_of(st.tuples(a), st.tuples(a, b), st.tuples(a, b.map("!{}".format), kinds))
    return st.builds(
        Query, st.just(name), st.just(2), shapes, st.integers(1, 6), ask=st.none() | asks
    )


@st.composite
def scripts(draw: st.DrawFn, made: Any, *, ordered: bool) -> Script:
    names = [f"q{k}" for k in range(draw(st.integers(1, 2)))]
    rule = st.builds(
        Rule, st.just("r"), st.sampled_from(names),
        st.lists(acts, min_size=1, max_size=2).map(tuple),
        st.none() | asks, st.none() | st.sampled_from([0.25, 0.5]), st.booleans(),
    )  # fmt: skip
    rules = [replace(draw(rule), name=f"r{k}") for k in range(draw(st.integers(1, 2)))]
    queries = tuple(draw(made(name)) for name in names)
    order = ordered or draw(st.booleans())
    return Script(order, draw(st.booleans()), queries, tuple(rules), (("u", "red"),))


@st.composite
def cases(draw: st.DrawFn, made: Any, *, ordered: bool) -> tuple[Script, list[Event]]:
    script = draw(scripts(made, ordered=ordered))
    events = draw(histories(script))
    # Of equal order are none of a run.
    return script, [replace(e, seq=e.id) for e in events] if ordered else events


def check(case: tuple[Script, list[Event]], cuts: list[int]) -> None:
    """Hold bound and pushed rows, and steps that are stored, to the reference."""
    script, events = case
    expected, names = expected_of(script, events)
    rows = rows_of(events)
    ag = bind(opened(script), rows)
    if stops(ag, expected):
        return
    check_effects(ag, script, expected, names)
    live = opened(script)
    found = pushed(live, sorted(rows, key=lambda row: row[1]["t"]), cuts)
    check_effects(live, script, expected, names)
    assert sorted((row["query"], row["match_id"]) for row in found) == sorted(
        (name, names[name, ids]) for name, ids in expected.passed
    )
    in_steps(ag, rows)


def in_steps(ag: Any, rows: list[tuple[str, dict[str, Any]]]) -> None:
    """Hold steps of a few rows, stored in between, to what a session says of bound rows."""
    bound: dict[str, Any] = {s: [row for name, row in rows if name == s] for s in ag.streams}
    if not all(bound.values()):
        return
    tables = ag._bound.rows
    bound |= {n: tables[n].to_pylist() for n in ag._declared.catalog.tables if n in tables}
    network = acting_network(ag, bound)
    found = answers_of(network, bound, 2, 2)
    for each in network.asked:
        expected = asks_of(ag)[each.kind](each.name).to_pylist()
        assert told(found, each.key) == ordered(expected), each


@given(cases(runs, ordered=True), st.lists(st.integers(1, 4), max_size=9))
@settings(max_examples=many(40), deadline=None)
def test_runs_are_known_with_the_event_that_ends_them(
    case: tuple[Script, list[Event]], cuts: list[int]
) -> None:
    check(case, cuts)


@given(cases(over_both, ordered=False), st.lists(st.integers(1, 4), max_size=9))
@settings(max_examples=many(30), deadline=None)
def test_an_event_of_several_streams_has_the_place_of_its_own(
    case: tuple[Script, list[Event]], cuts: list[int]
) -> None:
    check(case, cuts)


STREAM = """
CREATE STREAM s (id LONG, kind STRING, worker STRING, t LONG) ID id KEY worker TIME t TYPE kind
MISS RATE 0.1;
CREATE TABLE log (worker STRING, at LONG);
"""


def events(text: str) -> list[tuple[str, dict[str, Any]]]:
    words = enumerate(text.split())
    rows = [{"id": k, "kind": w[0], "worker": "u", "t": int(w[1:])} for k, w in words]
    return [("s", row) for row in rows]


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("SEQ(A a, B+ b)", "A1 B2 B3 C4 B5 C9", [4]),
        ("SEQ(A a, B+ b)", "A1 B2 B3", [6]),
        ("SEQ(A a, B+ b)", "A1 B2 B6 C6", [6]),
        ("SEQ(A a, B{1,2} b)", "A1 B2 B3 C9 A10 B11 C12", [3, 12]),
        ("SEQ(A a, B? b)", "A1 C2 A3 B4 C9", [2, 4]),
        ("OR(SEQ(A a, B+ b), C c)", "A1 B2 C3 D9", [3, 3]),
    ],
)
def test_a_run_acts_when_it_is_over(pattern: str, text: str, expected: list[int]) -> None:
    script = f"""{STREAM} CREATE QUERY q ON s PATTERN {pattern} USING STRICT WITHIN 5;
    CREATE RULE note ON q DO INSERT INTO log VALUES ('u', new.ts);"""
    ag = bind(session(script, {}), events(text))
    assert [at for _, at in contents_of(ag, "log")] == expected
    live = session(script, {})
    pushed(live, events(text))
    assert contents_of(live, "log") == contents_of(ag, "log")
    in_steps(ag, events(text))


def test_alternatives_that_are_sure_end_a_run() -> None:
    script = """
    CREATE STREAM s (id LONG, kind STRING, t LONG, p DOUBLE)
    ID id TIME t ALTERNATIVES kind PROBABILITY p;
    CREATE TABLE log (name STRING, at LONG);
    CREATE QUERY q ON s PATTERN SEQ(s a, s+ b) WHERE a.kind = 'A' AND b.kind = 'B'
    USING STRICT WITHIN 9;
    CREATE RULE note ON q DO INSERT INTO log VALUES (new.match_id, new.ts);"""
    told = [
        (0, "A", 1, 1.0),
        (1, "B", 2, 1.0),
        (2, "C", 4, 0.5),
        (3, "C", 6, 0.5),
        (3, "D", 6, 0.5),
    ]
    rows = [("s", dict(zip(("id", "kind", "t", "p"), row, strict=True))) for row in told]
    ag = bind(session(script, {}), rows)
    assert [at for _, at in contents_of(ag, "log")] == [6]
    live = session(script, {})
    pushed(live, rows, [1, 1, 1, 2])
    assert contents_of(live, "log") == contents_of(ag, "log")


def test_a_match_whose_end_was_not_seen_is_known_when_its_window_ends() -> None:
    script = f"""{STREAM}
    CREATE QUERY q ON s PATTERN SEQ(A a, B b) WHERE [worker] WITHIN 5 ALLOW 1 MISSED;
    CREATE GAPS g ON q (a TO b EXPONENTIAL(3), a BEFORE b EXPONENTIAL(3));
    CREATE RULE note ON q DO INSERT INTO log VALUES (new.worker, new.ts);"""
    text = "A1 B3 A10 C20 B21 C40"
    ag = bind(session(script, {}), events(text))
    rows = ag.table("q").to_pylist()
    expected = sorted(
        row["start_ts"] + 5
        if any(e["missed"] and e["component"] == "b" for e in row["events"])
        else row["end_ts"]
        for row in rows
    )
    assert {3, 15, 21} <= set(expected)
    assert [at for _, at in contents_of(ag, "log")] == expected
    live = session(script, {})
    pushed(live, events(text))
    assert contents_of(live, "log") == contents_of(ag, "log")
    in_steps(ag, events(text))


@pytest.mark.parametrize("skip", ["PAST LAST EVENT", "TO NEXT EVENT", "TO LAST b"])
@given(text=st.text(st.sampled_from("ABC"), min_size=3, max_size=10))
@settings(max_examples=many(8), deadline=None)
def test_what_after_match_takes_acts_when_nothing_longer_can_begin_there(
    skip: str, text: str
) -> None:
    query = f"""CREATE QUERY q ON s PATTERN SEQ(A a, B+ b) WHERE [worker]
    AFTER MATCH SKIP {skip} WITHIN 4"""
    rows = events(" ".join(f"{kind}{t}" for t, kind in enumerate(text)))
    plain = bind(session(f"{STREAM} {query};", {}), rows).table("q").to_pylist()
    script = f"""{STREAM} {query};
    CREATE RULE note ON q DO INSERT INTO log VALUES (new.match_id, new.ts);"""
    ag = bind(session(script, {}), rows)
    assert ag.table("q").to_pylist() == plain
    taken = sorted((row["start_ts"] + 4, row["match_id"]) for row in plain)
    assert sorted((at, name) for name, at in contents_of(ag, "log")) == taken
    live = session(script, {})
    pushed(live, rows)
    assert contents_of(live, "log") == contents_of(ag, "log")
    in_steps(ag, rows)


@pytest.mark.parametrize("using", ["STRICT", "PARTITION CONTIGUITY"])
@pytest.mark.parametrize("skip", ["PAST LAST EVENT", "TO NEXT EVENT", "TO LAST b"])
@given(text=st.text(st.sampled_from("ABC"), min_size=3, max_size=10), pattern=st.integers(0, 2))
@settings(max_examples=many(6), deadline=None)
def test_what_after_match_takes_of_neighbours_acts_with_its_last_event(
    using: str, skip: str, text: str, pattern: int
) -> None:
    written = ("SEQ(A a, B b)", "SEQ(_ a, _ b)", "SEQ(_ a, B b, _ c)")[pattern]
    query = f"""CREATE QUERY q ON s PATTERN {written} WHERE [worker] USING {using}
    AFTER MATCH SKIP {skip} WITHIN 5"""
    rows = events(" ".join(f"{kind}{t}" for t, kind in enumerate(text)))
    taken = bind(session(f"{STREAM} {query};", {}), rows).table("q").to_pylist()
    # Whatever comes later, it is taken.
    for row in taken:
        ended = [each for each in rows if each[1]["t"] <= row["end_ts"]]
        until = bind(session(f"{STREAM} {query};", {}), ended).table("q").to_pylist()
        assert row["match_id"] in {each["match_id"] for each in until}
    script = f"""{STREAM} {query};
    CREATE RULE note ON q DO INSERT INTO log VALUES (new.match_id, new.ts);"""
    ag = bind(session(script, {}), rows)
    expected = sorted((row["match_id"], row["end_ts"]) for row in taken)
    assert sorted(contents_of(ag, "log")) == expected
    live = session(script, {})
    pushed(live, rows)
    assert contents_of(live, "log") == contents_of(ag, "log")
    in_steps(ag, rows)


def test_what_after_match_takes_without_a_window_is_refused_for_that() -> None:
    script = f"""{STREAM} CREATE QUERY q ON s PATTERN SEQ(A a, B b) USING STRICT
    AFTER MATCH SKIP PAST LAST EVENT;
    CREATE RULE note ON q DO INSERT INTO log VALUES (new.match_id, new.ts);"""
    with pytest.raises(QueryError, match=r"takes matches AFTER MATCH.*no window of time"):
        bind(session(script, {}), events("A1 B2")).table("note")


def test_a_component_of_several_streams_is_of_the_one_it_came_by() -> None:
    script = """
    CREATE STREAM s (id LONG, kind STRING, t LONG, n LONG) ID id TIME t ORDER BY n TYPE kind;
    CREATE STREAM r (id LONG, kind STRING, t LONG) ID id TIME t TYPE kind;
    CREATE TABLE last (name STRING, at LONG) KEY name;
    CREATE QUERY q ON s, r PATTERN SEQ(A a, _ b) WITHIN 5;
    CREATE RULE note ON q DO INSERT INTO last VALUES ('last', new.end_ts)
    ON CONFLICT DO UPDATE SET at = at * 10 + excluded.at;"""
    rows: list[tuple[str, dict[str, Any]]] = [
        ("s", {"id": 0, "kind": "A", "t": 1, "n": 0}),
        ("s", {"id": 1, "kind": "B", "t": 2, "n": 2}),
        ("s", {"id": 2, "kind": "C", "t": 2, "n": 1}),
        ("r", {"id": 3, "kind": "B", "t": 2}),
    ]
    ag = bind(session(script, {}), rows)
    moments = [row["ts"] for row in ag.table("note").to_pylist()]
    assert moments == [2, 2, 2]
    live = session(script, {})
    pushed(live, rows)
    assert contents_of(live, "last") == contents_of(ag, "last") == [("last", 222)]
