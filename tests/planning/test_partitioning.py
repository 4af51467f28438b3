"""How streams are cut: by key, by time, or not at all, and never so that an answer changes."""

from __future__ import annotations

import pytest

from augury.planning.distribution.partitioning import shard_columns
from planning.queries import HOUR
from planning.scripts import planned, query


def test_a_key_needs_an_equality_over_every_component() -> None:
    cut = planned(query("SEQ(SHELF x, !COUNTER y, EXIT z)", "WHERE [tag] WITHIN 1 HOUR"))
    assert (cut.partitioning.kind, cut.partitioning.key) == ("key", ("tag",))


def test_without_a_key_a_window_of_time_cuts_into_overlapping_ranges() -> None:
    cut = planned(query("SEQ(SHELF x, EXIT z)")).partitioning
    assert (cut.kind, cut.lookback, cut.lookahead) == ("time", HOUR, 0)


def test_a_trailing_negation_makes_ranges_look_ahead() -> None:
    cut = planned(query("SEQ(SHELF x, !EXIT z)")).partitioning
    assert (cut.kind, cut.lookback, cut.lookahead) == ("time", HOUR, HOUR)


@pytest.mark.parametrize(
    ("pattern", "strategy", "lookahead"),
    [
        ("SEQ(SHELF x, EXIT+ z)", "SKIP TILL NEXT MATCH", HOUR),
        ("SEQ(SHELF x, EXIT+ z)", "STRICT", HOUR),
        ("SEQ(SHELF x, EXIT+ z)", "PARTITION CONTIGUITY", HOUR),
        ("SEQ(SHELF x, EXIT? z)", "STRICT", HOUR),
        ("SEQ(SHELF x, EXIT+ z)", "SKIP TILL ANY MATCH", 0),
        ("SEQ(SHELF+ x, EXIT z)", "STRICT", 0),
    ],
)
def test_a_match_that_takes_all_it_can_makes_ranges_look_ahead(
    pattern: str, strategy: str, lookahead: int
) -> None:
    cut = planned(query(pattern, f"USING {strategy} WITHIN 1 HOUR")).partitioning
    assert (cut.kind, cut.lookback, cut.lookahead) == ("time", HOUR, lookahead)


@pytest.mark.parametrize(
    ("rest", "kind"),
    [
        ("WHERE [tag] USING SKIP TILL NEXT MATCH WITHIN 1 HOUR", "key"),
        ("WHERE [tag] USING PARTITION CONTIGUITY WITHIN 1 HOUR", "key"),
        ("WHERE [door] USING PARTITION CONTIGUITY WITHIN 1 HOUR", "time"),
        ("WHERE [tag] USING STRICT WITHIN 1 HOUR", "time"),
        ("WHERE [tag] WITHIN 5 EVENTS", "single"),
    ],
)
def test_what_counts_events_must_see_them_all(rest: str, kind: str) -> None:
    assert planned(query("SEQ(SHELF x, EXIT z)", rest)).partitioning.kind == kind


def test_neighbours_of_one_key_are_cut_by_that_key_only() -> None:
    by_tag = planned(query("NEXT(SHELF x, EXIT z)", "WHERE [tag] WITHIN 1 HOUR"))
    by_door = planned(query("NEXT(SHELF x, EXIT z)", "WHERE [door] WITHIN 1 HOUR"))
    assert by_tag.partitioning.kind == "key"
    assert by_door.partitioning.kind == "time"
    assert "tag" in dict(by_door.moved.columns)


def test_without_window_and_key_the_stream_stays_whole() -> None:
    cut = planned(query("SEQ(SHELF x, EXIT z)", "")).partitioning
    assert (cut.kind, cut.lookback) == ("single", 0)


def test_only_what_the_search_needs_is_moved() -> None:
    plan = planned(query("SEQ(SHELF x, EXIT z)", "WHERE [tag] AND x.price < z.price WITHIN 1 HOUR"))
    assert dict(plan.moved.columns) == {
        "(mask)": 8,
        "tag": 16,
        "at": 8,
        "seq": 8,
        "id": 8,
        "p": 8,
        "price": 8,
    }
    assert plan.moved.bytes_per_row == 64


def test_what_groups_are_made_of_is_moved() -> None:
    plan = planned(
        query("SEQ(SHELF x, EXIT z)", "WITHIN 1 HOUR GROUP BY x.door RETURN PROBABILITY")
    )
    assert "door" in dict(plan.moved.columns)


SEEN = """
CREATE STREAM moves (person STRING, t LONG, place_from STRING, place_to STRING, p DOUBLE)
KEY person TIME t PROBABILITY p;
CREATE STREAM seen (person STRING, t LONG, place STRING, p DOUBLE)
KEY person TIME t ALTERNATIVES place PROBABILITY p{};
CREATE QUERY q ON seen PATTERN SEQ(_ a, _ b) WHERE [{}] WITHIN 10 {};
"""


@pytest.mark.parametrize(
    ("markov", "column", "returns", "kind"),
    [
        ("", "place", "RETURN PROBABILITY APPROXIMATE (0.01, 0.05)", "time"),
        ("", "place", "RETURN PROBABILITY BY TIME APPROXIMATE (0.01, 0.05)", "time"),
        (" MARKOV moves", "place", "", "time"),
        ("", "place", "", "key"),
        ("", "person", "RETURN PROBABILITY", "key"),
        (" MARKOV moves", "person", "", "key"),
    ],
)
def test_alternatives_that_are_weighed_together_stay_together(
    markov: str, column: str, returns: str, kind: str
) -> None:
    assert planned(SEEN.format(markov, column, returns)).partitioning.kind == kind


def test_rows_that_exclude_each_other_for_want_of_an_id_are_moved_with_their_key() -> None:
    assert "person" in dict(planned(SEEN.format("", "place", "")).moved.columns)


@pytest.mark.parametrize(
    ("key", "returns", "columns"),
    [
        ("KEY who", "COUNT", ("who",)),
        ("KEY who", "TOTAL COUNT", None),
        # Without KEY there is one row, of all values together.
        ("", "COUNT", None),
        ("", "*", ("place", "who")),
        ("", "PROBABILITY", None),
        ("KEY who", "PROBABILITY BY TIME", None),
    ],
)
def test_what_adds_up_over_values_is_not_cut_by_them(
    key: str, returns: str, columns: tuple[str, ...] | None
) -> None:
    plan = planned(
        f"CREATE STREAM s (who STRING, place STRING, ty STRING, t LONG) {key} TIME t TYPE ty;"
        "CREATE QUERY q ON s PATTERN SEQ(A a, B b) WHERE [who] AND [place] WITHIN 9 "
        f"RETURN {returns};"
    )
    assert plan.partitioning.key == ("place", "who")
    assert shard_columns(plan.query, plan.partitioning) == (columns and {"s": columns})
    (shuffle,) = (each.does for each in plan.operators if each.name == "shuffle")
    shown = columns and f"hash ({', '.join(columns)}) into shards"
    assert shuffle == (shown or "bring all events to one place")
