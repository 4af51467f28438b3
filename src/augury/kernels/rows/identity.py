"""Identity of matches: 128 bits that depend on the query, the components and their events' ids.

The same match found again, in another batch, shard or run, has the same id, so that replays
overwrite. Two lanes of 64 bits with different seeds; the finaliser is that of MurmurHash3, which
spreads every input bit over the word. An event without ID has one lane: a hash of its row.
"""

from __future__ import annotations

import numpy as np

from augury.kernels.jit import kernel, part

# The two digits of every byte, as they stand in memory.
_TWO_DIGITS = np.frombuffer(bytes(range(256)).hex().encode(), np.uint16)


@part
def spread(word):
    """Return a word in which each bit depends on all bits of the input."""
    x = np.uint64(word)
    x ^= x >> np.uint64(33)
    x *= np.uint64(0xFF51AFD7ED558CCD)
    x ^= x >> np.uint64(33)
    x *= np.uint64(0xC4CEB9FE1A85EC53)
    return x ^ (x >> np.uint64(33))


@kernel
def hash_bytes(offsets, data, seed, out):
    """Write a 64-bit hash of each string of an Arrow column into `out`."""
    for k in range(out.shape[0]):
        h = spread(np.uint64(seed) ^ np.uint64(offsets[k + 1] - offsets[k]))
        for b in range(offsets[k], offsets[k + 1]):
            h = (h ^ np.uint64(data[b])) * np.uint64(0x100000001B3)
        out[k] = spread(h)


@kernel
def hash_words(words, seed, out):
    """Write a 64-bit hash of each integer into `out`."""
    for k in range(out.shape[0]):
        out[k] = spread(np.uint64(words[k]) ^ spread(np.uint64(seed)))


@kernel
def mix_hashes(hashes, total):
    """Add the hashes of one more column to those of the columns before it."""
    for k in range(total.shape[0]):
        total[k] = total[k] * np.uint64(31) + hashes[k]


@kernel
def deal(hashes, n, out):
    """Write a number below `n` for each hash into `out`."""
    for k in range(out.shape[0]):
        out[k] = np.int64(hashes[k] % np.uint64(n))


@kernel
def match_words(first_item, component, row, names, ids, seed):
    """Return one word per match: a hash of its (component name, event id) pairs.

    A sum, because a match is a map: where events tie, items may come in any order.
    """
    out = np.empty(first_item.shape[0] - 1, np.uint64)
    for m in range(out.shape[0]):
        h = np.uint64(seed)
        for i in range(first_item[m], first_item[m + 1]):
            h += spread((names[component[i]] ^ np.uint64(seed)) + spread(ids[row[i]]))
        out[m] = spread(h)
    return out


def hexadecimal(*lanes: np.ndarray) -> np.ndarray:
    """Return the digits of all ids, 16 bytes for each lane."""
    words = np.stack(lanes, axis=1).astype(">u8")
    return _TWO_DIGITS[words.view(np.uint8)].ravel().view(np.uint8)
