"""The values of one column in one group of rows, page after page.

Read are plain pages of numbers and times, and pages of codes into a dictionary; in blocks of
Snappy, or not packed; of both versions of page headers; none of whose values is missing. That is
what ids, times, keys and types mostly look like. Everything else, and whatever is not as it should
be, is left to who called: the answer is False, and no byte beyond a buffer has been touched.

A column is: the bytes of all its pages, and slack; whether they are packed; whether they tell which
values are missing; a cursor; and three buffers, which have slack, too: for a page, the codes of a
page, and the dictionary. Only pages of which a value is wanted are unpacked.
"""

from __future__ import annotations

import numpy as np

from augury.kernels.jit import kernel, part
from augury.kernels.memory import address
from augury.kernels.parquet.memory import SLACK, put_word, word_at
from augury.kernels.parquet.runs import WIDEST, are_ones, unpack_runs
from augury.kernels.parquet.snappy import unpack
from augury.kernels.parquet.thrift import (
    DATA_V1,
    DATA_V2,
    DICTIONARY,
    FIELDS,
    PACKED_SIZE,
    STRUCT,
    TYPE,
    UNPACKED_SIZE,
    header,
)

# The cursor of a column. Where the next page begins, and how many values are to come from there on.
AT, REST = 0, 1
# The page one is in: how many values are left of it and the place of the next, how many there are
# in all, how they are written, from which byte on of what is unpacked; and whether it is.
LEFT, PLACE, COUNT, ENCODING, FIRST, IS_LOADED = range(2, 8)
# Its bytes: where they begin, how many there are, packed and not, and whether they are packed.
BODY, PACKED, UNPACKED, IS_PACKED = range(8, 12)
# Whether levels come before the values, packed with them.
HAS_LEVELS = 12
# The dictionary, by the same names.
KNOWN, KNOWN_BODY, KNOWN_PACKED, KNOWN_UNPACKED, KNOWN_IS_LOADED = range(13, 18)
CURSOR = 18

# Codes of the format.
_DATA_PAGE, _DICTIONARY_PAGE, _DATA_PAGE_V2 = 0, 2, 3
_PLAIN, _PLAIN_DICTIONARY, _RLE, _RLE_DICTIONARY = 0, 2, 3, 8
# The day on which times begin, and its microseconds.
_EPOCH, _DAY = 2_440_588, 86_400_000_000
# Fields of the three kinds of pages.
_V1_COUNT, _V1_ENCODING, _V1_LEVELS = (STRUCT * DATA_V1 + k for k in (1, 2, 3))
_DICTIONARY_COUNT, _DICTIONARY_ENCODING = (STRUCT * DICTIONARY + k for k in (1, 2))
_V2_COUNT, _V2_NULLS, _V2_ENCODING, _V2_LEVELS, _V2_REPEATS, _V2_PACKED = (
    STRUCT * DATA_V2 + k for k in (1, 2, 4, 5, 6, 7)
)


@kernel
def read_words(
    chunk, is_packed, has_levels, cursor, page, codes, known, width, n, places, is_all, out
):
    """Pass `n` values of some bytes each; write those at some rising places, or all of them."""
    done, written = 0, 0
    while done < n:
        if cursor[LEFT] == 0:
            if not _next_page(chunk, is_packed, has_levels, cursor):
                return False
            continue
        step = min(cursor[LEFT], n - done)
        until = written + step if is_all else _until(places, written, done + step)
        if until > written:
            if not _load(chunk, is_packed, cursor, page, codes, known):
                return False
            is_coded = cursor[ENCODING] != _PLAIN
            values = address(known) if is_coded else address(page) + cursor[FIRST]
            count = cursor[KNOWN] if is_coded else cursor[COUNT]
            size = cursor[KNOWN_UNPACKED] if is_coded else cursor[UNPACKED] - cursor[FIRST]
            if count > size // width:
                return False
            shift = cursor[PLACE] - (written if is_all else done)
            for k in range(written, until):
                place = shift + (k if is_all else places[k])
                place = np.int64(codes[place]) if is_coded else place
                out[k] = _value_at(values + width * place, width)
        written = until
        done += step
        _pass(cursor, step)
    return True


@kernel
def read_codes(chunk, is_packed, has_levels, cursor, page, codes, known, out):
    """Write the next codes into the dictionary."""
    done, n = 0, out.shape[0]
    while done < n:
        if cursor[LEFT] == 0:
            if not _next_page(chunk, is_packed, has_levels, cursor):
                return False
            continue
        if cursor[ENCODING] == _PLAIN:
            return False
        if not _load(chunk, is_packed, cursor, page, codes, known):
            return False
        step = min(cursor[LEFT], n - done)
        out[done : done + step] = codes[cursor[PLACE] : cursor[PLACE] + step]
        done += step
        _pass(cursor, step)
    return True


@kernel
def cut_texts(known, size, offsets, texts):
    """Take the texts of a dictionary apart, each after its length; write where each begins."""
    at, used = 0, 0
    for k in range(offsets.shape[0] - 1):
        if size - at < 4:
            return False
        length = _length(address(known) + at)
        at += 4
        if length > size - at:
            return False
        offsets[k] = used
        texts[used : used + length] = known[at : at + length]
        at += length
        used += length
    offsets[offsets.shape[0] - 1] = used
    return True


@part
def _until(places, start, end):
    """Return how many places are below an end, of those from a start on."""
    low, high = start, places.shape[0]
    while low < high:
        middle = (low + high) >> 1
        if places[middle] < end:
            low = middle + 1
        else:
            high = middle
    return low


@part
def _value_at(at, width):
    """Return a value of four or eight bytes, or the microseconds of a time of twelve."""
    word = word_at(at)
    if width == 8:
        return np.int64(word)
    if width == 4:
        return np.int64(np.int32(word & np.uint64(0xFFFFFFFF)))
    # Nanoseconds of a day, and the day of Julius Scaliger's count.
    day = np.int64(word_at(at + 8) & np.uint64(0xFFFFFFFF)) - _EPOCH
    return day * _DAY + np.int64(word // np.uint64(1000))


@part
def _pass(cursor, step):
    cursor[PLACE] += step
    cursor[LEFT] -= step


# From page to page --------------------------------------------------------------------------------


@part
def _next_page(chunk, is_packed, has_levels, cursor):
    """Go to the next page, or remember a dictionary."""
    begin, end = address(chunk), address(chunk) + chunk.shape[0] - SLACK
    found = np.empty(FIELDS, np.int64)
    body = header(begin + cursor[AT], end, found)
    size, packed_size = found[UNPACKED_SIZE], found[PACKED_SIZE]
    if body < 0 or size < 0 or packed_size < 0 or packed_size > end - body:
        return False
    cursor[AT] = body + packed_size - begin
    if found[TYPE] == _DICTIONARY_PAGE:
        return _remember(cursor, found, body - begin)
    cursor[BODY], cursor[PACKED], cursor[UNPACKED] = body - begin, packed_size, size
    cursor[PLACE], cursor[IS_LOADED], is_known = 0, 0, False
    if found[TYPE] == _DATA_PAGE:
        is_known = not has_levels or found[_V1_LEVELS] == _RLE
        cursor[COUNT], cursor[ENCODING] = found[_V1_COUNT], found[_V1_ENCODING]
        cursor[HAS_LEVELS], cursor[IS_PACKED] = has_levels, is_packed
    elif found[TYPE] == _DATA_PAGE_V2:
        is_known = _behind_levels(cursor, found)
        cursor[COUNT], cursor[ENCODING] = found[_V2_COUNT], found[_V2_ENCODING]
        cursor[HAS_LEVELS], cursor[IS_PACKED] = 0, is_packed and found[_V2_PACKED] != 0
    cursor[LEFT] = cursor[COUNT]
    cursor[REST] -= cursor[COUNT]
    return is_known and cursor[COUNT] >= 0 and cursor[REST] >= 0


@part
def _remember(cursor, found, body):
    """Remember where the dictionary is; there is one at most."""
    is_first = cursor[KNOWN_BODY] == 0
    cursor[KNOWN], cursor[KNOWN_BODY] = found[_DICTIONARY_COUNT], body
    cursor[KNOWN_PACKED], cursor[KNOWN_UNPACKED] = found[PACKED_SIZE], found[UNPACKED_SIZE]
    return is_first and found[_DICTIONARY_ENCODING] in (_PLAIN, _PLAIN_DICTIONARY)


@part
def _behind_levels(cursor, found):
    """Go behind the levels of a page of the second version; return whether no value is missing.

    They come first, are never packed, and say no more than the number of values that are missing.
    """
    levels = found[_V2_LEVELS]
    is_there = 0 <= levels <= min(cursor[UNPACKED], cursor[PACKED])
    cursor[BODY] += levels
    cursor[PACKED] -= levels
    cursor[UNPACKED] -= levels
    return is_there and found[_V2_NULLS] == 0 and found[_V2_REPEATS] == 0


@part
def _load(chunk, is_packed, cursor, page, codes, known):
    """Unpack the page one is in, and the dictionary where it has codes, unless they are."""
    if cursor[IS_LOADED]:
        return True
    body = address(chunk) + cursor[BODY]
    size, first = cursor[UNPACKED], np.int64(0)
    if not _unpacked(body, cursor[PACKED], cursor[IS_PACKED], page, size):
        return False
    if cursor[HAS_LEVELS]:
        first = _past_levels(address(page), size, cursor[COUNT])
        if first < 0:
            return False
    cursor[FIRST] = first
    if cursor[ENCODING] == _PLAIN:
        cursor[IS_LOADED] = 1
        return True
    if cursor[ENCODING] not in (_PLAIN_DICTIONARY, _RLE_DICTIONARY):
        return False
    if not cursor[KNOWN_IS_LOADED]:
        body, size = address(chunk) + cursor[KNOWN_BODY], cursor[KNOWN_UNPACKED]
        if not _unpacked(body, cursor[KNOWN_PACKED], is_packed, known, size):
            return False
        cursor[KNOWN_IS_LOADED] = 1
    first, end = address(page) + first, address(page) + cursor[UNPACKED]
    cursor[IS_LOADED] = _coded(first, end, cursor[COUNT], codes, cursor[KNOWN])
    return cursor[IS_LOADED] == 1


@part
def _unpacked(body, packed_size, is_packed, buffer, size):
    """Unpack the body of a page into a buffer."""
    if size > buffer.shape[0] - SLACK:
        return False
    if is_packed:
        return unpack(body, body + packed_size, address(buffer), size)
    if packed_size != size:
        return False
    for k in range(0, size, 8):
        put_word(address(buffer) + k, word_at(body + k))
    return True


@part
def _past_levels(first, size, count):
    """Return where values begin behind levels that say that all are there; -1 if they do not."""
    if size < 4:
        return np.int64(-1)
    length = _length(first)
    if length > size - 4 or not are_ones(first + 4, first + 4 + length, count):
        return np.int64(-1)
    return 4 + length


@part
def _length(at):
    """Return a length in four bytes."""
    return np.int64(word_at(at) & np.uint64(0xFFFFFFFF))


@part
def _coded(at, end, count, codes, known):
    """Write the codes of a page; return whether the dictionary has all of them."""
    if at >= end or count > codes.shape[0]:
        return False
    width = np.int64(word_at(at) & np.uint64(255))
    return width <= WIDEST and 0 <= unpack_runs(at + 1, end, width, codes, count) < known
