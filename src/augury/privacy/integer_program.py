"""The type level of many types as an integer programme, by HiGHS.

One variable tells of each type whether it is dropped, one of each pattern how much of it is left.
Equal solutions are told apart by solving again: for the fewest types, and then type by type.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import highspy

from augury.privacy.type_level import TOLERANCE, TypeLevel, Worth, utility


def solve(worths: Sequence[Worth], free: list[str], seconds: float) -> TypeLevel:
    """Return the best set of types that is found in some seconds."""
    program = _Program(worths, free, seconds)
    best, gap = program.maximum(program.utility)
    if best is None:
        # Dropping all of them keeps every promise; HiGHS found nothing better in its time.
        everything = frozenset(free)
        return TypeLevel(everything, utility(worths, everything), float("inf"))
    if gap > TOLERANCE:
        return TypeLevel(best, utility(worths, best), gap)
    least = utility(worths, best)
    program.at_least(program.utility, least - TOLERANCE * max(1.0, abs(least)))
    fewest, _ = program.maximum(-program.size)
    if fewest is None:
        return TypeLevel(best, least, gap)
    program.at_least(-program.size, -len(fewest) - 0.5)
    named = program.first_by_name(fewest)
    return TypeLevel(named, utility(worths, named), gap)


class _Program:
    """The programme, to which constraints are added as more is known."""

    def __init__(self, worths: Sequence[Worth], free: list[str], seconds: float) -> None:
        self.free, self.model = free, highspy.Highs()
        self.model.silent()
        self.model.setOptionValue("time_limit", seconds)
        self.model.setOptionValue("mip_rel_gap", 0.0)
        self.drops = {name: self.model.addBinary() for name in free}
        self.size = self.model.qsum(self.drops.values())
        terms, fixed = list[Any](), 0.0
        for worth in worths:
            own = [self.drops[name] for name in sorted(worth.types) if name in self.drops]
            if worth.must_go:
                self.model.addConstr(self.model.qsum(own) >= 1)
            elif worth.value and not own:
                fixed += worth.value
            elif worth.value:
                terms.append(worth.value * self._left(worth, own))
        self.utility = self.model.qsum(terms) + fixed if terms else 0.0 * self.size

    def _left(self, worth: Worth, own: list[Any]) -> Any:
        """Return a variable: how much of a pattern is left."""
        left = self.model.addVariable(lb=0.0, ub=1.0)
        if worth.value > 0.0:
            for drop in own:
                self.model.addConstr(left + drop <= 1)
        else:
            self.model.addConstr(left + self.model.qsum(own) >= 1)
        return left

    def at_least(self, what: Any, value: float) -> None:
        self.model.addConstr(what >= value)

    def maximum(self, what: Any) -> tuple[frozenset[str] | None, float]:
        """Return the set where an expression is greatest, and how far it may be off."""
        self.model.maximize(what)
        info = self.model.getInfo()
        if info.primal_solution_status != int(highspy.SolutionStatus.kSolutionStatusFeasible):
            return None, float("inf")
        chosen = {name for name, drop in self.drops.items() if self.model.val(drop) > 0.5}
        return frozenset(chosen), max(0.0, float(info.mip_gap))

    def first_by_name(self, best: frozenset[str]) -> frozenset[str]:
        """Return the first by name of the sets that are as good."""
        for name in self.free:
            if name in best:
                self.at_least(1.0 * self.drops[name], 1)
                continue
            if not any(other > name for other in best):
                break
            found, _ = self._with(name)
            if found is not None:
                best = found
                self.at_least(1.0 * self.drops[name], 1)
        return best

    def _with(self, name: str) -> tuple[frozenset[str] | None, float]:
        """Return a set as good with one type more fixed; the constraint is taken back."""
        column = self.drops[name].index
        self.model.changeColBounds(column, 1.0, 1.0)
        found = self.maximum(0.0 * self.size)
        self.model.changeColBounds(column, 0.0, 1.0)
        return found
