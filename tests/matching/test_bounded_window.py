"""A bound on the time from first to last is a window; where all is certain, one match is enough."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury import Session
from augury.planning.match_plan import plan_match
from matching.asking import ask, session
from oracles.model import Comp, Event, Not, Query, Seq
from oracles.notation import shown as worlds_shown
from oracles.worlds import matches, probability, probability_by_time

A, B, C = Comp("a", "A"), Comp("b", "B"), Comp("c", "A")
LATE, EARLY = ("attr", "c", "t"), ("attr", "a", "t")
BOUNDS = {
    "c.t - a.t <= 3": ("<=", ("-", LATE, EARLY), ("lit", 3)),
    "c.t - a.t < 3": ("<", ("-", LATE, EARLY), ("lit", 3)),
    "a.t + 3 >= c.t": (">=", ("+", EARLY, ("lit", 3)), LATE),
    "c.t - a.t = 3": ("=", ("-", LATE, EARLY), ("lit", 3)),
}
PATTERNS = {
    "SEQ(A a, B b, A c)": Seq((A, B, C)),
    "SEQ(A a, !B b, A c)": Seq((A, Not(B), C)),
    "SEQ(A a, B* b, A c)": Seq((A, Comp("b", "B", 0, None), C)),
}
Rows = list[dict[str, Any]]


def stream(kinds: str, chances: list[float], tags: str) -> Rows:
    each = enumerate(zip(kinds, chances, tags, strict=True))
    return [
        {"id": f"e{k}", "kind": kind, "t": k, "p": p, "tie": None, "v": None, "tag": tag}
        for k, (kind, p, tag) in each
    ]


def in_worlds(rows: Rows) -> list[Event]:
    return [
        Event(row["id"], row["t"], row["kind"], row["p"], {"t": row["t"], "tag": row["tag"]})
        for row in rows
    ]


@st.composite
def streams(draw: st.DrawFn, chances: tuple[float, ...] = (0.5, 0.9, 1.0)) -> Rows:
    kinds = draw(st.text("AB", min_size=8, max_size=8))
    some = draw(st.lists(st.sampled_from(chances), min_size=8, max_size=8))
    return stream(kinds, some, draw(st.text("xy", min_size=8, max_size=8)))


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("pattern", PATTERNS)
@given(rows=streams())
def test_a_bound_finds_what_it_allows_and_nothing_else(
    pattern: str, bound: str, rows: Rows
) -> None:
    asked = Query(PATTERNS[pattern], where=(BOUNDS[bound],), within=("time", 100))
    expected = worlds_shown(matches(asked, in_worlds(rows)))
    found = ask(f"PATTERN {pattern} WHERE {bound} WITHIN 100", rows)
    assert found == pytest.approx(expected, abs=1e-12)


def window_of(query: str) -> int | None:
    ag = session(f"CREATE QUERY q ON s {query};", "a1")
    return plan_match(ag._declared.queries["q"][0], ag._declared.catalog).pattern.window


@pytest.mark.parametrize(
    ("query", "window"),
    [
        ("PATTERN SEQ(A a, B b, A c) WHERE c.t - a.t <= 3", 3),
        ("PATTERN SEQ(A a, B b, A c) WHERE c.t - a.t <= 3 WITHIN 2", 2),
        # Nothing bounds the whole match, or something may come before or after.
        ("PATTERN SEQ(A a, B b, A c) WHERE b.t - a.t <= 3", None),
        ("PATTERN SEQ(A a, B b, A c) WHERE c.t - a.t >= 3", None),
        ("PATTERN AND(A a, A c) WHERE c.t - a.t <= 3", None),
        ("PATTERN SEQ(A a, A c, B? b) WHERE c.t - a.t <= 3 WITHIN 9", 9),
        # A window says more here than how far a match reaches.
        ("PATTERN SEQ(!B b, A a, A c) WHERE c.t - a.t <= 3 WITHIN 9", 9),
        ("PATTERN SEQ(A a, A c) WHERE c.t - a.t <= 3 USING SKIP TILL NEXT MATCH WITHIN 9", 9),
    ],
)
def test_a_bound_from_first_to_last_is_the_window(query: str, window: int | None) -> None:
    assert window_of(query) == window


PROBABLE = "PATTERN SEQ(A a, B b, A c) WHERE c.t - a.t <= 4 {more} RETURN PROBABILITY"
GROUPS: dict[str, tuple[str, dict[str, Any]]] = {
    "none": ("", {}),
    # The first event tells the group; another one does.
    "equated": ("AND [tag] GROUP BY tag", {"equate": ("tag",), "group_by": ("tag",)}),
    "of b": ("GROUP BY b.tag", {"group_by": (("attr", "b", "tag"),)}),
}


@pytest.mark.parametrize("name", GROUPS)
@pytest.mark.parametrize("by_time", [False, True])
@given(rows=streams((1.0,)))
def test_certain_events_are_answered_as_in_their_one_world(
    by_time: bool, name: str, rows: Rows
) -> None:
    more, asked = GROUPS[name]
    text = PROBABLE.format(more=more) + (" BY TIME" if by_time else "")
    ag = session(f"CREATE QUERY q ON s {text};", rows, clauses="ID id TIME t TYPE kind")
    found = {
        ((row["tag"],) if "tag" in row else (), row["ts"]): row["probability"]
        for row in ag.table("q").to_pylist()
        if row["probability"] > 0.0
    }
    where = (("<=", ("-", LATE, EARLY), ("lit", 4)),)
    how = probability_by_time if by_time else probability
    kind = "by time" if by_time else "ever"
    query = Query(PATTERNS["SEQ(A a, B b, A c)"], where=where, probability=kind, **asked)
    expected = {row: p for row, p in how(query, in_worlds(rows)).items() if p > 0.0}
    assert found == expected


FAILED = """
CREATE STREAM log (ip STRING, kind STRING, ts TIMESTAMP) TIME ts TYPE kind;
CREATE QUERY q ON log PATTERN SEQ(FAIL a, FAIL b, FAIL c, FAIL d)
WHERE [ip] AND d.ts - a.ts <= INTERVAL 60 SECONDS GROUP BY ip RETURN PROBABILITY;
"""


def log(n: int) -> pa.Table:
    """Return failures: of x every second, of y every minute."""
    start = datetime(2026, 1, 1)
    often = [("x", start + timedelta(seconds=k)) for k in range(n)]
    seldom = [("y", start + timedelta(minutes=k)) for k in range(n)]
    ip, ts = zip(*often, *seldom, strict=True)
    return pa.table({"ip": ip, "kind": ["FAIL"] * 2 * n, "ts": pa.array(ts, pa.timestamp("us"))})


def test_one_match_of_each_start_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 400 rows in a minute there are four million matches; a few hundred are found."""
    monkeypatch.setenv("AUGURY_STEP_MATCH_LIMIT", "500")
    ag = Session(engine="local")
    ag.sql(FAILED)
    ag.bind("log", log(400))
    found = {row["ip"]: row["probability"] for row in ag.table("q").to_pylist()}
    assert found == {"x": 1.0}


@pytest.mark.spark
def test_one_match_of_each_start_is_enough_on_spark(spark: Any) -> None:
    ag = Session(spark)
    ag.sql(FAILED)
    ag.bind("log", spark.createDataFrame(log(20)))
    assert [(row.ip, row.probability) for row in ag.table("q").collect()] == [("x", 1.0)]
