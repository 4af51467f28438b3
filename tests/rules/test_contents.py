"""A table in memory: what is undone was never there, and what is stored comes back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.rules import state_text
from augury.rules.contents import Contents, RefusedKeyError
from augury.rules.stage import State

changes = st.lists(
    st.tuples(st.sampled_from(["insert", "delete", "replace"]), st.integers(0, 4), st.integers())
)


def apply(contents: Contents, many: list[tuple[str, int, int]]) -> None:
    for how, key, value in many:
        there = dict(contents.by_key((key,)))
        if how == "insert" and not there:
            contents.insert((key, value))
        for place in there:
            if how == "delete":
                contents.delete(place)
            elif how == "replace":
                contents.replace(place, (key, value))


def shown(contents: Contents) -> list[Any]:
    rows = [row for _, row in contents.rows()]
    assert [row for row in rows if dict(contents.by_key(row[:1])) == {}] == []
    assert len(contents.places) == len(rows)
    return rows


@given(changes, changes)
def test_what_is_undone_leaves_rows_and_their_order_as_they_were(
    first: list[tuple[str, int, int]], second: list[tuple[str, int, int]]
) -> None:
    contents = Contents.of("t", (0,), [(0, 0), (3, 0)])
    apply(contents, first)
    contents.settle()
    before = shown(contents)
    apply(contents, second)
    contents.undo(0)
    assert shown(contents) == before


@given(changes)
def test_a_stored_table_is_the_same_table(many: list[tuple[str, int, int]]) -> None:
    contents = Contents.of("t", (0,), [(0, 0)])
    apply(contents, many)
    contents.settle()
    again = state_text.load(state_text.dump(State({"t": contents}))).tables["t"]
    assert shown(again) == shown(contents)
    assert again.following == contents.following


@pytest.mark.parametrize("row", [(None, 1), (0, 1)])
def test_a_key_is_there_once_and_never_null(row: tuple[Any, ...]) -> None:
    contents = Contents.of("t", (0,), [(0, 0)])
    with pytest.raises(RefusedKeyError):
        contents.insert(row)
    assert shown(contents) == [(0, 0)]


def test_membership_is_open_where_only_a_null_leaves_it_open() -> None:
    contents = Contents.of("t", (), [("a", 1), ("b", None)])
    asked = [("a", 1), ("a", 2), ("b", 2), ("a", None), (None, 3)]
    assert [contents.has(row) for row in asked] == [True, False, None, None, None]
