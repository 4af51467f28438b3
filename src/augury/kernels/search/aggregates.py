"""Aggregates over the items of a repetition, one value at a time, for slots of programs.

The caller leaves NULLs out and counts what is left; nothing left is NULL. A LONG sum that
overflows is NULL as well. AVG sums in DOUBLE. MIN and MAX take NaN as the largest number. Items are
added in the order of the stream, because the sum of floats depends on it.
"""

from __future__ import annotations

from augury.kernels.jit import kernel
from augury.kernels.search import opcodes as op
from augury.kernels.search.predicates import less, wrapping_add


@kernel
def add_long(kind, n, total, value):
    """Return SUM, MIN or MAX of a LONG after value number n (from 0), and whether it fits."""
    if kind == op.SUM:
        result = wrapping_add(total, value)
        return result, ((total ^ result) & (value ^ result)) >= 0
    if n == 0 or (kind == op.MIN and value < total) or (kind == op.MAX and value > total):
        return value, True
    return total, True


@kernel
def add_double(kind, n, total, value):
    """Return SUM, AVG's sum, MIN or MAX of a DOUBLE after value number n (from 0)."""
    if kind in (op.SUM, op.AVG):
        return total + value
    if n == 0 or (kind == op.MIN and less(value, total)) or (kind == op.MAX and less(total, value)):
        return value
    return total
