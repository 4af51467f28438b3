"""Patterns: words, names, flattening, FIRST and LAST, repetition."""

from __future__ import annotations

import pytest

from analysis.checking import PLACES, READS, codes, query, shown
from augury.analysis.checked import Branch, Leaf, Negated
from augury.analysis.clauses.shapes import at_an_end, can_be_empty, pattern_text


def pattern(text: str, rest: str = "WITHIN 1 HOUR", streams: str = READS) -> str:
    q = query(f"CREATE QUERY q ON reads PATTERN {text} {rest};", streams)
    return pattern_text(q.shape, q.components)


def test_a_bare_word_is_a_type_and_its_own_name_where_the_stream_has_types() -> None:
    q = query(
        "CREATE QUERY q ON reads PATTERN SEQ(SHELF, EXIT) WHERE SHELF.tag = EXIT.tag WITHIN 1 HOUR;"
    )
    assert [(c.name, c.played_by[0].type, c.named) for c in q.components] == [
        ("SHELF", "SHELF", True),
        ("EXIT", "EXIT", True),
    ]


def test_a_bare_word_is_a_name_where_the_stream_has_no_types() -> None:
    q = query("CREATE QUERY q ON At PATTERN SEQ(a, b) WITHIN 10;", PLACES)
    assert [(c.name, c.played_by[0].stream, c.played_by[0].type) for c in q.components] == [
        ("a", "At", None),
        ("b", "At", None),
    ]


def test_a_bare_stream_is_a_type_without_regard_to_case() -> None:
    q = query("CREATE QUERY q ON At PATTERN SEQ(at, b) WITHIN 10;", PLACES)
    assert [(c.name, c.played_by[0].stream) for c in q.components] == [("at", "At"), ("b", "At")]


def test_an_underscore_is_any_type_of_any_stream() -> None:
    streams = READS + "CREATE STREAM other (tag STRING, at TIMESTAMP) TIME at;"
    q = query("CREATE QUERY q ON reads, other PATTERN SEQ(_ a, SHELF b) WITHIN 1 HOUR;", streams)
    assert [(p.stream, p.type) for p in q.components[0].played_by] == [
        ("reads", None),
        ("other", None),
    ]
    assert [(p.stream, p.type) for p in q.components[1].played_by] == [("reads", "SHELF")]


def test_a_bare_type_that_occurs_twice_gets_made_up_names() -> None:
    q = query("CREATE QUERY q ON reads PATTERN SEQ(A, B, A) WITHIN 1 HOUR;")
    assert [(c.name, c.named) for c in q.components] == [
        ("A_1", False),
        ("B", True),
        ("A_2", False),
    ]


def test_components_are_found_as_written_then_without_regard_to_case() -> None:
    text = (
        "CREATE QUERY q ON reads PATTERN SEQ(SHELF a, EXIT A) WHERE a.price > 1 "
        "AND A.price > 2 WITHIN 1 HOUR;"
    )
    assert [c.components for c in query(text).conjuncts] == [(0,), (1,)]
    folded = "CREATE QUERY q ON reads PATTERN SEQ(SHELF x, EXIT z) WHERE X.PRICE > 1 WITHIN 1 HOUR;"
    assert shown(query(folded).conjuncts[0]) == "x.price > 1"


def test_sequences_in_sequences_flatten() -> None:
    assert pattern("SEQ(A a, SEQ(!B b, C c), D d)") == "SEQ(a, !b, c, d)"


def test_a_group_of_one_is_its_part() -> None:
    assert pattern("AND(SEQ(A a), B b)") == "AND(a, b)"


def test_first_and_last_are_negations_with_their_own_predicates() -> None:
    q = query(
        "CREATE QUERY q ON reads PATTERN SEQ(FIRST(A a), LAST(B b (b.price > 2)))"
        " WHERE a.door = 'x' AND a.price < b.price WITHIN 1 HOUR;"
    )
    assert q.shape == Branch("SEQ", (Negated(Leaf(0)), Leaf(1), Leaf(2), Negated(Leaf(3))))
    assert [(c.name, c.negated, c.named) for c in q.components] == [
        ("other_a_1", True, False),
        ("a", False, True),
        ("b", False, True),
        ("other_b_1", True, False),
    ]
    assert [shown(c) for c in q.conjuncts] == [
        "b.price > 2",
        "a.door = 'x'",
        "a.price < b.price",
        "other_a_1.door = 'x'",
        "other_b_1.price > 2",
    ]


def test_components_inside_a_negated_composite_are_negated() -> None:
    q = query("CREATE QUERY q ON reads PATTERN SEQ(A a, !SEQ(B b, C c), D d) WITHIN 1 HOUR;")
    assert [c.name for c in q.components if c.negated] == ["b", "c"]
    assert q.shape == Branch("SEQ", (Leaf(0), Negated(Branch("SEQ", (Leaf(1), Leaf(2)))), Leaf(3)))


@pytest.mark.parametrize(
    ("mark", "bounds"),
    [
        ("+", (1, None)),
        ("*", (0, None)),
        ("?", (0, 1)),
        ("{2,5}", (2, 5)),
        ("{3}", (3, 3)),
        ("{2,}", (2, None)),
    ],
)
def test_repetitions_have_bounds(mark: str, bounds: tuple[int, int | None]) -> None:
    q = query(f"CREATE QUERY q ON reads PATTERN SEQ(A a, B{mark} b, C c) WITHIN 1 HOUR;")
    assert (q.components[1].minimum, q.components[1].maximum) == bounds
    assert q.components[1].repeats


def test_a_repetition_of_one_is_no_repetition() -> None:
    assert (
        not query("CREATE QUERY q ON reads PATTERN SEQ(A a, B{1} b) WITHIN 1 HOUR;")
        .components[1]
        .repeats
    )


def test_an_optional_first_part_lets_the_next_be_first() -> None:
    q = query("CREATE QUERY q ON reads PATTERN SEQ(A? a, B b, C* c) WITHIN 1 HOUR;")
    assert at_an_end(q.shape, q.components, last=False) == {0, 1}
    assert at_an_end(q.shape, q.components, last=True) == {1, 2}
    assert not can_be_empty(q.shape, q.components)


@pytest.mark.parametrize(
    "where", ["AND(A a, !B b)", "SEQ(A a, OR(B b, !C c))", "NEXT(A a, !B b, C c)"]
)
def test_a_negation_stands_only_in_a_sequence(where: str) -> None:
    assert codes(f"CREATE QUERY q ON reads PATTERN {where} WITHIN 1 HOUR;") == ["A035"]


def test_conditions_in_a_component_may_leave_its_name_out() -> None:
    q = query("CREATE QUERY q ON At PATTERN SEQ(At a, At c (place = 'b')) WITHIN 10;", PLACES)
    assert [shown(c) for c in q.conjuncts] == ["c.place = 'b'"]
