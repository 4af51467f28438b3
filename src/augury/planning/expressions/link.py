"""Link programs with data: the dictionary's codes and the tables' rows become arrays.

Kept apart from assembly because it needs numpy and happens at run time, once per dictionary.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

import numpy as np

from augury.analysis.declarations.catalog import DataType
from augury.errors import DataError
from augury.kernels.search import opcodes as op
from augury.kernels.search.predicates import Predicates
from augury.planning.expressions.program import Instruction, ProgramSet, TableUse

Row = Sequence[bool | int | float | str | None]
# No event has this code, so a table's string that no event has matches nothing.
ABSENT = -1


def link(
    programs: ProgramSet,
    codes: Mapping[str, int] | None = None,
    tables: Mapping[str, Sequence[Row]] | None = None,
) -> Predicates:
    """Return the programs as the predicate machine runs them.

    `codes` maps every string constant (and every string of the events) to its dictionary code;
    `tables` has the rows of each table by its name in lower case, timestamps in microseconds.
    """
    known = codes or {}
    programs, given = programs.with_rows(tables or {})
    constants = [_word(c.type, c.value, known) for c in programs.constants]
    lengths = [len(p.instructions) * op.WIDTH for p in programs.programs]
    starts = list(accumulate(lengths, initial=len(lengths) + 1))
    places, rows = _tables(programs.tables, given, known, starts[-1])
    code = list(starts)
    for program in programs.programs:
        for instruction in program.instructions:
            code.extend(_linked(instruction, constants, places))
    stack = np.zeros(op.STACK_DEPTH, np.int64)
    return Predicates(np.array(code + rows, np.int64), stack, np.zeros(op.STACK_DEPTH, np.bool_))


def _linked(instruction: Instruction, constants: list[int], places: list[int]) -> Instruction:
    opcode, a, b = instruction
    if opcode == op.PUSH:
        return opcode, constants[a], b
    if opcode == op.MEMBER:
        return opcode, places[a], b
    is_jump = op.JUMP <= opcode <= op.KEEP_IF_VALUE
    return (opcode, a * op.WIDTH, b) if is_jump else instruction


def float_word(value: float) -> int:
    """Return the bits of a float; equal floats have equal bits (one zero, one NaN)."""
    settled = 0.0 if value == 0 else float("nan") if value != value else value  # noqa: PLR0124
    return int(struct.unpack("<q", struct.pack("<d", settled))[0])


def _word(kind: DataType, value: object, codes: Mapping[str, int]) -> int:
    if value is None:
        return 0
    if isinstance(value, str):
        return codes.get(value, ABSENT)
    if kind is DataType.DOUBLE:
        return float_word(float(value))  # type: ignore[arg-type]
    return int(value)  # type: ignore[call-overload, no-any-return]


def _tables(
    uses: Sequence[TableUse],
    given: Mapping[str, Sequence[Row]],
    codes: Mapping[str, int],
    start: int,
) -> tuple[list[int], list[int]]:
    """Return where each table begins, and the words of all of them."""
    places: list[int] = []
    words: list[int] = []
    for use in uses:
        if use.name.lower() not in given:
            raise DataError(f"table {use.name} has no rows bound; bind it before the query runs")
        whole, holed = _encoded(use, given[use.name.lower()], codes)
        places.append(start + len(words))
        words += [len(use.types), len(whole), len(whole) + len(holed)]
        words += [word for row in whole for word in row]
        words += [word for row, _ in holed for word in row]
        words += [0] * (len(whole) * len(use.types))
        words += [int(missing) for _, flags in holed for missing in flags]
    return places, words


def _encoded(
    use: TableUse, rows: Iterable[Row], codes: Mapping[str, int]
) -> tuple[list[tuple[int, ...]], list[tuple[tuple[int, ...], tuple[bool, ...]]]]:
    whole: set[tuple[int, ...]] = set()
    holed: set[tuple[tuple[int, ...], tuple[bool, ...]]] = set()
    for row in rows:
        words = tuple(_word(kind, value, codes) for kind, value in zip(use.types, row, strict=True))
        missing = tuple(value is None for value in row)
        if any(missing):
            holed.add((words, missing))
        else:
            whole.add(words)
    return sorted(whole), sorted(holed)
