"""Snappy's blocks, unpacked with an eye on numbers of eight bytes that resemble each other.

A block is a list of literal bytes and of copies of what came before. Ids and times that grow are
one or two literal bytes and a copy from eight bytes ago, in turn, number by number: each copy reads
what has been written just before, in pieces, which stalls the processor. So the last eight bytes
are kept in a register, and such a copy reads no memory.
"""

from __future__ import annotations

import numpy as np

from augury.kernels.jit import part
from augury.kernels.parquet.memory import byte_at, put_byte, put_word, word_at

_LITERAL, _COPY_NEAR, _COPY_FAR = 0, 1, 2
# Longer literals have their length in the bytes that follow.
_LONGEST = 60


@part
def unpack(source, end, target, size):
    """Unpack the block between two addresses to a target; return whether it has just that size.

    There must be slack behind both.
    """
    at, length, shift = source, np.int64(0), 0
    while True:
        if at >= end or shift > 28:
            return False
        byte = np.int64(byte_at(at))
        at += 1
        length |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            break
    return length == size and _elements(at, end, target, target + size)


@part
def _elements(at, end, target, target_end):
    """Unpack what follows the length of a block."""
    out, last = target, np.uint64(0)
    while at < end:
        word = word_at(at)
        tag = np.int64(word & np.uint64(255))
        if tag & 3 == _LITERAL:
            n = (tag >> 2) + 1
            at += 1
            if n > _LONGEST:
                n, at = _long_literal(word, n - _LONGEST, at)
            if n > end - at or n > target_end - out:
                return False
            if n < 8:
                literal = word_at(at)
                put_word(out, literal)
                last = _followed(last, literal, n)
            else:
                _copy(at, out, n)
                last = word_at(at + n - 8)
            at += n
        else:
            if tag & 3 == _COPY_NEAR:
                n = ((tag >> 2) & 7) + 4
                back = ((tag >> 5) << 8) | np.int64((word >> np.uint64(8)) & np.uint64(0xFF))
                at += 2
            else:
                n, back, at = _far(word, tag, at)
            if at > end or back == 0 or back > out - target or n > target_end - out:
                return False
            if back == 8 and n <= 8:
                put_word(out, last)
                last = _followed(last, last, n & 7)
            else:
                last = _copied(back, target, out, n)
        out += n
    return out == target_end


@part
def _long_literal(word, n_bytes, at):
    """Return the length of a literal that is told in up to four bytes, and where it begins."""
    mask = (np.uint64(1) << np.uint64(8 * n_bytes)) - np.uint64(1)
    return np.int64((word >> np.uint64(8)) & mask) + 1, at + n_bytes


@part
def _far(word, tag, at):
    """Return how much a copy takes, from how many bytes back, and where the next element is."""
    if tag & 3 == _COPY_FAR:
        return (tag >> 2) + 1, np.int64((word >> np.uint64(8)) & np.uint64(0xFFFF)), at + 3
    return (tag >> 2) + 1, np.int64((word >> np.uint64(8)) & np.uint64(0xFFFFFFFF)), at + 5


@part
def _copied(back, target, out, n):
    """Copy what was written some bytes before; return the last eight bytes."""
    if back >= 8:
        _copy(out - back, out, n)
        return word_at(out + n - 8)
    _repeat(out - back, out, n)
    return _last(target, out + n)


@part
def _followed(last, word, n):
    """Return the last eight bytes after the first `n` bytes of a word, fewer than eight."""
    if n == 0:
        return last
    return (last >> np.uint64(8 * n)) | (word << np.uint64(64 - 8 * n))


@part
def _copy(source, target, n):
    """Copy words, the last one beyond the end; eight bytes at least lie between the two."""
    k = 0
    while k < n:
        put_word(target + k, word_at(source + k))
        k += 8


@part
def _repeat(source, target, n):
    """Copy bytes that may be among those that are written."""
    for k in range(n):
        put_byte(target + k, byte_at(source + k))


@part
def _last(begin, out):
    """Return the last eight bytes that were written, or as many as there are."""
    if out - begin >= 8:
        return word_at(out - 8)
    return word_at(begin) << np.uint64(64 - 8 * (out - begin))
