"""The tracks of a few people: how likely it is that they did some acts and did not do others.

Owners of different events hang together, so what a match needs of them has no product. Those whom
it is about are singled out before the first act that it names, and followed one by one through all
worlds, together with which of the watched acts they did; everybody else stays alike. That is exact,
and the states stay few where the match is about few people.

Acts go in step by step. What is remembered of a ward are its acts as far back as a later claim may
name one, and the worlds before them; a track begins there when somebody asks for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from augury.errors import DataError
from augury.identity.admission import Admission
from augury.identity.owners import BEFORE, Owners, Worlds, begin, copied
from augury.identity.telling import Strategy
from augury.identity.ward import Row, Ward
from augury.operator import NEVER_YET

# Sampling would lose who did what.
UNLIMITED = 2**62
# The worlds of a ward are remembered before every so many of its steps.
BETWEEN_MARKS = 32
ALWAYS = 2**63 - 1

# Who did which act: (unit, id of the act), number of the person.
Done = frozenset[tuple[tuple[Any, Any], int]]
# By ward the people that something is about, and the acts that it names.
Asked = Mapping[Any, tuple[frozenset[int], frozenset[Any]]]


class TooManyTracksError(DataError):
    """The people that a match is about take too many tracks together."""


@dataclass(frozen=True)
class Claim:
    """What a match needs of owners: how likely it `holds`, by who did the acts that it names.

    It is first told when the step of `moment` is over, and is as old as its `last` event.
    """

    holds: Callable[[Done], float]
    asked: Asked
    moment: int
    last: int
    # What it is made of, by which it can be stored.
    parts: Any = None


@dataclass(frozen=True, slots=True)
class Telling:
    """One telling of a claim: which revision, how likely, and when."""

    claim: Any
    revision: int
    confidence: float
    at: int


@dataclass
class Track:
    """Some people of one ward, followed from a step on, with all watched acts that they did.

    `asks` counts the claims that name an act. What none names any more is forgotten.
    """

    owners: Owners
    worlds: Worlds
    at: int
    acts: int
    asks: Counter[Any] = field(default_factory=Counter)
    known: dict[frozenset[Any], float] | None = None

    def take(self, rows: list[Row], rejects_impossible: bool) -> int:
        """Take in the rows of a step; return the time of the last that was admitted."""
        admission = Admission(self.owners, self.worlds, rejects_impossible, self.acts)
        admission.take(rows)
        self.acts, self.known = admission.acts, None
        if admission.last is None:
            return NEVER_YET
        self.owners.forget(self.worlds, list(self.worlds.tracked))
        self.owners.close_step(self.worlds)
        return admission.last

    @property
    def shares(self) -> dict[frozenset[Any], float]:
        """The probability of each set of watched acts that people did."""
        if self.known is None:
            self.known = self.owners.shares(self.worlds)
        return self.known

    def let_go(self, acts: Iterable[Any]) -> None:
        """Let a claim go that names some acts."""
        self.asks.subtract(acts)
        gone = {act for act in acts if not self.asks[act]}
        for act in gone:
            del self.asks[act]
        self.owners.forget_done(self.worlds, gone)
        self.known = None


@dataclass
class Past:
    """What is remembered of one ward: worlds before some of its steps, and the rows since."""

    marks: list[Track]
    rows: dict[int, list[Row]] = field(default_factory=dict)


@dataclass
class Live:
    """A claim with the tracks by which it is valued; `revision` is -1 until it is told."""

    number: Any
    claim: Claim
    tracks: dict[Any, Track]
    revision: int = -1
    confidence: float = 0.0
    at: int = NEVER_YET


@dataclass
class Followed:
    """All that is remembered between batches; steps before `done` are complete.

    `due` are claims that wait to be told, the first last; `live` those that may be told again, by
    number, and `of_ward` the same by their wards. `settling` are last tellings of claims that change no more, and when they are too old to.
    """

    pasts: dict[Any, Past]
    due: list[Live] = field(default_factory=list)
    live: dict[Any, Live] = field(default_factory=dict)
    of_ward: dict[Any, dict[Any, Live]] = field(default_factory=dict)
    waiting: list[tuple[Any, Row]] = field(default_factory=list)
    done: int = BEFORE
    settling: list[tuple[Telling, int]] = field(default_factory=list)

    @property
    def numbers(self) -> set[Any]:
        """The numbers of the claims of which something may be told."""
        waiting = {telling.claim for telling, _ in self.settling}
        return waiting.union((live.number for live in self.due), self.live)

    def keep(self, live: Live) -> None:
        """Remember a claim that may be told again."""
        self.live[live.number] = live
        for unit in live.tracks:
            self.of_ward.setdefault(unit, {})[live.number] = live

    def let_go(self, live: Live) -> None:
        """Forget a claim, which was remembered or not."""
        self.live.pop(live.number, None)
        for unit in live.tracks:
            self.of_ward.get(unit, {}).pop(live.number, None)

    @property
    def tracks(self) -> list[tuple[Any, Track]]:
        """Every track that a claim is valued by, once, with its ward."""
        both = (*self.due, *self.live.values())
        found = {id(track): (unit, track) for one in both for unit, track in one.tracks.items()}
        return list(found.values())


@dataclass(frozen=True)
class Tracks:
    """The claims about people of some wards, told and told again by a strategy."""

    wards: Mapping[Any, Ward]
    within: int
    strategy: Strategy
    rejects_impossible: bool
    state_limit: int
    # Whether the last telling comes once more when a claim can no longer be told again.
    tells_last: bool = False

    @property
    def step(self) -> int:
        """How long a step is."""
        return next((ward.step for ward in self.wards.values()), 1)

    def start(self) -> Followed:
        """Return what is remembered before any row."""
        return Followed({unit: Past([self._first(ward)]) for unit, ward in self.wards.items()})

    def _first(self, ward: Ward) -> Track:
        return Track(Owners(ward, UNLIMITED), begin(ward), BEFORE, 0)

    def advance(
        self,
        state: Followed,
        rows: Iterable[tuple[Any, Row]],
        claims: Mapping[Any, Claim],
        horizon: int,
    ) -> list[Telling]:
        """Take in rows; tell the claims, new and old, as steps before the horizon complete.

        Rows of steps that it does not complete wait. New claims name acts of these rows, or of
        those that are remembered.
        """
        until = ALWAYS if horizon == ALWAYS else horizon // self.step
        fresh = self._fresh(state, rows, until)
        first = min(fresh, default=until)
        for step in sorted(fresh):
            for unit, own in fresh[step].items():
                state.pasts[unit].rows[step] = own
        state.due += self._followed(state, claims, first)
        state.due.sort(key=lambda one: -one.claim.moment)
        told, tracks = list[Telling](), dict[Any, list[Track]]()
        for unit, track in state.tracks:
            tracks.setdefault(unit, []).append(track)
        for step in sorted(fresh):
            told += self._due(state, step, {})
            told += self._taken(state, step, fresh[step], tracks)
        told += self._due(state, until, {})
        state.done = max(state.done, until)
        return told

    def forget(self, state: Followed, oldest: int) -> None:
        """Forget the rows of steps that no later claim can name an act of."""
        if oldest <= NEVER_YET:
            return
        until = oldest // self.step
        if oldest == ALWAYS:
            for past in state.pasts.values():
                past.rows = {}
            return
        for unit, past in state.pasts.items():
            while self._lags(past, until):
                self._mark(unit, past, until)
            begun = [k for k, mark in enumerate(past.marks) if mark.at <= until]
            past.marks = past.marks[begun[-1] if begun else 0 :]
            past.rows = {at: own for at, own in past.rows.items() if at >= past.marks[0].at}

    def shares(
        self, state: Followed, asked: Asked
    ) -> list[tuple[Any, dict[frozenset[Any], float]]]:
        """Return by ward how likely each set of acts is that people did, of those asked for."""
        found = []
        for unit, (people, watched) in asked.items():
            track = self._begun(state, unit, people, watched, ALWAYS)
            self._catch_up(state.pasts[unit], track, ALWAYS)
            found.append((unit, track.shares))
        return found

    # Steps ------------------------------------------------------------------------------------

    def _fresh(
        self, state: Followed, rows: Iterable[tuple[Any, Row]], until: int
    ) -> dict[int, dict[Any, list[Row]]]:
        """Return the rows of steps that are complete now, by step and ward; the others wait."""
        fresh: dict[int, dict[Any, list[Row]]] = {}
        waiting = []
        for unit, row in (*state.waiting, *rows):
            step = row.time // self.step
            if unit not in self.wards or step < state.done:
                continue
            if step < until:
                fresh.setdefault(step, {}).setdefault(unit, []).append(row)
            else:
                waiting.append((unit, row))
        state.waiting = waiting
        return fresh

    def _taken(
        self,
        state: Followed,
        step: int,
        rows: Mapping[Any, list[Row]],
        tracks: dict[Any, list[Track]],
    ) -> list[Telling]:
        """Let tracks take in a step; tell again what it changed, and then what is due."""
        last, touched = dict[Any, int](), dict[Any, Live]()
        for unit, own in rows.items():
            tracks[unit] = [track for track in tracks.get(unit, ()) if track.asks]
            for track in tracks[unit]:
                if track.at <= step:
                    now = track.take(own, self.rejects_impossible)
                    self._refuse_many(track)
                    track.at = step + 1
                    last[unit] = max(last.get(unit, NEVER_YET), now)
            touched |= state.of_ward.get(unit, {})
        told = list[Telling]()
        for live in touched.values():
            now = max((last.get(unit, NEVER_YET) for unit in live.tracks), default=NEVER_YET)
            if now == NEVER_YET:
                continue
            if now - live.claim.last > self.within:
                self._drop(state, live)
                continue
            likely, is_final = self._valued(live)
            if self.strategy.is_news(live.confidence, likely):
                told.append(_told(live, likely, now))
            if is_final:
                self._drop(state, live)
        told += self._due(state, step + 1, last)
        return told

    def _due(self, state: Followed, until: int, last: Mapping[Any, int]) -> list[Telling]:
        """Tell the claims for the first time whose moment lies before a step."""
        told = []
        while state.due and state.due[-1].claim.moment // self.step < until:
            live = state.due.pop()
            likely, is_final = self._valued(live)
            now = max((last.get(unit, NEVER_YET) for unit in live.tracks), default=NEVER_YET)
            if likely > 0.0:
                told.append(_told(live, likely, max(now, live.claim.moment)))
            if is_final or likely == 0.0 or self.strategy.kind == "NEVER":
                self._drop(state, live)
            else:
                state.keep(live)
        return told

    def _drop(self, state: Followed, live: Live) -> None:
        """Let a claim go that changes no more."""
        state.let_go(live)
        for unit, track in live.tracks.items():
            track.let_go(live.claim.asked[unit][1])
        if self.tells_last and live.revision >= 0:
            telling = Telling(live.number, live.revision, live.confidence, live.at)
            state.settling.append((telling, live.claim.last + self.within))

    def settled(self, state: Followed) -> list[Telling]:
        """Return the last tellings of claims that have become too old to be told again."""
        until = state.done * self.step if state.done < ALWAYS else ALWAYS
        for live in [each for each in state.live.values() if each.claim.last + self.within < until]:
            self._drop(state, live)
        old = [each for each in state.settling if each[1] < until]
        state.settling = [each for each in state.settling if each[1] >= until]
        return [replace(telling, at=max(telling.at, at)) for telling, at in old]

    def settles(self, state: Followed) -> int | None:
        """Return when the first claim is too old to be told again, if that is told."""
        if not self.tells_last:
            return None
        ends = [live.claim.last + self.within for live in state.live.values()]
        return min([*ends, *(at for _, at in state.settling)], default=None)

    def _valued(self, live: Live) -> tuple[float, bool]:
        """Return how likely a claim is, and whether that is so in all states: for good."""
        parts = [(unit, track.shares) for unit, track in live.tracks.items()]
        likely, values = 0.0, set[float]()
        for done, weight in joint(parts):
            value = live.claim.holds(done)
            values.add(value)
            likely += weight * value
        return min(likely, 1.0), len(values) == 1

    def _refuse_many(self, track: Track) -> None:
        if len(track.worlds.states) > self.state_limit:
            raise TooManyTracksError(
                f"{len(track.owners.singled)} people have more than {self.state_limit} tracks "
                "together; narrow WITHIN, equate the owner, or raise the setting "
                "identity_state_limit"
            )

    # Tracks -----------------------------------------------------------------------------------

    def _followed(self, state: Followed, claims: Mapping[Any, Claim], first: int) -> list[Live]:
        """Return the new claims with their tracks, which are as far as the steps before."""
        groups: dict[tuple[Any, frozenset[int]], set[Any]] = {}
        for claim in claims.values():
            for unit, (people, watched) in claim.asked.items():
                groups.setdefault((unit, people), set()).update(watched)
        tracks = {}
        for (unit, people), acts in groups.items():
            track = self._begun(state, unit, people, frozenset(acts), first)
            self._catch_up(state.pasts[unit], track, first)
            tracks[unit, people] = track
        found = []
        for number, claim in claims.items():
            own = {unit: tracks[unit, people] for unit, (people, _) in claim.asked.items()}
            for unit, track in own.items():
                track.asks.update(claim.asked[unit][1])
            found.append(Live(number, claim, own))
        return found

    def _begun(
        self, state: Followed, unit: Any, people: frozenset[int], watched: frozenset[Any], most: int
    ) -> Track:
        """Return a track of some people from before the first of the acts that are watched."""
        past = state.pasts[unit]
        steps = (at for at, rows in past.rows.items() if any(row.id in watched for row in rows))
        begins = min(steps, default=min(most, max(past.rows, default=BEFORE)))
        while self._lags(past, begins):
            self._mark(unit, past, begins)
        mark = next(mark for mark in reversed(past.marks) if mark.at <= begins)
        track = replace(mark, worlds=copied(mark.worlds))
        self._catch_up(past, track, begins)
        owners = Owners(self.wards[unit], UNLIMITED, people, watched)
        owners.single_out(track.worlds)
        return replace(track, owners=owners, at=begins, asks=Counter(), known=None)

    def _catch_up(self, past: Past, track: Track, until: int) -> None:
        """Let a track take in the steps that are remembered, up to one."""
        for step in sorted(at for at in past.rows if track.at <= at < until):
            track.take(past.rows[step], self.rejects_impossible)
            self._refuse_many(track)
            track.at = step + 1

    def _lags(self, past: Past, until: int) -> bool:
        """Return whether so many steps lie between the last mark and some step."""
        since = past.marks[-1].at
        return sum(since <= at < until for at in past.rows) > BETWEEN_MARKS

    def _mark(self, unit: Any, past: Past, until: int) -> None:
        """Remember the worlds before a step a while after the last that was remembered."""
        del unit
        last = past.marks[-1]
        steps = sorted(at for at in past.rows if last.at <= at < until)
        track = replace(last, worlds=copied(last.worlds))
        self._catch_up(past, track, steps[BETWEEN_MARKS])
        past.marks.append(replace(track, at=steps[BETWEEN_MARKS]))


def _told(live: Live, likely: float, now: int) -> Telling:
    live.revision += 1
    live.confidence, live.at = likely, now
    return Telling(live.number, live.revision, likely, now)


def joint(parts: list[tuple[Any, dict[frozenset[Any], float]]]) -> list[tuple[Done, float]]:
    """Return who did what in some wards together, which know nothing of each other."""
    found: list[tuple[Done, float]] = [(frozenset(), 1.0)]
    for unit, shares in parts:
        named = [
            (frozenset(((unit, act), person) for act, person in done), weight)
            for done, weight in shares.items()
        ]
        found = [(one | other, w * v) for one, w in found for other, v in named]
    return found
