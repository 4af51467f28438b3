"""The header of a page, as Thrift's compact protocol writes it.

Fields come with the distance to the field before and a type; numbers are zigzag, seven bits a byte.
Of a header only numbers and flags are wanted: of itself and of the one structure within it that
describes its kind of page. What is deeper, such as statistics, is passed over.
"""

from __future__ import annotations

import numpy as np

from augury.kernels.jit import part
from augury.kernels.parquet.memory import byte_at

# Fields of a header, and those of the structures in it at STRUCT times the number of their field.
STRUCT = 16
TYPE, UNPACKED_SIZE, PACKED_SIZE, DATA_V1, DICTIONARY, DATA_V2 = 1, 2, 3, 5, 7, 8
FIELDS = STRUCT * (DATA_V2 + 1)
ABSENT = np.int64(-1)

_TRUE, _FALSE, _BYTE, _I64, _DOUBLE, _BINARY, _STRUCTURE = 1, 2, 3, 6, 7, 8, 12
_DEEPEST = 4


@part
def header(at, end, found):
    """Write the fields of the header at an address; return where it ends, or -1 if it is none."""
    found[:] = ABSENT
    # The number of the last field, by depth; how deep; and the structure of the header one is in.
    numbers = np.zeros(_DEEPEST, np.int64)
    depth, structure = 0, 0
    while 0 <= at < end:
        byte = np.int64(byte_at(at))
        kind, at = byte & 15, at + 1
        if kind == 0:
            if depth == 0:
                return at
            depth -= 1
            continue
        if byte >> 4:
            numbers[depth] += byte >> 4
        else:
            numbers[depth], at = _zigzag(at, end)
        number = numbers[depth]
        if at < 0 or number < 0 or number >= STRUCT:
            return -1
        if kind == _STRUCTURE:
            structure = structure if depth else number
            depth += 1
            if depth == _DEEPEST or structure > DATA_V2:
                return -1
            numbers[depth] = 0
            continue
        value, at = _value(kind, at, end)
        if depth == 0 and number <= DATA_V2:
            found[number] = value
        elif depth == 1:
            found[STRUCT * structure + number] = value
    return -1


@part
def _value(kind, at, end):
    """Return a number or flag and where it ends; what is neither is absent, and passed over."""
    if kind in (_TRUE, _FALSE):
        return np.int64(kind == _TRUE), at
    if kind == _BYTE:
        return ABSENT, at + 1
    if kind <= _I64:
        return _zigzag(at, end)
    if kind == _DOUBLE:
        return ABSENT, at + 8
    length, at = varint(at, end)
    return ABSENT, at + length if kind == _BINARY and 0 <= length <= end - at else np.int64(-1)


@part
def varint(at, end):
    """Return a number of seven bits a byte and where it ends; -1 as the place where there is none.

    Sizes and counts fit into 56 bits.
    """
    value = np.int64(0)
    for k in range(8):
        if at < 0 or at >= end:
            break
        byte = np.int64(byte_at(at))
        at += 1
        value |= (byte & 127) << (7 * k)
        if byte < 128:
            return value, at
    return np.int64(-1), np.int64(-1)


@part
def _zigzag(at, end):
    value, at = varint(at, end)
    return (value >> 1) ^ -(value & 1), at
