"""Sort events by partition, keeping the order within it, in one counting pass."""

from __future__ import annotations

import numpy as np

from augury.kernels.jit import kernel


@kernel
def is_sorted(time, tie):
    """Whether events are in (time, tie-breaker) order."""
    for e in range(1, time.shape[0]):
        if time[e] < time[e - 1] or (time[e] == time[e - 1] and tie[e] < tie[e - 1]):
            return False
    return True


@kernel
def stable_order(partition, n_partitions):
    """Return the positions of events sorted by partition, stable."""
    starts = np.zeros(n_partitions + 1, np.int64)
    for e in range(partition.shape[0]):
        starts[partition[e] + 1] += 1
    for k in range(n_partitions):
        starts[k + 1] += starts[k]
    order = np.empty(partition.shape[0], np.int64)
    for e in range(partition.shape[0]):
        order[starts[partition[e]]] = e
        starts[partition[e]] += 1
    return order
