"""Codes tell values apart, whatever way they are numbered by."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from augury.evaluation import encoding
from augury.evaluation.encoding import NULL_CODE, Codes, Numbered
from augury.kernels.rows import numbering

SMALL = st.lists(st.one_of(st.none(), st.integers(-5, 5)), max_size=30)
WORDS = st.lists(st.one_of(st.integers(-5, 5), st.integers(-(2**63), 2**63 - 1)), max_size=30)


def values_of(codes: Codes, found: np.ndarray) -> list[Any]:
    """Return what codes stand for."""
    by_code = {code: value for value, code in codes.known.items()}
    assert len(by_code) == len(codes.known)
    return [None if code == NULL_CODE else by_code[code] for code in found.tolist()]


@given(first=SMALL, second=SMALL)
def test_codes_stand_for_their_values(first: list[int | None], second: list[int | None]) -> None:
    codes = Codes()
    for batch in (first, second):
        assert values_of(codes, codes.encode(pa.array(batch, pa.int64()))) == batch


@given(
    places=st.lists(st.one_of(st.none(), st.integers(0, 3)), min_size=1, max_size=20),
    names=st.lists(st.sampled_from("ABC"), min_size=4, max_size=4),
    second=st.booleans(),
    index=st.sampled_from([pa.int8(), pa.int32(), pa.int64()]),
)
def test_a_dictionary_may_hold_a_value_twice(
    places: list[int | None], names: list[str], second: bool, index: Any
) -> None:
    column = pa.DictionaryArray.from_arrays(pa.array(places, index), pa.array(names))
    codes = Codes()
    if second:
        codes.encode(pa.array(["X", "C"]))
    assert values_of(codes, codes.encode(column)) == column.to_pylist()


def test_zero_and_minus_zero_are_one_value() -> None:
    codes = Codes().encode(pa.array([0.0, -0.0, 1.0]))
    assert codes[0] == codes[1] != codes[2]


@given(words=WORDS, close=st.sampled_from([1, 8, 2**16]))
def test_close_numbers_are_numbered_as_all_are(words: list[int], close: int) -> None:
    column = pa.chunked_array([pa.array(words[:3], pa.int64()), pa.array(words[3:], pa.int64())])
    with patch.object(encoding, "CLOSE", close):
        found = Numbered(pa.table({"key": column}))["key"]
    # In the order of their first appearance, each once.
    assert found.dictionary.to_pylist() == list(dict.fromkeys(words))
    assert found.to_pylist() == words


@given(flags=st.lists(st.booleans(), max_size=40))
def test_marked_places_are_chosen(flags: list[bool]) -> None:
    places = np.empty(len(flags) + 1, np.int32)
    count = numbering.chosen(np.array(flags, np.bool_), places)
    assert places[:count].tolist() == np.flatnonzero(flags).tolist()
