"""The predicate machine, instruction by instruction, where random programs might not reach."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from augury.analysis.declarations.catalog import DataType
from augury.errors import DataError
from augury.kernels.search import opcodes as op
from augury.kernels.search.predicates import evaluate
from augury.planning.expressions.link import float_word, link
from augury.planning.expressions.program import Program, ProgramSet, TableUse
from augury.planning.expressions.typed import Constant

SMALLEST, LARGEST = -(2**63), 2**63 - 1


def machine(*instructions: tuple[int, ...], **parts: Any) -> ProgramSet:
    padded = tuple((*i, *(0,) * (op.WIDTH - len(i))) for i in instructions)
    program = Program(padded, (), (), (), 1)
    constants = tuple(Constant(DataType.LONG, c) for c in parts.get("constants", ()))
    return ProgramSet((program,), constants, (), parts.get("tables", ()), False)


def answer(programs: ProgramSet, slots: list[int | None], **data: Any) -> int:
    words = np.array([0 if s is None else s for s in slots], np.int64)
    nulls = np.array([s is None for s in slots], np.bool_)
    return int(evaluate(link(programs, **data), 0, words, nulls))


def is_null(opcode: int, *slots: int | None) -> bool:
    loads = [(op.LOAD, k) for k in range(len(slots))]
    return answer(machine(*loads, (opcode,), (op.IS_NULL,)), list(slots)) == 1


@pytest.mark.parametrize(
    ("opcode", "left", "right", "overflows"),
    [
        (op.ADD_I, LARGEST, 1, True),
        (op.ADD_I, LARGEST, -1, False),
        (op.ADD_I, SMALLEST, -1, True),
        (op.SUBTRACT_I, SMALLEST, 1, True),
        (op.SUBTRACT_I, 0, SMALLEST, True),
        (op.SUBTRACT_I, -1, SMALLEST, False),
        (op.MULTIPLY_I, 2**53, 10**6, True),
        (op.MULTIPLY_I, 10**6, 2**53, True),
        (op.MULTIPLY_I, 2**32, 2**31, True),
        (op.MULTIPLY_I, 2**32, 2**30, False),
        (op.MULTIPLY_I, SMALLEST, -1, True),
        (op.MULTIPLY_I, -1, SMALLEST, True),
        (op.MULTIPLY_I, 0, SMALLEST, False),
        (op.MODULO_I, SMALLEST, -1, False),
        (op.MODULO_I, 5, 0, True),
    ],
)
def test_what_does_not_fit_a_long_is_null(
    opcode: int, left: int, right: int, overflows: bool
) -> None:
    assert is_null(opcode, left, right) == overflows


@pytest.mark.parametrize("opcode", [op.NEGATE_I, op.ABS_I])
def test_the_smallest_long_has_no_opposite(opcode: int) -> None:
    assert is_null(opcode, SMALLEST)
    assert not is_null(opcode, LARGEST)


@pytest.mark.parametrize(
    ("left", "right", "remainder"), [(7, 3, 1), (-7, 3, -1), (7, -3, 1), (-7, -3, -1)]
)
def test_a_remainder_has_the_sign_of_the_dividend(left: int, right: int, remainder: int) -> None:
    program = machine((op.LOAD, 0), (op.LOAD, 1), (op.MODULO_I,), (op.LOAD, 2), (op.EQUAL_I,))
    assert answer(program, [left, right, remainder]) == 1


def test_and_stops_at_false_but_not_at_null() -> None:
    program = machine((op.LOAD, 0), (op.KEEP_IF_FALSE, 4), (op.LOAD, 1), (op.AND,))
    assert answer(program, [0, None]) == 0
    assert answer(program, [None, 0]) == 0
    assert answer(program, [None, 1]) == -1
    assert answer(program, [1, 1]) == 1


def test_a_table_answers_unknown_where_only_a_null_leaves_it_open() -> None:
    kinds = (DataType.LONG, DataType.DOUBLE)
    program = machine(
        (op.LOAD, 0),
        (op.LOAD, 1),
        (op.SETTLE,),
        (op.MEMBER, 0),
        tables=(TableUse("pairs", kinds),),
    )
    rows = [(1, 0.0), (2, math.nan), (3, None), (9, 1.0)]

    def has(key: int | None, value: float | None) -> int:
        bits = None if value is None else int(np.float64(value).view(np.int64))
        return answer(program, [key, bits], tables={"pairs": rows})

    assert [has(1, -0.0), has(2, math.nan), has(9, 1.0)] == [1, 1, 1]
    assert [has(3, 5.0), has(None, 1.0), has(1, None)] == [-1, -1, -1]
    assert [has(4, 5.0), has(4, None), has(None, 7.5)] == [0, 0, -1]


def test_an_empty_table_has_nothing_not_even_null() -> None:
    program = machine((op.LOAD, 0), (op.MEMBER, 0), tables=(TableUse("t", (DataType.LONG,)),))
    assert answer(program, [None], tables={"t": []}) == 0


def test_a_table_without_rows_bound_is_an_error_of_the_data() -> None:
    program = machine((op.LOAD, 0), (op.MEMBER, 0), tables=(TableUse("t", (DataType.LONG,)),))
    with pytest.raises(DataError, match="table t has no rows bound"):
        link(program)


def test_equal_floats_have_equal_words() -> None:
    assert float_word(-0.0) == float_word(0.0)
    assert float_word(math.nan) == float_word(-math.nan)


def test_programs_of_one_set_run_apart() -> None:
    one = Program(((op.PUSH, 0, 0),), (), (), (), 1)
    two = Program(((op.PUSH, 1, 0),), (), (), (), 1)
    constants = (Constant(DataType.BOOLEAN, True), Constant(DataType.BOOLEAN, False))
    linked = link(ProgramSet((one, two), constants, (), (), False))
    none, no = np.zeros(0, np.int64), np.zeros(0, np.bool_)
    assert [int(evaluate(linked, k, none, no)) for k in (0, 1)] == [1, 0]
