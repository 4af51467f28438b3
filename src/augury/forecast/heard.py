"""What a partition hears of the others: that events came, and with which chances.

Only how many came since its own last event matters, and of those no more than end every window; so
the older ones are let go.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

# Fewer events than needed are that unlikely where older ones are let go: exp(-42) is below 1e-18.
SURE = 42.0
# How many are looked at before it is worth looking at all.
LEAST = 1024


@dataclass
class Heard:
    """The chances of all events in their order, from number `first` on.

    After `enough` of them nothing that lived before is left.
    """

    enough: int
    first: int = 0
    chances: list[float] = field(default_factory=list)

    @property
    def following(self) -> int:
        """The number of the next event."""
        return self.first + len(self.chances)

    def since(self, number: int) -> list[float]:
        """Return the chances of the events from a number on."""
        return self.chances[max(0, number - self.first) :]

    def add(self, chances: Iterable[float]) -> None:
        """Add the events of one order."""
        self.chances += chances
        if len(self.chances) > 4 * self.enough + LEAST:
            self._forget()

    def _forget(self) -> None:
        certain, mean = 0, 0.0
        for place in range(len(self.chances) - 1, -1, -1):
            certain += self.chances[place] >= 1.0
            mean += self.chances[place]
            spare = mean - self.enough
            if certain >= self.enough or (spare > 0 and spare * spare > 2.0 * SURE * mean):
                self.first += place
                self.chances = self.chances[place:]
                return
