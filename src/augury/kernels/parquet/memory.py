"""Words of eight bytes at any address, and single bytes.

Numba's arrays know only places of their own element. The addresses are those of arrays whose owner
checks that they are long enough; behind what is theirs they have `SLACK` bytes, so that a word may
be taken where fewer than eight bytes are left.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

# Bytes behind the end of every buffer that may be read, and written, and mean nothing.
SLACK = 16

_BYTE, _WORD = ir.IntType(8), ir.IntType(64)


@intrinsic
def word_at(typing_context, address):
    """Return the eight bytes from an address on, the first of them as the lowest."""

    def generate(context, builder, signature, arguments):
        word = builder.load(builder.inttoptr(arguments[0], _WORD.as_pointer()))
        word.align = 1
        return word

    return types.uint64(types.int64), generate


@intrinsic
def put_word(typing_context, address, word):
    """Write eight bytes from an address on."""

    def generate(context, builder, signature, arguments):
        place = builder.inttoptr(arguments[0], _WORD.as_pointer())
        builder.store(arguments[1], place).align = 1
        return context.get_dummy_value()

    return types.void(types.int64, types.uint64), generate


@intrinsic
def byte_at(typing_context, address):
    """Return the byte at an address."""

    def generate(context, builder, signature, arguments):
        return builder.zext(builder.load(builder.inttoptr(arguments[0], _BYTE.as_pointer())), _WORD)

    return types.uint64(types.int64), generate


@intrinsic
def put_byte(typing_context, address, byte):
    """Write the lowest byte of a word to an address."""

    def generate(context, builder, signature, arguments):
        place = builder.inttoptr(arguments[0], _BYTE.as_pointer())
        builder.store(builder.trunc(arguments[1], _BYTE), place)
        return context.get_dummy_value()

    return types.void(types.int64, types.uint64), generate
