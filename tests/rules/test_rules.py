"""What rules and active conjuncts do beside the worked cases."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime
from typing import Any

import pytest

from augury import AuguryError, Session
from augury.errors import DataError, QueryError, RowsWarning
from rules.acting import bind, contents_of, pushed, session

STREAM = """
CREATE STREAM s (id LONG, kind STRING, worker STRING, t LONG)
ID id KEY worker TIME t TYPE kind;
CREATE TABLE status (worker STRING, colour STRING) KEY worker;
CREATE TABLE log (worker STRING, at LONG);
CREATE TABLE other (worker STRING, colour STRING) KEY worker;
"""


def events(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Return events such as `A1 B3`, all of one worker."""
    words = enumerate(text.split())
    rows = [{"id": k, "kind": w[0], "worker": "u", "t": int(w[1:])} for k, w in words]
    return [("s", row) for row in rows]


def ended(script: str, text: str, **before: list[tuple[Any, ...]]) -> Session:
    """Return a session in which pushed rows gave what bound ones give."""
    ag = bind(session(STREAM + script, before), events(text))
    live = session(STREAM + script, before)
    pushed(live, events(text))
    for table in ("status", "log"):
        if table in ag._declared.acting_for().world.tables:
            assert contents_of(live, table) == contents_of(ag, table)
            assert live.changes(table).equals(ag.changes(table))
    return ag


def test_a_repetition_that_could_go_on_is_known_at_the_end_of_its_window() -> None:
    script = """
    CREATE QUERY many ON s PATTERN SEQ(A a, B+ b) WHERE [worker]
    USING SKIP TILL NEXT MATCH WITHIN 5;
    CREATE RULE note ON many DO INSERT INTO log VALUES (new.worker, new.ts);
    """
    ag = ended(script, "A1 B2 B3 C9")
    assert contents_of(ag, "log") == [("u", 6)]
    assert ag.table("note").column("ts").to_pylist() == [6]


def test_a_repetition_that_has_all_it_may_take_is_known_with_its_last_event() -> None:
    script = """
    CREATE QUERY some ON s PATTERN SEQ(A a, B{1,2} b) USING SKIP TILL NEXT MATCH WITHIN 5;
    CREATE QUERY one ON s PATTERN SEQ(C c);
    CREATE RULE note ON some DO INSERT INTO log VALUES ('some', new.ts);
    CREATE RULE tell ON one DO INSERT INTO log VALUES ('one', new.ts);
    """
    ag = ended(script, "A1 B2 B3 C4 A10 B11 C12 C20")
    assert contents_of(ag, "log") == [
        ("some", 3), ("one", 4), ("one", 12), ("some", 15), ("one", 20),
    ]  # fmt: skip


def test_a_query_over_one_with_an_open_end_is_known_later_by_its_window() -> None:
    script = """
    CREATE QUERY quiet ON s PATTERN SEQ(A a, !B b) WITHIN 5;
    CREATE QUERY twice ON quiet PATTERN SEQ(quiet x, quiet y) WITHIN 20;
    CREATE RULE note ON twice DO INSERT INTO log VALUES ('twice', new.ts);
    """
    assert contents_of(ended(script, "A1 A10 C30"), "log") == [("twice", 15)]


def test_membership_of_a_table_that_rules_write_is_tested_at_the_moment() -> None:
    script = """
    CREATE QUERY came ON s PATTERN SEQ(A a);
    CREATE QUERY left_again ON s PATTERN SEQ(B b) WHERE b.worker IN seen WITHIN 5;
    CREATE RULE note ON came DO INSERT INTO seen VALUES (new.worker);
    CREATE RULE tell ON left_again DO INSERT INTO log VALUES (new.worker, new.ts);
    """
    ag = ended("CREATE TABLE seen (worker STRING);" + script, "B1 A2 B3")
    assert contents_of(ag, "log") == [("u", 3)]
    assert "tested on the whole match, at its moment" in ag.explain("left_again")


def test_a_condition_on_a_component_without_an_event_is_not_applied() -> None:
    script = """
    CREATE QUERY q ON s PATTERN SEQ(A a, B? b, C c)
    WHERE 'red' = (SELECT colour FROM status WHERE worker = b.worker) WITHIN 9;
    """
    ag = ended(script, "A1 B2 C3", status=[("u", "green")])
    made = [[e["component"] for e in row["events"]] for row in ag.table("q").to_pylist()]
    assert made == [["a", "c"]]


def test_a_table_that_no_rule_writes_is_read_as_it_is_bound() -> None:
    script = """
    CREATE QUERY q ON s PATTERN SEQ(A a, C c)
    WHERE [worker] AND 'red' = (SELECT colour FROM status WHERE worker = a.worker) WITHIN 9;
    """
    assert ended(script, "A1 C3", status=[("u", "red")]).table("q").num_rows == 1
    assert ended(script, "A1 C3", status=[("u", "blue")]).table("q").num_rows == 0


def test_aggregates_of_a_table_are_those_of_the_moment() -> None:
    script = """
    CREATE QUERY q ON s PATTERN SEQ(A a);
    CREATE RULE note ON q
    WHEN COALESCE((SELECT MAX(at) FROM log), 0) + COALESCE((SELECT SUM(at) FROM log), 0) < 9
     AND (SELECT COUNT(*) FROM log WHERE worker = new.worker) < 3
    DO INSERT INTO log VALUES (new.worker, new.ts);
    """
    assert contents_of(ended(script, "A1 A3 A4 A5 A6"), "log") == [("u", 1), ("u", 3), ("u", 4)]


REJECTING = """
CREATE QUERY q ON s PATTERN SEQ(A a);
CREATE RULE note ON q ON ERROR REJECT
BEGIN
    INSERT INTO log VALUES (new.worker, new.ts);
    INSERT INTO status VALUES (new.worker, 'seen');
END;
"""


@pytest.mark.filterwarnings("ignore::augury.errors.RowsWarning")
def test_a_firing_that_cannot_be_done_is_put_aside_whole() -> None:
    ag = ended(REJECTING, "A1 A2")
    assert contents_of(ag, "log") == [("u", 1)]
    (aside,) = ag.rejected("note").to_pylist()
    assert aside["ts"] == 2
    assert aside["reason"] == "INSERT INTO status: key ('u',) is there already"


def test_firings_that_are_put_aside_are_announced_once() -> None:
    ag = bind(session(STREAM + REJECTING, {}), events("A1 A2 A3"))
    with pytest.warns(RowsWarning, match="2 firings of rule note could not be done"):
        ag.table("log")
    ag.table("status")
    live = session(STREAM + REJECTING, {})
    with pytest.warns(RowsWarning, match="2 firings of rule note could not be done"):
        pushed(live, events("A1 A2 A3"))


def test_a_rule_that_is_replaced_holds_from_then_on_and_keeps_what_it_did() -> None:
    ag = session(STREAM + REJECTING, {})
    ag.push("s", events("A1 B2")[0][1])
    ag.push("s", events("A1 B2")[1][1])
    ag.sql("CREATE OR REPLACE RULE note ON q DO INSERT INTO log VALUES ('other', new.ts);")
    ag.push("s", {"id": 9, "kind": "A", "worker": "u", "t": 5})
    ag.finish()
    assert contents_of(ag, "log") == [("u", 1), ("other", 5)]
    assert ag.table("note").column("ts").to_pylist() == [1, 5]


def test_changes_of_a_key_are_counted_from_one() -> None:
    script = """
    CREATE QUERY q ON s PATTERN SEQ(A a);
    CREATE RULE note ON q BEGIN
        DELETE FROM status WHERE worker = new.worker;
        INSERT INTO status VALUES (new.worker, 'seen');
    END;
    """
    found = ended(script, "A1 A2").changes("status").to_pylist()
    assert [(row["seq"], row["operation"]) for row in found] == [
        (1, "INSERT"), (2, "DELETE"), (3, "INSERT"),
    ]  # fmt: skip


def test_times_are_told_as_they_are_declared() -> None:
    script = """
    CREATE STREAM s (id LONG, kind STRING, worker STRING, at TIMESTAMP)
    ID id KEY worker TIME at TYPE kind;
    CREATE TABLE alarms (worker STRING, at TIMESTAMP) KEY worker;
    CREATE QUERY q ON s PATTERN SEQ(A a, !B b) WITHIN 10 MINUTES;
    CREATE RULE note ON q DO INSERT INTO alarms VALUES (new.worker, new.ts);
    """
    row = {"id": 1, "kind": "A", "worker": "u", "at": datetime(2026, 1, 1, 12, tzinfo=UTC)}
    later = datetime(2026, 1, 1, 12, 10, tzinfo=UTC)
    for live in (False, True):
        ag = session(script, {})
        if live:
            ag.push("s", row)
            ag.finish()
        else:
            ag.bind("s", [row])
        assert ag.table("alarms").to_pylist() == [{"worker": "u", "at": later}]
        (firing,) = ag.table("note").to_pylist()
        assert firing["ts"] == later
        assert firing["changes"][0]["after"] == '{"worker": "u", "at": "2026-01-01 12:10:00+00:00"}'


def test_contents_with_a_repeated_key_are_refused_at_the_start() -> None:
    ag = session(STREAM + REJECTING, {"status": [("u", "red"), ("u", "blue")]})
    with pytest.raises(DataError, match=r"table status cannot begin so: .*key \('u',\)"):
        bind(ag, events("A1")).table("status")


def test_a_table_that_rules_write_is_bound_before_the_first_push() -> None:
    ag = session(STREAM + REJECTING, {})
    ag.push("s", events("A1")[0][1])
    with pytest.raises(AuguryError, match="bind it before them"):
        ag.bind("status", [{"worker": "u", "colour": "red"}])


def test_rules_come_before_the_events_of_their_queries() -> None:
    query, _, rule = REJECTING.partition("CREATE RULE")
    ag = session(STREAM + query, {})
    ag.push("s", events("A1")[0][1])
    with pytest.raises(AuguryError, match="declare rules, and subqueries, before the first push"):
        ag.sql("CREATE RULE" + rule)
    # The session goes on without it.
    ag.push("s", {"id": 9, "kind": "A", "worker": "u", "t": 5})
    assert len(ag.finish()) == 1


def test_a_replaced_rule_tries_again_what_the_old_one_could_not_do() -> None:
    ag = session(STREAM + REJECTING.replace("ON ERROR REJECT", ""), {})
    first, second, third = (row for _, row in events("A1 A2 A3"))
    ag.push("s", [first, second])
    with pytest.raises(DataError, match="is there already"):
        ag.push("s", third)
    with pytest.raises(DataError, match="is there already"):
        ag.finish()
    ag.sql("CREATE OR REPLACE " + REJECTING[REJECTING.index("RULE") :])
    assert len(ag.finish()) == 2
    assert ag.rejected("note").num_rows == 2


# What makes a table one that changes.
WRITING = """CREATE QUERY w ON s PATTERN SEQ(D d);
        CREATE RULE writes ON w DO DELETE FROM status;"""
REFUSED = {
    "UNCERTAIN": """CREATE TABLE t (a STRING) UNCERTAIN;
        CREATE QUERY q ON s PATTERN SEQ(A a); CREATE RULE r ON q DO DELETE FROM t;""",
    "RETURN": f"""{WRITING} CREATE QUERY q ON s PATTERN SEQ(A a)
        WHERE 'x' = (SELECT colour FROM status WHERE worker = a.worker) RETURN COUNT;""",
    "runs of matches": """CREATE QUERY p ON s PATTERN SEQ(A a);
        CREATE QUERY q ON p PATTERN SEQ(p x, p+ y) USING STRICT WITHIN 5;
        CREATE RULE r ON q DO DELETE FROM status;""",
    "over": f"""{WRITING} CREATE QUERY p ON s PATTERN SEQ(A a)
        WHERE 'x' = (SELECT colour FROM status WHERE worker = a.worker);
        CREATE QUERY q ON p, s PATTERN SEQ(p x, !p y, s z) WITHIN 5;""",
    "selects": """CREATE QUERY q ON s PATTERN SEQ(A a, B b)
        WHERE 'x' = (SELECT worker FROM status WHERE colour = b.kind)
        USING SKIP TILL NEXT MATCH WITHIN 5;""",
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_not_evaluated_is_refused_with_its_place(what: str) -> None:
    ag = bind(session(STREAM + REFUSED[what], {"status": [("u", "x")]}), events("A1"))
    asked = ag._declared.catalog.rules.get("r1") or ag._declared.catalog.rules.get("r")
    asked = "q" if asked is None else asked.name
    with pytest.raises(QueryError, match="P003") as raised:
        ag.table(asked)
    assert raised.value.diagnostics[0].span.end > 0


RUN = """CREATE QUERY q ON s PATTERN SEQ(A a, B+ b) USING STRICT WITHIN 5;
CREATE RULE r ON q DO DELETE FROM status;"""


def test_what_a_query_finds_never_changes_by_a_rule_that_listens_to_it() -> None:
    ag = bind(session(STREAM + RUN, {}), events("A1 B2 B3 C4"))
    alone = STREAM + RUN.partition("CREATE RULE")[0]
    expected = bind(session(alone, {}), events("A1 B2 B3 C4")).table("q")
    assert ag.table("q").equals(expected)
    acting = bind(session(STREAM + REJECTING, {}), events("A1 A2"))
    assert [each for each in acting.table("q").column_names if each.startswith("\0")] == []


def test_a_query_that_is_refused_does_not_stop_rules_that_do_not_need_it() -> None:
    ag = session(STREAM + REJECTING + REFUSED["selects"].replace("QUERY q", "QUERY p")
                 .replace("status", "other"), {})  # fmt: skip
    ag._pushed.partly = True
    with pytest.warns(UserWarning, match="query p cannot be evaluated"):
        pushed(ag, events("A1"))
    assert contents_of(ag, "log") == [("u", 1)]


def test_a_probability_that_is_refused_is_left_out_of_what_is_pushed() -> None:
    script = f"""{WRITING} CREATE QUERY q ON s PATTERN SEQ(A a)
        WHERE 'x' = (SELECT colour FROM status WHERE worker = a.worker) RETURN PROBABILITY BY TIME;
        """
    ag = session(STREAM + script, {"status": [("u", "x")]})
    ag._pushed.partly = True
    with pytest.warns(UserWarning, match="cannot be evaluated, and push leaves it out"):
        assert ag.push("s", events("A1")[0][1]) == []


def test_a_session_without_rules_acts_as_before() -> None:
    ag = session(STREAM + "CREATE QUERY q ON s PATTERN SEQ(A a);", {"status": [("u", "x")]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(pushed(ag, events("A1"))) == 1
    assert contents_of(ag, "status") == [("u", "x")]


UNREAD = """
CREATE STREAM r (id LONG, kind STRING, worker STRING, t LONG)
ID id KEY worker TIME t TYPE kind MISS RATE 0.1;
CREATE TABLE done (worker STRING, n LONG) KEY worker;
CREATE TABLE rooms (worker STRING) KEY worker;
CREATE QUERY q ON r PATTERN SEQ(A a, B b, C c) WHERE [worker] AND b.worker IN rooms
WITHIN 15 ALLOW 1 MISSED OF (a, b);
CREATE GAPS g ON q (a TO b EXPONENTIAL(3), b TO c EXPONENTIAL(3), a BEFORE b EXPONENTIAL(3));
"""
COUNTING = """
CREATE RULE count ON q
DO INSERT INTO done VALUES (new.worker, 1) ON CONFLICT DO UPDATE SET n = n + 1;
CREATE RULE close ON q WHEN new.n_missed = 0 DO DELETE FROM rooms WHERE worker = new.worker;
"""


def test_rules_act_on_matches_with_missed_parts_and_test_what_was_seen() -> None:
    kinds = "ACBCABCCABDCACBC"
    rows = [{"id": k, "kind": c, "worker": "u", "t": k} for k, c in enumerate(kinds)]
    rooms = {"rooms": [("u",)]}
    plain, ag, pushing = (session(UNREAD + more, rooms) for more in ("", COUNTING, COUNTING))
    for each in (plain, ag):
        each.bind("r", rows)
    whole = {m["match_id"]: m for m in plain.table("q").to_pylist()}
    told = {m["match_id"]: m for m in ag.table("q").to_pylist()}
    first = min(m["end_ts"] for m in whole.values() if not m["n_missed"])
    # What b saw in a room that is closed is no match any more; a b that was missed is not asked.
    assert told == {
        name: m
        for name, m in whole.items()
        if m["end_ts"] <= first or any(e["missed"] and e["component"] == "b" for e in m["events"])
    }
    fired = {(row["match_id"], row["ts"]) for row in ag.table("count").to_pylist()}
    assert fired == {(name, m["end_ts"]) for name, m in told.items()}
    assert len(told) < len(whole)
    for row in rows:
        pushing.push("r", row)
    pushing.finish()
    assert pushing.table("count").num_rows == len(told)
    assert contents_of(pushing, "done") == contents_of(ag, "done") == [("u", len(told))]


def test_rules_act_on_correlated_matches_and_their_confidence() -> None:
    script = """CREATE STREAM r (id LONG, kind STRING, worker STRING, t LONG, p DOUBLE)
        ID id KEY worker TIME t TYPE kind PROBABILITY p;
        CREATE TABLE follows (id_from LONG, id_to LONG, p DOUBLE);
        CREATE TABLE done (worker STRING) KEY worker;
        CREATE QUERY q ON r PATTERN SEQ(A a, B b)
        WHERE [worker] AND NOT (b.worker IN done) WITHIN 5 CORRELATED BY follows;
        CREATE RULE note ON q WHEN new.confidence > 0.4
        DO INSERT INTO done VALUES (new.worker) ON CONFLICT DO NOTHING;"""
    follows = [(0, 1, 0.7), (0, 3, 0.9), (2, 3, 0.9)]
    ag = session(script, {"follows": follows})
    rows = [{"id": k, "kind": "AB"[k % 2], "worker": "u", "t": k, "p": 0.5} for k in range(4)]
    ag.bind("r", rows)
    # At 1 it is .5 times .7; at 3 two matches are of one moment, and both fire.
    told = [(m["end_ts"], m["confidence"]) for m in ag.table("q").to_pylist()]
    assert sorted(told) == [(1, 0.35), (3, 0.45), (3, 0.45)]
    assert [row["ts"] for row in ag.table("note").to_pylist()] == [3, 3]
    live = session(script, {"follows": follows})
    found = pushed(live, [("r", row) for row in rows])
    assert sorted((m["end_ts"], m["confidence"]) for m in found) == sorted(told)
    assert [row["ts"] for row in live.table("note").to_pylist()] == [3, 3]
