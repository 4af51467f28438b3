"""Every sentence of the language about patterns, WHERE, order, selection and confidence.

Each test is small and literal, and fails if its sentence is turned round. What is refused is
checked by the code of its diagnostic.
"""

from __future__ import annotations

from typing import Any

import pytest

from augury import DataError, QueryError, Session
from matching.asking import CLAUSES, ask, rows, session, shown

NEXT = "USING SKIP TILL NEXT MATCH"
KEYED = f"{CLAUSES} KEY tag"
CERTAIN = "ID id TIME t TYPE kind"
ORDERED = "ID id TIME t ORDER BY tie TYPE kind PROBABILITY p"


def refusal(query: str, **more: Any) -> str:
    """Return the codes with which a query is refused."""
    with pytest.raises(QueryError) as caught:
        ask(query, "a1", **more)
    return " ".join(d.code for d in caught.value.diagnostics if d.severity == "error")


# --- Pattern ---


def test_seq_is_in_time_order_and_others_may_lie_between():
    assert ask("PATTERN SEQ(A a, B b)", "b1 a2 x3 b4") == {"a=a2 b=b4": 1.0}


def test_next_is_adjacent_in_the_stream():
    assert ask("PATTERN NEXT(A a, B b)", "a1 b2 a3 x4 b5") == {"a=a1 b=b2": 1.0}
    assert ask("PATTERN NEXT(A a, B b)", "a1 x2 .3 b3") == {"a=a1 b=b3": pytest.approx(0.7)}


def test_next_is_adjacent_in_the_stream_of_the_key():
    events = rows("a1 x2 b3 a4 b5", tag=["k", "other", "k", "k", "other"])
    assert ask("PATTERN NEXT(A a, B b)", events, clauses=KEYED) == {"a=a1 b=b3": 1.0}


def test_neighbours_inside_a_negation_are_of_the_key_too():
    events = rows("a1 b2 x3 c4 d5", tag=["k"] * 5, v=[1, 1, 2, 1, 1])
    pattern = "PATTERN SEQ(A a, !NEXT(B b, C c), D d) WHERE [v]"
    assert ask(pattern, events, clauses=KEYED) == {"a=a1 d=d5": 1.0}
    del events[2]
    assert ask(pattern, events, clauses=KEYED) == {}


def test_what_follows_directly_is_not_of_a_denied_kind():
    pattern = "PATTERN SEQ(A a, !NEXT B b, C c)"
    assert ask(pattern, "a1 b2 c3") == {}
    assert ask(pattern, "a1 x2 b3 c4") == {"a=a1 c=c4": 1.0}
    # The b is there, and the x that would part them is not: .5 * .7.
    assert ask(pattern, "a1 x2 .3 b3 .5 c4") == {"a=a1 c=c4": pytest.approx(1 - 0.35)}


def test_a_denied_neighbour_is_of_the_key():
    events = rows("a1 x2 b3 c4", tag=["k", "other", "k", "k"])
    assert ask("PATTERN SEQ(A a, !NEXT B b, C c)", events, clauses=KEYED) == {}


def test_a_repetition_ends_before_the_event_for_which_until_holds():
    events = rows("a1 b2 b3 b4 c5", v=[0, 1, 9, 1, 0])
    pattern = "PATTERN SEQ(A a, B+ b UNTIL (b.v > 5), C c)"
    assert ask(f"{pattern} {NEXT}", events, clauses=CERTAIN) == {"a=a1 b=b2 c=c5": 1.0}
    assert set(ask(pattern, events)) == {"a=a1 b=b2 c=c5", "a=a1 b=b4 c=c5"}


def test_under_any_match_what_ends_a_repetition_must_not_have_happened():
    events = rows("a1 b2 b3 .4 b4 c5", v=[0, 1, 9, 1, 0])
    found = ask("PATTERN SEQ(A a, B{2} b UNTIL (b.v > 5), C c)", events)
    assert found == {"a=a1 b=b2,b4 c=c5": pytest.approx(0.6)}


def test_a_group_repeats_round_after_round():
    pattern = "PATTERN SEQ((SEQ(A a, B b))+ g, C c)"
    assert ask(f"{pattern} {NEXT} WITHIN 9", "a1 b2 a3 b4 c5") == {
        "a=a1,a3 b=b2,b4 c=c5": 1.0,
        "a=a3 b=b4 c=c5": 1.0,
    }
    assert len(ask(f"{pattern} WITHIN 9", "a1 b2 a3 b4 c5")) == 4


def test_a_round_once_begun_is_gone_on_with():
    assert ask(f"PATTERN SEQ((SEQ(A a, B b))+ g, C c) {NEXT} WITHIN 9", "a1 b2 a3 c4") == {}


def test_what_is_read_of_one_group_is_of_one_round():
    events = rows("a1 b2 a3 b4 c5", v=[1, 2, 3, 4, 0])
    pattern = "PATTERN SEQ((SEQ(A a, B b)){2} g, C c)"
    both = {"a=a1,a3 b=b2,b4 c=c5": 1.0}
    assert ask(f"{pattern} WHERE g[i].a.v < g[i].b.v WITHIN 9", events) == both
    assert ask(f"{pattern} WHERE g[i].a.v > g[i-1].b.v WITHIN 9", events) == both
    assert ask(f"{pattern} WHERE g[i].a.v < g[i-1].b.v WITHIN 9", events) == {}
    # Without the group every a is compared with every b.
    assert ask(f"{pattern} WHERE a.v < b.v WITHIN 9", events) == {}


def test_a_running_aggregate_judges_each_event_as_it_is_taken():
    events = rows("a1 b2 b3 b4 c5", v=[0, 2, 9, 3, 0])
    pattern = f"PATTERN SEQ(A a, B+ b, C c) WHERE SUM(b[..i].v) < 6 {NEXT}"
    assert ask(pattern, events) == {"a=a1 b=b2,b4 c=c5": 1.0}


def test_and_is_all_in_any_order():
    found = {"a=a2 b=b1": 1.0}
    assert ask("PATTERN AND(A a, B b)", "b1 a2") == found
    assert ask("PATTERN AND(A a, B b)", "b1 x2") == {}


def test_parts_of_an_and_may_interleave():
    pattern = "PATTERN AND(SEQ(A a, B b), SEQ(C c, D d))"
    assert ask(pattern, "a1 c2 b3 d4") == {"a=a1 b=b3 c=c2 d=d4": 1.0}


@pytest.mark.parametrize("word", ["OR", "ANY"])
def test_or_is_one_of_them(word):
    assert ask(f"PATTERN {word}(A a, B b)", "a1 b2") == {"a=a1": 1.0, "b=b2": 1.0}


def test_patterns_are_nested_at_will():
    pattern = "PATTERN SEQ(A a, OR(AND(B b, C c), NEXT(D d, D e)))"
    assert ask(pattern, "a1 c2 b3") == {"a=a1 b=b3 c=c2": 1.0}
    assert ask(pattern, "a1 d2 d3") == {"a=a1 d=d2 e=d3": 1.0}


def test_seq_in_seq_flattens():
    nested, flat = "SEQ(A a, SEQ(!X x, B b), C c)", "SEQ(A a, !X x, B b, C c)"
    for events in ("a1 b2 c3", "a1 x2 .5 b3 c4", "x1 a2 b3 c4"):
        assert ask(f"PATTERN {nested}", events) == ask(f"PATTERN {flat}", events)


def test_a_component_is_a_type_with_a_name_a_type_or_any_type():
    assert ask("PATTERN SEQ(A x, B y)", "a1 b2") == {"x=a1 y=b2": 1.0}
    assert ask("PATTERN SEQ(A, B)", "a1 b2") == {"A=a1 B=b2": 1.0}
    assert ask("PATTERN SEQ(A x, _ y)", "a1 z2") == {"x=a1 y=z2": 1.0}


def test_a_bare_word_is_a_type_where_the_stream_has_types():
    assert ask("PATTERN SEQ(A, B) WHERE A.v < B.v", rows("a1 b2", v=[1, 2])) == {"A=a1 B=b2": 1.0}
    assert ask("PATTERN SEQ(A, B)", "x1 y2") == {}


def test_a_bare_word_is_a_name_where_the_stream_has_no_types():
    untyped = "ID id TIME t PROBABILITY p"
    assert ask("PATTERN SEQ(a, b)", "x1 y2", clauses=untyped) == {"a=x1 b=y2": 1.0}


def test_a_bare_word_is_a_stream_of_on():
    script = "CREATE QUERY p ON s PATTERN A a; CREATE QUERY q ON s, p PATTERN SEQ(p, B b);"
    assert len(session(script, "a1 b2 b3").table("q")) == 2


def test_a_negated_component_must_not_be_there():
    pattern = "PATTERN SEQ(A a, !B b, C c)"
    assert ask(pattern, "a1 c2") == {"a=a1 c=c2": 1.0}
    assert ask(pattern, "a1 b2 c3") == {}


def test_no_instance_of_a_negated_composite_lies_wholly_inside_the_gap():
    pattern = "PATTERN SEQ(X x, !SEQ(A a, B b), Y y)"
    assert ask(pattern, "x1 a2 b3 y4") == {}
    assert ask(pattern, "x1 b2 a3 y4") == {"x=x1 y=y4": 1.0}
    assert ask(pattern, "a1 x2 b3 a4 y5 b6") == {"x=x2 y=y5": 1.0}


def test_a_negation_stands_at_the_start_in_the_middle_or_at_the_end():
    for pattern in ("SEQ(!X x, A a, B b)", "SEQ(A a, !X x, B b)", "SEQ(A a, B b, !X x)"):
        assert ask(f"PATTERN {pattern} WITHIN 9", "a2 b4") == {"a=a2 b=b4": 1.0}
    assert ask("PATTERN SEQ(!X x, A a, B b) WITHIN 9", "x1 a2 b4") == {}
    assert ask("PATTERN SEQ(A a, !X x, B b) WITHIN 9", "a2 x3 b4") == {}
    assert ask("PATTERN SEQ(A a, B b, !X x) WITHIN 9", "a2 b4 x5") == {}


@pytest.mark.parametrize("pattern", ["AND(A a, !B b)", "OR(A a, !B b)", "NEXT(A a, !B b)"])
def test_a_negation_is_refused_in_and_or_and_next(pattern):
    assert "A035" in refusal(f"PATTERN {pattern}")


def test_a_negation_of_a_repetition_is_refused():
    assert "A035" in refusal("PATTERN SEQ(A a, !B+ b, C c)")


@pytest.mark.parametrize(
    ("sign", "sizes"),
    [("+", {1, 2, 3}), ("*", {0, 1, 2, 3}), ("?", {0, 1}), ("{2,3}", {2, 3}), ("{2,5}", {2, 3})],
)
def test_signs_say_how_often_a_component_repeats(sign, sizes):
    found = ask(f"PATTERN SEQ(A a, B{sign} b, C c)", "a1 b2 b3 b4 c5")
    assert {name.count("b") - name.count("b=") for name in found} == sizes


def test_first_means_that_none_comes_before():
    assert ask("PATTERN SEQ(FIRST(A a), B b) WITHIN 9", "a1 a2 b3") == {"a=a1 b=b3": 1.0}


def test_last_means_that_none_comes_after():
    assert ask("PATTERN SEQ(LAST(A a), B b)", "a1 a2 b3") == {"a=a2 b=b3": 1.0}


def test_first_and_last_count_events_with_the_component_s_own_predicates():
    events = rows("a1 a2 a3 b4", v=[1, 9, 9, 0])
    query = "PATTERN SEQ(FIRST(A a), B b) WHERE a.v > 5 WITHIN 9"
    assert ask(query, events) == {"a=a2 b=b4": 1.0}
    inside = "PATTERN SEQ(LAST(A a (a.v < 5)), B b)"
    assert ask(inside, events) == {"a=a1 b=b4": 1.0}


def test_one_event_plays_one_component_of_a_match():
    assert ask("PATTERN AND(A x, A y)", "a1") == {}
    assert ask("PATTERN AND(A x, A y)", "a1 a2") == {"x=a1 y=a2": 1.0, "x=a2 y=a1": 1.0}


def match_ids(script: str, events: Any, name: str = "q") -> list[str]:
    return session(script, events).table(name).column("match_id").to_pylist()


def test_a_match_is_its_map_from_components_to_events():
    both_ways = match_ids("CREATE QUERY q ON s PATTERN AND(A x, A y);", "a1 a2")
    assert len(set(both_ways)) == 2


def test_an_id_depends_on_query_components_and_events_alone():
    one = match_ids("CREATE QUERY q ON s PATTERN SEQ(A a, B b);", "a1 b2")
    assert match_ids("CREATE QUERY q ON s PATTERN SEQ(A a, B b);", "x0 a1 .5 b2") == one
    assert match_ids("CREATE QUERY r ON s PATTERN SEQ(A a, B b);", "a1 b2", "r") != one
    assert match_ids("CREATE QUERY q ON s PATTERN SEQ(A x, B b);", "a1 b2") != one
    assert match_ids("CREATE QUERY q ON s PATTERN SEQ(A a, B b);", "a1 b3") != one


# --- WHERE ---


def test_an_equated_attribute_is_equal_over_all_components():
    events = rows("a1 b2 b3", tag=["k", "other", "k"])
    assert ask("PATTERN SEQ(A a, B b) WHERE [tag]", events) == {"a=a1 b=b3": 1.0}


def test_an_equated_attribute_is_equal_over_negated_components_too():
    pattern = "PATTERN SEQ(A a, !X x, B b) WHERE [tag]"
    assert ask(pattern, rows("a1 x2 b3", tag=["k", "other", "k"])) == {"a=a1 b=b3": 1.0}
    assert ask(pattern, rows("a1 x2 b3", tag=["k", "k", "k"])) == {}


def test_a_key_alone_equates_nothing():
    events = rows("a1 b2", tag=["k", "other"])
    assert ask("PATTERN SEQ(A a, B b)", events, clauses=KEYED) == {"a=a1 b=b2": 1.0}


def test_equalities_are_closed_through_negated_components():
    query = "PATTERN SEQ(A a, !X x, B b) WHERE a.v = x.v AND x.v = b.v"
    assert ask(query, rows("a1 b2 b3", v=[1, 2, 1])) == {"a=a1 b=b3": 1.0}


def test_equalities_are_closed_before_anything_else():
    query = f"PATTERN SEQ(A a, B b, C c) WHERE a.v = c.v AND c.v = b.v {NEXT}"
    events = rows("a1 b2 b3 c4", v=[1, 2, 1, 1])
    assert ask(query, events) == {"a=a1 b=b3 c=c4": 1.0}


def test_an_attribute_is_a_column_of_the_stream():
    assert ask("PATTERN A a WHERE a.v = 2", rows("a1 a2", v=[1, 2])) == {"a=a2": 1.0}


def test_the_difference_of_times_is_compared_with_an_interval():
    ag = Session(engine="local")
    ag.sql(
        "CREATE STREAM r (id STRING, kind STRING, at TIMESTAMP) ID id TIME at TYPE kind;"
        "CREATE QUERY q ON r PATTERN SEQ(A x, B z) WHERE z.at - x.at < INTERVAL 5 MINUTES;"
    )
    times = {"a": "2024-01-01 00:00:00", "b4": "2024-01-01 00:04:59", "b5": "2024-01-01 00:05:00"}
    import pyarrow as pa

    at = pa.array(list(times.values())).cast(pa.timestamp("us"))
    ag.bind("r", pa.table({"id": list(times), "kind": ["A", "B", "B"], "at": at}))
    assert shown(ag.table("q").to_pylist()) == {"x=a z=b4": 1.0}


def test_a_default_stands_in_where_the_component_is_absent():
    query = "PATTERN SEQ(A a, B? b, C c) WHERE b.v[7] = c.v"
    assert ask(query, rows("a1 c2", v=[0, 7])) == {"a=a1 c=c2": 1.0}
    assert ask(query, rows("a1 c2", v=[0, 8])) == {}


RISING = rows("a1 b2 b3 b4 c5", v=[0, 5, 3, 7, 0])


@pytest.mark.parametrize(
    ("condition", "taken"),
    [
        ("b[1].v = 3", {"b3", "b3,b4"}),
        ("b[i].v > 4", {"b2", "b4", "b2,b4"}),
        ("b.v > 4", {"b2", "b4", "b2,b4"}),
        ("b[i].v > b[i-1].v", {"b2", "b3", "b4", "b2,b4", "b3,b4"}),
        ("b[i].v > b[1].v", {"b2", "b3", "b4", "b2,b4", "b3,b4"}),
        ("LAST(b).v = 3", {"b3", "b2,b3"}),
        ("COUNT(b) = 2", {"b2,b3", "b2,b4", "b3,b4"}),
        ("SUM(b.v) = 8", {"b2,b3"}),
        ("AVG(b.v) = 5", {"b2", "b3,b4", "b2,b3,b4"}),
        ("MIN(b.v) = 5", {"b2", "b2,b4"}),
        ("MAX(b.v) = 5", {"b2", "b2,b3"}),
    ],
)
def test_conditions_read_the_events_of_a_repetition(condition, taken):
    found = ask(f"PATTERN SEQ(A a, B+ b, C c) WHERE {condition}", RISING)
    assert found == {f"a=a1 b={b} c=c5": 1.0 for b in taken}


def test_membership_is_tested_in_a_table():
    events = rows("a1 a2 a3", tag=["hall", "room", None])
    ag = session(
        "CREATE TABLE hallway (place STRING); CREATE QUERY q ON s PATTERN A x"
        " WHERE x.tag IN hallway;",
        events,
        tables={"hallway": [{"place": "hall"}]},
    )
    assert shown(ag.table("q").to_pylist()) == {"x=a1": 1.0}


def test_membership_is_tested_over_several_columns():
    ag = session(
        "CREATE TABLE office (who LONG, place STRING);"
        "CREATE QUERY q ON s PATTERN A x WHERE (x.v, x.tag) IN office;",
        rows("a1 a2 a3", v=[1, 2, 1], tag=["hall", "hall", "room"]),
        tables={"office": [{"who": 1, "place": "hall"}, {"who": 2, "place": "room"}]},
    )
    assert shown(ag.table("q").to_pylist()) == {"x=a1": 1.0}


def test_a_repetition_is_complete_when_its_successor_takes_an_event():
    query = f"PATTERN SEQ(A a, B+ b, C c) WHERE COUNT(b) >= 2 {NEXT}"
    assert ask(query, "a1 b2 c3 b4 c5") == {"a=a1 b=b2,b4 c=c5": 1.0}


def test_aggregates_are_final_values_not_running_ones():
    query = f"PATTERN SEQ(A a, B+ b, C c) WHERE SUM(b.v) = 0 {NEXT}"
    assert ask(query, rows("a1 b2 b3 c4", v=[0, 5, -5, 0])) == {"a=a1 b=b2,b3 c=c4": 1.0}


def test_a_condition_on_an_absent_optional_component_is_not_applied():
    query = "PATTERN SEQ(A a, B? b, C c) WHERE b.v > 5"
    assert ask(query, rows("a1 b2 c3", v=[0, 1, 0])) == {"a=a1 c=c3": 1.0}


def test_the_count_of_an_absent_component_is_0():
    query = "PATTERN SEQ(A a, B? b, C c) WHERE COUNT(b) = 0"
    assert ask(query, "a1 b2 c3") == {"a=a1 c=c3": 1.0}


def test_a_predicate_over_two_negated_components_is_refused():
    assert "A051" in refusal("PATTERN SEQ(A a, !B b, !C c, D d) WHERE b.v = c.v")


def test_unknown_is_not_true():
    events = rows("a1 a2", v=[None, 1])
    assert ask("PATTERN A a WHERE a.v = 1", events) == {"a=a2": 1.0}
    assert ask("PATTERN A a WHERE NOT a.v = 1", events) == {}
    assert ask("PATTERN A a WHERE a.v IS NULL OR a.v = 2", events) == {"a=a1": 1.0}


# --- Order and windows ---


def test_order_is_time_and_then_tie_breaker():
    events = rows("b1 a1 b1'", tie=[1, 2, 3])
    assert ask("PATTERN SEQ(A a, B b)", events, clauses=ORDERED) == {"a=a1 b=b1'": 1.0}


def test_events_with_equal_order_are_not_in_sequence():
    assert ask("PATTERN SEQ(A a, B b)", "a1 b1") == {}
    assert ask("PATTERN SEQ(A a, B b)", rows("a1 b1", tie=[2, 2]), clauses=ORDERED) == {}


def test_an_event_of_equal_order_does_not_lie_between():
    assert ask("PATTERN SEQ(A a, !X x, B b)", "a1 x1 b2") == {"a=a1 b=b2": 1.0}
    assert ask("PATTERN SEQ(A a, B b) USING STRICT", "a1 x1 b2") == {"a=a1 b=b2": 1.0}
    assert ask("PATTERN SEQ(A a, B b) USING STRICT", "a1 x2 b3") == {}


INNER = "CREATE QUERY p ON s PATTERN SEQ(A a, B b);"


def test_a_derived_event_has_the_time_of_its_last_positive_event():
    script = f"{INNER} CREATE QUERY q ON s, p PATTERN SEQ(p x, C c);"
    assert len(session(script, "a1 b3 c4").table("q")) == 1
    assert len(session(script, "a1 c2 b3").table("q")) == 0


def test_a_derived_event_has_the_tie_breaker_of_its_last_positive_event():
    script = f"{INNER} CREATE QUERY q ON p PATTERN SEQ(p x, p y);"
    ordered = session(script, rows("a1 b2 b2'", tie=[1, 1, 2]), clauses=ORDERED)
    assert len(ordered.table("q")) == 1
    assert len(session(script, "a1 b2 b2'").table("q")) == 0


def test_a_derived_event_has_its_start_and_end_as_attributes():
    script = f"{INNER} CREATE QUERY q ON p PATTERN p x WHERE x.end_ts - x.start_ts = 2;"
    assert len(session(script, "a1 b3 b4").table("q")) == 1


def two_streams(query: str, first: str, second: str, *, ties: tuple[int, int]) -> dict[str, float]:
    ag = Session(engine="local")
    declared = "(id STRING, kind STRING, t LONG, tie LONG) ID id TIME t ORDER BY tie TYPE kind;"
    ag.sql(f"CREATE STREAM s {declared} CREATE STREAM u {declared} CREATE QUERY q ON s, u {query};")
    for name, text, tie in (("s", first, ties[0]), ("u", second, ties[1])):
        columns = [{"id": r["id"], "kind": r["kind"], "t": r["t"], "tie": tie} for r in rows(text)]
        ag.bind(name, columns)
    return shown(ag.table("q").to_pylist())


def test_tie_breakers_compare_within_one_stream_only():
    assert two_streams("PATTERN SEQ(A a, B b)", "a1", "b1", ties=(1, 2)) == {}
    assert two_streams("PATTERN AND(A a, B b)", "a1", "b1", ties=(1, 2)) == {"a=a1 b=b1": 1.0}


def test_adjacency_over_several_streams_is_over_their_union():
    query = "PATTERN NEXT(A a, B b)"
    assert two_streams(query, "a1 b3", "x2", ties=(1, 1)) == {}
    assert two_streams(query, "a1 b3", "x4", ties=(1, 1)) == {"a=a1 b=b3": 1.0}


def test_within_is_inclusive():
    assert ask("PATTERN SEQ(A a, B b) WITHIN 3", "a1 b4 b5") == {"a=a1 b=b4": 1.0}


def test_within_events_counts_both_ends_and_every_event_that_exists():
    query = "PATTERN SEQ(A a, B b) WITHIN 3 EVENTS"
    assert ask(query, "a1 x2 b3") == {"a=a1 b=b3": 1.0}
    assert ask(query, "a1 x2 x3 b4") == {}
    assert ask(query, "a1 x2 x3 .25 b4") == {"a=a1 b=b4": 0.75}


def test_a_middle_negation_looks_strictly_between_its_nearest_bound_neighbours():
    pattern = "PATTERN SEQ(A a, B? b, !X x, C c)"
    assert ask(pattern, "a1 x2 b3 c4") == {"a=a1 b=b3 c=c4": 1.0}
    assert ask(pattern, "a1 b2 x3 c4") == {}


def test_predicates_say_which_events_a_negation_counts():
    query = "PATTERN SEQ(A a, !X x, C c) WHERE x.v > a.v"
    assert ask(query, rows("a1 x2 c3", v=[5, 5, 0])) == {"a=a1 c=c3": 1.0}
    assert ask(query, rows("a1 x2 c3", v=[5, 6, 0])) == {}


def test_several_negations_in_a_row_are_independent():
    pattern = "PATTERN SEQ(A a, !X x, !Y y, C c)"
    assert ask(pattern, "a1 y2 .5 x3 .5 c4") == {"a=a1 c=c4": 0.25}


def test_a_leading_negation_looks_back_from_the_last_event_by_the_window():
    pattern = "PATTERN SEQ(!X x, A a, B b) WITHIN 5"
    assert ask(pattern, "x1 a4 b7") == {"a=a4 b=b7": 1.0}
    assert ask(pattern, "x2 a4 b7") == {}
    assert ask(pattern, "a4 x5 b7") == {"a=a4 b=b7": 1.0}


def test_a_trailing_negation_looks_ahead_from_the_first_event_by_the_window():
    pattern = "PATTERN SEQ(A a, B b, !X x) WITHIN 5"
    assert ask(pattern, "a1 b2 x7") == {"a=a1 b=b2": 1.0}
    assert ask(pattern, "a1 b2 x6") == {}
    assert ask(pattern, "a1 x2 b3") == {"a=a1 b=b3": 1.0}


TRAILING = "CREATE QUERY q ON s PATTERN SEQ(A a, B b, !X x) WITHIN 5;"


def pushed(ag: Session, text: str) -> list[str]:
    return [name for row in rows(text) for name in shown(ag.push("s", row))]


def test_a_trailing_negation_is_reported_when_the_watermark_is_past_the_deadline():
    ag = session(TRAILING, [])
    assert pushed(ag, "a1 b2 c6") == []
    assert pushed(ag, "c7") == ["a=a1 b=b2"]


def test_the_end_of_the_input_puts_the_watermark_at_infinity():
    ag = session(TRAILING, [])
    assert pushed(ag, "a1 b2") == []
    assert list(shown(ag.finish())) == ["a=a1 b=b2"]
    assert ask("PATTERN SEQ(A a, B b, !X x) WITHIN 5", "a1 b2") == {"a=a1 b=b2": 1.0}


@pytest.mark.parametrize("pattern", ["SEQ(A+ a, B b)", "SEQ(A a, B+ b)", "SEQ(!X x, A a)"])
def test_a_window_is_required_where_state_would_grow_for_ever(pattern):
    assert "A021" in refusal(f"PATTERN {pattern}")
    ask(f"PATTERN {pattern} WITHIN 5", "a1 b2")


def test_a_window_is_not_required_in_the_middle_of_a_bounded_run():
    assert ask("PATTERN SEQ(A a, !X x, B+ b, C c)", "a1 b2 c3") == {"a=a1 b=b2 c=c3": 1.0}


# --- Selection ---


def test_any_takes_every_combination():
    found = ask("PATTERN SEQ(A a, B b)", "a1 a2 b3 b4")
    assert set(found) == {"a=a1 b=b3", "a=a1 b=b4", "a=a2 b=b3", "a=a2 b=b4"}


def test_any_takes_every_subset_the_empty_one_too():
    found = ask("PATTERN SEQ(A a, B* b, C c)", "a1 b2 b3 c4")
    assert set(found) == {"a=a1 c=c4", "a=a1 b=b2 c=c4", "a=a1 b=b3 c=c4", "a=a1 b=b2,b3 c=c4"}


def test_next_has_a_run_for_each_start():
    assert ask(f"PATTERN SEQ(A a, B b) {NEXT}", "a1 a2 b3") == {"a=a1 b=b3": 1.0, "a=a2 b=b3": 1.0}


def test_a_start_is_an_event_with_the_component_that_it_plays():
    found = ask(f"PATTERN AND(A a, _ b) {NEXT}", "a1 a2")
    assert set(found) == {"a=a1 b=a2", "a=a2 b=a1"}


def test_next_takes_the_earliest_event_that_fits():
    assert ask(f"PATTERN SEQ(A a, B b) {NEXT}", "a1 b2 b3") == {"a=a1 b=b2": 1.0}


def test_next_takes_the_earliest_event_that_fits_anything_that_may_come_next():
    pattern = f"PATTERN SEQ(A a, OR(B b, C c), D d) {NEXT}"
    assert ask(pattern, "a1 c2 b3 d4") == {"a=a1 c=c2 d=d4": 1.0}


def test_what_fits_depends_on_what_is_bound():
    query = f"PATTERN SEQ(A a, B b) WHERE b.v > a.v {NEXT}"
    assert ask(query, rows("a1 b2 b3", v=[5, 4, 6])) == {"a=a1 b=b3": 1.0}


def test_an_event_that_fits_several_plays_the_first_written():
    assert ask(f"PATTERN SEQ(A a, OR(_ b, B c)) {NEXT}", "a1 b2") == {"a=a1 b=b2": 1.0}
    assert ask(f"PATTERN SEQ(A a, OR(B c, _ b)) {NEXT}", "a1 b2") == {"a=a1 c=b2": 1.0}


def test_after_its_minimum_a_repetition_gives_way_to_the_component_after_it():
    assert ask(f"PATTERN SEQ(A a, B+ b, B c) {NEXT}", "a1 b2 b3 b4") == {"a=a1 b=b2 c=b3": 1.0}
    assert ask(f"PATTERN SEQ(A a, B{{2,}} b, B c) {NEXT}", "a1 b2 b3 b4") == {
        "a=a1 b=b2,b3 c=b4": 1.0
    }


def test_several_equally_early_events_are_each_taken():
    assert ask(f"PATTERN SEQ(A a, B b) {NEXT}", "a1 b2 b2' b3") == {
        "a=a1 b=b2": 1.0,
        "a=a1 b=b2'": 1.0,
    }


def test_a_repetition_takes_each_next_event_that_fits():
    query = f"PATTERN SEQ(A a, B+ b, C c) WHERE b.v > 0 {NEXT}"
    assert ask(query, rows("a1 b2 b3 b4 c5", v=[0, 1, 0, 1, 0])) == {"a=a1 b=b2,b4 c=c5": 1.0}


def test_a_trailing_repetition_ends_with_the_window():
    query = f"PATTERN SEQ(A a, B+ b) {NEXT} WITHIN 3"
    assert ask(query, "a1 b2 b4 b5") == {"a=a1 b=b2,b4": 1.0}


def test_a_trailing_repetition_is_reported_at_the_end_of_the_window():
    ag = session(f"CREATE QUERY q ON s PATTERN SEQ(A a, B+ b) {NEXT} WITHIN 3;", [])
    assert pushed(ag, "a1 b2 c4") == []
    assert pushed(ag, "c5") == ["a=a1 b=b2"]


def test_a_run_into_a_negated_event_is_no_match_and_nothing_later_is_tried():
    query = f"PATTERN SEQ(A a, !X x, B b) {NEXT}"
    assert ask(query, "a1 x2 b3 b4") == {}
    assert ask(query, "a1 b2 x3 b4") == {"a=a1 b=b2": 1.0}


def test_a_run_out_of_the_window_is_no_match():
    query = f"PATTERN SEQ(A a, B b, C c) {NEXT} WITHIN 4"
    assert ask(query, "a1 b2 c5") == {"a=a1 b=b2 c=c5": 1.0}
    assert ask(query, "a1 b2 c6") == {}


def test_under_strict_what_is_not_the_next_event_of_the_stream_does_not_fit():
    query = "PATTERN SEQ(A a, B b) USING STRICT"
    assert ask(query, "a1 b2") == {"a=a1 b=b2": 1.0}
    assert ask(query, "a1 z2 b3") == {}
    assert ask(query, "a1 z2 .4 b3") == {"a=a1 b=b3": pytest.approx(0.6)}


def test_a_strict_run_ends_at_the_first_neighbour_that_fits_nothing():
    query = "PATTERN SEQ(A a, B+ b) USING STRICT WITHIN 9"
    assert ask(query, "a1 b2 b3 z4 b5") == {"a=a1 b=b2,b3": 1.0}
    assert ask(query, "a1 b2 z3 .4 b4") == pytest.approx({"a=a1 b=b2": 0.4, "a=a1 b=b2,b4": 0.6})
    assert ask(query, "a1 b2 b10 b11") == {"a=a1 b=b2,b10": 1.0}


def test_a_strict_run_is_a_match_if_every_component_has_its_minimum_by_then():
    query = "PATTERN SEQ(A a, B{2,} b, C? c) USING STRICT WITHIN 99"
    assert ask(query, "a1 b2 z3 b4 c5") == {}
    assert ask(query, "a1 b2 b3 z4 c5") == {"a=a1 b=b2,b3": 1.0}
    assert ask(query, "a1 b2 b3 c4 b5") == {"a=a1 b=b2,b3 c=c4": 1.0}


def test_a_repetition_at_the_end_takes_the_whole_of_a_contiguous_stretch():
    query = "PATTERN B+ b USING STRICT WITHIN 99"
    assert ask(query, "b1 b2 z3 b4") == {"b=b1,b2": 1.0, "b=b2": 1.0, "b=b4": 1.0}


def test_next_of_one_repetition_means_so_many_in_a_row():
    assert ask("PATTERN NEXT(B{2} b) WITHIN 99", "b1 b2 b3 z4 b5") == {
        "b=b1,b2": 1.0,
        "b=b2,b3": 1.0,
    }
    events = rows("b1 b2 b3", tag=["k", "other", "k"])
    assert ask("PATTERN NEXT(B{2} b) WITHIN 99", events, clauses=KEYED) == {"b=b1,b3": 1.0}
    assert ask("PATTERN NEXT(OR(B{2} b, C c)) WITHIN 99", "b1 c2 b3") == {"c=c2": 1.0}


def test_partition_contiguity_skips_no_event_of_one_key():
    query = "PATTERN SEQ(A a, B b) USING PARTITION CONTIGUITY"
    skipped = rows("a1 z2 b3", tag=["k", "other", "k"])
    assert ask(query, skipped, clauses=KEYED) == {"a=a1 b=b3": 1.0}
    assert ask(query, rows("a1 z2 b3", tag=["k", "k", "k"]), clauses=KEYED) == {}
    assert ask(query, rows("a1 b2", tag=["k", "other"]), clauses=KEYED) == {}


@pytest.mark.parametrize(
    "query",
    ["SEQ(A a, B b) USING PARTITION CONTIGUITY", "NEXT(A a, B b) USING SKIP TILL ANY MATCH"],
)
def test_without_a_key_adjacency_means_the_whole_stream(query):
    events = rows("a1 z2 b3", tag=["k", "other", "k"])
    assert ask(f"PATTERN {query}", events) == {}
    assert ask(f"PATTERN {query}", events, clauses=KEYED) == {"a=a1 b=b3": 1.0}


def test_next_needs_neighbours_of_one_key():
    events = rows("a1 b2", tag=["k", "other"])
    assert ask("PATTERN NEXT(A a, B b)", events, clauses=KEYED) == {}


def test_strict_lies_within_next_and_next_within_any_where_no_end_is_open():
    events = "a1 .5 b2 .5 x3 .5 b4 .5"
    by_strategy = [
        ask(f"PATTERN SEQ(A a, B b) USING {strategy}", events)
        for strategy in ("STRICT", "SKIP TILL NEXT MATCH", "SKIP TILL ANY MATCH")
    ]
    assert by_strategy == [
        {"a=a1 b=b2": 0.25, "a=a1 b=b4": 0.0625},
        {"a=a1 b=b2": 0.25, "a=a1 b=b4": 0.125},
        {"a=a1 b=b2": 0.25, "a=a1 b=b4": 0.25},
    ]


def test_where_the_key_is_equated_partition_contiguity_lies_between_strict_and_next():
    events = rows("a1 x2 .5 b3", tag=["k", "other", "k"])
    by_strategy = [
        ask(f"PATTERN SEQ(A a, B b) WHERE [tag] USING {strategy}", events, clauses=KEYED)
        for strategy in ("STRICT", "PARTITION CONTIGUITY", "SKIP TILL NEXT MATCH")
    ]
    assert by_strategy == [{"a=a1 b=b3": 0.5}, {"a=a1 b=b3": 1.0}, {"a=a1 b=b3": 1.0}]


@pytest.mark.parametrize(
    ("using", "events"),
    [
        ("SKIP TILL ANY MATCH", "a1 b2 b3 b4"),
        ("SKIP TILL NEXT MATCH", "a1 b2 .5 b3 .5 b4 .5"),
        ("STRICT", "a1 b2 .5 b3 .5 b4 .5"),
        ("PARTITION CONTIGUITY", "a1 b2 .5 b3 .5 b4 .5"),
    ],
)
def test_the_match_limit_fails_loudly_under_every_strategy(using, events):
    with pytest.raises(DataError, match="more than 2 matches"):
        ask(f"PATTERN SEQ(A a, B b) USING {using} MATCH LIMIT 2", events)
    assert len(ask(f"PATTERN SEQ(A a, B b) USING {using} MATCH LIMIT 3", events)) == 3


# --- Confidence ---


def test_thresholds_have_a_tolerance():
    events = "a1 .5 b2 .5"
    assert ask("PATTERN SEQ(A a, B b) HAVING CONFIDENCE >= 0.2500000009", events) != {}
    assert ask("PATTERN SEQ(A a, B b) HAVING CONFIDENCE >= 0.2500000011", events) == {}
    assert ask("PATTERN SEQ(A a, B b) HAVING CONFIDENCE > 0.2499999991", events) == {}
    assert ask("PATTERN SEQ(A a, B b) HAVING CONFIDENCE > 0.2499999989", events) != {}


def test_a_confidence_of_0_is_never_reported():
    assert ask("PATTERN SEQ(A a, B b)", "a1 b2 .0") == {}
    assert ask("PATTERN SEQ(A a, B b) HAVING CONFIDENCE >= 0", "a1 b2 .0") == {}


def test_a_lower_threshold_only_adds_matches():
    query = "PATTERN SEQ(A a, B b) HAVING CONFIDENCE >= {}"
    events = "a1 b2 .3 b3 .6 b4 .9"
    found = [ask(query.format(limit), events) for limit in (0.9, 0.5, 0.1)]
    assert [set(each) for each in found] == [
        {"a=a1 b=b4"},
        {"a=a1 b=b4", "a=a1 b=b3"},
        {"a=a1 b=b4", "a=a1 b=b3", "a=a1 b=b2"},
    ]


def test_a_derived_stream_holds_what_passes_its_query_s_threshold():
    inner = "CREATE QUERY p ON s PATTERN SEQ(A a, B b) HAVING CONFIDENCE >= {};"
    outer = "CREATE QUERY q ON s, p PATTERN SEQ(X x, !p n, Y y);"
    events = "x1 a2 b3 .4 y4"
    assert shown(session(inner.format(0.3) + outer, events).table("q").to_pylist()) == {
        "x=x1 y=y4": pytest.approx(0.6)
    }
    assert shown(session(inner.format(0.5) + outer, events).table("q").to_pylist()) == {
        "x=x1 y=y4": 1.0
    }


def test_having_confidence_is_refused_where_a_probability_is_returned():
    query = "PATTERN SEQ(A a, B b) HAVING {} >= 0.5 RETURN PROBABILITY"
    assert "A056" in refusal(query.format("CONFIDENCE"))
    ag = session(f"CREATE QUERY q ON s {query.format('PROBABILITY')};", "a1 b2 .6")
    assert ag.table("q").column("probability").to_pylist() == [pytest.approx(0.6)]
    ag = session(f"CREATE QUERY q ON s {query.format('PROBABILITY')};", "a1 b2 .4")
    assert ag.table("q").num_rows == 0


def test_the_last_one_is_the_last_of_its_own_value_also_where_its_partner_is_absent() -> None:
    """An equality that the closure makes hold counts among LAST's own conditions."""
    events = rows("b1 b2 b3", tag=("red", "blue", "red"))
    for partner in ("a.tag", "a[i].tag"):
        query = f"PATTERN SEQ(A{{0,2}} a, LAST(B b)) WHERE b.tag = {partner} WITHIN 9"
        assert ask(query, events) == {"b=b2": 1.0, "b=b3": 1.0}
