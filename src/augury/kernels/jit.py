"""The one way to compile a kernel.

No cache: concurrent workers can crash on Numba's file cache (numba#4807, numba#10128). No threads:
Spark owns the cores. No fastmath: NaN and the order of summation have meaning. `nogil`, so that a
session may run several queries from threads. Bounds are not checked and nothing is raised: kernels
return a code, and the operator that called them raises.
"""

from __future__ import annotations

from numba import njit

kernel = njit(cache=False, parallel=False, fastmath=False, nogil=True, error_model="numpy")
