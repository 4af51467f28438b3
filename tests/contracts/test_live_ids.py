"""Pushed events have the ids that bound ones have, also where streams have the same columns."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from augury import Session

COLUMNS = "(id LONG, tag STRING, o DOUBLE, t LONG, p DOUBLE)"
# Named by a column, or by the hash of the row: each stream in its own way.
IDENTITIES = ("ID id", "ID id ALTERNATIVES tag", "ALTERNATIVES tag", "ID tag", "ID o", "")
S = [{"id": 1, "tag": "x", "o": 1.5, "t": 1, "p": 0.5}]
U = [
    {"id": 7, "tag": "y", "o": 2.5, "t": 2, "p": 0.5},
    {"id": 8, "tag": "z", "o": None, "t": 3, "p": 0.5},
]


def session(s: str, u: str) -> Session:
    ag = Session(engine="local")
    ag.sql(f"""
        CREATE STREAM s {COLUMNS} {s} TIME t PROBABILITY p;
        CREATE STREAM u {COLUMNS} {u} TIME t ORDER BY o PROBABILITY p;
        CREATE QUERY q ON s, u PATTERN SEQ(s x, u y) WITHIN 9 RETURN x.tag AS x, y.tag AS y;""")
    return ag


def named(matches: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return sorted(
        (row["match_id"], row["x"], row["y"], *(event["event_id"] for event in row["events"]))
        for row in matches
    )


def bindable(u: str) -> list[dict[str, Any]]:
    """Return the rows of u that are good: an ID is not NULL."""
    return [row for row in U if u != "ID o" or row["o"] is not None]


@pytest.mark.parametrize(("s", "u"), list(permutations(IDENTITIES, 2)))
def test_ids_are_those_of_tables(s: str, u: str) -> None:
    bound, live = session(s, u), session(s, u)
    bound.bind("s", S)
    bound.bind("u", bindable(u))
    expected = named(bound.table("q").to_pylist())
    assert len(expected) == len(bindable(u))
    assert named(live.push("s", S) + live.push("u", bindable(u)) + live.finish()) == expected


@pytest.mark.parametrize(("s", "u"), [("ID id ALTERNATIVES tag", "ID id"), ("", "ID tag")])
def test_a_restored_run_still_knows_whose_a_row_is(s: str, u: str) -> None:
    whole, first, second = session(s, u), session(s, u), session(s, u)
    expected = named(whole.push("s", S) + whole.push("u", U) + whole.finish())
    early = first.push("s", S) + first.push("u", U)
    second.restore(first.checkpoint())
    assert named(early + second.finish()) == expected
