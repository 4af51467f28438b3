"""The worked cases come out exactly, through the language and the local engine."""

from __future__ import annotations

from fractions import Fraction

import pytest

from augury import Session
from identity.cases import CASES, Case

SCRIPT = """
CREATE TABLE staff (person STRING, room STRING);
CREATE TABLE passages (a STRING, b STRING);
CREATE TABLE weights (person STRING, room STRING, w DOUBLE);
CREATE STREAM doors (id LONG, person STRING, action STRING, room STRING, origin STRING, t LONG)
ID id TIME t TYPE action;
CREATE MODEL ward MOVES (OBJECTS staff, OWNER person, PLACE room, ENTER 'ENTER', {ways}, STEP 1);
CREATE STREAM known AS IDENTIFY doors USING ward {asked};
"""


def session_of(case: Case) -> Session:
    ways = "EXIT 'EXIT', HALL 'H'"
    if case.doors:
        ways = "DOORS passages (a, b), FROM_PLACE origin"
    if case.weights:
        ways += ", PREFER weights (person, room, w)"
    ag = Session(engine="local")
    ag.sql(SCRIPT.format(ways=ways, asked=case.asked))
    ag.bind("staff", case.staff)
    ag.bind("passages", case.doors)
    ag.bind("weights", case.weights)
    return ag


def bound_session_of(case: Case) -> Session:
    ag = session_of(case)
    ag.bind("doors", case.rows)
    return ag


def tellings(rows: list[dict]) -> set:
    """Return what was told as the cases write it: alternatives with 0 are left out."""
    found: dict[tuple, set] = {}
    for row in rows:
        own = found.setdefault((row["as_of"], row["id"], row["revision"]), set())
        if row["p"]:
            own.add((row["person"], Fraction(row["p"]).limit_denominator(1000)))
    return {(*key, frozenset(own)) for key, own in found.items()}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
@pytest.mark.filterwarnings("ignore:.*stream known")
def test_what_is_told_is_as_worked_out(case: Case) -> None:
    ag = bound_session_of(case)
    log = ag.revisions("known").to_pylist()
    assert tellings(log) == case.tellings
    rejected = ag.rejected("known").column("id").to_pylist()
    assert rejected == list(case.rejected)
    last = {key: max(each[2] for each in case.tellings if each[1] == key) for key in ids(case)}
    expected = {each for each in case.tellings if each[2] == last[each[1]]}
    assert tellings(ag.table("known").to_pylist()) == expected


def ids(case: Case) -> set[int]:
    return {each[1] for each in case.tellings}


ASKED = [case for case in CASES if case.query]


def matches(rows: list[dict], owner_of: dict) -> set:
    """Return told matches as the cases write them."""
    return {
        (
            frozenset(
                (each["component"], int(each["event_id"]), owner)
                for each, owner in zip(row["events"], owner_of[row["match_id"]], strict=True)
            ),
            row["revision"],
            Fraction(row["confidence"]).limit_denominator(1000),
        )
        for row in rows
    }


@pytest.mark.parametrize("case", ASKED, ids=lambda case: case.title)
def test_matches_are_revised_as_worked_out(case: Case) -> None:
    ag = bound_session_of(case)
    names = ["x"] if "e=" not in case.matches and "ENTER e" not in case.query else ["x", "e"]
    names = ["x", "e"] if "EXIT e" in case.query else names
    returned = ", ".join(f"{name}.person AS {name}" for name in names)
    having = case.query.partition(" HAVING")
    ag.sql(f"CREATE QUERY q ON known {having[0]}{having[1]}{having[2]} RETURN {returned};")
    log = ag.revisions("q").to_pylist()
    owner_of = {row["match_id"]: [row[each["component"]] for each in row["events"]] for row in log}
    assert matches(log, owner_of) == case.match_tellings
    last = {row["match_id"]: row for row in sorted(log, key=lambda row: row["revision"])}
    now = [row for row in last.values() if row["confidence"] > 0.0]
    assert sorted(map(str, ag.table("q").to_pylist())) == sorted(map(str, now))
