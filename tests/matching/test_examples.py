"""The worked examples come out to the last digit."""

from __future__ import annotations

import pytest

from augury import Session
from augury.errors import DataError
from matching.asking import CLAUSES, ask, rows, session, shown, times

DPCEP = "a1 .6 c2 .7 b3 .5 a4 .9 d5 .8 b6 .6 d7 .8 a8 .7 b9 .5 c10 .9 a11 .6 d12 .8 b13 .6 d14 .7"
ABD = "PATTERN SEQ(A a, B b, D d)"


def exactly(expected):
    return pytest.approx(expected, rel=0, abs=1e-12)


def test_1_1_any_match_finds_every_combination():
    found = times(ask(ABD, "a1 b3 a4 b6 d9"))
    assert found == {(1, 3, 9): 1.0, (1, 6, 9): 1.0, (4, 6, 9): 1.0}


def test_1_2_any_match_multiplies_what_must_exist():
    assert times(ask(ABD, DPCEP)) == exactly(
        {
            (1, 3, 5): 0.24,
            (1, 3, 7): 0.24,
            (1, 3, 12): 0.24,
            (1, 3, 14): 0.21,
            (1, 6, 7): 0.288,
            (1, 6, 12): 0.288,
            (1, 6, 14): 0.252,
            (1, 9, 12): 0.24,
            (1, 9, 14): 0.21,
            (1, 13, 14): 0.252,
            (4, 6, 7): 0.432,
            (4, 6, 12): 0.432,
            (4, 6, 14): 0.378,
            (4, 9, 12): 0.36,
            (4, 9, 14): 0.315,
            (4, 13, 14): 0.378,
            (8, 9, 12): 0.28,
            (8, 9, 14): 0.245,
            (8, 13, 14): 0.294,
            (11, 13, 14): 0.252,
        }
    )


def test_1_2_a_threshold_leaves_six():
    assert times(ask(f"{ABD} HAVING CONFIDENCE >= 0.3", DPCEP)) == exactly(
        {
            (4, 6, 7): 0.432,
            (4, 6, 12): 0.432,
            (4, 6, 14): 0.378,
            (4, 9, 12): 0.36,
            (4, 9, 14): 0.315,
            (4, 13, 14): 0.378,
        }
    )


def test_1_2_next_match_counts_what_was_skipped():
    assert times(ask(f"{ABD} USING SKIP TILL NEXT MATCH", DPCEP)) == exactly(
        {
            (1, 3, 5): 0.24,
            (1, 3, 7): 0.048,
            (1, 3, 12): 0.0096,
            (1, 3, 14): 0.00168,
            (1, 6, 7): 0.144,
            (1, 6, 12): 0.0288,
            (1, 6, 14): 0.00504,
            (1, 9, 12): 0.048,
            (1, 9, 14): 0.0084,
            (1, 13, 14): 0.0252,
            (4, 6, 7): 0.432,
            (4, 6, 12): 0.0864,
            (4, 6, 14): 0.01512,
            (4, 9, 12): 0.144,
            (4, 9, 14): 0.0252,
            (4, 13, 14): 0.0756,
            (8, 9, 12): 0.28,
            (8, 9, 14): 0.049,
            (8, 13, 14): 0.147,
            (11, 13, 14): 0.252,
        }
    )


def test_1_2_a_negated_component_counts_each_event_once():
    assert times(ask("PATTERN SEQ(A a, !C c, D d)", DPCEP)) == exactly(
        {
            (1, 5): 0.144,
            (1, 7): 0.144,
            (1, 12): 0.0144,
            (1, 14): 0.0126,
            (4, 5): 0.72,
            (4, 7): 0.72,
            (4, 12): 0.072,
            (4, 14): 0.063,
            (8, 12): 0.056,
            (8, 14): 0.049,
            (11, 12): 0.48,
            (11, 14): 0.42,
        }
    )


CONDITIONAL = {
    ("a1", "b3"): 0.6,
    ("a1", "b6"): 0.7,
    ("b3", "d7"): 0.9,
    ("a8", "b9"): 0.6,
    ("b9", "d14"): 0.8,
    ("a1", "b13"): 0.7,
    ("b6", "d14"): 0.9,
    ("b13", "d14"): 0.9,
}
LINKS = "CREATE TABLE links (earlier STRING, later STRING, p DOUBLE);"


def correlated(events):
    script = f"{LINKS} CREATE QUERY q ON s {ABD} CORRELATED BY links;"
    table = [{"earlier": a, "later": b, "p": p} for (a, b), p in CONDITIONAL.items()]
    found = session(script, events, tables={"links": table}).table("q").to_pylist()
    return times(shown(found))


def test_1_2_correlated_events_take_the_table_in_place_of_independence():
    assert correlated("a1 .6 b3 .5 d7 .8") == exactly({(1, 3, 7): 0.324})
    assert correlated("a1 .6 b13 .6 d14 .7") == exactly({(1, 13, 14): 0.378})


def test_1_2_a_pair_that_the_table_lacks_is_refused():
    with pytest.raises(DataError, match="d5"):
        correlated(DPCEP)


def test_1_2_a_stream_cut_after_7_keeps_its_matches_when_it_is_put_together():
    first, second = rows(DPCEP)[:7], rows(DPCEP)[7:]
    assert ask(ABD, second + first) == ask(ABD, DPCEP)


OVERSPEED = """
CREATE STREAM o (location STRING, kind STRING, t LONG, p DOUBLE) TIME t PROBABILITY p;
CREATE STREAM x (location STRING, t LONG, p DOUBLE) TIME t PROBABILITY p;
CREATE QUERY q ON o, x PATTERN AND(o, x) WHERE o.location = x.location {} RETURN PROBABILITY;
"""
TRUCK_AND_CAR = [
    {"location": "L1", "kind": "truck", "t": 1, "p": 0.8},
    {"location": "L1", "kind": "car", "t": 2, "p": 0.5},
]


def accidents(*told):
    return [{"location": place, "t": 3, "p": p} for place, p in told]


def overspeed(clause, *told):
    ag = Session(engine="local")
    ag.sql(OVERSPEED.format(clause))
    ag.bind("o", TRUCK_AND_CAR)
    ag.bind("x", accidents(*told))
    return ag.table("q").to_pylist()


def test_1_3_a_type_query_asks_for_the_worlds_with_a_match():
    (row,) = overspeed("", ("L1", 0.7))
    assert row["probability"] == exactly(0.63)


def test_1_4_a_rank_query_projects_joins_and_projects():
    rows = overspeed("GROUP BY o.kind", ("L1", 0.7), ("L1", 0.8), ("L2", 0.9))
    assert {row["kind"]: row["probability"] for row in rows} == exactly(
        {"truck": 0.752, "car": 0.47}
    )


def test_1_4_without_groups_it_is_what_the_worlds_say_and_not_the_paper():
    (row,) = overspeed("", ("L1", 0.7), ("L1", 0.8), ("L2", 0.9))
    assert row["probability"] == exactly(0.846)


ACCIDENT = """
CREATE QUERY q ON s PATTERN AND(O o, SEQ(L a, L b, L d))
WHERE [tag] AND o.v = 1 AND a.v = 1 AND b.v = 2 AND d.v = 4
WITHIN 12
HAVING CONFIDENCE > 0.8;
"""


def test_1_5_overspeed_at_la_and_the_way_from_la_to_ld_may_interleave():
    # v is the place: 1 is LA, 2 is LB, 4 is LD; tag is the vehicle.
    way = rows("l1 o2 .9 l3 l5 l14", tag=["car"] * 5, v=[1, 1, 2, 4, 4])
    found = shown(session(ACCIDENT, way).table("q").to_pylist())
    assert found == exactly({"a=l1 b=l3 d=l5 o=o2": 0.9})
    unlikely = rows("l1 o2 .9 l3 .8 l5", tag=["car"] * 4, v=[1, 1, 2, 4])
    assert session(ACCIDENT, unlikely).table("q").num_rows == 0
    others = rows("l1 o2 .9 l3 l5", tag=["car", "van", "car", "car"], v=[1, 1, 2, 4])
    assert session(ACCIDENT, others).table("q").num_rows == 0


P = "CREATE QUERY p ON s PATTERN SEQ(A a, B b);"
XY = "x1 a2 .5 b3 .5 b4 .5 y5"


def over_p(query, events=XY):
    return list(shown(session(f"{P} {query}", events).table("q").to_pylist()).values())


def test_1_7_a_negated_derived_event_is_not_a_product():
    found = over_p("CREATE QUERY q ON s, p PATTERN SEQ(X x, !p n, Y y);")
    assert found == [exactly(0.625)]


def test_1_7_a_skipped_derived_event_is_not_a_product():
    ag = session(
        f"{P} CREATE QUERY q ON s, p PATTERN SEQ(X x, p n) USING SKIP TILL NEXT MATCH;", XY
    )
    inner = {row["match_id"]: row for row in ag.table("p").to_pylist()}
    found = {
        tuple(e["event_id"] for e in inner[row["events"][-1]["event_id"]]["events"]): row
        for row in ag.table("q").to_pylist()
    }
    assert {ids: row["confidence"] for ids, row in found.items()} == exactly(
        {("a2", "b3"): 0.25, ("a2", "b4"): 0.125}
    )


def test_1_7_negated_alternatives_add_up():
    events = rows("x1 c2 .3 c3 .4 y4")
    events[2]["id"] = events[1]["id"]
    events[1]["tag"], events[2]["tag"] = "hall", "room"
    alternatives = f"{CLAUSES} ALTERNATIVES tag"
    found = ask("PATTERN SEQ(X x, !C c, Y y)", events, clauses=alternatives)
    assert list(found.values()) == [exactly(0.3)]


def test_1_7_what_two_derived_events_share_counts_once():
    script = (
        "CREATE QUERY p1 ON s PATTERN SEQ(A a, B b); CREATE QUERY p2 ON s PATTERN SEQ(A a, C c);"
        "CREATE QUERY q ON p1, p2 PATTERN AND(p1 x, p2 y);"
    )
    found = shown(session(script, "a1 .5 b2 .5 c3 .5").table("q").to_pylist())
    assert list(found.values()) == [exactly(0.125)]


NEXT = "USING SKIP TILL NEXT MATCH"


@pytest.mark.parametrize(
    ("query", "events", "expected"),
    [
        (
            f"PATTERN SEQ(A a, B+ b, C c) {NEXT}",
            "a1 b2 .5 b3 .5 c4",
            {"a=a1 b=b2 c=c4": 0.25, "a=a1 b=b3 c=c4": 0.25, "a=a1 b=b2,b3 c=c4": 0.25},
        ),
        (
            f"PATTERN SEQ(A a, B+ b, B c) {NEXT}",
            "a1 b2 b3 .5 b4",
            {"a=a1 b=b2 c=b3": 0.5, "a=a1 b=b2 c=b4": 0.5},
        ),
        (
            "PATTERN SEQ(A a, B+ b) USING STRICT WITHIN 9",
            "a1 b2 .5 b3 .5",
            {"a=a1 b=b2": 0.25, "a=a1 b=b3": 0.25, "a=a1 b=b2,b3": 0.25},
        ),
        (
            f"PATTERN SEQ(A a, B+ b) {NEXT} WITHIN 9",
            "a1 b2 .5 b3 .5",
            {"a=a1 b=b2": 0.25, "a=a1 b=b3": 0.25, "a=a1 b=b2,b3": 0.25},
        ),
        (
            f"PATTERN SEQ(A a, OR(B b, C c), D d) {NEXT}",
            "a1 b2 .5 c3 d4",
            {"a=a1 b=b2 d=d4": 0.5, "a=a1 c=c3 d=d4": 0.5},
        ),
        ("PATTERN SEQ(A a, B b) WITHIN 2 EVENTS", "a1 x2 .5 b3", {"a=a1 b=b3": 0.5}),
        ("PATTERN SEQ(LAST(A a), B b)", "a1 a2 .5 b3", {"a=a1 b=b3": 0.5, "a=a2 b=b3": 0.5}),
        (
            f"PATTERN SEQ(A a, B b) {NEXT}",
            "a1 b2 .5 b2' .5",
            {"a=a1 b=b2": 0.5, "a=a1 b=b2'": 0.5},
        ),
    ],
)
def test_1_8_selection(query, events, expected):
    assert ask(query, events) == exactly(expected)


def test_1_8_five_matches_have_five_ids():
    query = "CREATE QUERY q ON s PATTERN SEQ(B+ b, B+ c) WITHIN 9;"
    found = session(query, "b1 b2 b3").table("q").to_pylist()
    assert shown(found) == {
        "b=b1 c=b2": 1.0,
        "b=b1 c=b3": 1.0,
        "b=b2 c=b3": 1.0,
        "b=b1,b2 c=b3": 1.0,
        "b=b1 c=b2,b3": 1.0,
    }
    assert len({row["match_id"] for row in found}) == 5


R = rows("r1 r2 r3", tag=["a", "c", "b"])
ARRIVAL = f"PATTERN SEQ(R x (x.tag = 'a'), R y{{}}) {NEXT}"


def test_3_1_a_filter_inside_decides_what_counts_as_a_candidate():
    assert ask(ARRIVAL.format(" (y.tag = 'b')"), R) == {"x=r1 y=r3": 1.0}


def test_3_1_a_condition_after_the_choice_ends_the_run():
    assert ask(ARRIVAL.format("") + " AFTER WHERE y.tag = 'b'", R) == {}
    assert ask(ARRIVAL.format("") + " AFTER WHERE y.tag = 'c'", R) == {"x=r1 y=r2": 1.0}
