"""Equalities: [attribute], transitive closure, classes, keys."""

from __future__ import annotations

from analysis.checking import PLACES, READS, query, shown

OTHERS = READS + "CREATE STREAM o (a STRING, b STRING, c STRING, at TIMESTAMP) KEY a TIME at;"


def test_equalities_close_through_a_negated_component() -> None:
    q = query(
        "CREATE QUERY q ON reads PATTERN SEQ(A x, !B y, C z)"
        " WHERE x.id = y.id AND y.id = z.id WITHIN 1 HOUR;"
    )
    assert [shown(c) for c in q.conjuncts] == ["x.id = y.id", "y.id = z.id", "derived x.id = z.id"]
    assert [(e.members, e.covers_all) for e in q.equalities] == [
        (((0, "id"), (1, "id"), (2, "id")), True)
    ]


def test_an_attribute_in_brackets_is_equal_over_all_components() -> None:
    q = query("CREATE QUERY q ON reads PATTERN SEQ(A x, !B y, C z) WHERE [TAG] WITHIN 1 HOUR;")
    assert [shown(c) for c in q.conjuncts] == [
        "x.tag = y.tag",
        "x.tag = z.tag",
        "derived y.tag = z.tag",
    ]


def test_no_conjunct_is_derived_between_two_negated_components() -> None:
    q = query(
        "CREATE QUERY q ON reads PATTERN SEQ(A x, !B y, !C n, D z) WHERE [tag] WITHIN 1 HOUR;"
    )
    pairs = {c.components for c in q.conjuncts}
    assert pairs == {(0, 1), (0, 2), (0, 3), (1, 3), (2, 3)}


def test_defaults_that_name_the_other_side_do_not_hinder_an_equality() -> None:
    q = query(
        "CREATE QUERY q ON reads PATTERN SEQ(A x, !B y, C z)"
        " WHERE x.id[y.id] = y.id[x.id] AND y.id[z.id] = z.id[y.id] WITHIN 1 HOUR;"
    )
    assert shown(q.conjuncts[-1]) == "derived x.id = z.id"
    assert q.equalities[0].covers_all


def test_a_constant_holds_for_the_whole_class() -> None:
    q = query(
        "CREATE QUERY q ON reads PATTERN SEQ(A x, B y) WHERE [tag] AND x.tag = 't' WITHIN 1 HOUR;"
    )
    assert shown(q.conjuncts[-1]) == "derived y.tag = 't'"


def test_a_class_has_one_column_for_each_component() -> None:
    q = query(
        "CREATE QUERY q ON o PATTERN SEQ(o x, o y) WHERE x.a = y.a AND x.b = y.a WITHIN 1 HOUR;",
        OTHERS,
    )
    assert q.equalities[0].members == ((0, "a"), (1, "a"))
    assert shown(q.conjuncts[-1]) == "derived x.a = x.b"


def test_equalities_after_the_choice_make_no_class() -> None:
    q = query(
        "CREATE QUERY q ON At PATTERN SEQ(At a, At b) AFTER WHERE a.person = b.person"
        " USING SKIP TILL NEXT MATCH WITHIN 10;",
        PLACES,
    )
    assert q.equalities == ()
    assert [shown(c) for c in q.conjuncts] == ["after a.person = b.person"]


def test_all_events_of_a_repetition_are_equated() -> None:
    alone = query("CREATE QUERY q ON reads PATTERN SEQ(A+ b) WHERE [tag] WITHIN 1 HOUR;")
    assert [shown(c) for c in alone.conjuncts] == ["b[i].tag = b[1].tag"]
    assert alone.equalities[0].members == ((0, "tag"),)
    anchored = query("CREATE QUERY q ON reads PATTERN SEQ(A a, B+ b) WHERE [tag] WITHIN 1 HOUR;")
    assert [shown(c) for c in anchored.conjuncts] == [
        "a.tag = b.tag",
        "derived b[i].tag = b[1].tag",
    ]


def test_the_first_event_of_a_repetition_alone_makes_no_class() -> None:
    q = query(
        "CREATE QUERY q ON reads PATTERN SEQ(A a, B+ b) WHERE a.tag = b[1].tag WITHIN 1 HOUR;"
    )
    assert q.equalities == ()


def test_keys_are_the_key_attributes_that_all_positive_components_share() -> None:
    equated = query("CREATE QUERY q ON reads PATTERN SEQ(A x, B y) WHERE [tag] WITHIN 1 HOUR;")
    assert [k.name for k in equated.keys] == ["tag"]
    assert (
        query("CREATE QUERY q ON reads PATTERN SEQ(A x, B y) WHERE [door] WITHIN 1 HOUR;").keys
        == ()
    )
    assert query("CREATE QUERY q ON reads PATTERN SEQ(A x, B y) WITHIN 1 HOUR;").keys == ()
    assert [k.name for k in query("CREATE QUERY q ON reads PATTERN A x;").keys] == ["tag"]
