"""The tracks of a few people: how likely it is that they did some acts and did not do others.

Owners of different events hang together, so what a match needs of them has no product. Those whom
it is about are followed one by one through all worlds, together with which of the watched acts they
did; everybody else stays alike. That is exact, and the states stay few where the match is about few
people.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from augury.errors import DataError
from augury.identity.admission import Admission
from augury.identity.owners import Owners, Worlds, begin
from augury.identity.telling import Strategy
from augury.identity.ward import Row, Ward
from augury.operator import NEVER_YET

# Sampling would lose who did what.
UNLIMITED = 2**62
Done = frozenset[tuple[Any, int]]


class TooManyTracksError(DataError):
    """The people that a match is about take too many tracks together."""


@dataclass(frozen=True)
class Claim:
    """What a match needs of owners: `holds` of the watched acts that people did.

    It is first told when the step of `moment` is over, and is as old as its `last` event.
    """

    holds: Callable[[Done], bool]
    watched: frozenset[Any]
    moment: int
    last: int


@dataclass(frozen=True, slots=True)
class Telling:
    """One telling of a claim, by its number: which revision, how likely, and when."""

    claim: int
    revision: int
    confidence: float
    at: int


@dataclass(frozen=True)
class Tracks:
    """The claims about some people of one ward, told and told again by a strategy."""

    ward: Ward
    people: frozenset[int]
    within: int
    strategy: Strategy
    rejects_impossible: bool
    state_limit: int

    def follow(self, rows: Iterable[Row], claims: list[Claim]) -> list[Telling]:
        """Return all that is told of some claims, over the rows of the ward."""
        steps: dict[int, list[Row]] = {}
        for row in rows:
            steps.setdefault(self.ward.step_of(row.time), []).append(row)
        watched = frozenset(each for claim in claims for each in claim.watched)
        owners = Owners(self.ward, UNLIMITED, self.people, watched)
        run = _Run(self, owners, begin(self.ward), claims)
        for step in sorted(steps):
            run.tell_due(step)
            run.take(step, steps[step])
        run.tell_due(None)
        return run.told


@dataclass
class _Run:
    """The rows of one ward, followed step by step."""

    tracks: Tracks
    owners: Owners
    worlds: Worlds
    claims: list[Claim]
    acts: int = 0
    told: list[Telling] = field(default_factory=list)
    # The last telling of each claim that may be told again.
    live: dict[int, Telling] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.waiting = set(range(len(self.claims)))

    def take(self, step: int, rows: list[Row]) -> None:
        """Take in the rows of a step, and tell what it changed."""
        rejects = self.tracks.rejects_impossible
        admission = Admission(self.owners, self.worlds, rejects, self.acts)
        admission.take(rows)
        self.acts = admission.acts
        if admission.last is None:
            return
        self.owners.forget(self.worlds, list(self.worlds.tracked))
        self._revise(admission.last)
        self.tell_due(step + 1, admission.last)
        self._forget(admission.last)
        self.owners.close_step(self.worlds)
        if len(self.worlds.states) > self.tracks.state_limit:
            raise TooManyTracksError(
                f"{len(self.tracks.people)} people have more than {self.tracks.state_limit} tracks "
                "together; narrow WITHIN, equate the owner, or raise the setting "
                "identity_state_limit"
            )

    def tell_due(self, step: int | None, now: int = NEVER_YET) -> None:
        """Tell the claims for the first time whose moment lies before a step; None: all."""
        due = [
            k
            for k in sorted(self.waiting)
            if step is None or self.tracks.ward.step_of(self.claims[k].moment) < step
        ]
        for k in due:
            self.waiting.remove(k)
            confidence = self._confidence(k)
            if confidence > 0.0:
                self._tell(Telling(k, 0, confidence, max(now, self.claims[k].moment)))

    def _confidence(self, k: int) -> float:
        likely = self.owners.weight_of(self.worlds, self.claims[k].holds)
        return min(likely, 1.0)

    def _tell(self, telling: Telling) -> None:
        self.told.append(telling)
        self.live[telling.claim] = telling

    def _revise(self, now: int) -> None:
        """Tell claims again that are young enough, where what is known of them is news."""
        for k, before in list(self.live.items()):
            if now - self.claims[k].last > self.tracks.within:
                del self.live[k]
                continue
            likely = self._confidence(k)
            if self.tracks.strategy.is_news(before.confidence, likely):
                self._tell(Telling(k, before.revision + 1, likely, now))

    def _forget(self, now: int) -> None:
        """Forget who did the acts that no claim asks for any more."""
        if self.tracks.strategy.kind == "NEVER":
            self.live = {}
        asking = [k for k in self.live if now - self.claims[k].last <= self.tracks.within]
        needed = {each for k in (*asking, *self.waiting) for each in self.claims[k].watched}
        done: Collection[Any] = {each for _, _, own in self.worlds.states for each, _ in own}
        gone = {each for each in done if each not in needed}
        if gone:
            self.owners.forget_done(self.worlds, gone)
