"""A text of JSON, whatever it holds, spoils no row but its own."""

from __future__ import annotations

import math
from typing import Any

import pytest

from augury.sources.declared import FAULT
from augury.sources.json_lines import read_texts
from augury.sources.time_forms import Forms

COLUMNS = {"n": "LONG", "x": "DOUBLE", "s": "STRING", "t": "TIMESTAMP"}
GOOD = b'{"n": 1}'


def read(text: bytes) -> dict[str, Any]:
    before, row, after = read_texts([GOOD, text, GOOD], COLUMNS, [], Forms()).to_pylist()
    assert (before["n"], after["n"]) == (1, 1)
    return dict(row)


def test_a_number_of_400_digits_is_no_long() -> None:
    assert str(read(b'{"n": 1' + b"0" * 400 + b"}")[FAULT]).startswith("n is declared LONG")


def test_a_number_of_400_digits_is_without_bounds_as_a_double() -> None:
    assert read(b'{"x": 1' + b"0" * 400 + b"}")["x"] == math.inf
    assert read(b'{"x": -1' + b"0" * 400 + b"}")["x"] == -math.inf


@pytest.mark.parametrize("begin", [b'{"s": ', b'[{"s": '])
def test_lists_in_lists_without_end_are_no_object(begin: bytes) -> None:
    row = read(begin + b"[" * 100_000)
    assert row[FAULT] == "the text is not a JSON object"
    assert row["s"] is None


def test_half_of_a_pair_of_utf_16_becomes_a_question_mark() -> None:
    assert read(b'{"s": "a\\ud800b"}')["s"] == "a?b"
    assert read(b'[{"s": "\\udfff"}]')["s"] == "?"


def test_half_of_a_pair_of_utf_16_is_no_time() -> None:
    assert str(read(b'{"t": "\\ud800"}')[FAULT]).startswith("t is declared TIMESTAMP, but is ?")
