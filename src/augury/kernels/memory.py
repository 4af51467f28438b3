"""Words in memory: read and write at an address, as integers or doubles.

The search calls many small functions with the same memory. Numba unpacks an array into seven values
for every call, counts references to it with atomic operations, and compiles all of that anew for
every function: with arrays, the search took two minutes to compile. An address is one integer.
Nothing is checked: whoever makes an address keeps its array alive and large enough.
"""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_WORD, _REAL, _FLAG = ir.IntType(64), ir.DoubleType(), ir.IntType(8)


def _cell(builder, address, index, kind):
    pointer = builder.inttoptr(address, kind.as_pointer())
    return builder.gep(pointer, [index])


def _reader(kind, result):
    def read(typing_context, address, index):
        def generate(context, builder, signature, arguments):
            return builder.load(_cell(builder, *arguments, kind))

        return result(types.int64, types.int64), generate

    return read


def _writer(kind, accepted):
    def write(typing_context, address, index, value):
        def generate(context, builder, signature, arguments):
            where, position, new = arguments
            if new.type != kind:
                new = builder.zext(new, kind) if kind == _FLAG else new
            builder.store(new, _cell(builder, where, position, kind))
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, accepted), generate

    return write


@intrinsic
def address(typing_context, array):
    """Return the address of an array's data."""

    def generate(context, builder, signature, arguments):
        view = cgutils.create_struct_proxy(signature.args[0])(context, builder, arguments[0])
        return builder.ptrtoint(view.data, _WORD)

    return types.int64(array), generate


@intrinsic
def get(typing_context, address, index):
    """Return the word at a position."""
    return _reader(_WORD, types.int64)(typing_context, address, index)


@intrinsic
def get_real(typing_context, address, index):
    """Return the double at a position."""
    return _reader(_REAL, types.float64)(typing_context, address, index)


@intrinsic
def put(typing_context, address, index, value):
    """Write a word at a position."""
    return _writer(_WORD, types.int64)(typing_context, address, index, value)


@intrinsic
def put_real(typing_context, address, index, value):
    """Write a double at a position."""
    return _writer(_REAL, types.float64)(typing_context, address, index, value)


@intrinsic
def put_flag(typing_context, address, index, value):
    """Write a truth value, one byte, at a position."""
    return _writer(_FLAG, types.boolean)(typing_context, address, index, value)


@intrinsic
def array_at(typing_context, address, like):
    """Return a pointer to words at an address; `like` is a value of the type they have."""
    pointer = types.CPointer(types.unliteral(like))

    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], context.get_value_type(pointer))

    return pointer(types.int64, like), generate
