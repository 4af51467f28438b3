"""Pasts drawn of uncertain events: which of them happened, and which symbols were the last."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from augury.forecast.model import Context
from augury.records import SUM_ERROR, Events, Flags


def is_sure(events: Events) -> Flags:
    """Return which events happened in every world; the first of alternatives stands for them."""
    found: Flags = (events.p >= 1.0 - SUM_ERROR) & (events.group < 0)
    grouped = np.flatnonzero(events.group >= 0)
    own = np.unique(events.group[grouped], return_index=True, return_inverse=True)
    _, first, whose = own
    found[grouped[first]] = np.bincount(whose, events.p[grouped]) >= 1.0 - SUM_ERROR
    return found


def happened(random: np.random.Generator, events: Events, count: int) -> Flags:
    """Return which events happened in each of so many worlds; alternatives exclude each other."""
    drawn = random.random((count, len(events)))
    found: Flags = drawn < events.p
    for group in np.unique(events.group[events.group >= 0]).tolist():
        edge = np.zeros(count)
        places = np.flatnonzero(events.group == group)
        chance = drawn[:, places[0]]
        for place in places.tolist():
            found[:, place] = (chance >= edge) & (chance < edge + events.p[place])
            edge = edge + events.p[place]
    return found


def contexts_after(
    begin: Sequence[Context], symbols: Sequence[int], there: Flags, order: int
) -> list[Context]:
    """Return the last symbols of each world, after the events that happened in it."""
    found = []
    for world, context in enumerate(begin):
        own = [symbols[k] for k in np.flatnonzero(there[world])[-order:].tolist()]
        found.append((*context, *own)[-order:])
    return found
