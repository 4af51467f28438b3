"""Spark's Python workers: what is there stays there, from one task to the next.

A worker is a process of its own that does the same again and again, which two things make slow
unless they are told so (docs/decisions/0009).

A step allocates arrays of tens of megabytes and frees them. By default the C library and Arrow hand
these back to the system, which gives them out again page by page, each one cleared: a third of a
step's time on a virtual machine. So a worker keeps what one step needed, and no more than that.

After every task Spark collects garbage, and that looks at all objects of all modules: a twentieth
of a second with Arrow, pandas and Numba, more than many a task takes. What tasks have loaded is
there for good, so the collector need not look at it.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache

import pyarrow as pa

# Parameters of glibc's mallopt: what may stay free, and from what size on memory is never kept.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
# Older versions of glibc refuse more than the smaller size.
_SIZES = (2**29, 2**25)
# Tasks after which all that came with new modules, such as compiled kernels, is there. Later, what
# a task has forgotten must be found.
_FIRST_TASKS = 4


def settle_in() -> None:
    """Let this process keep what it needs for all tasks; to be called where a task begins."""
    keep_freed_memory()
    _FREEZE.freeze()


@dataclass(frozen=True)
class InWorker:
    """A function over Arrow batches, as a worker of Spark calls it."""

    task: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        settle_in()
        yield from self.task(batches)


@dataclass
class _CollectorFreeze:
    """How many modules this process has loaded, and for how many more tasks it is frozen."""

    modules: int = 0
    tasks: int = 0

    def freeze(self) -> None:
        """Hide from the collector what is there, in the first tasks after something was loaded."""
        if len(sys.modules) > self.modules:
            # A worker may pack rows for a while before it first evaluates any.
            self.modules, self.tasks = len(sys.modules), _FIRST_TASKS
            # What has been forgotten by now would be kept for good.
            gc.collect()
        if self.tasks:
            self.tasks -= 1
            gc.freeze()


_FREEZE = _CollectorFreeze()


@cache
def keep_freed_memory() -> bool:
    """Keep freed memory in this process; return whether its C library can be told to."""
    try:
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    except (OSError, TypeError):  # where there is no C library of that kind, as on Windows
        return False
    if mallopt is None:
        return False
    for parameter in (_MMAP_THRESHOLD, _TRIM_THRESHOLD):
        if not any(mallopt(parameter, size) for size in _SIZES):
            return False
    pa.set_memory_pool(pa.system_memory_pool())
    return True
