"""EDGES by the language's own words: trials are counted one by one, and values by going ahead.

For sequences of single components, with a negation between two of them or without, neighbours or
not. A partial match is a tuple of what it has bound; its state is how many that are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

# What an event is: (id, kind).
Event = tuple[str, str]
Part = tuple[str, ...]
OUT, STAYS = "out", "stays"
# (forecast, expected); expected is None where the forecast is 0.
Told = tuple[float, float | None]


@dataclass
class Pattern:
    """The kinds in sequence; `forbidden` is that of a negation before the component `gap`."""

    kinds: Sequence[str]
    strategy: str
    neighbours: bool = False
    forbidden: str | None = None
    gap: int = 0

    def outcome(self, part: Part, kind: str) -> str:
        """Return what an event does to a partial match: extends it, leaves it, or ends it."""
        if kind == self.kinds[len(part)]:
            return "extended"
        if not part:
            return STAYS
        if self.neighbours or self.strategy == "STRICT":
            return OUT
        return OUT if len(part) == self.gap and kind == self.forbidden else STAYS


@dataclass
class Edges:
    """The trials of each state: (outcome, whether the same event begins a match)."""

    pattern: Pattern
    alive: list[Part] = field(default_factory=list)
    trials: dict[int, Counter[tuple[str, bool]]] = field(default_factory=dict)

    def read(self, event: Event, *, counts: bool) -> None:
        """Let an event happen, which is a trial of all that lives, and of the start."""
        name, kind = event
        begins, after = kind == self.pattern.kinds[0], list[Part]()
        for part in [(), *self.alive]:
            outcome = self.pattern.outcome(part, kind)
            if counts:
                self.trials.setdefault(len(part), Counter())[outcome, begins] += 1
            if outcome == "extended" and len(part) + 1 < len(self.pattern.kinds):
                after.append((*part, name))
            # Under any-match, what takes an event leaves it as well, unless it must not.
            leaves = self.pattern.strategy == "ANY" and not self.pattern.neighbours
            leaves = leaves and outcome == "extended" and not self._ends(part, kind)
            if part and (outcome == STAYS or leaves):
                after.append(part)
        self.alive = after

    def _ends(self, part: Part, kind: str) -> bool:
        return len(part) == self.pattern.gap and kind == self.pattern.forbidden

    def value(self, state: int, steps: int, *, restarts: bool) -> float | None:
        """Return how likely a state completes within some events; None where nothing is known."""
        if state == len(self.pattern.kinds):
            return 1.0
        if state not in self.trials:
            return None
        if not steps:
            return 0.0
        total, found = sum(self.trials[state].values()), 0.0
        for (outcome, begins), count in self.trials[state].items():
            after: int | None = state + 1 if outcome == "extended" else state
            if outcome == OUT:
                after = int(begins) if restarts else None
            if after is not None:
                found += count / total * (self.value(after, steps - 1, restarts=restarts) or 0.0)
        return found

    def told(self, state: int, steps: int, *, restarts: bool) -> Told | None:
        """Return a forecast and the mean number of events until then."""
        within = [self.value(state, k, restarts=restarts) for k in range(steps + 1)]
        known = [each for each in within if each is not None]
        if len(known) < len(within):
            return None
        if known[-1] == 0.0:
            return 0.0, None
        mean = sum(k * (known[k] - known[k - 1]) for k in range(1, steps + 1))
        return known[-1], mean / known[-1]

    def by_time(self, steps: int) -> Told | None:
        """Return the largest value of what is alive and the start."""
        states = {0, *(len(part) for part in self.alive)}
        told = [self.told(state, steps, restarts=True) for state in states]
        known = [each for each in told if each is not None]
        return max(known, key=lambda each: each[0]) if known else None


def after_all(pattern: Pattern, history: Sequence[Event], stream: Sequence[Event]) -> Edges:
    """Return what lives after a stream, by what a history teaches."""
    lesson = Edges(pattern)
    for event in history:
        lesson.read(event, counts=True)
    found = Edges(pattern, trials=lesson.trials)
    for event in stream:
        found.read(event, counts=False)
    return found
