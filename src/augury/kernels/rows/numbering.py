"""Numbers for values and places of rows, in one pass each."""

from __future__ import annotations

import numpy as np

from augury.kernels.jit import kernel


@kernel
def number(words, lowest, known, values, out):
    """Write a number for each word, and the words in the order of their first appearance.

    `known` has -1 for each word from the lowest to the highest; it gets their numbers. Returns how
    many different words there are.
    """
    count = 0
    for k in range(words.shape[0]):
        place = words[k] - lowest
        if known[place] < 0:
            known[place] = count
            values[count] = words[k]
            count += 1
        out[k] = known[place]
    return count


@kernel
def translate(places, table, out):
    """Write what a table holds at each place."""
    for k in range(places.shape[0]):
        out[k] = table[places[k]]


@kernel
def chosen(flags, out):
    """Write the places that are marked, one after the other; return how many there are.

    There must be room for one more than there are places.
    """
    count = 0
    for k in range(flags.shape[0]):
        # Without a question that nobody could guess the answer of.
        out[count] = k
        count += flags[k]
    return count


@kernel
def count_equals(words, times, table, out):
    """Write how many words before each, of the same time, are equal to it; times are in order.

    `table` is hashed into: a power of two of places, more than words of one time, all of them -1.
    What words of another time left there counts as nothing.
    """
    last = table.shape[0] - 1
    for k in range(words.shape[0]):
        place = np.int64(words[k] & np.uint64(last))
        out[k] = 0
        while table[place] >= 0 and times[table[place]] == times[k]:
            if words[table[place]] == words[k]:
                out[k] = out[table[place]] + 1
                break
            place = (place + 1) & last
        table[place] = k
