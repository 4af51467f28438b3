"""The type level: which types to drop altogether, by what the history would have been worth.

A pattern has no match left once one of the types of its steps is dropped, and all of them before;
so it is a choice among sets of types. Small ones are all tried; large ones go to HiGHS.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

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
    never = [each for each in worths if each.must_go]
    best: TypeLevel | None = None
    for chosen in _sets(free):
        if all(each.types & chosen for each in never):
            own = TypeLevel(chosen, utility(worths, chosen))
            if best is None or own.utility > best.utility + _slack(own.utility, best.utility):
                best = own
    assert best is not None, "a policy that cannot keep NEVER is refused when it is declared"
    return best


def _sets(free: list[str]) -> Iterator[frozenset[str]]:
    """Yield all sets, the smaller first, and those of a size by name."""
    for size in range(len(free) + 1):
        yield from map(frozenset, combinations(free, size))


def _slack(one: float, other: float) -> float:
    return TOLERANCE * max(abs(one), abs(other))


def _solved(worths: Sequence[Worth], free: list[str], seconds: float) -> TypeLevel:
    try:
        from augury.privacy.integer_program import solve  # noqa: PLC0415
    except ImportError:
        raise DataError(
            f"a policy over {len(free)} types that may be dropped needs the package highspy; "
            "install augury[privacy]"
        ) from None
    return solve(worths, free, seconds)
