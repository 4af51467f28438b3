"""What is told of an event's owner, and when it is told again.

At first all people with a probability above 0; later, while the event is young enough, whenever
what is known has changed as the strategy asks. Who was told before and cannot have done it any more
comes once more, with 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from augury.records import Reals

# Probabilities that differ by no more are the same.
SAME = 1e-9
# Of sums of positive parts, what is smaller is none of them.
DUST = 1e-13

EXACT, SAMPLED = "exact", "sampled"


@dataclass(frozen=True)
class Strategy:
    """When an event is told again: ANY change, CERTAIN, BY a difference, NEVER."""

    kind: str = "ANY"
    least: float = 0.0

    def is_news(self, told: Reals, known: Reals, bound: float) -> bool:
        """Whether what is known now is told, after what was told last."""
        moved = float(np.abs(known - told).max(initial=0.0))
        if self.kind == "NEVER" or moved <= max(SAME, bound):
            return False
        if self.kind == "CERTAIN":
            return bool(known.max() >= 1.0 - SAME > told.max())
        return self.kind == "ANY" or moved >= self.least - SAME


@dataclass(frozen=True, slots=True)
class Told:
    """One telling of an event: (person's number, p) for each alternative, in their order."""

    id: Any
    time: int
    unit: Any
    revision: int
    as_of: int
    owners: tuple[tuple[int, float], ...]
    error_bound: float = 0.0

    @property
    def method(self) -> str:
        """How the probabilities were obtained."""
        return SAMPLED if self.error_bound > 0.0 else EXACT


@dataclass
class Tale:
    """An event that may be told again: what was told last, and under which revision."""

    id: Any
    time: int
    revision: int = -1
    told: Reals = field(default_factory=lambda: np.zeros(0))

    def tell(self, known: Reals, unit: Any, as_of: int, bound: float) -> Told:
        """Return the next telling, and remember it."""
        shown = np.where(known > DUST, np.minimum(known, 1.0), 0.0)
        before = self.told if self.revision >= 0 else np.zeros(len(known))
        people = np.flatnonzero((shown > 0.0) | (before > 0.0)).tolist()
        self.revision += 1
        self.told = shown
        owners = tuple((person, float(shown[person])) for person in people)
        return Told(self.id, self.time, unit, self.revision, as_of, owners, bound)
