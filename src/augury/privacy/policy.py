"""Decisions of a policy: one event at a time, in order, never taken back.

What an event gains is the weight of the public matches that are expected to contain it: made of
events kept before it, of itself, and of what the method expects to come; what it costs is that of
private ones. It is suppressed where it costs more. Types whose loss could make a match appear are
bound, and kept whatever they cost; of a pattern that must never be put together the last step that
is not bound is never kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal

from augury.privacy.beginnings import (
    Begun,
    ByTypes,
    Counts,
    Tallied,
    Weighable,
    as_is,
    begun_by,
    completed,
    follower,
    foreseen,
    key_of,
    matches_of,
    take_in,
)
from augury.privacy.cycles import Cycles
from augury.privacy.expectation import expected, expected_wang
from augury.privacy.foresight import Foresight
from augury.privacy.machine import Machine
from augury.privacy.pattern import Event, Key, Pattern
from augury.privacy.period import find_period
from augury.privacy.prefixes import Prefix
from augury.privacy.statistics import Flow, Tally
from augury.privacy.threads import Thread, Threads
from augury.privacy.type_level import TOLERANCE, TypeLevel, Worth, best_types

Method = Literal["TYPES", "GREEDY", "RATES", "PERIODIC", "HYBRID"]
Rule = Literal["bound", "never", "types", "weights"]
NEVER = math.inf
# What an event would add to the prefixes of each pattern, by its number.
Touched = dict[int, list[Begun]]
# What the patience may be where it is learned.
PATIENCES = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
# The type level is solved anew when that many more events have gone by.
GROWTH = 1.1


@dataclass(frozen=True, slots=True)
class Weighted:
    """A pattern, and what one match of it is worth or costs; NEVER: it must not be there."""

    pattern: Weighable
    weight: float


@dataclass(frozen=True)
class Policy:
    """What is public and private, and how decisions are made.

    `bound` are the types that are never suppressed; None: all. `patience` None is learned.
    `online`: statistics go on with what goes by, those of `over` with the last of it only; they are
    kept apart `by` the values of a column. `seconds` is how long the type level may take.
    """

    public: tuple[Weighted, ...]
    private: tuple[Weighted, ...]
    bound: frozenset[str] | None = frozenset()
    method: Method = "HYBRID"
    period: int | None = None
    wang: bool = False
    patience: float | None = None
    online: bool = False
    over: int | None = None
    by: str | None = None
    seconds: float = 60.0

    @cached_property
    def patterns(self) -> tuple[Weighable, ...]:
        """All patterns, public ones first."""
        return tuple(each.pattern for each in (*self.public, *self.private))

    @cached_property
    def sequences(self) -> tuple[Pattern, ...]:
        """All patterns, where every one is a plain sequence."""
        found = tuple(each for each in self.patterns if isinstance(each, Pattern))
        assert len(found) == len(self.patterns), "machines are followed thread by thread"
        return found

    def is_bound(self, kind: str | None) -> bool:
        """Whether events of a type are always kept."""
        return self.bound is None or kind in self.bound

    def last_free(self, pattern: Pattern) -> int | None:
        """Return the last step whose type may be suppressed; None where there is none."""
        free = [k for k, step in enumerate(pattern.steps) if not self.is_bound(step.type)]
        return free[-1] if free else None

    def ends_with_bound(self, number: int, begun: Begun) -> bool:
        """Whether bound types alone can make a match of what an event has begun."""
        pattern = self.patterns[number]
        if isinstance(begun, Prefix):
            assert isinstance(pattern, Pattern)
            return len(begun.held) - 1 == self.last_free(pattern)
        return begun.state in self._closing[number]

    @cached_property
    def _closing(self) -> dict[int, frozenset[int]]:
        machines = enumerate(self.patterns)
        return {k: m.closing(self.is_bound) for k, m in machines if isinstance(m, Machine)}

    @property
    def looks_ahead(self) -> bool:
        """Whether it expects anything of the future."""
        return self.method in ("RATES", "PERIODIC", "HYBRID")


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of an event; TYPES weighs nothing, so gain and penalty are None."""

    kept: bool
    gain: float | None
    penalty: float | None
    rule: Rule


class Decider:
    """A policy at work: what it has learned, and what the events kept so far have begun."""

    def __init__(self, policy: Policy, history: Iterable[Event] = ()) -> None:
        self.policy = policy
        self.tally = _tally(policy)
        self.raw = [Tallied.of(pattern) for pattern in policy.patterns]
        self.begun = [follower(pattern) for pattern in policy.patterns]
        self.readers = _readers(policy.patterns)
        self.flows: dict[tuple[int, Key], Flow] = {}
        self.foresights: dict[tuple[int, Key], Foresight] = {}
        self.level = TypeLevel(frozenset(), 0.0)
        self.solved_at = 0
        self.seen = 0
        self.period = policy.period
        self.cycles: Cycles | None = None
        events = list(history)
        self._learn(events)
        self.patience = 1.0 if policy.patience is None else policy.patience
        if policy.patience is None and events and policy.looks_ahead:
            self.patience = _learned_patience(policy, events)

    # What is learned --------------------------------------------------------------------------

    def _learn(self, history: Sequence[Event]) -> None:
        for event in history:
            self._count(event)
        if self.policy.method != "GREEDY":
            self._solve()

    def _count(self, event: Event) -> None:
        """Count an event of the raw stream."""
        self.seen += 1
        self.tally.add(event)
        if self.policy.over is None:
            for counted in self.raw:
                counted.add(event)

    def _solve(self) -> None:
        """Solve the type level, and look for the period, with what is known now."""
        self.solved_at, policy = self.seen, self.policy
        self.foresights.clear()
        if policy.over is None:
            numbers = [counted.matches for counted in self.raw]
        else:
            events = self.tally.remembered()
            numbers = [matches_of(pattern, events) for pattern in policy.patterns]
        self.level = best_types(worths(policy, numbers), self._bound_types, policy.seconds)
        if policy.method in ("PERIODIC", "HYBRID"):
            if policy.period is None:
                self.period = find_period(self.tally.remembered())
            self.cycles = Cycles(self.tally, self.period) if self.period else None

    @property
    def _bound_types(self) -> frozenset[str]:
        if self.policy.bound is not None:
            return self.policy.bound
        return frozenset(kind for pattern in self.policy.patterns for kind in pattern.types)

    # Decisions --------------------------------------------------------------------------------

    def decide(self, event: Event) -> Decision:
        """Decide about the next event, and take it in if it is kept."""
        if self.policy.online and self.policy.method != "GREEDY":
            self.tally.forget(event.time)
            if self.seen >= max(1.0, GROWTH * self.solved_at) and self.seen != self.solved_at:
                self._solve()
        readers = self.readers.get(event.type, ())
        found = {number: begun_by(self.begun[number], event) for number in readers}
        decision = self._decision(event, found)
        if decision.kept:
            for number, own in found.items():
                take_in(self.begun[number], event, own)
        if self.policy.online:
            self._count(event)
        return decision

    def _decision(self, event: Event, found: Touched) -> Decision:
        policy = self.policy
        weighs = policy.method != "TYPES"
        gain, penalty = self._weighed(found) if weighs else (None, None)
        if policy.is_bound(event.type):
            return Decision(True, gain, penalty, "bound")
        if self._completes_never(found):
            return Decision(False, gain, -math.inf if weighs else None, "never")
        if gain is None or penalty is None:
            return Decision(event.type not in self.level.dropped, None, None, "types")
        if penalty == -math.inf:
            return Decision(False, gain, penalty, "never")
        kept = gain + penalty >= -TOLERANCE * max(gain, -penalty)
        return Decision(kept, gain, penalty, "weights")

    def _completes_never(self, found: Touched) -> bool:
        """Whether the event is the last that can be suppressed of what must never be there."""
        first, policy = len(self.policy.public), self.policy
        return any(
            policy.ends_with_bound(number, begun)
            for number, own in found.items()
            if number >= first and policy.private[number - first].weight == NEVER
            for begun in own
        )

    def _weighed(self, found: Touched) -> tuple[float, float]:
        """Return gain and penalty."""
        first, gain, penalty = len(self.policy.public), 0.0, 0.0
        for number, own in found.items():
            is_public = number < first
            each = self.policy.public[number] if is_public else self.policy.private[number - first]
            if not own or not each.weight:
                continue
            done, open_ = self._expected(number, own)
            if is_public:
                gain += each.weight * (done + open_)
            else:
                for part in (done, self.patience * open_):
                    penalty -= each.weight * part if part else 0.0
        return gain, penalty

    def _expected(self, number: int, found: list[Begun]) -> Counts:
        """Return the expected matches with these beginnings: whole ones, and those to come."""
        pattern, follows = self.policy.patterns[number], self.begun[number]
        if isinstance(follows, Threads):
            # Events of equal order may have broken or taken some.
            found = [
                left
                for begun in found
                if isinstance(begun, Thread)
                for left in follows.after(begun, follows.batch)
            ]
        counts = self._counts(number, pattern, found) if found else []
        whole = sum(each.weight * own for each, (own, _) in zip(found, counts, strict=True))
        more = sum(each.weight * own for each, (_, own) in zip(found, counts, strict=True))
        return whole, more

    def _counts(self, number: int, pattern: Weighable, found: list[Begun]) -> list[Counts]:
        """Return how often each beginning is expected to be a match, and to be completed."""
        if self.policy.method == "GREEDY":
            return [(as_is(pattern, begun), 0.0) for begun in found]
        if self.cycles is not None and self.policy.method != "RATES":
            begun, dropped = found[0], self.level.dropped
            time = begun.order[0] if isinstance(begun, Prefix) else begun.last
            counts = self.cycles.expected(
                pattern.window, time, found, dropped, partial(completed, pattern)
            )
            if counts is not None:
                return counts
        return [self._by_rates(number, pattern, begun) for begun in found]

    def _by_rates(self, number: int, pattern: Weighable, begun: Begun) -> Counts:
        flow = self._flow(number, key := key_of(pattern, begun))
        if isinstance(begun, Thread):
            return foreseen(self._foresight(number, flow, key), begun)
        assert isinstance(pattern, Pattern)
        place, later = len(begun.held), pattern.steps[len(begun.held) :]
        if any(step.type in self.level.dropped for step in later):
            return 0.0, 0.0
        span = float(pattern.window + begun.first - begun.order[0])
        if self.policy.wang:
            count = expected_wang([step.type for step in later], flow.rates[place:], span)
        else:
            count = expected(flow.rates[place:], flow.leaving[place:], span)
        return (0.0, count) if later else (count, 0.0)

    def _foresight(self, number: int, flow: Flow, key: Key) -> Foresight:
        """Return what is expected of the states of a machine, at rates that stay if they do."""
        machine, dropped = self.policy.patterns[number], self.level.dropped
        assert isinstance(machine, Machine)
        if self.policy.online:
            return Foresight(machine, flow.rates, dropped)
        own = key if self.policy.by is not None else ()
        if (number, own) not in self.foresights:
            self.foresights[number, own] = Foresight(machine, flow.rates, dropped)
        return self.foresights[number, own]

    def _flow(self, number: int, key: Key) -> Flow:
        """Return the rates of a pattern, which stay where nothing more is learned."""
        if self.policy.online:
            return self.tally.flow(number, key)
        own = key if self.policy.by is not None else ()
        if (number, own) not in self.flows:
            self.flows[number, own] = self.tally.flow(number, key)
        return self.flows[number, own]

    # As a value -------------------------------------------------------------------------------

    def dump(self) -> dict[str, Any]:
        """Return what decisions depend on as plain values."""
        return {
            "begun": [each.dump() for each in self.begun],
            "raw": [each.dump() for each in self.raw],
            "tally": self.tally.dump(),
            "level": [sorted(self.level.dropped), self.level.utility, self.level.gap],
            "solved": [self.solved_at, self.seen],
            "period": self.period,
            "patience": self.patience,
        }

    @classmethod
    def load(cls, policy: Policy, value: dict[str, Any]) -> Decider:
        """Return the decider that `dump` was called of, in a policy that is the same."""
        # Nothing is learned or solved here: all of that is in the value.
        made = cls(replace(policy, method="GREEDY", patience=value["patience"]))
        made.policy = policy
        for prefixes, own in zip(made.begun, value["begun"], strict=True):
            prefixes.load(own)
        for counted, own in zip(made.raw, value["raw"], strict=True):
            counted.load(own)
        made.tally = _tally(policy)
        made.tally.load(value["tally"])
        dropped, utility, gap = value["level"]
        made.level = TypeLevel(frozenset(dropped), utility, gap)
        made.solved_at, made.seen = value["solved"]
        made.period = value["period"]
        made.cycles = Cycles(made.tally, made.period) if made.period else None
        return made


def _tally(policy: Policy) -> Tally:
    keeps = policy.method in ("PERIODIC", "HYBRID")
    return Tally(policy.patterns, policy.by, policy.over, keeps=keeps)


def _readers(patterns: Sequence[Weighable]) -> dict[str | None, list[int]]:
    """Return which patterns an event of a type matters to."""
    found: dict[str | None, list[int]] = {}
    for number, pattern in enumerate(patterns):
        for kind in pattern.types | pattern.guards:
            found.setdefault(kind, []).append(number)
    return found


def worths(policy: Policy, numbers: Sequence[ByTypes]) -> list[Worth]:
    """Return what each pattern is worth, by how many matches it has of which types."""
    found = []
    for place, each in enumerate((*policy.public, *policy.private)):
        if each.weight == NEVER:
            pattern = each.pattern
            sets = pattern.type_sets if isinstance(pattern, Machine) else (pattern.types,)
            found += [Worth(types, 0.0, True) for types in sets]
        else:
            weight = each.weight if place < len(policy.public) else -each.weight
            found += [Worth(types, weight * n) for types, n in numbers[place].items()]
    return found


def utility(policy: Policy, kept: Sequence[Event]) -> float:
    """Return what some events are worth: public matches in them less private ones."""
    numbers = [matches_of(pattern, kept) for pattern in policy.patterns]
    return sum(each.value for each in worths(policy, numbers))


def _learned_patience(policy: Policy, history: Sequence[Event]) -> float:
    """Return the patience with which the history would have been worth most."""
    best, most = 1.0, -math.inf
    for patience in sorted(PATIENCES, reverse=True):
        trial = replace(policy, patience=patience, online=False)
        decider = Decider(trial, history)
        kept = [event for event in history if decider.decide(event).kept]
        worth = utility(policy, kept)
        if worth > most + (TOLERANCE * max(abs(worth), abs(most)) if most > -math.inf else 0.0):
            best, most = patience, worth
    return best
