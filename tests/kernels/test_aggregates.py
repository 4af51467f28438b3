"""Aggregates over repetitions, value by value."""

from __future__ import annotations

import math

import pytest

from augury.kernels.search import opcodes as op
from augury.kernels.search.aggregates import add_double, add_long

LARGEST = 2**63 - 1


def longs(kind: int, values: list[int]) -> tuple[int, bool]:
    total, fits = 0, True
    for n, value in enumerate(values):
        total, fitted = add_long(kind, n, total, value)
        fits = fits and fitted
    return total, fits


def doubles(kind: int, values: list[float]) -> float:
    total = 0.0
    for n, value in enumerate(values):
        total = add_double(kind, n, total, value)
    return total


def test_long_aggregates_are_exact_beyond_what_a_double_holds() -> None:
    values = [2**53 + 1, 2**53, 2**53 + 3]
    assert longs(op.SUM, values) == (3 * 2**53 + 4, True)
    assert longs(op.MIN, values) == (2**53, True)
    assert longs(op.MAX, values) == (2**53 + 3, True)


@pytest.mark.parametrize("values", [[LARGEST, 1], [-LARGEST, -2]])
def test_a_sum_that_overflows_says_so(values: list[int]) -> None:
    assert not longs(op.SUM, values)[1]


def test_the_first_value_counts_even_if_it_is_on_the_wrong_side_of_zero() -> None:
    assert longs(op.MAX, [-5, -3, -4]) == (-3, True)
    assert doubles(op.MIN, [5.0, 3.0]) == 3.0


def test_nan_is_the_largest_number() -> None:
    assert doubles(op.MIN, [math.nan, 1.0]) == 1.0
    assert math.isnan(doubles(op.MAX, [1.0, math.nan, 2.0]))


def test_sums_of_doubles_go_in_order() -> None:
    assert doubles(op.SUM, [1e16, 1.0, -1e16]) == 0.0
    assert doubles(op.AVG, [1e16, -1e16, 1.0]) == 1.0
