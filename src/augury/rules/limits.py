"""How often a rule acts: once on rows of one id, or so many times in a while.

A mark has the times at which a rule acted that still count, and how many firings were held back
since the last of them. Marks are part of the state, and grow with ids and keys, not with firings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from augury.rules.contents import Row
from augury.rules.plan import ActiveQuery, Rule, World
from augury.rules.reading import Reading

# The times that count, and how many were held back since the last.
Mark = tuple[tuple[int, ...], int]
# By who marks, and for what: a rule and the values of THROTTLE BY, or a rule and a match_id.
Marks = dict[tuple[str, Row], Mark]
NO_MARK: Mark = ((), 0)


@dataclass
class Limits:
    """Marks of earlier moments, and those of this one."""

    known: Mapping[tuple[str, Row], Mark]
    new: Marks = field(default_factory=dict)

    def _mark(self, name: tuple[str, Row]) -> Mark:
        return self.new.get(name) or self.known.get(name, NO_MARK)

    def has_acted(self, rule: Rule, match_id: str) -> bool:
        """Return whether a rule that acts once had its turn on rows of an id."""
        return bool(self._mark(once_key(rule, match_id))[0])

    def had_turn(self, rule: Rule, match_id: str, ts: int) -> None:
        """Note that a rule had its turn on rows of an id."""
        self.new[once_key(rule, match_id)] = ((ts,), 0)

    def held_back(self, rule: Rule, reading: Reading, ts: int) -> int | None:
        """Return how many firings the next one counts; None where this one is held back."""
        if rule.throttle is None:
            return 0
        times, held = self._mark(throttle_key(rule, reading))
        recent = [time for time in times if time > ts - rule.throttle.span]
        return None if len(recent) >= rule.throttle.most else held

    def count(self, rule: Rule, reading: Reading, ts: int, *, acted: bool) -> None:
        """Count a firing of a rule that is throttled, whether it acted or was held back."""
        if rule.throttle is not None:
            name = throttle_key(rule, reading)
            times, held = self._mark(name)
            recent = tuple(time for time in times if time > ts - rule.throttle.span)
            self.new[name] = ((*recent, ts), 0) if acted else (recent, held + 1)


def once_key(rule: Rule, match_id: str) -> tuple[str, Row]:
    """Return under which name it is noted that a rule has acted on rows of an id."""
    return f"once {rule.name.lower()}", (match_id,)


def throttle_key(rule: Rule, reading: Reading) -> tuple[str, Row]:
    """Return under which name the firings of a rule are counted."""
    assert rule.throttle is not None
    return f"throttle {rule.name.lower()}", tuple(value(reading) for value in rule.throttle.by)


def limit_keys(rule: Rule, query: ActiveQuery, match_id: str, reading: Reading) -> Iterator[
    tuple[str, Row]
]:  # fmt: skip
    """Yield the marks that a firing looks at and changes."""
    if query.once:
        yield once_key(rule, match_id)
    if rule.throttle is not None:
        yield throttle_key(rule, reading)


def outlived(
    world: World, marks: Mapping[tuple[str, Row], Mark], before: int
) -> list[tuple[str, Row]]:
    """Return the marks that no later moment asks for."""
    lasts: dict[str, int] = {}
    for rule in world.rules:
        memory = world.queries[rule.query].memory
        if memory is not None:
            lasts[once_key(rule, "")[0]] = memory
        if rule.throttle is not None:
            lasts[f"throttle {rule.name.lower()}"] = rule.throttle.span
    return [
        name
        for name, (times, held) in marks.items()
        if name[0] in lasts and not held and max(times, default=0) + lasts[name[0]] < before
    ]
