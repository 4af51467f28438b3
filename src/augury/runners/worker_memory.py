"""Memory of Spark's Python workers: what a step frees is kept for the next one.

A step allocates arrays of tens of megabytes and frees them. By default the C library and Arrow hand
these back to the system, which gives them out again page by page, each one cleared: a third of a
step's time on a virtual machine (docs/decisions/0009). A worker is a process of its own that does
the same again and again, so it keeps what one step needed. What it keeps is bounded by that.
"""

from __future__ import annotations

import ctypes
from functools import cache

import pyarrow as pa

# Parameters of glibc's mallopt: what may stay free, and from what size on memory is never kept.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
# Older versions of glibc refuse more than the smaller size.
_SIZES = (2**29, 2**25)


@cache
def keep_freed_memory() -> bool:
    """Keep freed memory in this process; return whether its C library can be told to."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    for parameter in (_MMAP_THRESHOLD, _TRIM_THRESHOLD):
        if not any(mallopt(parameter, size) for size in _SIZES):
            return False
    pa.set_memory_pool(pa.system_memory_pool())
    return True
