"""Runs under contiguity: they take neighbours, end where one fits nothing, and are known there."""

from __future__ import annotations

from time import process_time
from typing import Any

import pyarrow as pa
import pytest

from augury import Session
from runners.every_runner import Row, Runner, every_runner

DAYS = "CREATE STREAM s (c STRING, k STRING, t LONG, p DOUBLE) KEY k TIME t PROBABILITY p;"
HOT = "x+ (x.c = 'h')"
CHANCES = "USING PARTITION CONTIGUITY RETURN PROBABILITY BY TIME"
END = {"s": {"c": "c", "k": "end", "t": 10**6, "p": 1.0}}


def days(text: str, *, keys: str = "") -> list[Row]:
    """Return a row for each `h` and `c`, one a day; `h.4` is one of probability .4."""
    found = list[Row]()
    for t, word in enumerate(text.split(), 1):
        key = keys[t - 1] if keys else "k"
        found.append({"c": word[0], "k": key, "t": t, "p": float(word[1:] or 1.0)})
    return found


def runs(found: list[Row]) -> dict[tuple[int, ...], float]:
    """Return the times of each match of one component, with its confidence."""
    return {tuple(e["ts"] for e in row["events"]): row["confidence"] for row in found}


def query(pattern: str, rest: str) -> str:
    return f"{DAYS} CREATE QUERY q ON s PATTERN {pattern} {rest};"


@every_runner
def test_a_run_ends_at_the_neighbour_that_does_not_fit(runner: Runner) -> None:
    script = query(f"SEQ({HOT})", "USING PARTITION CONTIGUITY WITHIN 100")
    found = runner(script, "q", {"s": days("h h c h")}, END)
    assert runs(found) == {(1, 2): 1.0, (2,): 1.0, (4,): 1.0}


@pytest.mark.parametrize("using", ["STRICT", "PARTITION CONTIGUITY"])
def test_once_it_is_long_enough_the_window_changes_nothing(using: str) -> None:
    rows = days("h h c h")
    found = [
        runs(local(query(f"SEQ({HOT})", f"USING {using} WITHIN {n}"), rows)) for n in (1, 2, 9)
    ]
    assert found == [{(1, 2): 1.0, (2,): 1.0, (4,): 1.0}] * 3


@every_runner
def test_items_of_a_repetition_in_next_are_neighbours(runner: Runner) -> None:
    found = runner(query("NEXT(x{2})", "WITHIN 9"), "q", {"s": days("h h h")}, END)
    assert runs(found) == {(1, 2): 1.0, (2, 3): 1.0}


def local(script: str, rows: list[Row]) -> Any:
    ag = Session(engine="local")
    ag.sql(script)
    ag.bind("s", rows)
    return ag.table("q").to_pylist()


@every_runner
def test_in_doubt_a_run_ends_in_the_worlds_where_the_neighbour_does_not_fit(runner: Runner) -> None:
    script = query(f"SEQ({HOT})", "USING PARTITION CONTIGUITY WITHIN 100")
    # From 1: c at 2 ends it; without c, h at 3 and 4 are taken where they are.
    found = runs(runner(script, "q", {"s": days("h c.5 h.4 h c h")}, END))
    expected = {(1,): 0.5, (1, 3, 4): 0.2, (1, 4): 0.3, (3, 4): 0.4, (4,): 1.0, (6,): 1.0}
    assert found == pytest.approx(expected)


def test_strict_counts_every_event_and_contiguity_those_of_the_key() -> None:
    rows = days("h c h c h", keys="aabaa")
    strict = local(query(f"SEQ({HOT})", "WHERE [k] USING STRICT WITHIN 9"), rows)
    assert runs(strict) == {(1,): 1.0, (3,): 1.0, (5,): 1.0}
    rows = days("h c h h", keys="abba")
    both = [
        runs(local(query(pattern, f"USING {using} WITHIN 9"), rows))
        for pattern, using in (
            (f"SEQ({HOT})", "PARTITION CONTIGUITY"),
            (f"NEXT({HOT})", "SKIP TILL NEXT MATCH"),
        )
    ]
    assert both == [{(1, 4): 1.0, (3,): 1.0, (4,): 1.0}] * 2


def test_a_repetition_at_the_end_takes_the_whole_of_a_stretch() -> None:
    script = query("SEQ(x (x.c = 'c'), y+ (y.c = 'h'))", "USING STRICT WITHIN 100")
    assert set(runs(local(script, days("c h h h c h")))) == {(1, 2, 3, 4), (5, 6)}
    least = query("SEQ(x{3,} (x.c = 'h'))", "USING STRICT WITHIN 100")
    assert set(runs(local(least, days("h h c h h h h c")))) == {(4, 5, 6, 7), (5, 6, 7)}


def test_explain_shows_next() -> None:
    ag = Session(engine="local")
    ag.sql(query("NEXT(x{2})", "WITHIN 100"))
    assert "NEXT(x{2})" in ag.explain("q")


# When a run is known ------------------------------------------------------------------------------


def told(script: str, rows: list[Row]) -> list[list[tuple[int, ...]]]:
    """Return the matches that each row, once pushed, lets be known."""
    ag = Session(engine="local")
    ag.sql(script)
    return [sorted(runs(ag.push("s", row))) for row in rows]


def test_a_run_is_known_where_it_ends_and_not_at_the_end_of_the_window() -> None:
    script = query(f"SEQ({HOT})", "USING PARTITION CONTIGUITY WITHIN 100")
    rows = [*days("h h c h c"), {"c": "c", "k": "k", "t": 6, "p": 1.0}]
    # What has the time of a row is there once a later one has come.
    assert told(script, rows) == [[], [], [], [(1, 2), (2,)], [], [(4,)]]


def test_a_neighbour_in_doubt_lets_a_run_be_known_with_the_next_that_is_none() -> None:
    script = query(f"SEQ({HOT})", "USING PARTITION CONTIGUITY WITHIN 100")
    rows = days("h c.5 c.5 h c c")
    assert told(script, rows) == [[], [], [], [], [(1,)], [(1, 4), (4,)]]


def test_a_run_that_nothing_ends_is_known_at_the_end_of_the_window() -> None:
    script = query(f"SEQ({HOT})", "USING PARTITION CONTIGUITY WITHIN 3")
    rows = [*days("h h"), {"c": "c", "k": "other", "t": 4, "p": 1.0}]
    rows += [{"c": "c", "k": "other", "t": t, "p": 1.0} for t in (5, 6)]
    assert told(script, rows) == [[], [], [], [(1, 2)], [(2,)]]


# Probabilities ------------------------------------------------------------------------------------


@every_runner
def test_the_probability_of_two_in_a_row(runner: Runner) -> None:
    script = query("NEXT(x{2} (x.c = 'h'))", CHANCES)
    found = runner(script, "q", {"s": days("h c.5 h.4 h")}, END)
    chances = {row["ts"]: row["probability"] for row in found}
    # At 3 with 1 where c is not; at 4 with 3, or with 1 where neither c nor 3 is.
    assert [chances[t] for t in (1, 2, 3, 4)] == pytest.approx([0.0, 0.0, 0.2, 0.7])


def test_under_contiguity_next_adds_nothing_to_a_sequence() -> None:
    rows = days("h c.5 h.4 h")
    one, other = (local(query(f"{w}(x{{2}} (x.c = 'h'))", CHANCES), rows) for w in ("SEQ", "NEXT"))
    assert one == other


def test_the_probability_of_two_neighbours_at_all() -> None:
    rows = days("h c.5 h.4 h")
    (found,) = local(query("NEXT(x{2} (x.c = 'h'))", "RETURN PROBABILITY"), rows)
    assert found["probability"] == pytest.approx(0.4 + 0.6 * 0.5)


# Cost ---------------------------------------------------------------------------------------------


def test_time_follows_the_stretches_and_not_the_window() -> None:
    table = pa.Table.from_pylist(
        [{"c": "hhc"[t % 3], "k": k, "t": t, "p": 1.0} for t in range(4_000) for k in "abc"]
    )

    def spent(within: int) -> float:
        ag = Session(engine="local")
        ag.sql(query(f"SEQ({HOT})", f"USING PARTITION CONTIGUITY WITHIN {within}"))
        ag.bind("s", table)
        ag.table("q")
        before = process_time()
        assert len(ag.table("q")) == 8_001
        return process_time() - before

    # The whole table is 1,300 times as long as a stretch.
    assert spent(10**6) < 5 * spent(3) + 0.2
