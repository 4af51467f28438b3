"""`why` and `why_not` for all that the language has: which construct is tried where, and the rest.

What random cases have (tests/matching/random_cases.py) is tried in test_why_not.py and test_why.py;
here is what needs more than a pattern and rows: tables, rules, models, owners, policies.
"""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import pytest

from augury import AuguryError, Session
from augury.language.tree import CreateQuery
from augury.why.explanation import Change, WhyNot
from matching.random_cases import CONSTRUCTS

S = "CREATE STREAM s (id LONG, k STRING, kind STRING, n LONG, t LONG, p DOUBLE) ID id KEY k TIME t "
S += "TYPE kind PROBABILITY p;"
CERTAIN = S.replace(" PROBABILITY p", "")
MISSING = S.replace(";", " MISS RATE BY kind ('A' 0.2, 'B' 0.3, 'C' 0.1);")
WARD = """
CREATE TABLE staff (person STRING, room STRING);
CREATE STREAM doors (id LONG, person STRING, action STRING, room STRING, t LONG)
ID id TIME t TYPE action;
CREATE MODEL ward MOVES (OBJECTS staff, OWNER person, PLACE room, ENTER 'ENTER', EXIT 'EXIT',
                         HALL 'H', STEP 1);
CREATE STREAM known AS IDENTIFY doors USING ward WITHIN 60 REVISE ANY;
"""
ROOMS = """
CREATE TABLE places (place STRING);
CREATE TABLE start (place STRING, p DOUBLE);
CREATE TABLE steps (place_from STRING, place_to STRING, p DOUBLE);
CREATE TABLE heard (place STRING, reader STRING, p DOUBLE);
CREATE MODEL rooms HMM (STATES places, INITIAL start, TRANSITION steps, EMISSION heard);
CREATE STREAM reads (person STRING, reader STRING, t LONG) KEY person TIME t TYPE reader;
CREATE STREAM at AS FILTER reads USING rooms;
"""
TABLES = {
    "staff": [{"person": "ann", "room": None}, {"person": "bob", "room": None}],
    "places": [{"place": each} for each in "xy"],
    "start": [{"place": "x", "p": 0.9}, {"place": "y", "p": 0.1}],
    "steps": [
        {"place_from": a, "place_to": b, "p": 0.8 if a == b else 0.2} for a in "xy" for b in "xy"
    ],
    "heard": [
        {"place": a, "reader": b, "p": 0.9 if a == b.lower() else 0.1} for a in "xy" for b in "XY"
    ],
    "vip": [{"k": "k1"}],
    "links": [{"earlier": 0, "later": 1, "p": 0.3}, {"earlier": 1, "later": 2, "p": 0.9}],
}
# By construct: declarations, the query, and by which field of a statement it is written.
CASES: dict[str, tuple[str, str, str]] = {
    "missed events": (MISSING, "SEQ(A a, B b, C c) WHERE [k] WITHIN 9 ALLOW 1 MISSED", "allow"),
    "a miss rate of the query": (
        S,
        "SEQ(A a, B b) WHERE [k] WITHIN 9 ALLOW 1 MISSED MISS RATE (a 0.2)",
        "miss_rates",
    ),
    "after a match": (
        CERTAIN,
        "SEQ(A a, B b) AFTER MATCH SKIP PAST LAST EVENT WITHIN 4",
        "after_match",
    ),
    "all events of a match": (CERTAIN, "SEQ(A a, B b) WITHIN 4 RETURN b.n AS n", "each_event"),
    "a probability": (S, "SEQ(A a, B b) WHERE [k] WITHIN 4 RETURN PROBABILITY", "returns"),
    "by time": (S, "SEQ(A a, B b) WHERE [k] WITHIN 4 RETURN PROBABILITY BY TIME", "returns"),
    "by group": (S, "SEQ(A a, B b) WITHIN 4 GROUP BY a.k RETURN PROBABILITY", "group_by"),
    "every so often": (S, "SEQ(A a, B b) WITHIN 4 EVERY 2 RETURN PROBABILITY", "every"),
    "sampled": (
        S,
        "SEQ(A a, B b) WITHIN 4 RETURN PROBABILITY APPROXIMATE (0.01, 0.05)",
        "approximate",
    ),
    "a count": (CERTAIN, "SEQ(A a, B b) WHERE [k] WITHIN 4 RETURN COUNT", "returns"),
    "so many a start": (S, "SEQ(A a, B b) WITHIN 6 MATCH LIMIT 9", "match_limit"),
    "AYAC": (MISSING, "SEQ(A a, B b) WHERE [k] WITHIN 9 ALLOW 1 MISSED SCORING AYAC", "scoring"),
    "a table": (
        S + "CREATE TABLE vip (k STRING);",
        "SEQ(A a, B b) WHERE [k] AND a.k IN vip WITHIN 5",
        "where",
    ),
    "what rules have written": (
        S.replace(" PROBABILITY p", "") + "CREATE TABLE badges (k STRING, colour STRING) KEY k;"
        "CREATE QUERY bad ON s PATTERN SEQ(A a, B b) WHERE [k] WITHIN 9;"
        "CREATE RULE turn ON bad DO INSERT INTO badges VALUES (new.k, 'red') "
        "ON CONFLICT DO UPDATE;",
        "SEQ(C e) WHERE [k] AND 'red' = (SELECT colour FROM badges WHERE k = e.k) WITHIN 1",
        "where",
    ),
    "correlated events": (
        S + "CREATE TABLE links (earlier LONG, later LONG, p DOUBLE);",
        "SEQ(A a, B b) WHERE [k] CORRELATED BY links WITHIN 5 HAVING CONFIDENCE >= 0.4 "
        "OPTIONS (unlisted = 'independent')",
        "correlated_by",
    ),
    "owners": (
        WARD,
        "SEQ(ENTER a, !MASK m, EXIT b) WHERE [person] WITHIN 9 HAVING CONFIDENCE >= 0.9",
        "streams",
    ),
    "what is inferred": (
        ROOMS,
        "SEQ(at a, at b) WHERE [person] AND a.place = 'x' AND b.place = 'y' WITHIN 3 "
        "HAVING CONFIDENCE >= 0.6",
        "streams",
    ),
}
# Fields of CREATE QUERY whose constructs are random cases, and which of them has it.
BY_RANDOM_CASES = {
    "pattern": "nesting",
    "where": "conditions",
    "after_where": "after_where",
    "strategy": "neighbours",
    "within": "windows",
    "having": "thresholds",
    "streams": "streams",
}
# What says nothing of which events match.
ELSEWHERE = {
    "name",
    "span",
    "options",
    "places",
    "strategy_over",
}


def test_every_clause_of_a_query_is_tried() -> None:
    tried = {field for _, _, field in CASES.values()} | {*BY_RANDOM_CASES} | ELSEWHERE
    assert {each.name for each in dataclasses.fields(CreateQuery)} <= tried
    assert {*BY_RANDOM_CASES.values()} <= {*CONSTRUCTS}


def rows_of(declared: str, rng: random.Random, most: int = 4) -> dict[str, list[dict[str, Any]]]:
    """Return few rows, where something is to lack."""
    if "doors" in declared:
        doors = [
            {
                "id": t,
                "person": rng.choice(["ann", "bob", None]),
                "action": rng.choice(["ENTER", "MASK", "EXIT"]),
                "room": "r1",
                "t": 4 * t,
            }
            for t in range(rng.randrange(1, most))
        ]
        return {"doors": doors}
    if "FILTER" in declared:
        reads = [{"person": "ann", "reader": rng.choice("XY"), "t": t} for t in range(3)]
        return {"reads": reads}
    own = [
        {
            "id": t,
            "k": rng.choice(["k1", "k2"]),
            "kind": rng.choice("ABC"),
            "n": rng.randrange(3),
            "t": 3 * t,
            "p": rng.choice([0.5, 1.0]) if "PROBABILITY p" in declared else 1.0,
        }
        for t in range(rng.randrange(1, most + 1))
    ]
    return {"s": own}


def session_of(declared: str, query: str, rows: dict[str, list[dict[str, Any]]]) -> Session:
    ag = Session(engine="local")
    ag.sql(declared)
    ag.sql(query)
    for name, table in TABLES.items():
        if f"TABLE {name} " in declared:
            ag.bind(name, table)
    for name, table in rows.items():
        ag.bind(name, table)
    return ag


def with_change(change: Change, rows: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    changed = {}
    for name, table in rows.items():
        kept = [row for row in table if row not in change.removed.get(name, [])]
        changed[name] = [*kept, *change.added.get(name, [])]
    return changed


def stream_of(declared: str) -> str:
    return "known" if "doors" in declared else "at" if "FILTER" in declared else "s"


def listing(query: str) -> str:
    """Return a query that lists what the other one sums up."""
    for asked in (" GROUP BY a.k", " EVERY 2"):
        query = query.replace(asked, "")
    return query.partition(" RETURN ")[0]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.rotating(2)
@pytest.mark.parametrize("construct", CASES)
def test_with_what_is_named_there_is_a_match(construct: str) -> None:
    declared, text, _ = CASES[construct]
    query = f"CREATE QUERY q ON {stream_of(declared)} PATTERN {text};"
    told, seed = list[WhyNot](), 0
    while sum(bool(each.changes) for each in told) < 2:
        seed += 1
        assert seed < 40, f"too few misses of {construct}: {told}"
        rows = rows_of(declared, random.Random(seed))
        try:
            found = session_of(declared, query, rows).why_not("q")
        except AuguryError as problem:
            pytest.fail(f"{construct}, seed {seed}: {problem}")
        told.append(found)
        for change in found.changes:
            changed = listing(query if change.query is None else change.query.rstrip(";"))
            ag = session_of(declared, changed.rstrip(";") + ";", with_change(change, rows))
            sure = ag.table("q").column("confidence").to_pylist()
            assert any(abs(each - change.confidence) < 1e-9 for each in sure), (seed, change)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("construct", [name for name in CASES if "RETURN" not in CASES[name][1]])
def test_a_match_is_told_with_the_events_that_it_has(construct: str) -> None:
    declared, text, _ = CASES[construct]
    query = f"CREATE QUERY q ON {stream_of(declared)} PATTERN {text};"
    for seed in range(1, 200):
        ag = session_of(declared, query, rows_of(declared, random.Random(seed), 8))
        for row in ag.table("q").to_pylist()[:1]:
            told = ag.why(row["match_id"], "q")
            assert told.confidence == row["confidence"]
            events = [str(each["event_id"]) for each in row["events"] if not each["missed"]]
            assert [each.event_id for each in told.events] == events
            return
    pytest.fail(f"no match of {construct} was met")


WASHED = "CREATE QUERY q ON known PATTERN SEQ(ENTER a, EXIT b) WHERE [person] WITHIN 9;"
ENTERED = {"doors": [{"id": 0, "person": "ann", "action": "ENTER", "room": "r1", "t": 0}]}


def test_that_readings_are_too_many_to_be_changed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("augury.why.opening.MOST_READINGS", 0)
    told = session_of(WARD, WASHED, ENTERED).why_not("q")
    assert told.changes == ()
    assert told.unknown == ("other readings of doors, for there are more than 0",)


def test_readings_behind_a_policy_are_not_changed() -> None:
    behind = (
        "CREATE QUERY private ON known PATTERN SEQ(ENTER a, MASK b) WHERE [person] WITHIN 9;"
        "CREATE POLICY discreet ON known PUBLIC q PRIVATE private NEVER USING GREEDY;"
    )
    told = session_of(WARD, WASHED + behind, ENTERED).why_not("q")
    assert told.changes == ()
