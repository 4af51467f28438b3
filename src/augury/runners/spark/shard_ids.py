"""Names for shards that Spark's hash spreads evenly over partitions.

Spark sends a row to the partition that the hash of its shard names. Shards 0 to n - 1 would share
some partitions and leave others empty: with two of each, both end in one partition half of the
time, and one core waits. So shards get other numbers, one for each partition.
"""

from __future__ import annotations

_WORD = 0xFFFFFFFF
_SEED = 42


def ids_by_partition(shards: int, partitions: int, first: int = 0) -> list[int]:
    """Return a number from `first` on for each shard; shard k goes to partition k mod partitions.

    So it goes to partition k modulo every divisor of `partitions`, too.
    """
    found: dict[int, list[int]] = {k: [] for k in range(partitions)}
    each = -(-shards // partitions)
    number = first
    while any(len(numbers) < each for numbers in found.values()):
        found[partition_of(number, partitions)].append(number)
        number += 1
    return [found[k % partitions][k // partitions] for k in range(shards)]


def partition_of(number: int, partitions: int) -> int:
    """Return the partition of a BIGINT: Murmur3, as Spark partitions by hash."""
    state = _SEED
    for word in (number & _WORD, (number >> 32) & _WORD):
        mixed = _rotated(word * 0xCC9E2D51 & _WORD, 15) * 0x1B873593 & _WORD
        state = (_rotated(state ^ mixed, 13) * 5 + 0xE6546B64) & _WORD
    state ^= 8
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        state = (state ^ (state >> shift)) * factor & _WORD
    state ^= state >> 16
    return (state - 2**32 if state >= 2**31 else state) % partitions


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> (32 - bits)) & _WORD
