"""Rules on matches that are told again: each fires once, at the first telling that passes."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from augury import Session
from chain.test_subsets import LEAST, opened
from chain.test_subsets import rows_of as rows_of_ward
from contracts.test_stage_shards import acting_network, answers_of, ordered, told
from identity.cases import CASES
from identity.test_examples import bound_session_of
from oracles.chain import Small, small

pytestmark = pytest.mark.filterwarnings("ignore:.*stream known", "ignore:without KEY")
# What fires at which threshold: when, and with which confidence.
FIRINGS = {
    "4 a rule fires on a revision": (0.8, [(14, 1)]),
    "5 the same, having sanitised": (0.8, []),
    "13 negation over uncertain owners, revised and retracted": (
        0.4,
        [(11, Fraction(1, 2)), (16, Fraction(1, 2)), (16, Fraction(1, 2))],
    ),
    "15b a match is as old as its last event": (0.8, [(15, 1)]),
    "15c too old to be revised": (0.8, []),
}
WORKED = [case for case in CASES if case.title in FIRINGS]


@pytest.mark.parametrize("case", WORKED, ids=lambda case: case.title)
def test_a_rule_fires_at_the_first_telling_that_passes(case: Any) -> None:
    least, expected = FIRINGS[case.title]
    ag = bound_session_of(case)
    ag.sql(f"""
        CREATE TABLE alarms (id STRING, at LONG) KEY id;
        CREATE QUERY q ON known {case.query} RETURN e.person AS who;
        CREATE RULE warn ON q WHEN new.confidence >= {least}
        DO INSERT INTO alarms VALUES (new.match_id, new.ts);
    """)
    assert fired(ag, "warn") == [(at, round(float(p), 9)) for at, p in expected]
    assert ag.table("alarms").column("at").to_pylist() == [at for at, _ in expected]


SCRIPT = """
CREATE TABLE staff (person STRING, room STRING);
CREATE TABLE status (person STRING, colour STRING) KEY person;
CREATE STREAM doors (id LONG, person STRING, action STRING, room STRING, t LONG)
ID id TIME t TYPE action;
CREATE MODEL ward MOVES (OBJECTS staff, OWNER person, PLACE room, ENTER 'ENTER', EXIT 'EXIT',
HALL 'H', STEP 1);
CREATE STREAM known AS IDENTIFY doors USING ward WITHIN 9 REVISE ANY;
"""
UNWASHED = "PATTERN SEQ(EXIT x, !SANITIZE s, ENTER e) WHERE [person] AND x.room <> e.room {}"
# O1 leaves R2; somebody enters R1, O1 or O2; at 14 it shows that it was O1.
ROWS = [
    (120, "O1", "EXIT", "R2", 10),
    (122, None, "ENTER", "R1", 12),
    (127, "O1", "EXIT", "R1", 14),
]


def session_of(script: str, rows: list[tuple[Any, ...]] = ROWS) -> Session:
    ag = Session(engine="local")
    ag.sql(SCRIPT + script)
    ag.bind("staff", [{"person": "O1", "room": "R2"}, {"person": "O2", "room": "H"}])
    names = ("id", "person", "action", "room", "t")
    ag.bind("doors", [dict(zip(names, row, strict=True)) for row in rows])
    return ag


def fired(ag: Session, rule: str) -> list[tuple[int, float]]:
    return [(row["ts"], round(row["confidence"], 9)) for row in ag.table(rule).to_pylist()]


def test_a_rule_after_revisions_waits_until_the_last_telling() -> None:
    ag = session_of(f"""
        CREATE QUERY q ON known {UNWASHED.format("WITHIN 45")} RETURN e.person AS person;
        CREATE RULE soon ON q WHEN new.confidence >= 0.5
        DO INSERT INTO status VALUES (new.person, 'soon') ON CONFLICT DO UPDATE;
        CREATE RULE late ON q AFTER REVISIONS WHEN new.confidence < 0.9
        DO INSERT INTO status VALUES (new.person, 'late') ON CONFLICT DO UPDATE;
        CREATE RULE sure ON q AFTER REVISIONS WHEN new.confidence >= 0.9
        DO INSERT INTO status VALUES (new.person, 'sure') ON CONFLICT DO UPDATE;
    """)
    assert fired(ag, "soon") == [(12, 0.5)]
    assert fired(ag, "late") == []
    # The last event of the match is of 12, and what is 9 old is told again for the last time.
    assert fired(ag, "sure") == [(21, 1.0)]
    assert ag.table("status").to_pylist() == [{"person": "O1", "colour": "sure"}]


def test_without_revisions_a_rule_after_revisions_has_the_moment_of_the_match() -> None:
    script = f"""
        CREATE QUERY q ON known {UNWASHED.format("WITHIN 45")} RETURN e.person AS person;
        CREATE RULE sure ON q AFTER REVISIONS DO INSERT INTO status VALUES (new.person, 'sure');
    """
    ag = Session(engine="local")
    ag.sql(SCRIPT.replace("REVISE ANY", "REVISE NEVER") + script)
    ag.bind("staff", [{"person": "O1", "room": "R2"}])
    ag.bind("doors", [
        {"id": 1, "person": "O1", "action": "EXIT", "room": "R2", "t": 10},
        {"id": 2, "person": "O1", "action": "ENTER", "room": "R1", "t": 12},
    ])  # fmt: skip
    assert fired(ag, "sure") == [(12, 1.0)]


def test_a_match_is_tested_at_its_own_moment_also_where_it_is_shown_later() -> None:
    ag = session_of(f"""
        CREATE QUERY q ON known
        {UNWASHED.format("AND (SELECT colour FROM status WHERE person = e.person) IS NULL")}
        WITHIN 45 HAVING CONFIDENCE >= 0.9 RETURN e.person AS person;
        CREATE QUERY out ON known PATTERN EXIT x WHERE x.room = 'R1' RETURN x.person AS person;
        CREATE RULE first ON out DO INSERT INTO status VALUES (new.person, 'out');
        CREATE RULE warn ON q DO UPDATE status SET colour = 'warned' WHERE person = new.person;
    """)
    # At 12 there was no status yet; at 14 there is, and the rule writes after that moment's own.
    assert fired(ag, "first") == [(14, 1.0)]
    assert fired(ag, "warn") == [(14, 1.0)]
    assert ag.table("status").to_pylist() == [{"person": "O1", "colour": "warned"}]
    assert [row["revision"] for row in ag.table("q").to_pylist()] == [1]


def test_what_was_taken_back_fires_nothing_and_what_fired_stands() -> None:
    rows = [*ROWS[:2], (127, "O2", "EXIT", "R1", 14)]
    ag = session_of(
        f"""
        CREATE QUERY q ON known {UNWASHED.format("WITHIN 45")} RETURN e.person AS person;
        CREATE RULE warn ON q DO INSERT INTO status VALUES (new.person, 'warned');
        CREATE RULE sure ON q AFTER REVISIONS DO INSERT INTO status VALUES (new.person, 'sure');
    """,
        rows,
    )
    assert fired(ag, "warn") == [(12, 0.5)]
    assert fired(ag, "sure") == []
    assert ag.table("q").num_rows == 0
    assert ag.table("status").to_pylist() == [{"person": "O1", "colour": "warned"}]


@pytest.mark.parametrize("waits", ["", "AFTER REVISIONS"])
@pytest.mark.parametrize(("least", "expected"), [(0.4, [(0, 0.5), (1, 1.0)]), (0.9, [(1, 1.0)])])
def test_revisions_of_a_query_are_the_same_with_a_rule_on_it(
    waits: str, least: float, expected: list[tuple[int, float]]
) -> None:
    query = f"""
        CREATE QUERY q ON known {UNWASHED.format("WITHIN 45")} HAVING CONFIDENCE >= {least}
        RETURN e.person AS person;
    """
    rule = f"CREATE RULE r ON q {waits} DO INSERT INTO status VALUES (new.person, 'told');"
    log = session_of(query + rule).revisions("q")
    assert log.equals(session_of(query).revisions("q"))
    assert [(row["revision"], row["confidence"]) for row in log.to_pylist()] == expected


# As rows come -------------------------------------------------------------------------------------

WAITING = f"""
    CREATE TABLE last (id STRING, n LONG) KEY id;
    CREATE RULE sure ON unwashed AFTER REVISIONS WHEN new.confidence >= {LEAST}
    DO INSERT INTO last VALUES (new.person, 1) ON CONFLICT DO UPDATE SET n = n + 1;
"""
STAGES = frozenset({"identify", "rules"})
SEEDS = st.integers(0, 10**9)


def begun(ward: Small, **settings: Any) -> Session:
    ag = opened(ward, STAGES, Session(engine="local", **settings))
    ag.sql(WAITING)
    return ag


def bound_to(ward: Small) -> Session:
    ag = begun(ward)
    ag.bind("doors", rows_of_ward(ward))
    return ag


def without_rules(ag: Session) -> list[dict[str, Any]]:
    """Return all that is told of the query that nothing tests, as a session has it."""
    return ordered([listed(row) for row in ag.revisions("unwashed").to_pylist()])


def listed(row: dict[str, Any]) -> dict[str, Any]:
    names = ("match_id", "revision", "person", "start_ts", "end_ts")
    return {name: row[name] for name in names} | {"p": round(row["confidence"], 9)}


@pytest.mark.parametrize("scheduler", [None, "sei", "s2pl", "lwm"])
@settings(max_examples=max(3, settings.default.max_examples // 25), deadline=None)
@given(seed=SEEDS)
def test_pushed_rows_whose_session_ends_again_and_again_come_to_the_same(
    scheduler: Any, seed: int
) -> None:
    ward, rng = small(seed, unread=0.35), random.Random(seed)
    bound, pushed = bound_to(ward), begun(ward, scheduler=scheduler)
    found: list[dict[str, Any]] = []
    for row in rows_of_ward(ward):
        found += pushed.push("doors", row)
        if rng.random() < 0.3:
            stored, pushed = pushed.checkpoint(), begun(ward, scheduler=scheduler)
            pushed.restore(stored)
    found += pushed.finish()
    for rule in ("warn", "more", "sure"):
        assert pushed.table(rule).to_pylist() == bound.table(rule).to_pylist()
    for table in ("counts", "last"):
        assert pushed.changes(table).to_pylist() == bound.changes(table).to_pylist()
    own = [listed(row) for row in found if row.get("query") == "unwashed"]
    assert ordered(own) == without_rules(bound)


@pytest.mark.parametrize("size", [1, 4])
@settings(max_examples=max(3, settings.default.max_examples // 25), deadline=None)
@given(seed=SEEDS)
def test_a_stream_that_is_stored_between_steps_comes_to_the_same(size: int, seed: int) -> None:
    ward = small(seed, unread=0.35)
    staff = [{"person": p, "room": r} for p, r in ward.setting.staff.items()]
    ag, bound = bound_to(ward), {"doors": rows_of_ward(ward), "staff": staff}
    network = acting_network(ag, bound)
    found = answers_of(network, bound, 1, size)
    for each in network.asked:
        if each.kind == "settled":
            continue
        expected = ag.changes if each.kind == "changes" else ag.table
        expected = ag.rejected if each.kind == "aside" else expected
        assert told(found, each.key) == ordered(expected(each.name).to_pylist()), each
    log = told(found, "settled\nunwashed")
    assert ordered([listed(row) for row in log]) == without_rules(ag)
