"""The tracks of a few people: how likely it is that they did some acts and did not do others.

Owners of different events hang together, so what a match needs of them has no product. Those whom
it is about are singled out before the first act that it names, and followed one by one through all
worlds, together with which of the watched acts they did; everybody else stays alike. That is exact,
and the states stay few where the match is about few people.

Acts go in step by step. What is remembered of a ward are its acts as far back as a later claim may
name one, and the worlds before them; a track begins there when somebody asks for it.

Matches of the same people share a track. How they do hangs on when they are found, which is well as
long as nothing is left out. Where a shared track has more states than the limit, its matches part:
by halves, until each has few enough states, or a track of its own for the acts that it names. What
that knows follows from the rows alone, and so does what is sampled of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

from augury.errors import DataError
from augury.identity.drawing import Room
from augury.identity.owners import BEFORE
from augury.identity.telling import Strategy
from augury.identity.track import Done, Past, Track
from augury.identity.ward import Row, Ward
from augury.operator import NEVER_YET

ALWAYS = 2**63 - 1

# By ward the people that something is about, and the acts that it names.
Asked = Mapping[Any, tuple[frozenset[int], frozenset[Any]]]


class TooManyTracksError(DataError):
    """The people that a match is about take too many tracks together."""


@dataclass(frozen=True)
class Claim:
    """What a match needs of owners: how likely it `holds`, by who did the acts that it names.

    It is first told when the step of `moment` is over, and is as old as its `last` event. `doubt`
    is how far off it may be since owners of events that it forbids were sampled.
    """

    holds: Callable[[Done], float]
    asked: Asked
    moment: int
    last: int
    # What it is made of, by which it can be stored.
    parts: Any = None
    doubt: float = 0.0


@dataclass(frozen=True, slots=True)
class Telling:
    """One telling of a claim: which revision, how likely, when, and how far off at most."""

    claim: Any
    revision: int
    confidence: float
    at: int
    error_bound: float = 0.0


@dataclass(frozen=True, slots=True)
class Value:
    """How likely a claim is, and how far off that may be.

    It `agrees` where all states that were kept say the same: what comes of them will, too. `shown`
    is the bound with which it is told; `is_sampled` says whether a track left states out.
    """

    likely: float
    agrees: bool
    bound: float
    shown: float
    is_sampled: bool


@dataclass
class Live:
    """A claim with the tracks by which it is valued; `revision` is -1 until it is told."""

    number: Any
    claim: Claim
    tracks: dict[Any, Track] = field(default_factory=dict)
    revision: int = -1
    confidence: float = 0.0
    at: int = NEVER_YET
    error_bound: float = 0.0

    def follow(self, unit: Any, track: Track) -> None:
        """Be valued by a track, which watches all acts of a ward that are named."""
        self.tracks[unit] = track
        track.lives[self.number] = self
        track.watch(self.claim.asked[unit][1])


@dataclass
class Followed:
    """All that is remembered between batches; steps before `done` are complete.

    `due` are claims that wait to be told, the first last; `live` those that may be told again, by
    number. `settling` are last tellings of claims that change no more, and until when they might
    have.
    """

    pasts: dict[Any, Past]
    due: list[Live] = field(default_factory=list)
    live: dict[Any, Live] = field(default_factory=dict)
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

    def let_go(self, live: Live) -> None:
        """Forget a claim, which was remembered or not."""
        self.live.pop(live.number, None)
        for track in live.tracks.values():
            track.lives.pop(live.number, None)

    @property
    def tracks(self) -> dict[Any, list[Track]]:
        """Every track that a claim is valued by, once, by its ward."""
        both = (*self.due, *self.live.values())
        known = {id(track): track for one in both for track in one.tracks.values()}
        found = dict[Any, list[Track]]()
        for track in known.values():
            found.setdefault(track.unit, []).append(track)
        return found


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
    # A claim is told with so many times the bounds of its tracks: as much as it may be off, and as
    # much that changes and is not told. So what was told last holds until it is told again.
    slack: ClassVar[float] = 2.0

    @cached_property
    def step(self) -> int:
        """How long a step is."""
        return next((ward.step for ward in self.wards.values()), 1)

    @cached_property
    def room(self) -> Room:
        """How many states there may be."""
        return Room.of(self.state_limit)

    def start(self) -> Followed:
        """Return what is remembered before any row."""
        begun = {
            unit: Past.begin(unit, ward, self.rejects_impossible, self.room)
            for unit, ward in self.wards.items()
        }
        return Followed(begun)

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
                state.pasts[unit].add(step, own)
        begins = self._noted(state, claims, first)
        told, tracks = list[Telling](), state.tracks
        for step in sorted(fresh.keys() | begins.keys()):
            for unit, live in begins.get(step, ()):
                self._follow(state.pasts[unit], live, step, tracks.setdefault(unit, []))
            told += self._due(state, step, {})
            told += self._taken(state, step, fresh.get(step, {}), tracks)
        told += self._due(state, until, {})
        state.done = max(state.done, until)
        for live in [each for each in state.live.values() if self._is_old(state, each)]:
            self._drop(state, live)
        return told

    def forget(self, state: Followed, oldest: int) -> None:
        """Forget the rows of steps that no later claim can name an act of."""
        if oldest <= NEVER_YET:
            return
        until = oldest // self.step
        for past in state.pasts.values():
            if oldest == ALWAYS:
                past.forget_rows(ALWAYS)
            else:
                past.forget(until)

    def shares(self, state: Followed, asked: Asked) -> list[dict[Done, float]]:
        """Return by ward how likely each set of acts is that people did, of those asked for."""
        found = []
        for unit, (people, watched) in asked.items():
            past = state.pasts[unit]
            track = past.track(people, watched, ALWAYS)
            self._refuse_many(track)
            for step, rows in past.between(track.at, ALWAYS):
                track.take(step, rows, self.rejects_impossible)
                self._refuse_many(track)
            found.append(track.shares)
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
        for unit in rows:
            past, after = state.pasts[unit], list[Track]()
            for track in tracks.get(unit, ()):
                if track.asks and track.at <= step:
                    now, is_new = self._step(past, track, step)
                    last[unit] = max(last.get(unit, NEVER_YET), now)
                    if is_new:
                        told = (n for n in track.lives if n in state.live)
                        touched |= {number: state.live[number] for number in told}
                    after += self._parted(track)
                elif track.asks:
                    after.append(track)
            tracks[unit] = after
        # Where all rows were rejected, what a track left out may be why: it knows less than before.
        ends = {
            unit: at if at > NEVER_YET else max(row.time for row in rows[unit])
            for unit, at in last.items()
        }
        return [*self._again(state, touched, ends), *self._due(state, step + 1, last)]

    def _again(
        self, state: Followed, touched: Mapping[Any, Live], last: Mapping[Any, int]
    ) -> list[Telling]:
        """Tell again, of the claims that a step touched, those of which something is news."""
        told = list[Telling]()
        for live in touched.values():
            now = max((last.get(unit, NEVER_YET) for unit in live.tracks), default=NEVER_YET)
            if now == NEVER_YET:
                continue
            if now - live.claim.last > self.within:
                self._drop(state, live)
                continue
            value = self._valued(live)
            before = live.confidence, live.error_bound
            if self.strategy.is_news(before[0], value.likely, value.bound, before[1]):
                told.append(_told(live, value, now))
            if self._is_over(live, value):
                self._drop(state, live)
        return told

    def _due(self, state: Followed, until: int, last: Mapping[Any, int]) -> list[Telling]:
        """Tell the claims for the first time whose moment lies before a step."""
        told = []
        while state.due and state.due[-1].claim.moment // self.step < until:
            live = state.due.pop()
            value = self._valued(live)
            now = max((last.get(unit, NEVER_YET) for unit in live.tracks), default=NEVER_YET)
            if value.likely > 0.0:
                told.append(_told(live, value, max(now, live.claim.moment)))
            if self._is_over(live, value):
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
            told = live.revision, live.confidence, live.at, live.error_bound
            telling = Telling(live.number, *told)
            state.settling.append((telling, live.claim.last + self.within))

    def settled(self, state: Followed) -> list[Telling]:
        """Return the last tellings of claims that have become too old to be told again."""
        until = state.done * self.step if state.done < ALWAYS else ALWAYS
        old = [each for each in state.settling if each[1] < until]
        state.settling = [each for each in state.settling if each[1] >= until]
        return [replace(telling, at=max(telling.at, at)) for telling, at in old]

    def _is_old(self, state: Followed, live: Live) -> bool:
        """Return whether no later step can tell a claim again."""
        until = state.done * self.step if state.done < ALWAYS else ALWAYS
        return live.claim.last + self.within < until

    def settles(self, state: Followed) -> int | None:
        """Return when the first claim is too old to be told again, if that is told."""
        if not self.tells_last:
            return None
        ends = [live.claim.last + self.within for live in state.live.values()]
        return min([*ends, *(at for _, at in state.settling)], default=None)

    def _valued(self, live: Live) -> Value:
        """Return how likely a claim is, by its tracks."""
        parts = [track.shares for track in live.tracks.values()]
        off, doubt = sum(track.bound for track in live.tracks.values()), live.claim.doubt
        likely, values = 0.0, set[float]()
        for done, weight in joint(parts):
            value = live.claim.holds(done)
            values.add(value)
            likely += weight * value
        bound, shown = min(doubt + off, 1.0), min(doubt + self.slack * off, 1.0)
        return Value(min(likely, 1.0), len(values) == 1, bound, shown, off > 0.0)

    def _is_over(self, live: Live, value: Value) -> bool:
        """Return whether nothing more will be told of a claim.

        What is so in all states that were kept is so in all that come of them: what none of them
        has never gets a row. Where others were left out, the bound of a row that stands may grow.
        """
        if self.strategy.kind == "NEVER" or (value.likely == 0.0 and live.revision < 0):
            return True
        grows = value.is_sampled and value.likely > 0.0 and live.error_bound < 1.0
        return value.agrees and not (grows and self.strategy.kind == "ANY")

    def _refuse_many(self, track: Track) -> None:
        """Raise where a probability that cannot be taken back would be sampled."""
        if track.room is not None or len(track.worlds.states) > self.state_limit:
            raise TooManyTracksError(
                f"{len(track.owners.singled)} people have more than {self.state_limit} tracks "
                "together; narrow WITHIN, equate the owner, or raise the setting "
                "identity_state_limit"
            )

    # Tracks -----------------------------------------------------------------------------------

    def _noted(
        self, state: Followed, claims: Mapping[Any, Claim], first: int
    ) -> dict[int, list[tuple[Any, Live]]]:
        """Note new claims; return at which step, and in which ward, people are followed for them.

        That is from the first of the acts that are named. Those who are followed from a step before
        the first new one catch up with it.
        """
        found = dict[int, list[tuple[Any, Live]]]()
        earlier = dict[Any, list[tuple[int, Live]]]()
        for number, claim in claims.items():
            live = Live(number, claim)
            state.due.append(live)
            for unit, (people, acts) in claim.asked.items():
                begins = state.pasts[unit].first(acts, first)
                if begins < first:
                    earlier.setdefault((unit, people), []).append((begins, live))
                else:
                    found.setdefault(begins, []).append((unit, live))
        state.due.sort(key=lambda one: -one.claim.moment)
        for (unit, _), own in earlier.items():
            self._catch_up(state.pasts[unit], own, first)
        return found

    def _follow(self, past: Past, live: Live, step: int, tracks: list[Track]) -> None:
        """Follow the people of a claim from a step on; if they are followed already, by that.

        Where the worlds of the ward are sampled at that step, nobody else's track will do: it may
        have begun before they were.
        """
        unit = past.front.unit
        people, acts = live.claim.asked[unit]
        past.reach(step)
        known = (each for each in tracks if each.asks and each.owners.singled == people)
        if past.is_sampled(step):
            own = (each for each in known if each.begun == step and each.owners.watched == acts)
        else:
            own = (each for each in known if each.takes and each.at <= step)
        track = next(own, None)
        if track is None:
            track = past.track(people, acts, step)
            tracks.append(track)
        live.follow(unit, track)

    def _catch_up(self, past: Past, claims: list[tuple[int, Live]], until: int) -> None:
        """Follow the same people for some claims, each from a step that is remembered, up to one.

        Nobody is followed for a claim before its own first act, whoever else is.
        """
        waiting = sorted(claims, key=lambda each: -each[0])
        tracks = list[Track]()
        for step, _ in past.between(waiting[-1][0], until):
            while waiting and waiting[-1][0] <= step:
                self._follow(past, waiting.pop()[1], step, tracks)
            for track in tracks:
                self._step(past, track, step)
            tracks = [part for track in tracks for part in self._parted(track)]

    def _step(self, past: Past, track: Track, step: int) -> tuple[int, bool]:
        """Let a track take in a step; where it was sampled, compare it with the whole ward.

        What only the track does not allow was allowed by what it left out: it knows nothing more.
        """
        now, is_new = track.take(step, past.rows[step], self.rejects_impossible)
        if track.worlds.lost:
            past.reach(step + 1)
            if track.strange != past.strange.get(step, frozenset()):
                track.error, is_new = 1.0, True
        return now, is_new

    def _parted(self, track: Track) -> list[Track]:
        """Return a track, or those that take its place where it has too many states.

        Claims that name the same acts stay together.
        """
        if track.room is not None or len(track.worlds.states) <= self.state_limit:
            return [track]
        groups = dict[frozenset[Any], list[Live]]()
        for live in track.lives.values():
            groups.setdefault(live.claim.asked[track.unit][1], []).append(live)
        return self._halves(track, list(groups.items()))

    def _halves(self, track: Track, groups: list[tuple[frozenset[Any], list[Live]]]) -> list[Track]:
        """Return tracks by which claims are valued that share one, which has too many states."""
        acts = frozenset(act for own, _ in groups for act in own)
        part = track.projected(acts, self.room if len(groups) == 1 else None)
        if len(groups) > 1 and len(part.worlds.states) > self.state_limit:
            half = len(groups) // 2
            return [*self._halves(part, groups[:half]), *self._halves(part, groups[half:])]
        part.thin()
        for _, lives in groups:
            for live in lives:
                live.follow(track.unit, part)
        return [part]


def _told(live: Live, value: Value, now: int) -> Telling:
    live.revision += 1
    live.confidence, live.at, live.error_bound = value.likely, now, value.shown
    return Telling(live.number, live.revision, value.likely, now, value.shown)


def joint(parts: list[dict[Done, float]]) -> Iterable[tuple[Done, float]]:
    """Return who did what in some wards together, which know nothing of each other."""
    if len(parts) == 1:
        return parts[0].items()
    found: list[tuple[Done, float]] = [(frozenset(), 1.0)]
    for shares in parts:
        found = [(one | other, w * v) for one, w in found for other, v in shares.items()]
    return found
