"""The ways to compile a kernel.

No threads: Spark owns the cores. No fastmath: NaN and the order of summation have meaning. `nogil`,
so that a session may run several queries from threads. Bounds are not checked and nothing is
raised: kernels return a code, and the operator that called them raises.

Entry points are cached, so that Python workers, which come and go, find them compiled: the search
alone takes most of a minute. Concurrent workers have crashed on Numba's file cache when files of
one name differed (numba#4807, numba#10128), so every version of the kernels' sources has a folder
of its own: all processes that share it write the same thing, and Numba replaces files in one step.
`AUGURY_KERNEL_CACHE` says where (docs/settings.md), for example in an archive that is shipped to a
cluster.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numba
from numba import njit

_OPTIONS = {"parallel": False, "fastmath": False, "nogil": True, "error_model": "numpy"}

# Called from kernels only: without the wrappers that Python and C would need, which take about half
# of the time that compiling a small function takes.
part = njit(cache=False, no_cpython_wrapper=True, no_cfunc_wrapper=True, **_OPTIONS)

# A part of one expression, put in place where it is called.
accessor = njit(cache=False, inline="always", **_OPTIONS)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile an entry point once per machine, or per process where no folder can be written."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return njit(cache=False, **_OPTIONS)(function)
    # Numba decides on the place while it decorates; the setting is put back for everybody else.
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    try:
        return njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:
        return njit(cache=False, **_OPTIONS)(function)
    finally:
        numba.config.CACHE_DIR = before


def cache_folder() -> Path:
    """Return the folder for compiled kernels of exactly these sources and this Numba."""
    root = os.environ.get("AUGURY_KERNEL_CACHE") or Path.home() / ".cache" / "augury"
    return Path(root) / f"kernels-{_fingerprint()}"


@cache
def _fingerprint() -> str:
    """Return a hash of every kernel source: Numba itself looks at one file only."""
    digest = sha256(numba.__version__.encode())
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]
