"""Windows, selection, missed events, results and correlation: what a right query becomes."""

from __future__ import annotations

import pytest

from analysis.checking import PLACES, codes, query

PAIR = "CREATE QUERY q ON reads PATTERN SEQ(A x, B z) WHERE [tag] "
TICKS = "CREATE QUERY q ON At PATTERN SEQ(At a, At b) WHERE [person] "


# Windows --------------------------------------------------------------------------------------


MISSED = """
CREATE STREAM s (id LONG, kind STRING, t LONG, n LONG, p DOUBLE)
ID id TIME t TYPE kind PROBABILITY p MISS RATE 0.1;
"""


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("z.t - x.t < 10", []),
        ("10 >= z.t - x.t", []),
        ("z.t < x.t + 10", []),
        ("z.t = x.t + 2 * 5", []),
        ("z.t - x.t BETWEEN 2 AND 10", []),
        ("z.t BETWEEN x.t AND x.t + 10", []),
        ("x.t * z.t < 10", ["A062"]),
        ("x.t + z.t < 10", ["A062"]),
        ("x.t <> z.t", ["A062"]),
        ("z.t - x.t <> 3", ["A062"]),
        ("z.t - x.t NOT BETWEEN 2 AND 10", ["A062"]),
        ("z.t - x.t < x.n", ["A062"]),
        ("x.t < 10", ["A062"]),
    ],
)
def test_only_bounds_on_a_difference_survive_a_missed_time(
    condition: str, found: list[str]
) -> None:
    text = f"CREATE QUERY q ON s PATTERN SEQ(A x, B z) WHERE {condition} WITHIN 99 ALLOW 1 MISSED;"
    assert codes(text, MISSED) == found


@pytest.mark.parametrize(
    "pattern",
    [
        "SEQ(X x, AND(SEQ(!N n, A a), B b), Y y)",
        "SEQ(X x, OR(SEQ(!N n, A a), B b), Y y)",
        "SEQ(X x, OR(SEQ(A a, !N n), B b), Y y)",
        "SEQ(X x, !N n, Y y)",
    ],
)
def test_a_negation_that_others_enclose_needs_no_window(pattern: str) -> None:
    assert codes(f"CREATE QUERY q ON reads PATTERN {pattern};") == ["W001"]


@pytest.mark.parametrize(
    "pattern",
    [
        "SEQ(!N n, A a)",
        "SEQ(A a, !N n)",
        "AND(SEQ(!N n, A a), B b)",
        "SEQ(OR(SEQ(!N n, A a), B b), Y y)",
        "SEQ(X x, AND(SEQ(A a, !N n), B b))",
        "SEQ(X? x, !N n, Y y)",
    ],
)
def test_a_negation_that_can_be_at_an_end_needs_a_window(pattern: str) -> None:
    assert "A021" in codes(f"CREATE QUERY q ON reads PATTERN {pattern};")
    assert codes(f"CREATE QUERY q ON reads PATTERN {pattern} WITHIN 1 HOUR;") == []


def test_windows_are_in_microseconds_ticks_or_events() -> None:
    assert query(PAIR + "WITHIN 12 HOURS;").within.length == 43_200_000_000  # type: ignore[union-attr]
    assert query(TICKS + "WITHIN 10;", PLACES).within.length == 10  # type: ignore[union-attr]
    window = query(PAIR + "WITHIN 100 EVENTS;").within
    assert window is not None
    assert (window.length, window.events) == (100, True)


def test_every_defaults_to_the_window() -> None:
    every = query(PAIR + "WITHIN 12 HOURS RETURN PROBABILITY;").every
    assert every is not None
    assert every.length == 43_200_000_000
    assert query(PAIR + "WITHIN 12 HOURS;").every is None
    assert query(PAIR + "WITHIN 12 HOURS RETURN PROBABILITY BY TIME;").every is None


@pytest.mark.parametrize(
    "pattern",
    [
        "SEQ(A+ a, B b)",
        "SEQ(A a, B* b)",
        "AND(A+ a, B b)",
        "SEQ(A a, !B b)",
        "SEQ(!A a, B b)",
        "AND(A a, SEQ(B b, !C c))",
    ],
)
def test_a_repetition_or_negation_at_an_end_needs_a_window(pattern: str) -> None:
    text = f"CREATE QUERY q ON reads PATTERN {pattern}"
    assert codes(text + ";") == ["A021"]
    assert codes(text + " WITHIN 1 HOUR;") == []


@pytest.mark.parametrize("pattern", ["SEQ(A a, B+ b, C c)", "SEQ(A a, !B b, C c)", "SEQ(A a, B b)"])
def test_without_a_window_a_query_is_warned_that_it_cannot_stream(pattern: str) -> None:
    assert codes(f"CREATE QUERY q ON reads PATTERN {pattern};") == ["W001"]


def test_a_probability_by_time_needs_no_window() -> None:
    text = (
        "CREATE QUERY q ON At PATTERN SEQ(At a, At+ b) WHERE [person] USING SKIP "
        "TILL NEXT MATCH RETURN PROBABILITY BY TIME;"
    )
    assert codes(text, PLACES) == []


# Missed events --------------------------------------------------------------------------------

CHAIN = "CREATE QUERY q ON reads PATTERN SEQ(A x, !B y, C+ w, D z) WHERE [tag] WITHIN 1 HOUR "


@pytest.mark.parametrize(
    ("clause", "allow", "may_miss"),
    [
        ("", 0, ()),
        ("ALLOW 0 MISSED", 0, ()),
        ("ALLOW 1 MISSED", 1, (0, 3)),
        ("ALLOW 5 MISSED", 2, (0, 3)),
        ("ALLOW ALL MISSED", 2, (0, 3)),
        ("ALLOW 2 MISSED OF (Z)", 1, (3,)),
    ],
)
def test_single_positive_components_may_be_missed(
    clause: str, allow: int, may_miss: tuple[int, ...]
) -> None:
    q = query(f"{CHAIN} {clause};")
    assert (q.allow, q.may_miss) == (allow, may_miss)


RATED = """CREATE STREAM reads (tag STRING, reader STRING, at TIMESTAMP) KEY tag TIME at {}
MISS RATE BY reader ('A' 0.1, 'B' 0.2);"""


def test_a_readers_miss_rate_is_found_by_type() -> None:
    q = query(
        "CREATE QUERY q ON reads PATTERN SEQ(A x, !B y, C z) WITHIN 1 HOUR;",
        RATED.format("TYPE reader"),
    )
    assert q.miss_rates == (0.1, 0.2, None)


def test_a_readers_miss_rate_is_found_by_a_condition() -> None:
    text = (
        "CREATE QUERY q ON reads PATTERN SEQ(x, y) WHERE x.reader['B'] = 'B' AND "
        "y.reader = 'A' WITHIN 1 HOUR;"
    )
    assert query(text, RATED.format("")).miss_rates == (0.2, 0.1)


def test_a_querys_own_miss_rate_comes_first() -> None:
    text = "CREATE QUERY q ON reads PATTERN SEQ(A x, B y) WITHIN 1 HOUR MISS RATE (y 0.5);"
    assert query(text, RATED.format("TYPE reader")).miss_rates == (0.1, 0.5)


def test_a_difference_of_neighbouring_times_may_be_bounded() -> None:
    text = (
        "CREATE QUERY q ON reads PATTERN SEQ(A x, !B n, C y, D z) WHERE {} WITHIN "
        "1 HOUR ALLOW 1 MISSED MISS RATE (x 0.1, y 0.1, z 0.1);"
    )
    gaps = (
        "CREATE GAPS g ON q (x TO y EXPONENTIAL(1 HOUR), y TO z EXPONENTIAL(1 "
        "HOUR), x BEFORE y EXPONENTIAL(1 HOUR));"
    )
    assert codes(text.format("y.at - x.at < INTERVAL 5 MINUTES") + gaps) == []
    assert codes(text.format("z.at - x.at < INTERVAL 5 MINUTES") + gaps) == ["A062"]


def test_explain_is_told_what_must_be_seen_and_what_is_taken_as_read() -> None:
    text = (
        "CREATE QUERY q ON reads PATTERN SEQ(A x, !B y, C z) WHERE [tag] AND z.door <> 'staff'"
        " WITHIN 1 HOUR ALLOW 1 MISSED MISS RATE (x 0.1, y 0.1);"
    )
    gaps = "CREATE GAPS g ON q (x BEFORE z EXPONENTIAL(1 HOUR));"
    messages = [w.message for w in query(text + gaps).warnings]
    assert codes(text + gaps) == []
    assert messages == [
        "where z was missed, the condition on z.door is not applied",
        "z may be missed but has no miss rate and no gap, so it must be seen",
        "y is negated but has no gap, so it is taken as read",
    ]


# Results --------------------------------------------------------------------------------------


def outputs(returned: str) -> list[tuple[str, str]]:
    q = query(
        f"CREATE QUERY q ON reads PATTERN SEQ(A x, B+ b, C? o, D z) WHERE [tag] "
        f"WITHIN 1 HOUR RETURN {returned};"
    )
    return [(o.column.name, o.column.type.value) for o in q.outputs]


def test_result_columns_are_named_after_attributes() -> None:
    assert outputs("x.door, z.door, COUNT(b), SUM(b.price), x.price + 1, z.at AS gone") == [
        ("door", "STRING"),
        ("z_door", "STRING"),
        ("count_b", "LONG"),
        ("sum_b_price", "DOUBLE"),
        ("column_5", "DOUBLE"),
        ("gone", "TIMESTAMP"),
    ]


def test_a_returned_key_is_the_key_column() -> None:
    assert outputs("z.tag AS tag, x.at AS taken") == [("taken", "TIMESTAMP")]


def test_return_star_gives_every_attribute_of_single_components() -> None:
    q = query(
        "CREATE QUERY q ON At PATTERN SEQ(At a, !At n, At b) WHERE [person] WITHIN 10 RETURN *;",
        PLACES,
    )
    assert [o.column.name for o in q.outputs] == [
        "a_person",
        "a_place",
        "a_t",
        "a_p",
        "b_person",
        "b_place",
        "b_t",
        "b_p",
    ]


@pytest.mark.parametrize(
    ("groups", "names"),
    [
        ("a.door", ("door",)),
        ("a.door, b.door", ("door", "b_door")),
        ("a.query, a.ts", ("a_query", "a_ts")),
        ("a.Probability, b.probability", ("a_Probability", "b_Probability")),
    ],
)
def test_groups_have_names_of_their_own(groups: str, names: tuple[str, ...]) -> None:
    streams = """
    CREATE STREAM s (id LONG, door STRING, query STRING, ts LONG, Probability DOUBLE, p DOUBLE)
    ID id TIME ts PROBABILITY p;
    """
    text = f"CREATE QUERY q ON s PATTERN AND(s a, s b) GROUP BY {groups} RETURN PROBABILITY;"
    assert query(text, streams).group_names == names


def test_a_bare_group_is_the_attribute_that_all_components_share() -> None:
    q = query(TICKS + "GROUP BY person RETURN PROBABILITY BY TIME;", PLACES)
    assert [(g.component, g.name) for g in q.group_by] == [("a", "person")]  # type: ignore[union-attr]


def test_only_queries_that_return_matches_have_an_output_schema() -> None:
    assert query(PAIR + "WITHIN 1 HOUR;").output_schema is not None
    assert query(PAIR + "WITHIN 1 HOUR RETURN COUNT;").output_schema is None
    assert query(PAIR + "WITHIN 1 HOUR RETURN PROBABILITY;").output_schema is None


# Defaults -------------------------------------------------------------------------------------


def test_defaults_are_filled_in() -> None:
    q = query(PAIR + "WITHIN 1 HOUR;")
    assert (q.strategy, q.returns, q.scoring, q.match_limit, q.approximate) == (
        "ANY",
        "MATCHES",
        "LAW",
        None,
        None,
    )


def test_a_correlation_table_may_come_from_python() -> None:
    assert query(PAIR + "WITHIN 1 HOUR CORRELATED BY moves;").correlated_by == "moves"


def test_warnings_stay_with_the_query() -> None:
    assert [w.code for w in query(PAIR + ";").warnings] == ["W001"]
