"""The automaton against the definition of a pattern, and its guards, order and limits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.analysis.checked import Branch, Component, Leaf, Negated, Shape
from augury.errors import QueryError
from augury.planning.pattern.automaton import Automaton, Guard, Skip
from augury.planning.pattern.build_automaton import automaton_of, build_automaton
from planning.queries import all_of, component, components, next_to, no, one_of, query, seq
from planning.words import Word, words_of


def accepted(automaton: Automaton, longest: int) -> set[Word]:
    """Return the words the automaton accepts, by walking it."""
    found: set[Word] = set()
    frontier: list[tuple[int, Word]] = [(0, ())]
    while frontier:
        state, word = frontier.pop()
        if automaton.states[state].accepting:
            found.add(word)
        if len(word) < longest:
            frontier.extend(
                (t.target, (*word, t.component)) for t in automaton.transitions if t.source == state
            )
    return found


@st.composite
def patterns(draw: st.DrawFn) -> tuple[Shape, tuple[Component, ...]]:
    made: list[Component] = []

    def leaf(negated: bool = False) -> Leaf:
        low, high = draw(st.sampled_from([(1, 1), (1, 1), (1, None), (0, None), (0, 1), (2, 3)]))
        if negated:
            low, high = 1, 1
        made.append(
            component(len(made), f"c{len(made)}", minimum=low, maximum=high, negated=negated)
        )
        return Leaf(len(made) - 1)

    def shape(depth: int) -> Shape:
        if depth == 0 or draw(st.booleans()):
            return leaf()
        operator = draw(st.sampled_from(["SEQ", "NEXT", "AND", "OR"]))
        parts = [shape(depth - 1) for _ in range(draw(st.integers(2, 3)))]
        if operator == "SEQ" and draw(st.booleans()):
            parts.insert(draw(st.integers(0, len(parts))), Negated(leaf(negated=True)))
        return Branch(operator, tuple(parts))

    return shape(2), tuple(made)


@given(patterns())
def test_the_automaton_accepts_exactly_the_words_of_the_pattern(
    pattern: tuple[Shape, tuple[Component, ...]],
) -> None:
    shape, parts = pattern
    automaton = automaton_of(shape, parts)
    assert accepted(automaton, 5) == words_of(shape, parts, 5)


@given(patterns())
def test_a_state_gives_each_component_at_most_one_transition(
    pattern: tuple[Shape, tuple[Component, ...]],
) -> None:
    automaton = automaton_of(*pattern)
    edges = [(t.source, t.component) for t in automaton.transitions]
    assert len(edges) == len(set(edges))


@given(patterns())
def test_again_is_said_where_the_component_already_holds_an_event(
    pattern: tuple[Shape, tuple[Component, ...]],
) -> None:
    automaton = automaton_of(*pattern)
    frontier: list[tuple[int, Word]] = [(0, ())]
    while frontier:
        state, word = frontier.pop()
        for t in automaton.transitions:
            if t.source == state and len(word) < 4:
                assert t.again == (t.component in word)
                frontier.append((t.target, (*word, t.component)))


def offered(automaton: Automaton, word: Word, names: str) -> str:
    """Return the components that may come after `word`, preferred first, as letters."""
    state = 0
    for taken in word:
        state = next(
            t.target for t in automaton.transitions if (t.source, t.component) == (state, taken)
        )
    return "".join(names[t.component] for t in automaton.transitions if t.source == state)


def test_a_repetition_past_its_minimum_gives_way_to_what_follows() -> None:
    automaton = automaton_of(seq(0, 1, 2), components("a", "b+", "c"))
    assert offered(automaton, (0,), "abc") == "b"
    assert offered(automaton, (0, 1), "abc") == "cb"


def test_an_optional_component_gives_way_before_it_holds_anything() -> None:
    automaton = automaton_of(seq(0, 1, 2), components("a", "b?", "c"))
    assert offered(automaton, (0,), "abc") == "cb"


def test_below_its_minimum_a_repetition_does_not_give_way() -> None:
    automaton = automaton_of(seq(0, 1), components("b{2,3}", "c"))
    assert offered(automaton, (0,), "bc") == "b"
    assert offered(automaton, (0, 0), "bc") == "cb"
    assert offered(automaton, (0, 0, 0), "bc") == "c"


def test_parts_of_an_or_are_preferred_as_written() -> None:
    automaton = automaton_of(seq(0, one_of(1, 2), 3), components("a", "b", "c", "d"))
    assert offered(automaton, (0,), "abcd") == "bc"


def test_an_and_offers_its_parts_in_the_order_written() -> None:
    automaton = automaton_of(all_of(seq(0, 1), 2), components("a", "b", "c"))
    assert offered(automaton, (), "abc") == "ac"
    assert offered(automaton, (0,), "abc") == "bc"


def neighbours(automaton: Automaton) -> set[tuple[int, bool, tuple[int, ...]]]:
    return {(t.component, t.again, t.adjacent_to) for t in automaton.transitions}


def test_next_ties_each_part_to_the_last_event_of_the_part_before() -> None:
    automaton = automaton_of(next_to(0, seq(1, 2), 3), components("a", "b", "c", "d"))
    assert neighbours(automaton) == {
        (0, False, ()),
        (1, False, (0,)),
        (2, False, ()),
        (3, False, (1, 2)),
    }


def test_next_looks_past_an_optional_part_that_is_absent() -> None:
    automaton = automaton_of(next_to(0, 1, 2), components("a", "b?", "c"))
    assert neighbours(automaton) == {(0, False, ()), (1, False, (0,)), (2, False, (0, 1))}


def test_the_events_of_a_repetition_inside_next_are_neighbours() -> None:
    automaton = automaton_of(next_to(0, 1), components("a", "b+"))
    assert neighbours(automaton) == {(0, False, ()), (1, False, (0,)), (1, True, (1,))}


def test_a_repetition_inside_seq_has_no_neighbours() -> None:
    automaton = automaton_of(seq(0, 1), components("a", "b+"))
    assert neighbours(automaton) == {(0, False, ()), (1, False, ()), (1, True, ())}


def test_a_guard_names_its_neighbours_nearest_first() -> None:
    automaton = automaton_of(seq(0, 1, no(2), 3, 4), components("a", "b?", "!n", "c?", "d"))
    assert automaton.guards == (Guard(Leaf(2), (2,), ((1,), (0,)), ((3,), (4,)), (0, 1, 3, 4)),)


def test_guards_at_the_ends_are_leading_and_trailing() -> None:
    leading, trailing = automaton_of(seq(no(0), 1, no(2)), components("!m", "a", "!n")).guards
    assert leading.is_leading
    assert not leading.is_trailing
    assert trailing.is_trailing
    assert not trailing.is_leading


def test_a_negated_composite_is_one_guard_over_all_it_holds() -> None:
    automaton = automaton_of(seq(0, no(seq(1, 2)), 3), components("x", "!a", "!b", "y"))
    assert automaton.guards == (Guard(seq(1, 2), (1, 2), ((0,),), ((3,),), (0, 3)),)
    assert [s.label for s in automaton.states] == ["SEQ(x, y)", "y", "done"]


def test_a_guard_is_bounded_by_whatever_encloses_its_seq() -> None:
    shape = seq(0, all_of(seq(no(1), 2), 3), 4)
    automaton = automaton_of(shape, components("x", "!n", "a", "b", "y"))
    assert automaton.guards == (Guard(Leaf(1), (1,), ((0,),), ((2,), (4,)), (2,)),)


def test_a_negation_within_a_negation_is_bounded_by_what_bounds_the_outer_one() -> None:
    inner = seq(1, no(2))
    parts = components("x", "!a", "!n", "y")
    (outer,) = automaton_of(seq(0, no(inner), 3), parts).guards
    assert automaton_of(inner, parts, around=outer).guards == (
        Guard(Leaf(2), (2,), ((1,), (0,)), ((3,),), (1,)),
    )


def test_order_holds_between_parts_of_a_seq_and_not_between_parts_of_an_and() -> None:
    automaton = automaton_of(seq(0, all_of(1, 2), 3), components("a", "b", "c", "d"))
    pairs = {(p.earlier, p.later) for p in automaton.precedences}
    assert pairs == {(0, 1), (0, 2), (0, 3), (1, 3), (2, 3)}


def test_skips_run_over_at_most_the_permitted_number_of_components() -> None:
    parts = components("x", "y", "z")
    automaton = build_automaton(query(seq(0, 1, 2), parts, allow=2, may_miss=(0, 1, 2)))
    assert automaton.skips == (
        Skip(0, 1, (0,)),
        Skip(0, 2, (0, 1)),
        Skip(1, 2, (1,)),
        Skip(1, 3, (1, 2)),
        Skip(2, 3, (2,)),
    )


def test_only_the_named_components_may_be_skipped() -> None:
    parts = components("x", "y", "z")
    automaton = build_automaton(query(seq(0, 1, 2), parts, allow=2, may_miss=(1,)))
    assert automaton.skips == (Skip(1, 2, (1,)),)


def test_missed_parts_of_an_and_make_one_edge_whatever_their_order() -> None:
    parts = components("x", "y")
    automaton = build_automaton(query(all_of(0, 1), parts, allow=2, may_miss=(0, 1)))
    assert [s.components for s in automaton.skips if s.source == 0] == [(0,), (1,), (0, 1)]


def test_an_and_of_twelve_is_built_and_one_of_fourteen_is_refused() -> None:
    names = [f"c{k}" for k in range(14)]
    twelve = automaton_of(all_of(*range(12)), components(*names[:12]))
    assert len(twelve.states) == 2**12
    with pytest.raises(QueryError, match="P001") as refused:
        automaton_of(all_of(*range(14)), components(*names))
    assert "split the query" in str(refused.value)


def test_a_refusal_can_point_into_the_text_it_came_from() -> None:
    from augury.errors import Source, Span
    from augury.planning.refusal import PlanError

    with pytest.raises(PlanError) as refused:
        automaton_of(seq(0, 1), components("a{20000,20000}", "b"))
    source = Source("big.sql", "PATTERN SEQ(A{20000} a, B b)")
    assert refused.value.at(source, Span(8, 28)).diagnostics[0].column == 9
