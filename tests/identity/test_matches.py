"""Matches over owners in doubt weigh what the worlds weigh in which they are answers."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from augury import QueryError, Session
from identity.test_examples import SCRIPT
from identity.test_worlds import graphs, halls, stories
from oracles.identities import Event, Setting, final_matches, final_worlds, told_matches
from oracles.model import Comp, Not, Query, Seq
from oracles.model import Event as OracleEvent
from oracles.worlds import matches_in_world

X, E, S = Comp("x", "ENTER"), Comp("e", "EXIT"), Comp("s", "WASH")
SAME_ROOM = ("=", ("attr", "x", "room"), ("attr", "e", "room"))
STRATEGIES = {
    "any": "SKIP TILL ANY MATCH",
    "next": "SKIP TILL NEXT MATCH",
    "strict": "STRICT",
    "partition": "PARTITION CONTIGUITY",
}


@dataclass(frozen=True)
class Asked:
    """A query in the language, and as the oracle reads it; `names` are its single components."""

    text: str
    query: Query
    waits: bool = False
    names: str = "xe"

    def with_strategy(self, strategy: str) -> Asked:
        return replace(
            self,
            text=self.text.replace("WITHIN", f"USING {STRATEGIES[strategy]} WITHIN"),
            query=replace(self.query, strategy=strategy),
        )


QUERIES = {
    "visit": Asked(
        "PATTERN SEQ(ENTER x, EXIT e) WHERE [person] AND x.room = e.room WITHIN 9",
        Query(Seq((X, E)), equate=("person",), where=(SAME_ROOM,), within=("time", 9)),
    ),
    "unwashed": Asked(
        "PATTERN SEQ(ENTER x, !WASH s, EXIT e) WHERE [person] WITHIN 9",
        Query(Seq((X, Not(S), E)), equate=("person",), within=("time", 9)),
    ),
    "never washed": Asked(
        "PATTERN SEQ(ENTER x, !WASH s) WHERE [person] WITHIN 3",
        Query(Seq((X, Not(S))), equate=("person",), within=("time", 3)),
        waits=True,
        names="x",
    ),
    "one event": Asked(
        "PATTERN EXIT e WITHIN 3",
        Query(E, within=("time", 3)),
        names="e",
    ),
    "others": Asked(
        "PATTERN SEQ(ENTER x, EXIT e) WHERE x.person <> e.person WITHIN 4",
        Query(
            Seq((X, E)),
            where=(("<>", ("attr", "x", "person"), ("attr", "e", "person")),),
            within=("time", 4),
        ),
    ),
    "anybody": Asked(
        "PATTERN SEQ(ENTER x, !WASH s, EXIT e) WITHIN 4",
        Query(Seq((X, Not(S), E)), within=("time", 4)),
    ),
}
CASES = [
    pytest.param(asked.with_strategy(strategy), id=f"{name} {strategy}")
    for name, asked in QUERIES.items()
    for strategy in STRATEGIES
]


def session_of(setting: Setting, events: list[Event]) -> Session:
    ways = "EXIT 'EXIT', HALL 'H'"
    if setting.doors is not None:
        ways = "DOORS passages (a, b), FROM_PLACE origin"
    if setting.prefer:
        ways += ", PREFER weights (person, room, w)"
    if setting.rejects:
        ways += ", IMPOSSIBLE REJECT"
    asked = f"WITHIN {setting.within} REVISE {setting.revise}"
    asked += f" {float(setting.least)}" if setting.revise == "BY" else ""
    script = SCRIPT.replace("STEP 1", f"STEP {setting.step}")
    ag = Session(engine="local")
    ag.sql(script.format(ways=ways, asked=asked))
    ag.bind("staff", [{"person": p, "room": at} for p, at in setting.staff.items()])
    ag.bind("passages", [{"a": a, "b": b} for a, b in setting.doors or ()])
    prefer = setting.prefer.items()
    ag.bind("weights", [{"person": p, "room": r, "w": float(w)} for (p, r), w in prefer])
    rows = [
        {
            "id": e.id,
            "person": e.person,
            "action": e.type,
            "room": e.place,
            "origin": e.origin,
            "t": e.time,
        }
        for e in events
    ]
    ag.bind("doors", rows)
    return ag


def told(ag: Session, asked: Asked) -> dict:
    """Return every telling of a match as the oracle writes it."""
    returned = ", ".join(f"{name}.person AS {name}" for name in asked.names)
    ag.sql(f"CREATE QUERY q ON known {asked.text} RETURN {returned};")
    found = {}
    for row in ag.revisions("q").to_pylist():
        match = frozenset(
            (each["component"], ((int(each["event_id"]), row[each["component"]]),))
            for each in row["events"]
        )
        assert (match, row["revision"]) not in found
        found[match, row["revision"]] = row["confidence"]
    return found


@pytest.mark.filterwarnings("ignore:.*stream known", "ignore:without KEY")
@pytest.mark.parametrize("asked", CASES)
@settings(max_examples=12, deadline=None)
@given(st.one_of(stories(halls()), stories(graphs()), stories(halls(prefer=True))))
def test_a_match_weighs_what_its_worlds_weigh(asked: Asked, story) -> None:
    setting, events = story
    expected = told_matches(setting, events, asked.query, waits=asked.waits)
    found = told(session_of(setting, events), asked)
    assert found.keys() == {(match, revision) for match, revision, _ in expected}
    for match, revision, confidence in expected:
        assert abs(found[match, revision] - confidence) <= 1e-9


@pytest.mark.filterwarnings("ignore:.*stream known", "ignore:without KEY")
@pytest.mark.parametrize("name", ["visit", "unwashed", "others", "one event"])
@settings(max_examples=15, deadline=None)
@given(st.one_of(stories(halls()), stories(graphs())))
def test_having_shows_what_passes_and_the_first_that_no_longer_does(name: str, story) -> None:
    setting, events = story
    asked = QUERIES[name]
    every = told_matches(setting, events, asked.query, waits=asked.waits)
    passing, expected = set(), {}
    for match, revision, confidence in sorted(every, key=lambda each: each[1]):
        if confidence >= Fraction(2, 5) or match in passing:
            expected[match, revision] = confidence
        passing = passing | {match} if confidence >= Fraction(2, 5) else passing - {match}
    shown = replace(asked, text=f"{asked.text} HAVING CONFIDENCE >= 0.4")
    found = told(session_of(setting, events), shown)
    assert found.keys() == expected.keys()
    for key, confidence in expected.items():
        assert abs(found[key] - confidence) <= 1e-9


WHOLE = Asked(
    "PATTERN SEQ(ENTER x, !WASH s, EXIT e) WHERE [person]",
    Query(Seq((X, Not(S), E)), equate=("person",)),
)


@pytest.mark.filterwarnings("ignore:.*stream known", "ignore:without KEY", "ignore:.*window")
@pytest.mark.parametrize("strategy", ["any", "next"])
@settings(max_examples=15, deadline=None)
@given(st.one_of(stories(halls()), stories(graphs())))
def test_probabilities_and_counts_weigh_worlds_that_all_rows_allow(strategy: str, story) -> None:
    setting, events = story
    asked = WHOLE if strategy == "any" else WHOLE.with_strategy(strategy)
    text = asked.text if strategy == "any" else f"{WHOLE.text} USING {STRATEGIES[strategy]}"
    worlds = final_matches(setting, events, asked.query)
    time_of = {event.id: event.time for event in events}
    holds, counted, by_person, by_time = 0, 0, defaultdict(Fraction), defaultdict(Fraction)
    for weight, matches in worlds:
        events_of = [dict(match.key)["e"][0] for match in matches]
        holds, counted = holds + weight * bool(matches), counted + weight * len(matches)
        for person in {owner for _, owner in events_of}:
            by_person[person] += weight
        for time in {time_of[number] for number, _ in events_of}:
            by_time[time] += weight
    ag = session_of(setting, events)
    ag.sql(f"""
        CREATE QUERY p ON known {text} RETURN PROBABILITY;
        CREATE QUERY g ON known {text} GROUP BY e.person RETURN PROBABILITY;
        CREATE QUERY t ON known {text} RETURN PROBABILITY BY TIME
        APPROXIMATE (0.01, 0.05);
        CREATE QUERY c ON known {text} RETURN COUNT;
    """)
    got = sum(ag.table("p").column("probability").to_pylist())
    assert got == pytest.approx(float(holds), abs=1e-9)
    found = {row["person"]: row["probability"] for row in ag.table("g").to_pylist()}
    assert found == pytest.approx({k: float(v) for k, v in by_person.items()}, abs=1e-9)
    times = {row["ts"]: row["probability"] for row in ag.table("t").to_pylist()}
    assert {t: p for t, p in times.items() if p} == pytest.approx(
        {k: float(v) for k, v in by_time.items()}, abs=1e-9
    )
    expected = ag.table("c").column("expected").to_pylist()
    assert sum(expected) == pytest.approx(float(counted), abs=1e-9)


@pytest.mark.filterwarnings("ignore:.*stream known", "ignore:without KEY")
@settings(max_examples=12, deadline=None)
@given(st.one_of(stories(halls()), stories(graphs())))
def test_queries_over_matches_of_owners_weigh_their_worlds(story) -> None:
    setting, events = story
    low = QUERIES["visit"].query
    high = Query(
        Seq((Comp("a", "low"), Not(Comp("n", "low")), Comp("b", "low"))), within=("time", 9)
    )
    high = replace(high, equate=("person",))
    expected: dict = defaultdict(Fraction)
    for weight, rows in final_worlds(setting, events):
        person = {own.id: own.attrs["person"] for own in rows}
        time = {own.id: own.ts for own in rows}
        lower = []
        for match in matches_in_world(low, rows):
            found = dict(match.key)
            (x,), (e,) = found["x"], found["e"]
            attrs = {"person": person[e]}
            lower.append(OracleEvent((x[0], e[0], e[1]), time[e], "low", attrs=attrs, key=()))
        for match in matches_in_world(high, lower):
            (a,), (b,) = dict(match.key)["a"], dict(match.key)["b"]
            expected[a[:2], b[:2], a[2]] += weight
    ag = session_of(replace(setting, revise="ANY", within=1000), events)
    ag.sql(f"CREATE QUERY low ON known {QUERIES['visit'].text} RETURN x.id AS x, e.id AS e;")
    ag.sql("""CREATE QUERY high ON low PATTERN SEQ(low a, !low n, low b) WHERE [person] WITHIN 9
        RETURN a.x AS ax, a.e AS ae, b.x AS bx, b.e AS be;""")
    found = {
        ((r["ax"], r["ae"]), (r["bx"], r["be"]), r["person"]): r["confidence"]
        for r in ag.table("high").to_pylist()
    }
    assert found == pytest.approx({k: float(v) for k, v in expected.items()}, abs=1e-9)


@pytest.mark.filterwarnings("ignore:.*stream known", "ignore:without KEY")
@settings(max_examples=12, deadline=None)
@given(
    stories(halls()),
    st.lists(st.tuples(st.integers(0, 6), st.sampled_from((0.25, 1.0))), max_size=3),
)
def test_uncertain_events_of_other_streams_stand_beside_owners(story, alarms) -> None:
    setting, events = story
    query = Query(Seq((X, Comp("a", "alarms"), Not(S), E)), within=("time", 9))
    query = replace(query, where=(("=", ("attr", "x", "person"), ("attr", "e", "person")),))
    expected: dict = defaultdict(Fraction)
    beside = [
        OracleEvent(("a", k), t, "alarms", attrs={}, key=()) for k, (t, _) in enumerate(alarms)
    ]
    for weight, rows in final_worlds(setting, events):
        for happened in product((True, False), repeat=len(alarms)):
            own = weight
            for (_, p), is_there in zip(alarms, happened, strict=True):
                own *= Fraction(p) if is_there else 1 - Fraction(p)
            there = [each for each, is_there in zip(beside, happened, strict=True) if is_there]
            for match in matches_in_world(query, [*rows, *there]) if own else ():
                found = {name: ids[0] for name, ids in dict(match.key).items()}
                expected[found["x"], found["a"][1], found["e"]] += own
    ag = session_of(replace(setting, revise="ANY", within=1000), events)
    ag.sql("""
        CREATE STREAM alarms (id LONG, t LONG, p DOUBLE) ID id TIME t PROBABILITY p;
        CREATE QUERY q ON known, alarms PATTERN SEQ(ENTER x, alarms a, !WASH s, EXIT e)
        WHERE x.person = e.person WITHIN 9
        RETURN x.id AS x, x.person AS who, a.id AS a, e.id AS e;""")
    ag.bind("alarms", [{"id": k, "t": t, "p": p} for k, (t, p) in enumerate(alarms)])
    found = {
        ((r["x"], r["who"]), r["a"], (r["e"], r["who"])): r["confidence"]
        for r in ag.table("q").to_pylist()
    }
    assert found == pytest.approx({k: float(v) for k, v in expected.items()}, abs=1e-9)


def test_having_below_a_query_is_refused_since_it_passes_or_not_as_more_is_known() -> None:
    ag = session_of(Setting({"O1": "H"}), [Event(1, 1, None, "ENTER", "R1")])
    ag.sql("CREATE QUERY low ON known PATTERN SEQ(ENTER x) WITHIN 9 HAVING CONFIDENCE >= 0.5;")
    ag.sql("CREATE QUERY high ON low PATTERN SEQ(low a, low b) WITHIN 9;")
    with pytest.raises(QueryError, match="HAVING of low"):
        ag.table("high")
    assert ag.table("low").num_rows == 1


def test_what_no_longer_passes_is_shown_once_and_its_confidence_is_true() -> None:
    setting = Setting({"O1": "R2", "O2": "H", "O3": "H"})
    events = [
        Event(1, 1, None, "ENTER", "R2"),
        Event(2, 2, None, "EXIT", "R2"),
        Event(3, 4, "O1", "EXIT", "R2"),
    ]
    ag = session_of(setting, events)
    text = "PATTERN SEQ(EXIT x) WITHIN 9 HAVING CONFIDENCE >= 0.3"
    ag.sql(f"CREATE QUERY q ON known {text} RETURN x.person AS x, x.id AS id;")
    log = [
        (row["id"], row["x"], row["revision"], Fraction(row["confidence"]).limit_denominator(99))
        for row in ag.revisions("q").to_pylist()
    ]
    assert sorted(log) == [
        (2, "O1", 0, Fraction(1, 2)),
        (2, "O1", 1, Fraction(0)),
        (2, "O2", 1, Fraction(1, 2)),
        (2, "O3", 1, Fraction(1, 2)),
        (3, "O1", 0, Fraction(1)),
    ]
    assert sorted(row["x"] for row in ag.table("q").to_pylist()) == ["O1", "O2", "O3"]


TOLD = """
CREATE QUERY entered ON known PATTERN SEQ(ENTER x) WITHIN 60
RETURN x.person AS person, x.p AS p, x.revision AS told, x.as_of AS since;
"""


def two_of_a_ward(script: str) -> Session:
    """Return two people who entered two rooms unread, until one of them was read at an exit."""
    ag = Session(engine="local")
    ag.sql(SCRIPT.format(ways="EXIT 'EXIT', HALL 'H'", asked="WITHIN 60 REVISE ANY") + script)
    ag.bind("staff", [{"person": person, "room": None} for person in ("ann", "bob")])
    rows = [
        (1, None, "ENTER", "R1", 12),
        (2, None, "ENTER", "R2", 13),
        (3, "ann", "EXIT", "R1", 14),
    ]
    names = ("id", "person", "action", "room", "t")
    ag.bind("doors", [dict(zip(names, row, strict=True)) | {"origin": None} for row in rows])
    return ag


def test_what_was_told_of_an_event_is_as_of_the_telling_of_its_match() -> None:
    log = two_of_a_ward(TOLD).revisions("entered").to_pylist()
    first = [row for row in log if row["start_ts"] == 12]
    assert sorted((r["person"], r["revision"], r["p"], r["told"], r["since"]) for r in first) == [
        ("ann", 0, 0.5, 0, 12),
        ("ann", 1, 1.0, 1, 14),
        ("bob", 0, 0.5, 0, 12),
        ("bob", 1, 0.0, 1, 14),
    ]
    assert [row["p"] for row in log] == [row["confidence"] for row in log]


@pytest.mark.parametrize("condition", ["x.p > 0.6", "x.revision = 0", "[method]", "x.p = e.p"])
def test_conditions_on_what_is_told_are_refused(condition: str) -> None:
    """They held, or not, for good, by what was told of an event at first."""
    ag = two_of_a_ward(
        "CREATE QUERY sure ON known PATTERN SEQ(ENTER x, EXIT e) "
        f"WHERE [person] AND {condition} WITHIN 60;"
    )
    assert "not evaluated yet: it uses a condition on x." in ag.explain("sure")
    with pytest.raises(QueryError, match="HAVING CONFIDENCE") as caught:
        ag.table("sure")
    assert [each.code for each in caught.value.diagnostics] == ["P003"]
