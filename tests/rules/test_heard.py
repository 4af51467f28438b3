"""Rules on forecasts and on probabilities by time, and rules that act only so often."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from augury import Session

COLUMNS = "(id LONG, worker STRING, action STRING, t LONG, seq LONG) ID id KEY worker TIME t"
HEARD = f"""
CREATE STREAM history {COLUMNS} ORDER BY seq TYPE action;
CREATE STREAM doors {COLUMNS} ORDER BY seq TYPE action;
CREATE STREAM plain {COLUMNS} TYPE action;
CREATE TABLE seen (who STRING, n LONG) KEY who;
CREATE QUERY pair ON doors PATTERN SEQ(EXIT x, ENTER e) WHERE [worker] WITHIN 50;
CREATE FORECAST soon ON pair WITHIN 2 EVENTS USING MARKOV 0 LEARN FROM history;
CREATE FORECAST often ON pair WITHIN 3 USING MARKOV 0 LEARN FROM history RETURN FORECAST BY TIME;
CREATE QUERY likely ON plain PATTERN SEQ(EXIT x, ENTER e) WHERE [worker]
RETURN PROBABILITY BY TIME;
CREATE QUERY told ON doors
PATTERN SEQ(ENTER e) WHERE 1 <= (SELECT n FROM seen WHERE who = e.worker) WITHIN 1;
CREATE RULE by_match ON soon WHEN new.forecast > 0.1
DO INSERT INTO seen VALUES (new.worker, 1) ON CONFLICT DO UPDATE SET n = n + 1;
CREATE RULE by_row ON often WHEN new.forecast > 0.1
DO INSERT INTO seen VALUES ('often', 1) ON CONFLICT DO UPDATE SET n = n + 1;
CREATE RULE by_time ON likely WHEN new.probability > 0.1
DO INSERT INTO seen VALUES ('likely', 1) ON CONFLICT DO UPDATE SET n = n + 1;
"""
WALK = [
    ("ann", "EXIT", 1), ("ann", "EXIT", 1), ("bob", "EXIT", 2), ("ann", "ENTER", 3),
    ("ann", "ENTER", 3), ("bob", "ENTER", 5), ("ann", "EXIT", 6),
]  # fmt: skip
ROWS = [
    {"id": k, "worker": who, "action": action, "t": t, "seq": k}
    for k, (who, action, t) in enumerate(WALK)
]


def heard() -> Session:
    ag = Session(engine="local")
    ag.sql(HEARD)
    ag.bind("history", ROWS)
    return ag


def came_of(ag: Session) -> dict[str, Any]:
    fired = {
        name: [(row["ts"], row["match_id"]) for row in ag.table(name).to_pylist()]
        for name in ("by_match", "by_row", "by_time")
    }
    contents = sorted((row["who"], row["n"]) for row in ag.table("seen").to_pylist())
    return {**fired, "seen": contents, "changes": ag.changes("seen").num_rows}


def bound() -> dict[str, Any]:
    ag = heard()
    ag.bind("doors", ROWS)
    ag.bind("plain", ROWS)
    assert [row["start_ts"] for row in ag.table("told").to_pylist()] == [3, 3, 5]
    return came_of(ag)


def test_a_rule_acts_once_on_a_partial_match_and_on_every_row_by_time() -> None:
    found = bound()
    # Four EXITs begin a partial match each; each event has a row by time; two ENTERs complete.
    assert [ts for ts, _ in found["by_match"]] == [1, 1, 2, 6]
    assert len({name for _, name in found["by_match"]}) == 4
    assert [ts for ts, _ in found["by_row"]] == [1, 1, 2, 3, 3, 5, 6]
    assert [ts for ts, _ in found["by_time"]] == [3, 5]
    assert found["seen"] == [("ann", 3), ("bob", 1), ("likely", 2), ("often", 7)]


@pytest.mark.parametrize(("size", "scheduler"), [(1, None), (3, "lwm"), (7, "s2pl"), (2, "sei")])
def test_what_rules_hear_when_pushed_is_what_they_hear_when_bound(
    size: int, scheduler: Any
) -> None:
    ag = Session(engine="local", scheduler=scheduler)
    ag.sql(HEARD)
    ag.bind("history", ROWS)
    for at in range(0, len(ROWS), size):
        ag.push("doors", ROWS[at : at + size])
        ag.push("plain", ROWS[at : at + size])
        data = ag.checkpoint()
        ag = Session(engine="local", scheduler=scheduler)
        ag.sql(HEARD)
        ag.bind("history", ROWS)
        ag.restore(data)
    ag.finish()
    assert came_of(ag) == bound()


def test_a_match_reads_what_a_rule_wrote_on_a_forecast_after_an_earlier_event_of_its_time() -> None:
    ag = heard()
    rows = [
        {"id": 1, "worker": "ann", "action": "EXIT", "t": 1, "seq": 1},
        {"id": 2, "worker": "ann", "action": "ENTER", "t": 1, "seq": 2},
    ]
    ag.bind("doors", rows)
    ag.bind("plain", ROWS[:1])
    assert ag.table("told").num_rows == 1


def test_a_rule_needs_rows_that_have_a_moment() -> None:
    ag = heard()
    with pytest.raises(Exception, match="A111"):
        ag.sql(
            "CREATE QUERY n ON doors PATTERN SEQ(EXIT x) WITHIN 5 RETURN COUNT;"
            "CREATE RULE r ON n DO DELETE FROM seen;"
        )


# How often ----------------------------------------------------------------------------------------

THROTTLED = """
CREATE STREAM doors (id LONG, worker STRING, t LONG) ID id KEY worker TIME t;
CREATE TABLE seen (worker STRING, n LONG) KEY worker;
CREATE QUERY came ON doors PATTERN SEQ(doors e) WHERE [worker] WITHIN 1;
CREATE RULE note ON came THROTTLE {most} PER 10{by}
DO INSERT INTO seen VALUES (new.worker, 1) ON CONFLICT DO UPDATE SET n = n + 1;
"""


def expected(rows: list[tuple[str, int]], most: int, *, by: bool) -> list[tuple[str, int, int]]:
    """Let each through if fewer than `most` went through in the ten ticks up to it."""
    through: list[tuple[str, int, int]] = []
    for place, (who, t) in enumerate(rows):
        known = [each for each in through if each[0] == who or not by]
        if sum(t - 10 < ts for _, ts, _ in known) < most:
            begin = max((k for k, each in enumerate(rows[:place])
                         if (*each,) in [(w, ts) for w, ts, _ in known]), default=-1)  # fmt: skip
            held = [w for w, _ in rows[begin + 1 : place] if w == who or not by]
            through.append((who, t, len(held)))
    return through


@given(
    st.lists(st.tuples(st.sampled_from(["ann", "bob"]), st.integers(1, 6)), max_size=14),
    st.integers(1, 2),
    st.booleans(),
    st.sampled_from([None, "lwm", "s2pl"]),
    st.integers(1, 5),
)
@settings(deadline=None, max_examples=25)
def test_so_many_firings_go_through_and_the_next_counts_the_rest(
    steps: list[tuple[str, int]], most: int, by: bool, scheduler: Any, size: int
) -> None:
    at, walk = 0, []
    for who, step in steps:
        at += step
        walk.append((who, at))
    rows = [{"id": k, "worker": who, "t": t} for k, (who, t) in enumerate(walk)]
    script = THROTTLED.format(most=most, by=" BY worker" if by else "")
    ag = Session(engine="local", scheduler=scheduler)
    ag.sql(script)
    for start in range(0, len(rows), size):
        ag.push("doors", rows[start : start + size])
        data = ag.checkpoint()
        ag = Session(engine="local", scheduler=scheduler)
        ag.sql(script)
        ag.restore(data)
    ag.finish()
    again = Session(engine="local")
    again.sql(script)
    again.bind("doors", rows)
    wanted = expected(walk, most, by=by)
    for each in (ag, again) if rows else (ag,):
        fired = each.table("note").to_pylist()
        assert [(row["worker"], row["ts"], row["held_back"]) for row in fired] == wanted


def test_every_firing_names_the_version_of_the_script() -> None:
    ag = Session(engine="local")
    ag.sql(THROTTLED.format(most=1, by=" BY worker"))
    ag.push("doors", [{"id": 1, "worker": "ann", "t": 1}, {"id": 2, "worker": "bob", "t": 2}])
    text = "CREATE OR REPLACE RULE note ON came DO DELETE FROM seen WHERE worker = new.worker;"
    ag.sql(text)
    ag.push("doors", {"id": 3, "worker": "ann", "t": 5})
    ag.finish()
    first, second, third = ag.table("note").column("script").to_pylist()
    assert second == third != first
