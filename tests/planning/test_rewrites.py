"""Each rewrite moves what it says, and leaves the rest where it was."""

from __future__ import annotations

import pytest

from augury.planning.logical import scans_of
from augury.planning.physical import PhysicalPlan
from augury.planning.rewrites import REWRITES
from planning.scripts import planned, query


def searched(plan: PhysicalPlan) -> list[str]:
    return [p.text for p in plan.search.predicates]


def test_rewrites_run_in_the_order_written_down() -> None:
    assert [step.__name__ for step in REWRITES] == [
        "push_down_single_component_predicates",
        "find_equality_key",
        "order_predicates",
        "drop_edges_below_threshold",
        "keep_needed_columns",
    ]


def test_a_predicate_on_one_event_leaves_the_search_for_spark() -> None:
    plan = planned(query("SEQ(SHELF x, EXIT z)", "WHERE z.door <> 'staff' WITHIN 1 HOUR"))
    assert searched(plan) == []
    assert [play.sql for play in plan.plays] == [
        "(`reader` = 'SHELF')",
        "((`reader` = 'EXIT') AND (NOT (`door` = 'staff')))",
    ]


def test_a_predicate_that_needs_a_table_is_tested_on_arrival() -> None:
    plan = planned(query("SEQ(SHELF x, EXIT z)", "WHERE z.door IN doors WITHIN 1 HOUR"))
    assert [p.text for play in plan.plays for p in play.on_arrival] == ["z.door IN doors"]
    assert plan.plays[1].sql == "(`reader` = 'EXIT')"


@pytest.mark.parametrize(
    "where",
    ["b[i].price > b[i-1].price", "COUNT(b) > 2", "b[1].price > 3", "SUM(b.price) > 10"],
)
def test_what_reads_several_events_of_a_repetition_stays_in_the_search(where: str) -> None:
    plan = planned(query("SEQ(SHELF x, EXIT+ b)", f"WHERE {where} WITHIN 1 HOUR"))
    assert searched(plan) == [where]


def test_every_item_of_a_repetition_can_be_tested_alone() -> None:
    plan = planned(query("SEQ(SHELF x, EXIT+ b)", "WHERE b.price > 3 WITHIN 1 HOUR"))
    assert searched(plan) == []


def test_a_default_is_moot_for_a_read_event() -> None:
    rest = "WHERE z.door['out'] = 'out' WITHIN 1 HOUR"
    plan = planned(query("SEQ(SHELF x, EXIT z)", rest))
    assert plan.plays[1].sql == "((`reader` = 'EXIT') AND (`door` = 'out'))"
    assert searched(plan) == []


@pytest.mark.parametrize(
    ("pattern", "rest"),
    [
        ("SEQ(SHELF x, EXIT? z)", "WITHIN 1 HOUR"),
        ("SEQ(SHELF x, OR(EXIT z, COUNTER y))", "WITHIN 1 HOUR"),
        ("SEQ(SHELF x, EXIT z)", "WITHIN 1 HOUR ALLOW 1 MISSED OF (z)"),
    ],
)
def test_a_default_still_decides_where_the_component_may_be_absent(pattern: str, rest: str) -> None:
    plan = planned(query(pattern, f"WHERE z.door['in'] = 'out' {rest}"))
    assert "(`door` = 'out')" in plan.plays[1].sql
    assert searched(plan) == ["z.door['in'] = 'out'"]


def test_after_where_stays_in_the_search() -> None:
    plan = planned(
        query(
            "SEQ(SHELF x, EXIT z)",
            "AFTER WHERE z.door = 'b' USING SKIP TILL NEXT MATCH WITHIN 1 HOUR",
        )
    )
    assert searched(plan) == ["z.door = 'b'"]


def test_an_equated_attribute_becomes_the_key_and_leaves_the_search() -> None:
    plan = planned(query("SEQ(SHELF x, !COUNTER y, EXIT z)", "WHERE [tag] WITHIN 1 HOUR"))
    assert plan.partitioning.key == ("tag",)
    assert searched(plan) == []


def test_two_equated_attributes_make_a_composite_key() -> None:
    plan = planned(query("SEQ(SHELF x, EXIT z)", "WHERE [tag, door] WITHIN 1 HOUR"))
    assert sorted(plan.partitioning.key) == ["door", "tag"]


def test_an_equality_that_leaves_a_component_out_is_no_key() -> None:
    plan = planned(query("SEQ(SHELF x, COUNTER y, EXIT z)", "WHERE x.tag = z.tag WITHIN 1 HOUR"))
    assert plan.partitioning.kind == "time"
    assert searched(plan) == ["x.tag = z.tag"]


def test_an_equality_of_different_columns_of_one_stream_is_no_key() -> None:
    plan = planned(query("SEQ(SHELF x, EXIT z)", "WHERE x.tag = z.door WITHIN 1 HOUR"))
    assert plan.partitioning.kind == "time"
    assert searched(plan) == ["x.tag = z.door"]


def test_predicates_are_tested_as_soon_as_bound_and_cheap_ones_first() -> None:
    plan = planned(
        query(
            "SEQ(SHELF x, COUNTER y, EXIT z)",
            "WHERE x.price + y.price * 2 < z.price AND x.price <> z.price "
            "AND x.price < y.price AND y.door = z.door WITHIN 1 HOUR",
        )
    )
    assert searched(plan) == [
        "x.price < y.price",
        "y.door = z.door",
        "x.price + y.price * 2 < z.price",
        "x.price <> z.price",
    ]


GAPS = "CREATE GAPS g ON q (x TO z EXPONENTIAL(1 HOUR));"


def lossy(rest: str, gaps: str = GAPS) -> PhysicalPlan:
    return planned(query("SEQ(SHELF x, EXIT z)", rest) + gaps)


def test_an_edge_that_cannot_reach_the_threshold_is_removed() -> None:
    rest = "WITHIN 1 HOUR ALLOW 1 MISSED OF (z) MISS RATE (z 0.1) HAVING CONFIDENCE >= {}"
    (kept,) = lossy(rest.format(0.1)).automaton.skips
    (gone,) = lossy(rest.format(0.2)).automaton.skips
    assert kept.best == pytest.approx(0.146633, abs=5e-7)
    assert not kept.removed
    assert gone.removed


def test_a_component_without_a_gap_cannot_be_missed() -> None:
    (skip,) = lossy("WITHIN 1 HOUR ALLOW 1 MISSED OF (x)").automaton.skips
    assert skip.best == 0.0
    assert skip.removed


def test_a_run_of_misses_has_the_best_score_of_both_together() -> None:
    plan = planned(
        query(
            "SEQ(SHELF x, COUNTER y, EXIT z)", "WITHIN 1 HOUR ALLOW ALL MISSED OF (y, z) "
        ).replace("ALL MISSED", "2 MISSED")
        + "CREATE GAPS g ON q (x TO y EXPONENTIAL(1 HOUR), y TO z EXPONENTIAL(1 HOUR));"
    )
    best = {s.components: s.best for s in plan.automaton.skips}
    assert best[1,] == pytest.approx(0.204925, abs=5e-7)
    assert best[1, 2] == pytest.approx(0.004663, abs=5e-7)


def test_only_needed_columns_are_read() -> None:
    plan = planned(
        query("SEQ(SHELF x, EXIT z)", "WHERE [tag] WITHIN 1 HOUR RETURN x.price AS cost")
    )
    assert scans_of(plan.logical)[0].columns == (
        "id",
        "tag",
        "reader",
        "price",
        "at",
        "seq",
        "p",
    )


def test_events_that_no_component_can_use_are_dropped_before_they_move() -> None:
    plan = planned(query("SEQ(SHELF x, EXIT z)"))
    assert plan.drops_others
    assert [play.sql for play in plan.plays] == ["(`reader` = 'SHELF')", "(`reader` = 'EXIT')"]


@pytest.mark.parametrize(
    "text",
    [
        query("SEQ(SHELF x, EXIT z)", "USING STRICT WITHIN 1 HOUR"),
        query("SEQ(SHELF x, EXIT z)", "WHERE [tag] USING PARTITION CONTIGUITY WITHIN 1 HOUR"),
        query("SEQ(SHELF x, EXIT z)", "WITHIN 5 EVENTS"),
        query("NEXT(SHELF x, EXIT z)"),
        query("SEQ(SHELF x, EXIT z)", "RETURN PROBABILITY BY TIME"),
    ],
)
def test_nothing_is_dropped_where_every_event_counts(text: str) -> None:
    assert not planned(text).drops_others


def test_a_component_that_anything_can_play_keeps_every_row() -> None:
    plan = planned(query("SEQ(SHELF x, _ z)"))
    assert [play.sql for play in plan.plays] == ["(`reader` = 'SHELF')", "true"]


def test_a_cast_that_depends_on_the_session_is_not_left_to_spark() -> None:
    rest = "WHERE CAST(z.price AS STRING) = '1.0' WITHIN 1 HOUR"
    plan = planned(query("SEQ(SHELF x, EXIT z)", rest))
    assert [p.text for p in plan.plays[1].on_arrival] == ["CAST(z.price AS STRING) = '1.0'"]


def test_two_misses_score_at_most_the_square_of_the_rate_by_the_paper_and_are_removed() -> None:
    rest = "WITHIN 100 HOURS ALLOW 2 MISSED OF (y, z) MISS RATE (y 0.1, z 0.1)"
    gaps = "CREATE GAPS g ON q (x TO y EXPONENTIAL(1 HOUR), y TO z EXPONENTIAL(1 HOUR));"
    text = query("SEQ(SHELF x, COUNTER y, EXIT z)", f"{rest} HAVING CONFIDENCE >= 0.02 {{}}")
    ayac = planned(text.format("SCORING AYAC") + gaps).automaton.skips
    assert {s.components: (round(s.best or 0.0, 4), s.removed) for s in ayac} == {
        (1,): (0.1, False),
        (1, 2): (0.005, True),
        (2,): (0.1, False),
    }
    law = planned(text.format("") + gaps).automaton.skips
    assert not any(s.removed for s in law)
    assert all((s.best or 0.0) > 0.99 for s in law)
