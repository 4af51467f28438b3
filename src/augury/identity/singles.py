"""Matches of one event, told and told again by what is known of the owner of that event.

Nobody need be followed for them: how likely such a match is, is how likely it is that its person
did its event, and that is what the law of owners tells of every event. So they cost what the owners
cost, and where those are sampled, so are they. They are told as `tracks.py` tells all others, which
is their slow twin.

Owners are told here at any change, whatever the strategy of the stream: a match is told again by
its own confidence, which may be news where the event is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from augury.identity.identifier import Identified, Identifier
from augury.identity.telling import Strategy, Told
from augury.identity.track import Done
from augury.identity.tracks import ALWAYS, Claim, Followed, Live, Telling, Tracks
from augury.identity.ward import Row
from augury.operator import NEVER_YET

# The ward and the id of an event.
Name = tuple[Any, Any]


@dataclass
class Owned:
    """What was last told of the owners of one event, of some step, and the matches that it is."""

    step: int
    p: dict[int, float]
    bound: float = 0.0
    lives: dict[Any, Any] = field(default_factory=dict)


@dataclass
class OwnerOf:
    """One person as the owner of an event: a track of one act."""

    name: Name
    person: int
    owned: Owned

    @property
    def shares(self) -> dict[Done, float]:
        """How likely the event was this person's, and how likely it was not."""
        p = self.owned.p.get(self.person, 0.0)
        return {frozenset({(self.name, self.person)}): p, frozenset(): 1.0 - p}

    @property
    def bound(self) -> float:
        """How far off that is at most."""
        return self.owned.bound

    @property
    def lives(self) -> dict[Any, Any]:
        """The matches that are told again with the owners of the event."""
        return self.owned.lives

    def watch(self, acts: object) -> None:
        """Watch nothing: all events are told of."""

    def let_go(self, acts: object) -> None:
        """Forget nothing here: events are forgotten by their time."""


@dataclass
class FollowedSingles(Followed):
    """What is remembered between batches: what is known of owners, and was told of events."""

    known: Identified = field(default_factory=lambda: Identified({}))
    events: dict[Name, Owned] = field(default_factory=dict)

    def keep(self, live: Live) -> None:
        """Remember a claim that may be told again."""
        super().keep(live)
        for track in live.tracks.values():
            track.lives[live.number] = live


@dataclass(frozen=True)
class Singles(Tracks):
    """The claims that one person did one act."""

    # A match is as far off as the owners of its event are told to be.
    slack: ClassVar[float] = 1.0

    @cached_property
    def identifier(self) -> Identifier:
        """How owners are told."""
        any_change = Strategy("NEVER" if self.strategy.kind == "NEVER" else "ANY")
        return Identifier(
            self.wards, self.within, any_change, self.rejects_impossible, self.state_limit
        )

    def start(self) -> FollowedSingles:
        """Return what is remembered before any row."""
        return FollowedSingles({}, known=self.identifier.start())

    def advance(
        self,
        state: Followed,
        rows: Iterable[tuple[Any, Row]],
        claims: Mapping[Any, Claim],
        horizon: int,
    ) -> list[Telling]:
        """Take in rows; tell the claims, new and old, as steps before the horizon complete."""
        assert isinstance(state, FollowedSingles)
        state.known, news = self.identifier.advance(state.known, rows, horizon)
        state.waiting = state.known.waiting
        steps = dict[int, list[Told]]()
        for step, each in zip(news.told.step.tolist(), news.told, strict=True):
            steps.setdefault(step, []).append(each)
            if each.revision == 0:
                state.events[each.unit, each.id] = Owned(step, {})
        self._claimed(state, claims)
        told = list[Telling]()
        for step in sorted(steps):
            told += self._due(state, step, {})
            told += self._told(state, step, steps[step])
        until = ALWAYS if horizon == ALWAYS else horizon // self.step
        told += self._due(state, until, {})
        state.done = max(state.done, until)
        for live in [each for each in state.live.values() if self._is_old(state, each)]:
            self._drop(state, live)
        return told

    def forget(self, state: Followed, oldest: int) -> None:
        """Forget the events of steps that no later claim can name, and no claim names."""
        assert isinstance(state, FollowedSingles)
        if oldest <= NEVER_YET:
            return
        until = ALWAYS if oldest == ALWAYS else oldest // self.step
        waiting = {id(own.owned) for live in state.due for own in self._owners(live)}
        state.events = {
            name: own
            for name, own in state.events.items()
            if own.step >= until or own.lives or id(own) in waiting
        }

    def restored(self, state: FollowedSingles, live: Live) -> Live:
        """Return a claim that was stored, valued by what was told of its event."""
        for unit, (people, acts) in live.claim.asked.items():
            (person,), (act,) = people, acts
            live.tracks[unit] = self._owner(state, (unit, act), person)
        return live

    def _claimed(self, state: FollowedSingles, claims: Mapping[Any, Claim]) -> None:
        state.due += [self.restored(state, Live(number, each)) for number, each in claims.items()]
        state.due.sort(key=lambda one: -one.claim.moment)

    def _told(self, state: FollowedSingles, step: int, tellings: list[Told]) -> list[Telling]:
        """Take in what is told of events after a step; tell the matches that it changes."""
        last, touched = dict[Any, int](), dict[Any, Live]()
        for each in tellings:
            own = state.events.get((each.unit, each.id))
            last[each.unit] = max(last.get(each.unit, NEVER_YET), each.as_of)
            if own is not None:
                own.p, own.bound = dict(each.owners), each.error_bound
                touched |= own.lives
        return [*self._again(state, touched, last), *self._due(state, step + 1, last)]

    def _owner(self, state: FollowedSingles, name: Name, person: int) -> Any:
        return OwnerOf(name, person, state.events[name])

    def _owners(self, live: Live) -> list[OwnerOf]:
        return list(live.tracks.values())  # type: ignore[arg-type]
