"""Ranges hold equal shares of the rows, fragments end where streams do, and prices add up."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from augury.analysis.script import Checked, check_text
from augury.planning.distribution.layout import MOVEMENTS, Layout, Moving, Sketch, fragment_cuts
from augury.planning.distribution.movement import (
    Price,
    Size,
    cheaper,
    equation_4_2,
    joint,
    price,
    price_query,
)
from augury.planning.distribution.partitioning import Partitioning
from augury.planning.distribution.reachable import least_chance
from augury.planning.explain import explain

STREAM = "(id LONG, kind STRING, t LONG, p DOUBLE) ID id TIME t TYPE kind PROBABILITY p;"
BY_TIME = Partitioning("time", "", lookback=10)


def sketch(start: int, end: int, rate: float = 1.0) -> Sketch:
    """Return a stream with a row at every tick, some of which enter queues."""
    times = np.arange(start, end)
    so_far = (np.arange(len(times) + 1) * rate).astype(int)
    return Sketch.of(times, np.diff(so_far) > 0)


def checked(options: str = "", having: str = "", using: str = "") -> Checked:
    return check_text(
        f"CREATE STREAM a {STREAM} CREATE STREAM b {STREAM}"
        f"CREATE QUERY q ON a, b PATTERN SEQ(A x, !N n, B y) {using} WITHIN 10 {having} {options};"
    )


FOUR = {
    "s1": sketch(0, 520),
    "s2": sketch(100, 660),
    "s3": sketch(240, 840),
    "s4": sketch(400, 1000),
}


def test_eight_end_points_make_seven_fragments() -> None:
    assert fragment_cuts(FOUR) == [100, 240, 400, 520, 660, 840]
    assert len(Moving("events", 10, 0, 1).layout(FOUR).places) == 7


def test_a_fragment_belongs_to_the_stream_with_the_most_rows() -> None:
    dense = Sketch.of(np.repeat(np.arange(10), 3), np.ones(30, np.bool_))
    skewed = {"short": dense, "long": sketch(0, 100)}
    assert Moving("events", 0, 0, 1).layout(skewed) == Layout((10,), ("short", "long"))


def test_ranges_hold_equal_shares_however_rows_are_spread() -> None:
    times = np.concatenate([np.arange(0, 900), np.arange(10_000, 10_100)])
    uneven = {"s": Sketch.of(times, np.ones(1000, np.bool_))}
    layout = Moving("results", 1, 0, 4).layout(uneven)
    assert np.bincount(layout.numbers(times)).tolist() == pytest.approx([250] * 4, abs=20)


def test_ranges_are_longer_than_what_they_share() -> None:
    layout = Moving("results", 100, 0, 50, least=400).layout({"s": sketch(0, 1000)})
    assert layout.cuts == pytest.approx((500,), abs=10)


@example(times=[0, -10, -10, -11, -11, -11, -11, -16], parts=6, movement="events")
@given(
    times=st.lists(st.integers(-50, 50), max_size=40),
    parts=st.integers(1, 9),
    movement=st.sampled_from(MOVEMENTS),
)
def test_every_layout_has_a_place_for_every_range(
    times: list[int], parts: int, movement: str
) -> None:
    rows = np.array(sorted(times), np.int64)
    sketches = {"a": Sketch.of(rows, rows % 2 == 0), "b": Sketch.of(rows[:5], rows[:5] % 3 == 0)}
    layout = Moving(movement, 3, 1, parts).layout(sketches)
    assert list(layout.cuts) == sorted(set(layout.cuts))
    assert len(layout.places) == len(layout.cuts) + 1


def test_temporal_results_cost_equation_4_2_where_places_are_equal() -> None:
    equal = {f"s{k}": sketch(0, 1000, 0.1) for k in range(4)}
    moving = Moving("results", 0, 0, 1)
    cost = price(moving, moving.layout(equal), equal, {name: Size(8) for name in equal})
    assert equation_4_2(equal) == pytest.approx(300)
    assert cost.rows == pytest.approx(300)
    assert cost.bytes == pytest.approx(2400)


def test_events_cost_the_minority_and_the_queues_of_neighbours() -> None:
    apart = {"a": sketch(0, 1000, 0.5), "b": sketch(1000, 2000, 0.5)}
    moving = Moving("events", 100, 0, 1)
    cost = price(moving, moving.layout(apart), apart, {name: Size(1) for name in apart})
    # No row is in the minority, but half of the last hundred rows are in queues that go over.
    assert cost.rows == pytest.approx(50, abs=2)


@pytest.mark.parametrize(("queries", "chosen"), [(1, "results"), (4, "events")])
def test_several_queries_over_one_window_share_moved_events(queries: int, chosen: str) -> None:
    one = {"a": sketch(0, 1000, 0.4), "b": sketch(0, 1000, 0.4)}
    sizes = {name: Size(8) for name in one}
    events, results = (Moving(movement, 1, 0, 1) for movement in MOVEMENTS)
    together = joint([one] * queries)
    shared = price(events, events.layout(together), together, sizes)
    alone = price(results, results.layout(one), one, sizes)
    assert cheaper(shared, Price(queries * alone.rows, queries * alone.bytes)) == chosen


def test_options_override_the_cheaper_plan() -> None:
    sketches = {"a": sketch(0, 1000, 0.1), "b": sketch(0, 1000, 0.1)}
    sizes = {name: Size(8) for name in sketches}
    for options, chosen in (("", "results"), ("OPTIONS (movement = 'events')", "events")):
        (query,) = checked(options).queries
        priced = price_query(query, BY_TIME, sketches, sizes, 4)
        assert priced.chosen == chosen
        text = explain(query, "text", None, priced)
        assert f"chosen: moving {'events' if options else 'temporal results'}" in text
        assert json.loads(explain(query, "json", None, priced))["movement"]["chosen"] == chosen


def test_without_a_count_explain_says_that_nothing_is_priced() -> None:
    (query,) = checked().queries
    assert "not priced: Session.analyze counts the rows" in " ".join(explain(query).split())


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ("movement = 'both'", "write one of 'events' and 'results'"),
        ("partitions = 0", "write a whole number from 1 to 10000"),
        ("partitions = 1000000000", "write a whole number from 1 to 10000"),
        ("partitions = 'many'", "write a whole number from 1 to 10000"),
    ],
)
def test_options_with_other_values_are_refused(options: str, hint: str) -> None:
    found = checked(f"OPTIONS ({options})").diagnostics
    assert [(each.code, each.hint) for each in found if each.severity == "error"] == [
        ("A079", hint)
    ]


@pytest.mark.parametrize(
    ("using", "having", "least"),
    [
        ("", "HAVING CONFIDENCE >= 0.5", [0.5, None, 0.5]),
        ("", "", [None, None, None]),
        ("USING SKIP TILL NEXT MATCH", "HAVING CONFIDENCE >= 0.5", [None, None, None]),
    ],
)
def test_an_event_below_the_threshold_enters_no_queue_unless_its_absence_counts(
    using: str, having: str, least: list[float | None]
) -> None:
    (query,) = checked("", having, using).queries
    found = [least_chance(query, component) for component in range(3)]
    assert found == [None if each is None else pytest.approx(each, abs=1e-5) for each in least]
