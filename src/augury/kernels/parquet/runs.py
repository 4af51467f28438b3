"""Small numbers as Parquet writes them: runs of one number, and groups of eight packed in bits."""

from __future__ import annotations

import numpy as np

from augury.kernels.jit import part
from augury.kernels.parquet.memory import word_at
from augury.kernels.parquet.thrift import varint

# A number and the bits before it in its first byte fit into a word.
WIDEST = 32


@part
def unpack_runs(at, end, width, out, count):
    """Write `count` numbers of `width` bits; return the highest, or -1 where they are not there."""
    mask = (np.uint64(1) << np.uint64(width)) - np.uint64(1)
    done, highest = 0, np.int64(0)
    while done < count:
        told, at = varint(at, end)
        if at < 0 or told < 2:
            return np.int64(-1)
        is_packed, told = told & 1, told >> 1
        size = told * width if is_packed else (width + 7) >> 3
        if size > end - at:
            return np.int64(-1)
        if is_packed:
            n = min(8 * told, count - done)
            for k in range(n):
                bit = k * width
                number = (word_at(at + (bit >> 3)) >> np.uint64(bit & 7)) & mask
                out[done + k] = number
                highest = max(highest, np.int64(number))
        else:
            n = min(told, count - done)
            number = word_at(at) & mask
            out[done : done + n] = number
            highest = max(highest, np.int64(number))
        at += size
        done += n
    return highest


@part
def are_ones(at, end, count):
    """Whether runs of single bits say one, `count` times: that nothing is missing."""
    done = 0
    while done < count:
        told, at = varint(at, end)
        if at < 0 or told < 2:
            return False
        is_packed, told = told & 1, told >> 1
        size = told if is_packed else 1
        if size > end - at:
            return False
        n = min(8 * told if is_packed else told, count - done)
        for k in range(0, n if is_packed else 1, 8):
            wanted = (np.uint64(1) << np.uint64(min(8, n - k) if is_packed else 1)) - np.uint64(1)
            if word_at(at + (k >> 3)) & wanted != wanted:
                return False
        at += size
        done += n
    return True
