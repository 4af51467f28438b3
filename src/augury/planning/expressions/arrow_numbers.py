"""Arithmetic and comparison of Arrow columns: NULL on overflow, NaN as Spark orders it."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from augury.analysis.declarations.catalog import DataType
from augury.planning.expressions.arrow_api import Column, pa, pc

Values = npt.NDArray[Any]
Truths = npt.NDArray[np.bool_]

_SMALLEST = np.iinfo(np.int64).min
_TWO_63 = 2.0**63
_DAY = 86_400_000_000


def _split(column: Column) -> tuple[Values, Truths]:
    """Return a column's values, zero where NULL, and which are not NULL."""
    valid = pc.is_valid(column).to_numpy(zero_copy_only=False)
    zero = False if pa.types.is_boolean(column.type) else 0
    return pc.fill_null(column, zero).to_numpy(zero_copy_only=False), valid


def _joined(values: Values, valid: Truths) -> Column:
    return pa.array(values, mask=~valid)


def _is_real(column: Column) -> bool:
    return bool(pa.types.is_floating(column.type))


# Comparison ----------------------------------------------------------------------------------


def equal(left: Column, right: Column) -> Column:
    """Return left = right; NaN equals NaN."""
    if not _is_real(left):
        return pc.equal(left, right)
    return pc.or_(pc.equal(left, right), pc.and_(pc.is_nan(left), pc.is_nan(right)))


def less(left: Column, right: Column) -> Column:
    """Return left < right; NaN is larger than every number."""
    if pa.types.is_boolean(left.type):
        return pc.and_(pc.invert(left), right)
    if not _is_real(left):
        return pc.less(left, right)
    beyond = pc.and_(pc.invert(pc.is_nan(left)), pc.is_nan(right))
    return pc.or_(pc.less(left, right), beyond)


# Arithmetic ----------------------------------------------------------------------------------


def _add(left: Column, right: Column) -> Column:
    (a, known_a), (b, known_b) = _split(left), _split(right)
    with np.errstate(all="ignore"):
        total = a + b
        fits = True if _is_real(left) else ((a ^ total) & (b ^ total)) >= 0
    return _joined(total, known_a & known_b & fits)


def _subtract(left: Column, right: Column) -> Column:
    (a, known_a), (b, known_b) = _split(left), _split(right)
    with np.errstate(all="ignore"):
        total = a - b
        fits = True if _is_real(left) else ((a ^ b) & (a ^ total)) >= 0
    return _joined(total, known_a & known_b & fits)


def _multiply(left: Column, right: Column) -> Column:
    (a, known_a), (b, known_b) = _split(left), _split(right)
    with np.errstate(all="ignore"):
        product = a * b
        fits = True if _is_real(left) else _product_fits(a, b, product)
    return _joined(product, known_a & known_b & fits)


def _product_fits(a: Values, b: Values, product: Values) -> Truths:
    negative_one = (a == -1) | (b == -1)
    divisor = np.where((a == 0) | negative_one, 1, a)
    exact = (a == 0) | (product // divisor == b)
    held: Truths = np.where(negative_one, (a != _SMALLEST) & (b != _SMALLEST), exact)
    return held


def _divide(left: Column, right: Column) -> Column:
    (a, known_a), (b, known_b) = _split(left), _split(right)
    with np.errstate(all="ignore"):
        return _joined(a / b, known_a & known_b & (b != 0))


def _modulo(left: Column, right: Column) -> Column:
    (a, known_a), (b, known_b) = _split(left), _split(right)
    divisor = b if _is_real(left) else np.where((b == 0) | (b == -1), 1, b)
    with np.errstate(all="ignore"):
        return _joined(np.fmod(a, divisor), known_a & known_b & (b != 0))


def _negate(column: Column) -> Column:
    a, known = _split(column)
    with np.errstate(all="ignore"):
        return _joined(-a, known if _is_real(column) else known & (a != _SMALLEST))


def _abs(column: Column) -> Column:
    a, known = _split(column)
    with np.errstate(all="ignore"):
        return _joined(np.abs(a), known if _is_real(column) else known & (a != _SMALLEST))


def _whole(column: Column, function: Callable[[Values], Values]) -> Column:
    a, known = _split(column)
    inside = (a >= -_TWO_63) & (a < _TWO_63)
    held = function(np.where(inside, a, 0.0)).astype(np.int64)
    return _joined(held, known & inside)


def _floor(column: Column) -> Column:
    return _whole(column, np.floor)


def _ceil(column: Column) -> Column:
    return _whole(column, np.ceil)


def _real_function(function: Callable[[Values], Values]) -> Callable[[Column], Column]:
    def apply(column: Column) -> Column:
        a, known = _split(column)
        with np.errstate(all="ignore"):
            return _joined(function(a), known)

    return apply


def _ln(column: Column) -> Column:
    a, known = _split(column)
    with np.errstate(all="ignore"):
        return _joined(np.log(a), known & ~(a <= 0.0))


def _power(left: Column, right: Column) -> Column:
    (a, known_a), (b, known_b) = _split(left), _split(right)
    with np.errstate(all="ignore"):
        result = np.power(a, b)
    # C gives 1 for these; Java, and so Spark, gives NaN.
    odd = np.isnan(b) | ((np.abs(a) == 1.0) & np.isinf(b))
    return _joined(np.where(odd, np.nan, result), known_a & known_b)


ARITHMETIC: dict[str, Callable[..., Column]] = {
    "add": _add,
    "subtract": _subtract,
    "multiply": _multiply,
    "divide": _divide,
    "modulo": _modulo,
    "negate": _negate,
    "abs": _abs,
    "floor": _floor,
    "ceil": _ceil,
    "sqrt": _real_function(np.sqrt),
    "exp": _real_function(np.exp),
    "ln": _ln,
    "power": _power,
}


def round_half_up(column: Column, digits: int) -> Column:
    """Return each number rounded as it is written in decimal, halves away from zero."""
    step = Decimal(1).scaleb(-digits)

    def one(value: float | None) -> float | None:
        if value is None or not np.isfinite(value) or abs(value) >= _TWO_63:
            return value
        return float(Decimal(repr(value)).quantize(step, ROUND_HALF_UP))

    return pa.array([one(value) for value in column.to_pylist()], pa.float64())


# Casts between numbers, booleans and times -------------------------------------------------------


def cast(column: Column, before: DataType, after: DataType) -> Column:
    """Return the column in another type; what does not fit is NULL."""
    if after is DataType.DOUBLE:
        a, known = _split(column)
        return _joined(a.astype(np.float64), known)
    if after is DataType.BOOLEAN:
        a, known = _split(column)
        return _joined(a != 0, known)
    if before is DataType.DOUBLE:
        return _whole(column, np.trunc)
    if after is DataType.TIMESTAMP:
        return _multiply(column, pa.repeat(pa.scalar(_DAY, pa.int64()), len(column)))
    if after is DataType.DATE:
        a, known = _split(column)
        return _joined(a // _DAY, known)
    return pc.cast(column, pa.int64())
