"""Which types go together: comparison, a common type, and arithmetic with times."""

from __future__ import annotations

from augury.analysis.declarations.catalog import DataType

_TIMES = (DataType.TIMESTAMP, DataType.DATE)


def comparable(left: DataType, right: DataType) -> bool:
    """Return whether two values of these types have an order or can be equal."""
    return common_type(left, right) is not None


def common_type(left: DataType, right: DataType) -> DataType | None:
    """Return the type that both become, or None where there is none."""
    if left is right or right is DataType.NULL:
        return left
    if left is DataType.NULL:
        return right
    if left.is_number and right.is_number:
        return DataType.DOUBLE
    if left in _TIMES and right in _TIMES:
        return DataType.TIMESTAMP
    return None


def arithmetic_type(operator: str, left: DataType, right: DataType) -> DataType | None:
    """Return the type of `left operator right`, or None where it has no meaning."""
    if operator == "||":
        return DataType.STRING if {left, right} <= {DataType.STRING, DataType.NULL} else None
    if DataType.NULL in (left, right):
        return right if left is DataType.NULL else left
    if left.is_number and right.is_number:
        return DataType.DOUBLE if operator == "/" else common_type(left, right)
    return _time_arithmetic(operator, left, right)


def _time_arithmetic(operator: str, left: DataType, right: DataType) -> DataType | None:
    interval = DataType.INTERVAL
    if operator == "-" and left in _TIMES and right in _TIMES:
        return interval
    if operator in "+-" and left in (*_TIMES, interval) and right is interval:
        return interval if left is interval else DataType.TIMESTAMP
    if operator == "+" and left is interval and right in _TIMES:
        return DataType.TIMESTAMP
    if operator in "*/" and left is interval and right.is_number:
        return interval
    if operator == "*" and left.is_number and right is interval:
        return interval
    return None
