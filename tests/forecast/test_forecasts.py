"""Sentences of the language about forecasts: rows, columns, thresholds, and what is refused."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from augury import AuguryError, QueryError, Session
from forecast.asking import bound, forecasts, rows_of, script

AB = "SEQ(A a, B b)"
HISTORY = "A@1 B@2 C@3 X@4"
LEARNED = "USING INDEPENDENT LEARN FROM history"


def session(pattern: str, forecast: str, *, keyed: bool = False, by_time: bool = False) -> Session:
    ag = Session(engine="local")
    ag.sql(script(pattern, forecast, keyed=keyed, by_time=by_time))
    ag.bind("history", rows_of(HISTORY))
    ag.bind("s", rows_of("A1@1 X2@2 B3@3"))
    return ag


# Rows ---------------------------------------------------------------------------------------------


def test_columns_are_those_of_the_language() -> None:
    found = session(AB, f"WITHIN 2 EVENTS {LEARNED}").table("f")
    assert found.column_names == [
        *("query", "match_id", "start_ts", "ts", "confidence", "forecast", "expected"),
        *("method", "error_bound", "events"),
    ]
    whole = session(AB, f"WITHIN 2 EVENTS {LEARNED}", by_time=True).table("f")
    assert whole.column_names == [
        *("query", "ts", "forecast", "expected", "method", "error_bound"),
    ]


def test_keys_stand_where_the_query_equates_them() -> None:
    clauses = f"WITHIN 2 EVENTS {LEARNED}"
    stream, history = "A1/k@1 A2/l@2", "A/k@1 B/k@2 B/l@3"
    for by_time in (False, True):
        found = forecasts(f"{AB} WHERE [k]", clauses, history, stream, by_time=by_time)
        assert {row["ts"]: row["k"] for row in found} == {1: "k", 2: "l"}


def test_what_is_exact_is_not_sampled_where_it_might_be() -> None:
    exact = session(AB, f"WITHIN 2 EVENTS {LEARNED}").table("f")
    assert session(AB, f"WITHIN 2 EVENTS {LEARNED} APPROXIMATE (0.1, 0.1)").table("f") == exact


def test_some_columns_may_be_asked_for() -> None:
    ag = session(AB, f"WITHIN 2 EVENTS {LEARNED}")
    assert ag.table("f", ["forecast", "ts"]).column_names == ["forecast", "ts"]


def test_a_threshold_has_the_usual_tolerance() -> None:
    # One event of four is a B.
    for having, shown in (("> 0.25", 0), (">= 0.25", 3), (">= 0.2500000005", 3), (">= 0.3", 0)):
        clauses = f"WITHIN 1 EVENTS {LEARNED} HAVING FORECAST {having}"
        assert session(AB, clauses).table("f").num_rows == shown


def test_what_is_not_known_passes_no_threshold() -> None:
    clauses = "WITHIN 1 EVENTS USING INDEPENDENT LEARN ONLINE HAVING FORECAST >= 0"
    found = session(AB, clauses, by_time=True).table("f")
    assert found.column("ts").to_pylist() == [2, 3]


def test_an_unseen_key_is_forecast_from_the_counts_of_all() -> None:
    clauses = f"WITHIN 1 EVENTS {LEARNED} BY k"
    found = forecasts(f"{AB} WHERE [k]", clauses, "A/k@1 B/k@2 A/l@3 X/l@4", "A1/m@1")
    assert [row["forecast"] for row in found] == [0.25]


def test_alternatives_are_read_together() -> None:
    ag = Session(engine="local")
    ag.sql(
        "CREATE STREAM s (kind STRING, t LONG, p DOUBLE) TIME t TYPE kind"
        " ALTERNATIVES kind PROBABILITY p;"
        "CREATE STREAM history (kind STRING, t LONG) TIME t TYPE kind;"
        "CREATE QUERY q ON s PATTERN SEQ(A a, B b);"
        "CREATE FORECAST f ON q WITHIN 1 EVENTS LEARN FROM history RETURN FORECAST BY TIME;"
    )
    ag.bind("history", [{"kind": kind, "t": t} for t, kind in enumerate("ABAB")])
    ag.bind("s", [{"kind": "A", "t": 1, "p": 0.3}, {"kind": "B", "t": 1, "p": 0.6}])
    (row,) = ag.table("f").to_pylist()
    assert row["forecast"] == pytest.approx(0.15)


def test_time_is_told_in_seconds_where_it_is_a_timestamp() -> None:
    ag = Session(engine="local")
    columns = "(kind STRING, at TIMESTAMP) TIME at TYPE kind"
    ag.sql(
        f"CREATE STREAM s {columns}; CREATE STREAM history {columns};"
        "CREATE QUERY q ON s PATTERN SEQ(A a, B b);"
        "CREATE FORECAST f ON q WITHIN 20 SECONDS LEARN FROM history ARRIVALS STEADY;"
    )
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    times = [begin + timedelta(seconds=10 * k) for k in range(4)]
    ag.bind("history", [{"kind": k, "at": t} for k, t in zip("ABAB", times, strict=True)])
    ag.bind("s", [{"kind": "A", "at": begin}])
    (row,) = ag.table("f").to_pylist()
    assert (row["forecast"], row["expected"]) == pytest.approx((0.75, 40 / 3))


# Histories ----------------------------------------------------------------------------------------


def test_an_empty_history_is_refused() -> None:
    with pytest.raises(QueryError, match="P007"):
        forecasts(AB, f"WITHIN 1 EVENTS {LEARNED}", "", "A1@1")


def test_a_history_that_lacks_a_component_is_told() -> None:
    with pytest.warns(UserWarning, match=r"no event of history fits b.*P008"):
        assert forecasts(AB, f"WITHIN 1 EVENTS {LEARNED}", "A@1 X@2", "A1@1") == []


def test_the_horizon_does_not_change_how_often_tables_are_made() -> None:
    clauses = "WITHIN 1000 EVENTS USING MARKOV 1 LEARN FROM history"
    (row,) = forecasts("SEQ(A a, B b) USING STRICT", clauses, "A@1 B@2 A@3 X@4", "A1@1")
    assert (row["forecast"], row["expected"]) == (0.5, 1.0)


# Pushed -------------------------------------------------------------------------------------------


def test_a_forecast_that_is_pushed_is_told_with_the_next_event() -> None:
    ag = session(AB, f"WITHIN 2 EVENTS {LEARNED}")
    first, second = rows_of("A1@1 X2@2")
    assert ag.push("s", first) == []
    assert [bound(row) for row in ag.push("s", second)] == ["a1"]
    again = session(AB, f"WITHIN 2 EVENTS {LEARNED}")
    again.restore(ag.checkpoint())
    assert again.finish() == ag.finish()


# Refusals -----------------------------------------------------------------------------------------

REFUSED = {
    "composite": ("SEQ(A a, !SEQ(B n, C m), X b) WITHIN 9", f"WITHIN 2 EVENTS {LEARNED}"),
    "poisson start": ("SEQ(!C c, A a, B b) WITHIN 9", f"WITHIN 5 {LEARNED}"),
    "condition": (
        "SEQ(A a, B+ b, C c) WHERE SUM(b.p) > a.p WITHIN 9",
        "WITHIN 2 EVENTS LEARN FROM history",
    ),
    "what is not bound yet": (
        "SEQ(A a, !X n, B b) WHERE n.p > b.p WITHIN 9",
        "WITHIN 2 EVENTS LEARN FROM history",
    ),
    "approximate": (
        "SEQ(A a, B b) WHERE b.p > a.p WITHIN 9",
        "WITHIN 2 EVENTS LEARN ONLINE APPROXIMATE (0.1, 0.1)",
    ),
    "edges": ("SEQ(A a, B b, !C c) WITHIN 9 EVENTS", "WITHIN 2 EVENTS USING EDGES"),
    "run": (
        "SEQ(A a, B+ b, !C c) USING SKIP TILL NEXT MATCH WITHIN 9 EVENTS",
        f"WITHIN 2 EVENTS {LEARNED}",
    ),
}


def test_a_negation_of_any_key_is_refused_where_the_key_parts_a_forecast() -> None:
    pattern = "SEQ(A a, !C c, B b) USING PARTITION CONTIGUITY"
    with pytest.raises(QueryError, match=r"P003.*KEY is not equated"):
        session(pattern, f"WITHIN 2 EVENTS {LEARNED}", keyed=True).table("f")


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_is_not_evaluated_is_refused_by_name(case: tuple[str, str]) -> None:
    with pytest.raises(QueryError, match=r"P003.*forecast f"):
        session(*case).table("f")


def test_a_refusal_names_the_way_out_where_there_is_one() -> None:
    pattern = "SEQ(A a, !SEQ(B n, C m), X b) WITHIN 9 EVENTS"
    with pytest.raises(QueryError, match=r"LEARN FROM a history with APPROXIMATE"):
        session(pattern, f"WITHIN 2 EVENTS {LEARNED}", by_time=True).table("f")
    # Its stream has a PROBABILITY.
    with pytest.raises(QueryError, match="BY MATCH of uncertain events"):
        session(*REFUSED["composite"]).table("f")
    ag = session(AB, f"WITHIN 2 EVENTS {LEARNED}")
    ag.sql("CREATE QUERY twice ON q PATTERN SEQ(q x, q y); CREATE FORECAST g ON twice WITHIN 2;")
    with pytest.raises(QueryError, match="whose matches share events") as refused:
        ag.table("g")
    assert "APPROXIMATE" not in str(refused.value)


def test_too_many_states_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUGURY_FORECAST_STATE_LIMIT", "2")
    with pytest.raises(QueryError, match=r"P001.*forecast f needs more than 2 states"):
        session("SEQ(A a, B b, C c)", f"WITHIN 3 EVENTS {LEARNED}", by_time=True).table("f")


def test_too_many_partial_matches_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUGURY_MATCH_LIMIT", "2")
    with pytest.raises(AuguryError, match="forecast f has more partial matches"):
        forecasts(AB, f"WITHIN 3 EVENTS {LEARNED}", HISTORY, "A1@1 A2@2 A3@3")


# Explain ------------------------------------------------------------------------------------------


def test_explain_says_how_a_forecast_is_made() -> None:
    ag = session(f"{AB} WHERE [k]", "WITHIN 20 USING MARKOV 1 LEARN FROM history", keyed=True)
    text = ag.explain("f")
    for line in (
        "forecast f of query q",
        "whether each partial match completes within 20 ticks",
        "by k",
        "MARKOV 1, learned from history",
        "POISSON",
    ):
        assert line in text
    assert ag.explain("q") in text
    assert ag.sql("EXPLAIN f;") == (text,)
    assert ag.forecasts == ("f",)
    with pytest.raises(AuguryError, match="as text"):
        ag.explain("f", "svg")


def test_explain_shows_what_was_learned_and_the_curve() -> None:
    ag = session("SEQ(A a, B b)", f"WITHIN 10 EVENTS {LEARNED}")
    text = ag.explain("f")
    for line in (
        "learned     4 events: none 0.5, a 0.25, b 0.25",
        "from a           stays 0.75, complete 0.25",
        "within             1       2       3       5      10  events",
        "a           0.2500  0.4375  0.5781  0.7627  0.9437",
        "tables      1 states so far, 88 bytes",
    ):
        assert line in text, text
    whole = session("SEQ(A a, B b)", f"WITHIN 2 EVENTS {LEARNED}", by_time=True).explain("f")
    assert "from nothing     a 0.25, stays 0.75" in whole, whole
    assert "nothing     0.0000  0.0625" in whole, whole


def test_explain_shows_what_is_waited_for_until_a_window_ends() -> None:
    ag = session("SEQ(A a, B b, !C c) WITHIN 9", f"WITHIN 5 EVENTS {LEARNED}")
    text = ag.explain("f")
    assert "learned     4 events" in text
    assert "exact under the model" in text


def test_the_status_names_what_is_refused() -> None:
    status = (Path(__file__).parents[2] / "docs" / "status.md").read_text(encoding="utf-8")
    assert "negated composites" in status
    assert "CREATE FORECAST" in status


TIED = """
CREATE STREAM s (id LONG, c STRING, t LONG) ID id TIME t TYPE c;
CREATE QUERY q ON s PATTERN SEQ(A a, B b) WITHIN 50 EVENTS;
CREATE FORECAST f ON q WITHIN 1 EVENTS USING MARKOV 1;
"""


def test_the_order_of_rows_of_one_time_changes_no_forecast() -> None:
    events = [(1, "A", 1), (2, "B", 2), (3, "C", 2), (4, "A", 3), (5, "B", 4), (6, "A", 5)]
    made = [dict(zip(("id", "c", "t"), event, strict=True)) for event in events]
    tables = []
    for order in ([0, 1, 2, 3, 4, 5], [0, 2, 1, 3, 4, 5]):
        ag = Session(engine="local")
        ag.sql(TIED)
        ag.bind("s", [made[k] for k in order])
        tables.append(ag.table("f").to_pylist())
    assert tables[0] == tables[1]


def test_events_of_the_stream_with_a_negation_at_the_end_are_refused() -> None:
    ag = Session(engine="local")
    ag.sql(
        "CREATE STREAM s (id LONG, k STRING, c STRING, t LONG) ID id KEY k TIME t TYPE c;"
        "CREATE QUERY q ON s PATTERN SEQ(A a, B b, !C n) WHERE [k] WITHIN 6;"
        "CREATE FORECAST f ON q WITHIN 3 EVENTS OF STREAM ARRIVALS STEADY;"
    )
    ag.bind("s", [{"id": 1, "k": "x", "c": "A", "t": 1}])
    with pytest.raises(QueryError, match="P003"):
        ag.table("f")


# Queries over forecasts ---------------------------------------------------------------------------

OVER = """
CREATE QUERY rising ON f PATTERN SEQ(f x, f y) WHERE y.forecast > x.forecast AND [k] WITHIN 2
RETURN x.forecast AS before, y.forecast AS after;
"""


@pytest.mark.parametrize("by_time", [False, True])
def test_a_forecast_is_a_stream(by_time: bool) -> None:
    ag = Session(engine="local")
    clauses = f"WITHIN 2 EVENTS {LEARNED}"
    ag.sql(script("SEQ(A a, B b, C c) WHERE [k]", clauses, keyed=True, by_time=by_time) + OVER)
    ag.bind("history", rows_of("A/k@1 B/k@2 C/k@3 X/k@4"))
    ag.bind("s", rows_of("A1/k@1 A2/l@2 B3/k@3 X4/l@5 B5/l@6"))
    told = ag.table("f").to_pylist()
    wanted = [
        (x["k"], x["forecast"], y["forecast"])
        for x in told
        for y in told
        if 0 < y["ts"] - x["ts"] <= 2 and x["k"] == y["k"] and y["forecast"] > x["forecast"]
    ]
    found = [(row["k"], row["before"], row["after"]) for row in ag.table("rising").to_pylist()]
    assert sorted(found) == sorted(wanted)
    assert found
    assert "rising" in ag.explain("rising")


def test_a_forecast_as_a_stream_can_be_read_and_not_written() -> None:
    ag = session(f"{AB} WHERE [k]", f"WITHIN 2 EVENTS {LEARNED}", keyed=True)
    ag.sql(OVER)
    ag.bind("history", rows_of("A/k@1 B/k@2"))
    with pytest.raises(AuguryError, match="f"):
        ag.bind("f", [])
    again = session(f"{AB} WHERE [k]", f"WITHIN 2 EVENTS {LEARNED}", keyed=True)
    again.sql("CREATE QUERY any ON f PATTERN SEQ(f x, f y) WITHIN 2;")
    again.sql("CREATE FORECAST g ON any WITHIN 2 EVENTS;")
    with pytest.raises(QueryError, match="is of a query over forecast f"):
        again.table("g")


OVER_ALL = """
CREATE QUERY rising ON f PATTERN SEQ(f x, f y) WHERE y.forecast >= x.forecast AND [k] WITHIN 4
RETURN x.forecast AS before, y.forecast AS after;
CREATE QUERY soon_c ON f, s PATTERN SEQ(f x, s y) WHERE y.kind = 'C' AND [k] WITHIN 3;
CREATE QUERY twice ON rising PATTERN SEQ(rising x, rising y) WHERE [k] WITHIN 4;
CREATE QUERY sure ON f PATTERN SEQ(f x, f y) WITHIN 2 EVENTS;
"""


@pytest.mark.parametrize("by_time", [False, True])
@pytest.mark.parametrize("learning", ["LEARN FROM history", "LEARN ONLINE"])
def test_queries_over_forecasts_of_pushed_rows_find_what_those_of_bound_rows_find(
    learning: str, by_time: bool
) -> None:
    clauses = f"WITHIN 2 EVENTS USING MARKOV 1 {learning} ARRIVALS STEADY"
    text = script("SEQ(A a, B b) WHERE [k] WITHIN 9", clauses, keyed=True, by_time=by_time)
    draw = random.Random(5)
    words = (f"{draw.choice('AABBCX')}{t}/{draw.choice('kl')}@{t}" for t in range(1, 25))
    rows = rows_of(" ".join(words))

    def session() -> Session:
        ag = Session(engine="local")
        ag.sql(text + OVER_ALL)
        ag.bind("history", rows_of("A/k@1 B/k@2 C/k@3 X/k@4 A/k@5 B/k@6 C/k@7"))
        return ag

    here, live, found = session(), session(), list[dict[str, object]]()
    here.bind("s", rows)
    for number, row in enumerate(rows):
        found += live.push("s", row)
        if number % 3 == 2:
            data, live = live.checkpoint(), session()
            live.restore(data)
    found += live.finish()
    for name in ("rising", "soon_c", "twice", "sure"):
        wanted = sorted(repr(row) for row in here.table(name).to_pylist())
        assert sorted(repr(row) for row in found if row["query"] == name) == wanted, name
    assert {"soon_c", "sure", "twice"} <= {row["query"] for row in found}
