"""The memory of the kernels of policies: slots of chains, grown as they are needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from augury.kernels.privacy.layout import (
    AT,
    DONE,
    MARKS,
    NO_SLOTS,
    WAITING,
    Slots,
    Waiting,
    Weighing,
)
from augury.kernels.privacy.slots import live_slots, repack
from augury.records import Words

FEW_SLOTS, FEW_PLACES = 256, 64
CHAINS = ("base", "room", "begin", "end", "reach", "waits")


class Chains:
    """Slots for some patterns, the longest of which has `longest` steps, and some keys."""

    def __init__(self, patterns: int, longest: int, keys: int = 1) -> None:
        self.longest = longest
        self.slots = _slots(patterns, keys, longest, FEW_SLOTS)
        self.waiting = _places(FEW_PLACES, longest)

    @property
    def keys(self) -> int:
        """For how many keys there is room."""
        return int(self.slots.begin.shape[1])

    def copy(self) -> Chains:
        """Return chains that go on apart."""
        made = Chains(len(self.slots.begin), self.longest, self.keys)
        made.slots = Slots(*(own.copy() for own in self.slots))
        made.waiting = Waiting(*(own.copy() for own in self.waiting))
        return made

    def widen(self, keys: int) -> None:
        """Make room for more keys."""
        more = max(keys, 2 * self.keys) - self.keys
        changed = {
            name: np.pad(getattr(self.slots, name), ((0, 0), (0, more)), constant_values=value)
            for name, value in zip(CHAINS, (0, 0, 0, 0, 0, -1), strict=True)
        }
        self.slots = self.slots._replace(**changed)

    def only(self, kept: Sequence[Words]) -> None:
        """Let some keys go: `kept` has, for each pattern, those that stay, in their new order."""
        for name in CHAINS:
            own = getattr(self.slots, name)
            fresh = np.full_like(own, -1 if name == "waits" else 0)
            for p, numbers in enumerate(kept):
                fresh[p, : len(numbers)] = own[p, numbers]
            self.slots = self.slots._replace(**{name: fresh})

    def run(
        self,
        policy: Weighing,
        totals: np.ndarray,
        kernel: Callable[[Slots, Waiting], int],
        begin: int = 0,
    ) -> None:
        """Run a kernel over events from one on, with more room whenever it wants some."""
        self.slots.marks[AT] = begin
        while (found := kernel(self.slots, self.waiting)) != DONE:
            if found == NO_SLOTS:
                self._more_slots(policy, totals)
            else:
                self._more_places()

    def _more_slots(self, policy: Weighing, totals: np.ndarray) -> None:
        live, waiting = int(live_slots(policy, self.slots)), int(self.slots.marks[WAITING])
        # Each chain has room for twice its slots; what waits may move, and as much again is free.
        count = max(len(self.slots.first), 2 * (4 * live + 8 * waiting + FEW_SLOTS))
        patterns = len(self.slots.begin)
        fresh = _slots(patterns, self.keys, self.longest, count)
        repack(policy, self.slots, fresh, totals)
        self.slots = fresh

    def _more_places(self) -> None:
        old, fresh = self.waiting, _places(2 * len(self.waiting.chain), self.longest)
        for own, other in zip(fresh, old, strict=True):
            own[: len(other)] = other
        self.waiting = fresh

    def dump(self) -> dict[str, np.ndarray]:
        """Return the slots as arrays."""
        return {f"slots_{name}": own for name, own in self.slots._asdict().items()}

    def load(self, arrays: Mapping[str, Any], before: str = "") -> None:
        """Become what `dump` was called of; its arrays have names with something `before`."""
        names = (f"{before}slots_{name}" for name in Slots._fields)
        self.slots = Slots(*(np.array(arrays[name]) for name in names))


def _slots(patterns: int, keys: int, longest: int, count: int) -> Slots:
    def words() -> Words:
        return np.zeros((patterns, keys), np.int64)

    return Slots(
        base=words(),
        room=words(),
        begin=words(),
        end=words(),
        reach=words(),
        waits=words() - 1,
        first=np.zeros(count, np.int64),
        weight=np.zeros((longest + 1, count)),
        marks=np.zeros(MARKS, np.int64),
    )


def _places(count: int, longest: int) -> Waiting:
    return Waiting(
        chain=np.zeros(count, np.int64),
        added=np.zeros((count, longest + 1)),
        left=np.zeros((count, longest + 1)),
        mass=np.zeros((count, longest + 1)),
        touched=np.zeros(count, np.int64),
        states=np.zeros((4, longest + 1)),
    )
