"""Rules on matches that are told again: each fires once, at the first telling that passes."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from augury import Session
from identity.cases import CASES
from identity.test_examples import bound_session_of

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
