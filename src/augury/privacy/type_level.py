"""The type level: which types to drop altogether, by what the history would have been worth.

A pattern has no match left once one of the types of its steps is dropped, and all of them before;
so it is a choice among sets of types. Small ones are all tried; large ones go to HiGHS.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np

from augury.errors import DataError

# More types than that are not tried set by set.
FEW_TYPES = 12
TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Worth:
    """What is lost or gained with a set of types: `value` as long as none of them is dropped.

    Of a private pattern the value is negative; `must_go` is one of which nothing may be left.
    """

    types: frozenset[str]
    value: float
    must_go: bool = False


@dataclass(frozen=True, slots=True)
class TypeLevel:
    """The types that are dropped, and the utility that is left; `gap` is how far it may be off."""

    dropped: frozenset[str]
    utility: float
    gap: float = 0.0


def best_types(worths: Sequence[Worth], bound: frozenset[str], seconds: float) -> TypeLevel:
    """Return the set with the greatest utility; of equal ones the fewest, then first by name."""
    free = sorted({each for worth in worths for each in worth.types} - bound)
    if len(free) <= FEW_TYPES:
        return _tried(worths, free)
    return _solved(worths, free, seconds)


def utility(worths: Iterable[Worth], dropped: frozenset[str]) -> float:
    """Return what is left of the utility."""
    return sum(each.value for each in worths if not each.must_go and not each.types & dropped)


def _tried(worths: Sequence[Worth], free: list[str]) -> TypeLevel:
    sets, bits = _sets(len(free)), {name: 1 << k for k, name in enumerate(free)}
    total, allowed = np.zeros(len(sets)), np.ones(len(sets), np.bool_)
    for each in worths:
        is_left = sets & sum(bits.get(name, 0) for name in each.types) == 0
        if each.must_go:
            allowed &= ~is_left
        else:
            total[is_left] += each.value
    places = np.flatnonzero(allowed)
    assert len(places), "a policy that cannot keep NEVER is refused when it is declared"
    values, best = total[places], 0
    # The first that is better than the one before it, and so on: equal ones are no better.
    while (better := _better(values, best)) is not None:
        best = better
    chosen = int(sets[places[best]])
    dropped = frozenset(name for name, bit in bits.items() if chosen & bit)
    return TypeLevel(dropped, float(values[best]))


@cache
def _sets(count: int) -> np.ndarray:
    """Return all sets of some types as bits, the smaller first, and those of a size by name."""
    every = (own for size in range(count + 1) for own in combinations(range(count), size))
    return np.array([sum(1 << k for k in own) for own in every], np.int64)


def _better(values: np.ndarray, best: int) -> int | None:
    """Return the first place after one whose value is greater; None where there is none."""
    later, own = values[best + 1 :], values[best]
    slack = TOLERANCE * np.maximum(np.abs(later), abs(own))
    found = np.flatnonzero(later > own + slack)
    return best + 1 + int(found[0]) if len(found) else None


def _solved(worths: Sequence[Worth], free: list[str], seconds: float) -> TypeLevel:
    try:
        from augury.privacy.integer_program import solve  # noqa: PLC0415
    except ImportError:
        raise DataError(
            f"a policy over {len(free)} types that may be dropped needs the package highspy; "
            "install augury[privacy]"
        ) from None
    return solve(worths, free, seconds)
