"""Texts of an Arrow column, as its buffers hold them."""

from __future__ import annotations

from augury.kernels.jit import kernel


@kernel
def classify(offsets, data, name_offsets, name_data, out):
    """Write into `out` which of a few names each text is; -1 for another one."""
    n_names = name_offsets.shape[0] - 1
    for k in range(out.shape[0]):
        start, length = offsets[k], offsets[k + 1] - offsets[k]
        out[k] = -1
        for n in range(n_names):
            first = name_offsets[n]
            if name_offsets[n + 1] - first != length:
                continue
            b = 0
            while b < length and data[start + b] == name_data[first + b]:
                b += 1
            if b == length:
                out[k] = n
                break
