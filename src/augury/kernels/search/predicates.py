"""The predicate machine: evaluates WHERE over slots, with SQL's three-valued logic.

A matching kernel calls it in its inner loop, so it allocates nothing, raises nothing and stops as
soon as the answer is known. The caller puts what a program reads into slots (an attribute of an
event, or an aggregate over a repetition); which component, column and item each slot holds is said
by `augury.planning.expressions.program`, which also assembles the programs. They are data (see
`opcodes`), so the machine is compiled once, whatever the query.

Everything a query brings is in one vector, and operators are functions of scalars: an array that
crosses a call is counted by Numba with two atomic operations, which cost more than an instruction.

Oracle: tests/planning/plain.py evaluates the syntax tree in plain Python.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from augury.kernels.jit import kernel, part
from augury.kernels.search import opcodes as op

TRUE, FALSE, UNKNOWN = 1, 0, -1

_SMALLEST = np.int64(-9223372036854775808)
_TWO_63 = 9223372036854775808.0
_HALF_WORD = np.int64(2147483647)
_DAY = np.int64(86_400_000_000)
_NULL = (np.int64(0), True)


class Predicates(NamedTuple):
    """All programs of a query, ready to run, and the stack they run on.

    `code` starts with P + 1 offsets: program p is the instructions from `code[p]` up to
    `code[p + 1]`. After them come the tables: width, number of rows without NULL, number of all
    rows, the rows (those without NULL first, sorted), and a 1 for each word that is NULL. Because
    of the stack, each thread needs its own.
    """

    code: np.ndarray  # int64
    words: np.ndarray  # int64 (STACK_DEPTH,)
    nulls: np.ndarray  # bool (STACK_DEPTH,)


@kernel
def evaluate(predicates, which, slots, slot_nulls):
    """Return 1 (true), 0 (false) or -1 (NULL) for program `which`; floats in slots are bits."""
    code, words, nulls = predicates.code, predicates.words, predicates.nulls
    start, end = code[which], code[which + 1]
    at, top = start, -1
    while at < end:
        opcode, a = code[at], code[at + 1]
        at += op.WIDTH
        if opcode == op.LOAD:
            top += 1
            words[top], nulls[top] = slots[a], slot_nulls[a]
        elif opcode == op.PUSH:
            top += 1
            words[top], nulls[top] = a, False
        elif opcode >= op.CONVERSIONS:
            words[top], nulls[top] = _convert(opcode, words[top], nulls[top])
        elif opcode >= op.COMPARISONS:
            top -= 1
            words[top], nulls[top] = _combine(
                opcode, words[top], nulls[top], words[top + 1], nulls[top + 1]
            )
        elif opcode == op.PUSH_NULL:
            top += 1
            words[top], nulls[top] = _NULL
        elif opcode == op.MEMBER:
            top += 1 - code[a]
            words[top], nulls[top] = _member(code, a, words, nulls, top)
        elif opcode == op.JUMP_IF_ZERO:
            if slots[code[at - 1]] == 0:
                at = start + a
        else:
            jumps = _jumps(opcode, words[top], nulls[top])
            top -= opcode == op.JUMP_UNLESS or (opcode == op.KEEP_IF_VALUE and not jumps)
            if jumps:
                at = start + a
    if nulls[top]:
        return UNKNOWN
    return TRUE if words[top] != 0 else FALSE


@part
def _jumps(opcode, word, null):
    if opcode == op.JUMP:
        return True
    if opcode == op.KEEP_IF_VALUE:
        return not null
    if opcode == op.JUMP_UNLESS:
        return null or word == 0
    # AND and OR stop at the first operand that decides them; NULL never does.
    return not null and word == (1 if opcode == op.KEEP_IF_TRUE else 0)


@part
def bits_of(x):
    """Return the word that holds a DOUBLE."""
    return np.float64(x).view(np.int64)


@part
def double_of(word):
    """Return the DOUBLE that a word holds."""
    return np.int64(word).view(np.float64)


# Two operands: each gives a word and whether it is NULL ------------------------------------------


@part
def _combine(opcode, left, left_null, right, right_null):
    if opcode == op.AND or opcode == op.OR:  # noqa: PLR1714 - a tuple would be built each time
        return _connect(opcode, left, left_null, right, right_null)
    if op.LEAST_I <= opcode <= op.GREATEST_F:
        return _choose(opcode, left, left_null, right, right_null)
    if left_null or right_null:
        return _NULL
    if opcode < op.EQUAL_F:
        return _compare(opcode, left, right)
    if opcode < op.LOGIC:
        return _compare_floats(opcode, double_of(left), double_of(right))
    if opcode < op.FLOATS:
        return _integers(opcode, left, right)
    return _floats(opcode, double_of(left), double_of(right))


@part
def _compare(opcode, left, right):
    if opcode == op.EQUAL_I:
        return np.int64(left == right), False
    if opcode == op.LESS_I:
        return np.int64(left < right), False
    return np.int64(left <= right), False


@part
def _compare_floats(opcode, x, y):
    if opcode == op.EQUAL_F:
        return np.int64(x == y or (math.isnan(x) and math.isnan(y))), False
    if opcode == op.LESS_F:
        return np.int64(less(x, y)), False
    return np.int64(not less(y, x)), False


@part
def less(x, y):
    """Return whether x < y, where NaN is larger than every number."""
    return x < y or (math.isnan(y) and not math.isnan(x))


@part
def _connect(opcode, left, left_null, right, right_null):
    # The deciding value is FALSE for AND, TRUE for OR; without it, one NULL makes NULL.
    decisive = np.int64(1) if opcode == op.OR else np.int64(0)
    if (not left_null and left == decisive) or (not right_null and right == decisive):
        return decisive, False
    return 1 - decisive, left_null or right_null


@part
def _choose(opcode, left, left_null, right, right_null):
    """Return the lesser or the greater of two; NULLs are passed over."""
    if right_null:
        return left, left_null
    if left_null:
        return right, False
    if opcode == op.LEAST_I:
        better = right < left
    elif opcode == op.GREATEST_I:
        better = left < right
    elif opcode == op.LEAST_F:
        better = less(double_of(right), double_of(left))
    else:
        better = less(double_of(left), double_of(right))
    return right if better else left, False


@part
def _integers(opcode, left, right):
    if opcode == op.ADD_I:
        result = wrapping_add(left, right)
        return result, ((left ^ result) & (right ^ result)) < 0
    if opcode == op.SUBTRACT_I:
        result = np.int64(np.uint64(left) - np.uint64(right))
        return result, ((left ^ right) & (left ^ result)) < 0
    if opcode == op.MULTIPLY_I:
        return _multiply(left, right)
    return _remainder(left, right), right == 0


@part
def wrapping_add(left, right):
    """Return the sum modulo 2 ** 64.

    Numba tells LLVM that signed sums never overflow, so that a test for it is optimised away.
    """
    return np.int64(np.uint64(left) + np.uint64(right))


@part
def _multiply(left, right):
    result = np.int64(np.uint64(left) * np.uint64(right))
    if -_HALF_WORD <= left <= _HALF_WORD and -_HALF_WORD <= right <= _HALF_WORD:
        return result, False
    if left == -1 or right == -1:
        return result, left == _SMALLEST or right == _SMALLEST  # noqa: PLR1714
    return result, left != 0 and result // left != right


@part
def _remainder(left, right):
    # The sign follows the dividend, as in SQL; the smallest LONG overflows when divided by -1.
    if -1 <= right <= 0:
        return np.int64(0)
    result = left % right
    if result != 0 and (left < 0) != (right < 0):
        result -= right
    return result


@part
def _floats(opcode, x, y):
    if opcode == op.ADD_F:
        return bits_of(x + y), False
    if opcode == op.SUBTRACT_F:
        return bits_of(x - y), False
    if opcode == op.MULTIPLY_F:
        return bits_of(x * y), False
    if opcode == op.POWER:
        return bits_of(_power(x, y)), False
    if y == 0.0:
        return _NULL
    if opcode == op.DIVIDE_F:
        return bits_of(x / y), False
    return bits_of(np.fmod(x, y)), False


@part
def _power(x, y):
    # C gives 1 for these; Java, and so Spark, gives NaN.
    if math.isnan(y) or (abs(x) == 1.0 and math.isinf(y)):
        return np.nan
    return x**y


# One operand -----------------------------------------------------------------------------------


@part
def _convert(opcode, word, null):
    if opcode == op.IS_NULL:
        return np.int64(null), False
    if null:
        return _NULL
    if opcode >= op.OF_FLOATS:
        return _convert_float(opcode, double_of(word))
    if opcode == op.NOT:
        return 1 - word, False
    if opcode == op.FLOAT_OF_I:
        return bits_of(float(word)), False
    if opcode == op.TRUTH_OF_I:
        return np.int64(word != 0), False
    if opcode == op.MOMENT_OF_DATE:
        return _multiply(word, _DAY)
    if opcode == op.DATE_OF_MOMENT:
        return word // _DAY, False
    if opcode == op.ABS_I and word >= 0:
        return word, False
    return np.int64(np.uint64(0) - np.uint64(word)), word == _SMALLEST


@part
def _convert_float(opcode, x):
    if opcode == op.NEGATE_F:
        return bits_of(-x), False
    if opcode == op.ABS_F:
        return bits_of(abs(x)), False
    if opcode == op.TRUTH_OF_F:
        return np.int64(x != 0.0), False
    if opcode == op.SQRT:
        return bits_of(math.sqrt(x) if x >= 0.0 else np.nan), False
    if opcode == op.EXP:
        return bits_of(math.exp(x)), False
    if opcode == op.LN:
        return bits_of(math.log(x) if x > 0.0 else x), x <= 0.0
    if opcode == op.SETTLE:
        return bits_of(np.nan if math.isnan(x) else x + 0.0), False
    return _whole(opcode, x)


@part
def _whole(opcode, x):
    if not (-_TWO_63 <= x < _TWO_63):
        return _NULL
    if opcode == op.FLOOR:
        return np.int64(np.floor(x)), False
    if opcode == op.CEIL:
        return np.int64(np.ceil(x)), False
    return np.int64(x), False


# Tables ------------------------------------------------------------------------------------------


@part
def _member(code, table, words, nulls, top):
    """Return whether the row that starts at `top` is in the table: true, false or NULL."""
    width, whole, total = code[table], code[table + 1], code[table + 2]
    rows = table + 3
    complete = True
    for k in range(width):
        complete = complete and not nulls[top + k]
    if complete and _search(code, rows, whole, width, words[top : top + width]):
        return np.int64(1), False
    # Only a NULL on one side or the other leaves a row open.
    for r in range(whole if complete else 0, total):
        row = rows + r * width
        open_row = True
        for k in range(width):
            known = code[row + total * width + k] == 0 and not nulls[top + k]
            open_row = open_row and not (known and code[row + k] != words[top + k])
        if open_row:
            return _NULL
    return np.int64(0), False


@part
def _search(code, rows, whole, width, wanted):
    low, high = 0, whole
    while low < high:
        middle = (low + high) // 2
        order = _order(code, rows + middle * width, wanted)
        if order == 0:
            return True
        if order < 0:
            low = middle + 1
        else:
            high = middle
    return False


@part
def _order(code, row, wanted):
    for k in range(len(wanted)):
        if code[row + k] != wanted[k]:
            return -1 if code[row + k] < wanted[k] else 1
    return 0
