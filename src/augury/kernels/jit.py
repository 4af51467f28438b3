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
from numba.core.types import unliteral

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


def kernel(function: Callable[..., Any]) -> Any:
    """Make an entry point, whose compiled code is looked for in files before it is compiled."""
    dispatcher = njit(cache=False, **_OPTIONS)(function)
    # Where Numba is switched off, a function stays what it is.
    if dispatcher is not function:
        # The place where Numba keeps its own cache of files, which looks at one source file only.
        dispatcher._cache = Kept(function)
    return _generic(dispatcher)


def _generic(made: Any) -> Any:
    """Let a function be compiled once for all integers, and not again for 0, for 1 and for -1.

    Numba takes a number that is written in a call for a type of its own. With that, the search
    takes more than twice as long to compile; the optimiser sees such numbers anyway.
    """
    if hasattr(made, "get_call_template"):
        template = made.get_call_template
        made.get_call_template = lambda args, kws: template(
            tuple(map(unliteral, args)), {name: unliteral(kws[name]) for name in kws}
        )
    return made


progress.listen()
