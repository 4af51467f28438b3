"""UNCERTAIN tables: what each world comes to by itself, weighed."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from augury import QueryError, Session
from augury.errors import DataError
from oracles.rules import Act, Ask, Event, Outcome, Script, reference, text_of
from rules.acting import bind, many, session
from rules.test_reference import cases, names_of, rows_of

pytestmark = pytest.mark.filterwarnings("ignore::augury.errors.RowsWarning")

STREAM = """
CREATE STREAM behaviour (
    id LONG, worker STRING, action STRING, room STRING, t LONG, seq LONG, p DOUBLE
) ID id KEY worker TIME t ORDER BY seq TYPE action PROBABILITY p;
CREATE TABLE worker_status (worker STRING, status STRING) KEY worker UNCERTAIN;
"""
N16 = (
    STREAM
    + """
CREATE QUERY unwashed ON behaviour PATTERN SEQ(EXIT x, !SANITIZE s, ENTER e)
WHERE [worker] AND x.room <> e.room WITHIN 45 RETURN e.worker AS who, e.room AS room_in;
CREATE QUERY masked ON behaviour PATTERN SEQ(MASK a, EXIT b)
WHERE [worker] AND 'warning' = (SELECT status FROM worker_status WHERE worker = b.worker)
WITHIN 45 RETURN b.worker AS who;
CREATE QUERY again ON behaviour PATTERN SEQ(ENTER a, MASK b)
WHERE [worker] AND 'warning' = (SELECT status FROM worker_status WHERE worker = b.worker)
WITHIN 45 RETURN b.worker AS who;
CREATE RULE warn ON OUTPUT unwashed REFERENCING NEW AS hit FOR EACH EVENT
BEGIN
    UPDATE worker_status SET status = 'warning' WHERE worker = hit.who;
END;
"""
)
OF_BEHAVIOUR = ("id", "action", "t", "seq", "worker", "room", "p")
EVENTS = [
    (1, "EXIT", 2, 1, "w7", "A", 0.9),
    (2, "ENTER", 10, 2, "w7", "B", 0.5),
    (3, "MASK", 12, 3, "w7", "B", 1.0),
    (4, "EXIT", 15, 4, "w7", "B", 1.0),
]


def worked(script: str = N16) -> Session:
    ag = session(script, {"worker_status": [("w7", "safe")]})
    ag.bind("behaviour", [dict(zip(OF_BEHAVIOUR, each, strict=True)) for each in EVENTS])
    return ag


def test_n16_comes_out() -> None:
    ag = worked()
    for name in ("unwashed", "masked", "again"):
        assert ag.table(name).column("confidence").to_pylist() == pytest.approx([0.45]), name
    (fired,) = ag.table("warn").to_pylist()
    assert (fired["ts"], fired["changes"]) == (10, [])
    assert fired["confidence"] == pytest.approx(0.45)
    rows = [tuple(row.values()) for row in ag.table("worker_status").to_pylist()]
    assert rows == [("w7", "safe", pytest.approx(0.55)), ("w7", "warning", pytest.approx(0.45))]


def test_a_threshold_is_on_the_weight_of_all_worlds() -> None:
    ag = worked(
        N16.replace(
            "WITHIN 45 RETURN b.worker", "WITHIN 45 HAVING CONFIDENCE >= 0.5 RETURN b.worker"
        )
    )
    assert ag.table("masked").num_rows == 0
    assert ag.table("unwashed").num_rows == 1


def test_each_world_has_changes_of_its_own_and_pushed_rows_have_not_all_worlds() -> None:
    ag = worked()
    with pytest.raises(Exception, match="UNCERTAIN"):
        ag.changes("worker_status")
    pushing = Session(engine="local")
    pushing.sql(N16)
    with pytest.raises(QueryError, match="P003"):
        pushing.push("behaviour", [])


def test_a_table_that_no_rule_writes_is_whole_in_every_world() -> None:
    script = N16.replace(
        "WITHIN 45 RETURN b.worker",
        "AND 1 <= (SELECT COUNT(*) FROM rooms WHERE size = 3) WITHIN 45 RETURN b.worker",
    )
    for kind in ("", " UNCERTAIN"):
        rooms = f"CREATE TABLE rooms (room STRING, size LONG) KEY room{kind};"
        ag = worked(rooms + script)
        ag.bind("rooms", [{"room": "A", "size": 3}])
        assert ag.table("masked").column("confidence").to_pylist() == pytest.approx([0.45])


def test_too_many_worlds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUGURY_LINEAGE_LIMIT", "8")
    with pytest.raises(DataError, match="LINEAGE_LIMIT"):
        worked().table("worker_status")


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE b (w STRING) UNCERTAIN; CREATE RULE r ON unwashed DO DELETE FROM b;",
        "CREATE TABLE c (w STRING) KEY w; CREATE RULE r ON unwashed DO DELETE FROM c;",
        "CREATE QUERY p ON behaviour PATTERN SEQ(EXIT x, MASK m) AFTER MATCH SKIP PAST LAST EVENT "
        "WITHIN 9; CREATE RULE r ON p DO DELETE FROM worker_status;",
        "CREATE QUERY p ON behaviour PATTERN SEQ(EXIT x, MASK m) RETURN PROBABILITY BY TIME;"
        "CREATE RULE r ON p DO DELETE FROM worker_status;",
    ],
)
def test_what_is_not_told_of_worlds_is_refused(text: str) -> None:
    ag = worked(N16 + text)
    with pytest.raises(QueryError, match="P003"):
        ag.table("worker_status")


# Every world by itself ----------------------------------------------------------------------------


def is_of_status(act: Act) -> bool:
    return act.kind not in ("log", "clear")


def is_about_status(ask: Ask | None) -> bool:
    return ask is None or ask.kind in ("is", "null", "two")


def text_in_worlds(script: Script) -> str:
    text = text_of(script).replace("KEY worker;", "KEY worker UNCERTAIN;")
    return text.replace("CREATE TABLE log (worker STRING);", "").replace("DELETE FROM log; ", "")


def worlds_of(events: list[Event]) -> list[tuple[float, list[Event]]]:
    choices = [[(each, each.p), (None, 1 - each.p)] for each in events]
    found = []
    for chosen in product(*choices):
        weight = 1.0
        for _, p in chosen:
            weight *= p
        if weight > 0:
            found.append((weight, [replace(e, p=1.0) for e, _ in chosen if e is not None]))
    return found


@given(cases())
@settings(max_examples=many(25), deadline=None)
def test_what_comes_of_worlds_is_what_comes_of_each_weighed(
    case: tuple[Script, list[Event]],
) -> None:
    script, events = case
    rules = tuple(
        replace(rule, acts=tuple(filter(is_of_status, rule.acts)), least=None)
        for rule in script.rules
        if is_about_status(rule.ask)
    )
    rules = tuple(rule for rule in rules if rule.acts)
    asked = tuple(
        replace(query, ask=query.ask if is_about_status(query.ask) else None, next=False)
        for query in script.queries
    )
    assume(rules)
    script = replace(script, uncertain=True, rules=rules, queries=asked)
    events = [replace(e, p=(0.5, 0.8, 1.0)[e.id % 3]) for e in events[:7]]
    names = names_of(script, events)
    outcomes = [
        (weight, reference(script, own, lambda query, ids: names[query, ids]))
        for weight, own in worlds_of(events)
    ]
    ag = bind(session(text_in_worlds(script), {"status": list(script.status)}), rows_of(events))
    if any(each.stopped is not None for _, each in outcomes):
        with pytest.raises(DataError):
            ag.table("status")
        return
    check(ag, script, outcomes, names)


def check(
    ag: Session, script: Script, outcomes: list[tuple[float, Outcome]], names: dict[Any, str]
) -> None:
    contents, passed, fired = (defaultdict[Any, float](float) for _ in range(3))
    for weight, each in outcomes:
        for row in each.tables["status"]:
            contents[tuple(row)] += weight
        for own in each.passed:
            passed[own] += weight
        for rule, ids, ts, _ in each.firings:
            fired[rule, ids, ts] += weight
    rows = {(r["worker"], r["colour"]): r["probability"] for r in ag.table("status").to_pylist()}
    assert rows == pytest.approx(dict(contents))
    for query in script.queries:
        told = ag.table(query.name).to_pylist()
        expected = {names[q, ids]: w for (q, ids), w in passed.items() if q == query.name}
        assert {r["match_id"]: r["confidence"] for r in told} == pytest.approx(expected)
    for rule in script.rules:
        told = ag.table(rule.name).to_pylist()
        expected = {
            (names[rule.query, ids], ts): w
            for (name, ids, ts), w in fired.items()
            if name == rule.name
        }
        found = {(row["match_id"], row["ts"]): row["confidence"] for row in told}
        assert found == pytest.approx(expected)


# Matches of matches, and THROTTLE: each world is a session in which all is certain ----------------

CHAINED = """
CREATE STREAM s (id LONG, kind STRING, worker STRING, t LONG, p DOUBLE)
ID id KEY worker TIME t TYPE kind {sure};
CREATE TABLE seen (worker STRING, n LONG) KEY worker {uncertain};
CREATE QUERY came ON s PATTERN SEQ(A a, B b)
WHERE [worker] AND COALESCE((SELECT n FROM seen WHERE worker = b.worker), 0) < 3 WITHIN 4 {having};
CREATE QUERY again ON came PATTERN SEQ(came x, came y)
WHERE [worker] AND NOT ((SELECT n FROM seen WHERE worker = y.worker) IS NULL) WITHIN 9;
CREATE RULE count ON came {throttle} DO INSERT INTO seen VALUES (new.worker, 1)
ON CONFLICT DO UPDATE SET n = n + 1;
CREATE RULE more ON again DO UPDATE seen SET n = n + 1 WHERE worker = new.worker;
"""
CHANCES = (0.5, 1.0, 0.8, 1.0, 0.25, 1.0)


def chained(rows: list[dict[str, Any]], **parts: str) -> Session:
    given = {"sure": "", "uncertain": "", "having": "", "throttle": ""} | parts
    ag = Session(engine="local")
    ag.sql(CHAINED.format(**given))
    ag.bind("s", rows)
    return ag


@pytest.mark.parametrize("throttle", ["", "THROTTLE 1 PER 3 BY worker", "THROTTLE 2 PER 4"])
@given(
    drawn=st.lists(
        st.tuples(st.sampled_from("AB"), st.sampled_from("uv"), st.integers(1, 9)),
        min_size=3,
        max_size=6,
    )
)
@settings(max_examples=many(8), deadline=None)
def test_matches_of_matches_and_throttled_rules_are_those_of_each_world(
    throttle: str, drawn: list[tuple[str, str, int]]
) -> None:
    rows = [
        {"id": k, "kind": kind, "worker": who, "t": t, "p": CHANCES[k]}
        for k, (kind, who, t) in enumerate(drawn)
    ]
    ag = chained(rows, sure="PROBABILITY p", uncertain="UNCERTAIN", throttle=throttle)
    contents, told, fired = (defaultdict[Any, float](float) for _ in range(3))
    for there in product([True, False], repeat=len(rows)):
        weight = 1.0
        for row, is_there in zip(rows, there, strict=True):
            weight *= row["p"] if is_there else 1.0 - row["p"]
        if weight > 0.0:
            own = [row for row, is_there in zip(rows, there, strict=True) if is_there]
            world = chained(own, throttle=throttle)
            for row in world.table("seen").to_pylist():
                contents[tuple(row.values())] += weight
            for name in ("came", "again"):
                for row in world.table(name).to_pylist():
                    told[row["match_id"]] += weight
            for name in ("count", "more"):
                for row in world.table(name).to_pylist():
                    fired[row["firing_id"]] += weight
    rows_told = ag.table("seen").to_pylist()
    assert {(r["worker"], r["n"]): r["probability"] for r in rows_told} == pytest.approx(contents)
    found = [row for name in ("came", "again") for row in ag.table(name).to_pylist()]
    assert {row["match_id"]: row["confidence"] for row in found} == pytest.approx(told)
    found = [row for name in ("count", "more") for row in ag.table(name).to_pylist()]
    assert {row["firing_id"]: row["confidence"] for row in found} == pytest.approx(fired)
    assert {row["held_back"] for row in found} <= {None}


def test_what_having_does_not_show_is_no_match_for_others() -> None:
    kinds = [("A", 1), ("B", 2), ("A", 3), ("B", 4)]
    rows = [
        {"id": k, "kind": kind, "worker": "u", "t": t, "p": (0.5, 1.0, 0.8, 1.0)[k]}
        for k, (kind, t) in enumerate(kinds)
    ]
    parts = {"sure": "PROBABILITY p", "uncertain": "UNCERTAIN"}
    assert chained(rows, **parts).table("again").num_rows == 2
    ag = chained(rows, having="HAVING CONFIDENCE >= 0.6", **parts)
    assert ag.table("came").column("confidence").to_pylist() == pytest.approx([0.8])
    assert ag.table("again").num_rows == 0
