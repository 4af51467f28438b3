"""Scores of stretches: what the components that were not read are worth, by table.

A stretch lies between two seen components, or at an end of the window. Its score depends on its
length alone, so planning has put it into a table of polynomials on pieces (`augury.gaps.tables`).

Shapes: S stretches, K pieces of all of them.
"""

from __future__ import annotations

from augury.kernels.jit import part
from augury.kernels.memory import get, get_real
from augury.kernels.search.layout import (
    FOREVER,
    ITEM_COMPONENT,
    N_STRETCHES,
    PIECE_CUTS,
    PIECE_POWERS,
    PIECE_ROWS,
    POWERS,
    STRETCH_EARLIER,
    STRETCH_LATER,
    TIME,
    WINDOW,
    entry,
    event_at,
    frame_at,
    of,
)
from augury.kernels.search.order import last_of, span_of


@part
def score_of(s, depth):
    """Return what all that was not read is worth, for the match that is bound."""
    product = 1.0
    for stretch in range(get(s.m, N_STRETCHES)):
        product *= value_at(s, stretch, stretch_length(s, depth, stretch))
    return product


@part
def first_of(s, depth, components):
    """Return the depth of the first item of the given components (bits), or 0."""
    for d in range(1, depth + 1):
        if (components >> get(s.m, frame_at(s, d, ITEM_COMPONENT))) & 1:
            return d
    return 0


@part
def stretch_length(s, depth, stretch):
    """Return the time between the seen neighbours, or what the window leaves at an end."""
    left = last_of(s, depth, entry(s, STRETCH_EARLIER, stretch))
    right = first_of(s, depth, entry(s, STRETCH_LATER, stretch))
    if left > 0 and right > 0:
        return float(of(s, event_at(s, right), TIME) - of(s, event_at(s, left), TIME))
    if get(s.m, WINDOW) == FOREVER:
        return float(FOREVER)
    first, last = span_of(s, depth)
    return float(get(s.m, WINDOW) - (of(s, last, TIME) - of(s, first, TIME)))


@part
def value_at(s, stretch, length):
    """Return the value of a stretch's table at a length."""
    # A table of K pieces has K + 1 cuts, so its pieces and cuts are numbered alike.
    first, last = entry(s, PIECE_ROWS, stretch), entry(s, PIECE_ROWS, stretch + 1) - 1
    cuts = get(s.m, PIECE_CUTS)
    length = min(max(length, get_real(s.m, cuts + first)), get_real(s.m, cuts + last))
    low, high = first, last - 1
    while low < high:
        middle = (low + high + 1) // 2
        if get_real(s.m, cuts + middle) <= length:
            low = middle
        else:
            high = middle - 1
    start, end = get_real(s.m, cuts + low), get_real(s.m, cuts + low + 1)
    x = 2.0 * (length - start) / (end - start) - 1.0
    own = get(s.m, PIECE_POWERS) + low * POWERS
    value = 0.0
    for power in range(POWERS - 1, -1, -1):
        value = value * x + get_real(s.m, own + power)
    return min(max(value, 0.0), 1.0)
