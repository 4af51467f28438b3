"""The ways to compile a kernel.

No threads: Spark owns the cores. No fastmath: NaN and the order of summation have meaning. `nogil`,
so that a session may run several queries from threads. Bounds are not checked and nothing is
raised: kernels return a code, and the operator that called them raises.

Entry points come compiled or are compiled once (`augury.kernels.kept`); what has to be compiled is
said (`augury.kernels.progress`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core.types import Array, BaseTuple, unliteral

from augury.kernels import progress
from augury.kernels.kept import Kept

_OPTIONS = {"parallel": False, "fastmath": False, "nogil": True, "error_model": "numpy"}

# A part of one expression, put in place where it is called.
accessor = njit(cache=False, inline="always", **_OPTIONS)


def part(function: Callable[..., Any]) -> Any:
    """Make a function that only kernels call.

    It has no wrappers that Python and C would need, which take about half of the time that
    compiling a small function takes.
    """
    return _generic(
        njit(cache=False, no_cpython_wrapper=True, no_cfunc_wrapper=True, **_OPTIONS)(function)
    )


def inner(function: Callable[..., Any]) -> Any:
    """Make a function that is put in place where kernels call it, however large it is.

    For what is called so often that handing over its arrays, some words for each, would show.
    """
    return _generic(njit(cache=False, forceinline=True, **_OPTIONS)(function))


def kernel(function: Callable[..., Any]) -> Any:
    """Make an entry point, whose compiled code is looked for in files before it is compiled."""
    dispatcher = njit(cache=False, **_OPTIONS)(function)
    # Where Numba is switched off, a function stays what it is.
    if dispatcher is not function:
        # The place where Numba keeps its own cache of files, which looks at one source file only.
        dispatcher._cache = Kept(function)
        _take_constants(dispatcher)
    return _generic(dispatcher)


def _generic(made: Any) -> Any:
    """Let a function be compiled once for all integers, and not again for 0, for 1 and for -1.

    Numba takes a number that is written in a call for a type of its own. With that, the search
    takes half as long again to compile; the optimiser sees such numbers anyway.
    """
    if hasattr(made, "get_call_template"):
        template = made.get_call_template
        made.get_call_template = lambda args, kws: template(
            tuple(map(unliteral, args)), {name: unliteral(kws[name]) for name in kws}
        )
    return made


def _take_constants(made: Any) -> None:
    """Let one compiled code serve arrays that may be written and those of Arrow, which may not.

    To Numba each is a type of its own, so that a kernel with three arrays may be compiled eight
    times, as the data have it. Its code is the same. Kernels write only to what they call `out`, or
    to memory that was made for them.
    """
    compile_one = made.compile

    def compile_for(types: Any) -> Any:
        plain = tuple(map(_writable, types))
        entry = compile_one(plain)
        if plain != types:
            made._insert([each._code for each in types], entry, False)
        return entry

    made.compile = compile_for


def _writable(kind: Any) -> Any:
    """Return the type of the same values in memory that may be written."""
    if isinstance(kind, Array):
        return kind.copy(readonly=False)
    if isinstance(kind, BaseTuple):
        # Only a named tuple says what it is an instance of.
        named = getattr(kind, "instance_class", tuple)
        return BaseTuple.from_types(tuple(map(_writable, kind)), named)
    return kind


progress.listen()
