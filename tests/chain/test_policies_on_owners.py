"""A policy on a stream of owners: first tellings decide, and what is told again goes with them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from augury import QueryError, Session
from identity.test_worlds import halls, stories
from oracles.identities import Event, Setting, all_told
from oracles.model import Comp, Not, Query, Seq

pytestmark = pytest.mark.filterwarnings("ignore:.*stream known", "ignore:without KEY")
MODEL = """
CREATE TABLE staff (person STRING, room STRING);
CREATE STREAM doors (id LONG, person STRING, action STRING, room STRING, t LONG)
ID id TIME t TYPE action;
CREATE MODEL ward MOVES (OBJECTS staff, OWNER person, PLACE room, ENTER 'ENTER', EXIT 'EXIT',
HALL 'H', STEP {step});
CREATE STREAM known AS IDENTIFY doors USING ward WITHIN {within} REVISE {revise};
"""
# The same rows, as first told, as a stream of its own.
DECLARED = """
CREATE STREAM known (id LONG, person STRING, action STRING, room STRING, t LONG, p DOUBLE)
ID id KEY person TIME t TYPE action ALTERNATIVES person PROBABILITY p;
"""
POLICY = """
CREATE QUERY visit ON known PATTERN SEQ(ENTER x, EXIT e) WHERE [person] AND x.room = e.room
WITHIN 9 RETURN x.person AS x, e.person AS e;
CREATE QUERY unwashed ON known PATTERN SEQ(ENTER x, !EXIT s, ENTER e) WHERE [person] WITHIN 9
RETURN x.person AS x, e.person AS e;
CREATE QUERY hidden ON known PATTERN SEQ(WASH x, EXIT e) WHERE [person] WITHIN 9;
CREATE POLICY discreet ON known PUBLIC visit WEIGHT 2 PRIVATE hidden {weight} USING GREEDY;
"""
VISIT = Query(
    Seq((Comp("x", "ENTER"), Comp("e", "EXIT"))),
    equate=("person",),
    where=(("=", ("attr", "x", "room"), ("attr", "e", "room")),),
    within=("time", 9),
)
UNWASHED = Query(
    Seq((Comp("x", "ENTER"), Not(Comp("s", "EXIT")), Comp("e", "ENTER"))),
    equate=("person",),
    within=("time", 9),
)


def session_of(setting: Setting, events: list[Event], script: str) -> Session:
    ag = Session(engine="local")
    revise = setting.revise + (f" {float(setting.least)}" if setting.revise == "BY" else "")
    ag.sql(MODEL.format(step=setting.step, within=setting.within, revise=revise) + script)
    ag.bind("staff", [{"person": p, "room": at} for p, at in setting.staff.items()])
    ag.bind("doors", [row_of(event) for event in events])
    return ag


def row_of(event: Event) -> dict[str, Any]:
    own = {"person": event.person, "action": event.type, "room": event.place}
    return {"id": event.id, **own, "t": event.time}


def told(ag: Session, query: str) -> list[tuple[Any, int, float]]:
    return [
        (
            frozenset((e["component"], ((int(e["event_id"]), row[e["component"]]),))
                      for e in row["events"]),
            row["revision"],
            round(row["confidence"], 9),
        )
        for row in ag.revisions(query).to_pylist()
    ]  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(
    story=stories(halls()).filter(lambda story: not story[0].rejects),
    weight=st.sampled_from(["NEVER", "WEIGHT 3"]),
)
def test_what_was_kept_is_followed_and_what_was_suppressed_never_comes_back(
    story: tuple[Setting, list[Event]], weight: str
) -> None:
    setting, events = story
    ag = session_of(setting, events, POLICY.format(weight=weight))
    audit = ag.audit("discreet").to_pylist()
    kept = {int(row["event_id"]) for row in audit if row["kept"]}
    raw = session_of(setting, events, "").revisions("known").to_pylist()
    assert ag.revisions("known").to_pylist() == [row for row in raw if row["id"] in kept]
    # Decisions are those of a stream whose rows are the first tellings.
    plain = Session(engine="local")
    plain.sql(DECLARED + POLICY.format(weight=weight))
    first = [row for row in raw if row["revision"] == 0]
    names = ("id", "person", "action", "room", "t", "p")
    plain.bind("known", [{name: row[name] for name in names} for row in first])
    assert audit == plain.audit("discreet").to_pylist()
    for name, query in (("visit", VISIT), ("unwashed", UNWASHED)):
        expected = all_told(setting, events, query, waits=False, kept=kept)
        want = [(match, revision, round(float(p), 9)) for match, revision, p, _ in expected]
        assert sorted(told(ag, name), key=str) == sorted(want, key=str)


def test_what_lies_below_a_stream_under_a_policy_is_read_by_nobody() -> None:
    setting = Setting({"O1": "H"})
    reader = "CREATE QUERY raw ON doors PATTERN WASH w;"
    for script in (POLICY.format(weight="NEVER") + reader, reader + POLICY.format(weight="NEVER")):
        with pytest.raises(QueryError, match="A126"):
            session_of(setting, [], script)


def test_a_policy_on_owners_is_in_force_or_nothing_is_read() -> None:
    ag = Session(engine="local")
    ag.sql(MODEL.format(step=1, within=9, revise="ANY") + POLICY.format(weight="NEVER"))
    ag.bind("staff", [{"person": "O1", "room": "H"}])
    with pytest.raises(QueryError, match="P003"):
        ag.push("doors", {"id": 1, "person": "O1", "action": "WASH", "room": "H", "t": 1})


def test_what_rules_need_that_write_what_a_query_looks_into_is_bound() -> None:
    script = """
    CREATE TABLE status (person STRING, colour STRING) KEY person;
    CREATE QUERY out ON known PATTERN EXIT x RETURN x.person AS person;
    CREATE RULE mark ON out DO INSERT INTO status VALUES (new.person, 'out') ON CONFLICT DO NOTHING;
    CREATE QUERY back ON known PATTERN ENTER x
    WHERE (SELECT colour FROM status WHERE person = x.person) IS NULL;
    """
    setting, policy = Setting({"O1": "H"}), POLICY.format(weight="WEIGHT 3")
    text = session_of(setting, [], script + policy).explain("discreet")
    assert "EXIT: by mark, it writes what a query looks into" in text


def test_what_is_kept_of_owners_is_read_as_the_stream_under_the_policy_is() -> None:
    events = [Event(1, 1, None, "ENTER", "R1"), Event(2, 3, "O1", "EXIT", "R1")]

    def found(stream: str) -> list[tuple[Any, float]]:
        reader = f"""
        CREATE STREAM kept AS SUPPRESS known USING discreet;
        CREATE QUERY went ON {stream} PATTERN SEQ(ENTER x, EXIT e) WHERE [person] WITHIN 9;
        """
        script = POLICY.format(weight="NEVER") + reader
        ag = session_of(Setting({"O1": "H", "O2": "H"}), events, script)
        return [(row["person"], row["confidence"]) for row in ag.table("went").to_pylist()]

    assert found("kept") == found("known") == [("O1", 1.0)]
