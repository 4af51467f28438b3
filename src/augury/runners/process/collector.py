"""Python's collector of garbage while steps make millions of small objects.

By default it looks for cycles after every 700 new objects, and at all objects of all modules again
and again: a fifth of the time of matches over owners. What was there before a run is not its
garbage, and of what a run makes next to nothing is in cycles.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# After how many new objects the collector looks at the young ones, and how many such looks make
# one at older ones.
SELDOM = (50_000, 20, 100)


@contextmanager
def collecting_seldom() -> Iterator[None]:
    """Let the collector look seldom, and at new objects alone, unless somebody set it already."""
    if gc.get_freeze_count():
        yield
        return
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
