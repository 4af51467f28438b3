"""The corners of the language, one sentence each, on streams small enough to check by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from oracles.model import And, Comp, Event, First, Last, Markov, Next, Not, Or, Query, Seq
from oracles.notation import A, B, C, D, X, Y, attr, lit, plus, shown, stream
from oracles.values import evaluate
from oracles.worlds import matches, network, probability, probability_by_time

ABS = Query(Seq((A, plus("b"), C)), strategy="next")
P = Query(Seq((A, B)), name="P")


def valued(text, values, attribute="v"):
    return [replace(e, attrs={attribute: v}) for e, v in zip(stream(text), values, strict=True)]


# --- selection ---


def test_next_match_leads_into_a_negated_event_and_tries_nothing_later():
    query = Query(Seq((A, Not(C), B)), strategy="next")
    assert shown(matches(query, stream("a1 c2 .5 b3 .5 b4"))) == pytest.approx(
        {"a=a1 b=b3": 0.25, "a=a1 b=b4": 0.25}
    )


def test_next_match_led_out_of_the_window_is_no_match():
    query = Query(Seq((A, B)), strategy="next", within=("time", 3))
    assert shown(matches(query, stream("a1 b4 b5"))) == {"a=a1 b=b4": 1.0}
    assert shown(matches(query, stream("a1 b5 b6"))) == {}


def test_a_trailing_repetition_ends_with_the_window():
    query = Query(Seq((A, plus("b"))), strategy="next", within=("time", 3))
    assert shown(matches(query, stream("a1 b2 b4 b5"))) == {"a=a1 b=b2,b4": 1.0}


def test_a_successor_that_leaves_an_aggregate_wrong_does_not_fit():
    query = replace(ABS, where=((">=", ("count", "b"), lit(2)),))
    assert shown(matches(query, stream("a1 b2 c3 b4 c5"))) == {"a=a1 b=b2,b4 c=c5": 1.0}


def test_a_conjunct_on_elements_decides_which_elements_are_taken():
    rising = (">", attr("b", "v", "i"), attr("b", "v", "i-1"))
    events = valued("a1 b2 b3 b4 c5", [0, 5, 3, 7, 0])
    assert shown(matches(replace(ABS, where=(rising,)), events)) == {"a=a1 b=b2,b4 c=c5": 1.0}


def test_strict_skips_nothing():
    query = Query(Seq((A, B)), strategy="strict")
    assert shown(matches(query, stream("a1 x2 .4 b3"))) == {"a=a1 b=b3": pytest.approx(0.6)}
    assert shown(matches(query, stream("a1 x1' x3' b3"))) == {"a=a1 b=b3": 1.0}


def test_a_contiguous_run_ends_at_the_neighbour_that_does_not_fit():
    query = Query(plus("b"), strategy="strict", within=("time", 100))
    assert shown(matches(query, stream("b1 b2 x3 b4"))) == {
        "b=b1,b2": 1.0,
        "b=b2": 1.0,
        "b=b4": 1.0,
    }
    tight = replace(query, within=("time", 1))
    assert shown(matches(tight, stream("b1 b2 b3"))) == {
        "b=b1,b2": 1.0,
        "b=b2,b3": 1.0,
        "b=b3": 1.0,
    }


def test_a_contiguous_run_ends_in_the_worlds_where_such_a_neighbour_exists():
    query = Query(plus("b"), strategy="strict")
    assert shown(matches(query, stream("b1 x2 .4 b3"))) == pytest.approx(
        {"b=b1": 0.4, "b=b1,b3": 0.6, "b=b3": 1.0}
    )


def test_a_contiguous_run_that_ends_before_its_minimum_is_no_match():
    query = Query(plus("b", 2), strategy="strict")
    assert shown(matches(query, stream("b1 x2 b3 b4 b5"))) == {"b=b3,b4,b5": 1.0, "b=b4,b5": 1.0}


def test_items_of_a_repetition_in_next_are_neighbours():
    query = Query(Next((plus("b", 2, 2),)))
    assert shown(matches(query, stream("b1 b2 b3"))) == {"b=b1,b2": 1.0, "b=b2,b3": 1.0}


def test_partition_contiguity_skips_other_keys():
    events = [replace(e, key=(k,)) for e, k in zip(stream("a1 x2 b3 x4 b5"), "12122", strict=True)]
    query = Query(Seq((A, B)), strategy="partition")
    assert shown(matches(query, events)) == {"a=a1 b=b3": 1.0}
    adjacent = Query(Next((A, B)))
    assert shown(matches(adjacent, events)) == {"a=a1 b=b3": 1.0}


def test_parts_of_an_and_interleave_and_may_have_equal_order():
    query = Query(And((Seq((A, B)), Seq((C, D)))), strategy="next")
    assert shown(matches(query, stream("a1 c2 b3 d4"))) == {"a=a1 b=b3 c=c2 d=d4": 1.0}
    together = Query(And((A, B)), strategy="next")
    assert shown(matches(together, stream("a1 b1"))) == {"a=a1 b=b1": 1.0}


def test_one_event_plays_one_component():
    query = Query(And((Comp("x", "A"), Comp("y", "A"))))
    assert shown(matches(query, stream("a1 a2"))) == {"x=a1 y=a2": 1.0, "x=a2 y=a1": 1.0}


def test_an_event_that_is_no_neighbour_is_not_taken():
    query = Query(Seq((Next((A, plus("b"))), C)), strategy="next")
    assert shown(matches(query, stream("a1 b2 x3 b4 c5"))) == {"a=a1 b=b2 c=c5": 1.0}


def test_a_repetition_in_an_and_has_no_component_after_it():
    query = Query(And((plus("b"), Comp("c", "B"))), strategy="next")
    assert shown(matches(query, stream("b1 b2 b3"))) == {"b=b2,b3 c=b1": 1.0, "b=b3 c=b2": 1.0}


def test_several_repetitions_in_a_row_all_give_way():
    query = Query(Seq((A, plus("b", 0), Comp("c", "B", 0, None), Comp("d", "B"))), strategy="next")
    assert shown(matches(query, stream("a1 b2 b3"))) == {"a=a1 d=b2": 1.0}


def test_every_start_has_its_own_run():
    query = Query(Seq((plus("b", 0), C)), strategy="next")
    assert shown(matches(query, stream("b1 b2 c3"))) == {
        "b=b1,b2 c=c3": 1.0,
        "b=b2 c=c3": 1.0,
        "c=c3": 1.0,
    }


def test_a_repetition_is_in_sequence():
    assert shown(matches(Query(plus("b")), stream("b1 b1' b2"))) == {
        "b=b1": 1.0,
        "b=b1'": 1.0,
        "b=b2": 1.0,
        "b=b1,b2": 1.0,
        "b=b1',b2": 1.0,
    }


# --- negation ---


def test_a_leading_negation_looks_back_from_the_last_event():
    query = Query(Seq((Not(C), A, B)), within=("time", 5))
    assert shown(matches(query, stream("c1 .5 c2 .25 a4 b7"))) == {"a=a4 b=b7": 0.75}


def test_a_trailing_negation_looks_ahead_from_the_first_event():
    query = Query(Seq((A, B, Not(C))), within=("time", 5))
    assert shown(matches(query, stream("a1 b2 c6 .25 c7 .5"))) == {"a=a1 b=b2": 0.75}


def test_a_negated_composite_lies_wholly_inside_the_gap():
    query = Query(Seq((X, Not(Seq((A, B))), Y)))
    assert shown(matches(query, stream("a1 x2 b3 a4 y5 b6"))) == {"x=x2 y=y5": 1.0}


def test_a_negation_beside_an_absent_component_is_a_leading_one():
    query = Query(Seq((plus("b", 0, 1), Not(C), A)), within=("time", 2))
    assert shown(matches(query, stream("b1 c2 a3"))) == {}
    assert shown(matches(query, stream("c1 b2 a3"))) == {"a=a3 b=b2": 1.0}


def test_a_negation_in_another_branch_is_not_applied():
    query = Query(Seq((Or((Seq((A, Not(C), D)), B)), Y)))
    assert shown(matches(query, stream("a1 c2 d3 y4"))) == {}
    assert shown(matches(query, stream("b1 c2 y4"))) == {"b=b1 y=y4": 1.0}


def test_a_negated_composite_may_hold_a_negation():
    query = Query(Seq((X, Not(Seq((A, Not(C), B))), Y)))
    assert shown(matches(query, stream("x1 a2 c3 .5 b4 y5"))) == {"x=x1 y=y5": 0.5}


def test_negations_in_a_row_are_independent():
    query = Query(Seq((X, Not(A), Not(B), Y)))
    assert shown(matches(query, stream("x1 b2 .5 a3 .5 y4"))) == {"x=x1 y=y4": 0.25}


def test_an_event_of_equal_order_does_not_lie_in_the_gap():
    query = Query(Seq((X, Not(A), Y)))
    assert shown(matches(query, stream("x1 a1 a2 y2"))) == {"x=x1 y=y2": 1.0}
    assert shown(matches(query, stream("x1 a1 a2 y3"))) == {}


def test_a_predicate_says_which_negated_events_count():
    above = (">", attr("c"), attr("y"))
    events = valued("x1 c2 .5 c3 .5 y4", [0, 1, None, 1])
    assert shown(matches(Query(Seq((X, Not(C), Y)), where=(above,)), events)) == {"x=x1 y=y4": 1.0}


def test_a_window_of_events_limits_a_leading_negation():
    query = Query(Seq((Not(C), A, B)), within=("events", 3))
    assert shown(matches(query, stream("c1 x2 .5 a3 b4"))) == {"a=a3 b=b4": 0.5}


def test_first_counts_events_with_the_same_own_predicates():
    big = (">", attr("a"), lit(5))
    events = valued("a1 a2 .5 a3 b4", [1, 9, 9, 0])
    found = shown(matches(Query(Seq((First(A), B)), where=(big,)), events))
    assert found == {"a=a2 b=b4": 0.5, "a=a3 b=b4": 0.5}


# --- conjuncts ---


def tagged(text, tags):
    return valued(text, tags, "tag")


def test_an_equated_attribute_binds_negated_components_and_repetitions():
    query = Query(Seq((A, plus("b"), Not(C), D)), equate=("tag",), strategy="next")
    assert shown(matches(query, tagged("a1 b2 b3 c4 d5", [1, 2, 1, 2, 1]))) == {
        "a=a1 b=b3 d=d5": 1.0
    }
    assert shown(matches(query, tagged("a1 b2 d5", [None, None, None]))) == {}


def test_equalities_are_closed_through_a_negated_component():
    same = (("=", attr("x", "tag"), attr("c", "tag")), ("=", attr("c", "tag"), attr("y", "tag")))
    query = Query(Seq((X, Not(C), Y)), where=same)
    assert shown(matches(query, tagged("x1 y2 y3", [1, 2, 1]))) == {"x=x1 y=y3": 1.0}


def test_a_conjunct_on_an_absent_component_is_not_applied():
    query = Query(Seq((A, plus("b", 0, 1), C)), where=((">", attr("b"), lit(5)),))
    assert shown(matches(query, stream("a1 b2 c3"))) == {"a=a1 c=c3": 1.0}
    none = replace(query, where=(("=", ("count", "b"), lit(1)),))
    assert shown(matches(none, stream("a1 b2 c3"))) == {"a=a1 b=b2 c=c3": 1.0}


def test_a_default_stands_in_for_an_absent_component():
    given = ("=", ("default", attr("b"), lit(7)), attr("c"))
    query = Query(Seq((A, plus("b", 0, 1), C)), where=(given,))
    assert shown(matches(query, stream("a1 b2 c3", v=7))) == {
        "a=a1 c=c3": 1.0,
        "a=a1 b=b2 c=c3": 1.0,
    }
    assert shown(matches(query, stream("a1 b2 c3", v=8))) == {"a=a1 b=b2 c=c3": 1.0}


def test_a_predicate_over_two_negated_components_is_refused():
    query = Query(Seq((A, Not(C), Not(D), B)), where=(("=", attr("c"), attr("d")),))
    with pytest.raises(ValueError, match="two negated components"):
        matches(query, stream("a1 b2"))


@pytest.mark.parametrize(
    ("expr", "value"),
    [
        (("and", lit(None), lit(False)), False),
        (("and", lit(None), lit(True)), None),
        (("or", lit(None), lit(True)), True),
        (("not", lit(None)), None),
        (("in", lit(1), [2, None]), None),
        (("in", lit(2), [2, None]), True),
        (("in table", (lit(1), lit(None)), {(2, 3)}), False),
        (("in table", (lit(1), lit(None)), {(1, 3)}), None),
        (("in table", (lit(None),), set()), False),
        (("/", lit(1), lit(2)), 0.5),
        (("/", lit(1), lit(0)), None),
        (("%", lit(-7), lit(0)), None),
        (("%", lit(-7), lit(-3)), -1),
        (("%", lit(7.5), lit(-2)), 1.5),
        (("=", ("is null", lit(None)), lit(True)), True),
    ],
)
def test_logic_has_three_values(expr, value):
    assert evaluate(expr, {}, {}) == value


# --- order, windows, hierarchy, probability ---


def test_tie_breakers_compare_within_one_stream_only():
    events = [
        Event("a", 1, "A", tie=1),
        Event("b", 1, "B", tie=2),
        Event("c", 1, "B", tie=3, stream="t"),
    ]
    assert shown(matches(Query(Seq((A, B)), streams=("s", "t")), events)) == {"a=a b=b": 1.0}


def test_a_derived_stream_holds_what_passes_its_own_threshold():
    events = stream("x1 a2 .5 b3 .5 b4 .8 y5")
    likely = replace(P, threshold=(0.3, False))
    last = Query(Seq((X, Comp("p", "P"), Y)), name="last", streams=("s", "P"))
    found = network([last, likely], events)
    assert shown(found["P"]) == {"a=a2 b=b4": pytest.approx(0.4)}
    assert list(found["last"].values()) == [pytest.approx(0.4)]


def test_events_of_two_derived_streams_keep_their_own_worlds():
    skipped = Query(Seq((X, Comp("p", "P"))), name="q", streams=("s", "P"), strategy="strict")
    found = network([P, skipped], stream("x1 a2 .5 b3 .5"))
    assert found["q"] == {}


def test_a_derived_event_has_its_return_columns_and_its_span():
    inner = replace(P, returns={"w": attr("b")})
    span = ("=", ("-", attr("p", "end_ts"), attr("p", "start_ts")), lit(2))
    query = Query(Comp("p", "P"), streams=("P",), where=(span, ("=", attr("p", "w"), lit(4))))
    assert len(matches(query, stream("a1 b2 b3", v=4), upstream=[inner])) == 1


def test_without_a_group_the_probability_is_for_anyone():
    events = [
        Event(f"{kind}{who}", t, kind, 0.5, {"who": who}, key=(who,))
        for who in ("joe", "sue")
        for t, kind in enumerate("AB")
    ]
    query = Query(Seq((A, B)), equate=("who",), strategy="next", probability="by time")
    each = replace(query, group_by=("who",))
    assert probability_by_time(query, events)[(), 1] == pytest.approx(1 - 0.75**2)
    assert probability_by_time(each, events)[("joe",), 1] == pytest.approx(0.25)


def test_windows_slide_and_each_is_the_whole_input():
    query = Query(Seq((A, B)), probability="ever", within=("time", 4), every=2)
    assert probability(query, stream("a1 .5 b3 b4")) == {
        ((), -2): 0.0,
        ((), 0): 0.5,
        ((), 2): 0.0,
        ((), 4): 0.0,
    }


def test_a_repetition_in_a_probability_query_holds_for_some_number():
    query = Query(Seq((A, plus("b"))), strategy="next", probability="by time")
    assert probability_by_time(query, stream("a1 b2 b3")) == {
        ((), 1): 0.0,
        ((), 2): 1.0,
        ((), 3): 1.0,
    }


def test_a_chain_may_be_nowhere_in_between():
    rows = [("home", 1, 0.5), ("home", 2, 0.0), ("away", 2, 0.0), ("away", 3, 0.0)]
    events = [Event(f"{v}{t}", t, "R", p, {"v": v}, group=t) for v, t, p in rows]
    table = {
        ((), 1, ("home",), ("home",)): 0.6,
        ((), 1, None, ("away",)): 0.2,
        ((), 2, ("home",), ("away",)): 0.5,
        ((), 2, None, ("away",)): 1.0,
    }
    query = Query(Comp("x"), probability="by time")
    found = probability_by_time(query, events, markov=[Markov("s", ("v",), table)])
    assert found[(), 1] == pytest.approx(0.5)
    assert found[(), 2] == pytest.approx(0.5 * 0.6 + 0.5 * 0.2)
    assert found[(), 3] == pytest.approx(0.5 * 0.6 * 0.5 + 0.5 * 0.4 + 0.5 * 0.8)


@pytest.mark.parametrize("index", [(), ("i",)], ids=["bare", "every item"])
def test_the_last_one_is_the_last_of_its_own_value_also_where_its_partner_is_absent(index):
    """An equality that the closure makes hold counts among LAST's own conditions."""
    same = ("=", ("attr", "b", "tag"), ("attr", "a", "tag", *index))
    query = Query(
        Seq((Comp("a", "A", 0, 2), Last(B))), strategy="any", where=(same,), within=("time", 9)
    )
    events = valued("b1 b2 b3", ("red", "blue", "red"), "tag")
    assert shown(matches(query, events)) == {"b=b2": 1.0, "b=b3": 1.0}
