"""EDGES with conditions over several events: trials counted one by one, by trying every part.

For `SEQ(A a, B+ b, C c)`, with a negated X between a and b or without. A partial match is what it
has bound, by component; its place is which components that are. `holds` says of bound events, by
component, whether they may stand together, and `meant` whether an X counts beside an `a`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

# (id, kind, v).
Event = tuple[str, str, int]
Part = tuple[tuple[str, Event], ...]
Holds = Callable[[dict[str, list[Event]]], bool]
ORDER = "abc"


def by_component(part: Part) -> dict[str, list[Event]]:
    found: dict[str, list[Event]] = {}
    for name, event in part:
        found.setdefault(name, []).append(event)
    return found


@dataclass
class Trials:
    """What lives, and how often what lived in each place went where."""

    strategy: str
    holds: Holds
    meant: Callable[[Event, Event], bool] | None = None
    alive: list[Part] = field(default_factory=list)
    moves: dict[str, Counter[str]] = field(default_factory=dict)

    def extended(self, part: Part, event: Event) -> Part | None:
        """Return the part with an event, where it may take it."""
        last = part[-1][0] if part else ""
        allowed = {"": "a", "a": "b", "b": "bc"}[last]
        name = event[1].lower()
        longer = (*part, (name, event))
        return longer if name in allowed and self.holds(by_component(longer)) else None

    def read(self, event: Event, *, counts: bool) -> None:
        """Let an event happen, which is a trial of all that lives, and of the start."""
        after = list[Part]()
        for part in [(), *self.alive]:
            longer = self.extended(part, event)
            ends = self.strategy == "STRICT" or self._is_forbidden(part, event)
            stays = not part or not ends
            place = place_of(part)
            if longer is not None and longer[-1][0] == "c":
                where = "complete"
            elif longer is not None:
                where = place_of(longer)
            else:
                where = place if stays else "out"
            if counts:
                self.moves.setdefault(place, Counter())[where] += 1
            if longer is not None and where != "complete":
                after.append(longer)
            left = longer is not None and self.strategy == "ANY" and stays
            if part and (left or (longer is None and stays)):
                after.append(part)
        self.alive = after

    def _is_forbidden(self, part: Part, event: Event) -> bool:
        waits = self.meant is not None and [name for name, _ in part] == ["a"]
        return bool(waits and event[1] == "X" and self.meant and self.meant(event, part[0][1]))

    def value(self, place: str, steps: int) -> float | None:
        """Return how likely a place completes within some events; what goes out is lost."""
        if place == "complete":
            return 1.0
        if place not in self.moves:
            return None
        if not steps:
            return 0.0
        total, found = sum(self.moves[place].values()), 0.0
        for where, count in self.moves[place].items():
            if where != "out":
                found += count / total * (self.value(where, steps - 1) or 0.0)
        return found


def place_of(part: Part) -> str:
    return "".join(sorted({name for name, _ in part}))


def after_all(trials: Trials, history: Sequence[Event], stream: Sequence[Event]) -> Trials:
    """Return what lives after a stream, by what a history teaches."""
    for event in history:
        trials.read(event, counts=True)
    trials.alive = []
    for event in stream:
        trials.read(event, counts=False)
    return trials
