"""Some people of one ward, followed from a step on through all worlds, with what they did.

Most badge reads change nothing of that: who was read cannot have done an open act, so all worlds go
on as they are. Such a read costs next to nothing; only the others are led through the states.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from augury.identity.admission import Admission, Meant, meant
from augury.identity.drawing import Room, draw, likely_error
from augury.identity.owners import BEFORE, Owners, Worlds, begin, copied
from augury.identity.ward import Act, Place, Row, Ward
from augury.operator import NEVER_YET

# The worlds of a ward are remembered before every so many of its steps.
BETWEEN_MARKS = 32
# Who did which act: (unit, id of the act), number of the person.
Done = frozenset[tuple[tuple[Any, Any], int]]


def following(
    ward: Ward, people: frozenset[int] = frozenset(), watched: Collection[Any] = ()
) -> Owners:
    """Return the law of a ward by which some people, and what they did, are followed."""
    return Owners(ward, people, set(watched), smooths=False)


@dataclass
class Track:
    """Some people of one ward, followed up to a step, with all watched acts that they did.

    `asks` counts the claims that name an act. What none names any more is forgotten. `lives` are
    the claims that are valued by it, by number. Where there is `room` for so many states, more are
    sampled; `error` is the largest likely error so far. It `takes` more claims, or no more; one
    that was sampled from when it had `begun` takes those that begin there and name the same acts.
    """

    unit: Any
    owners: Owners
    worlds: Worlds
    at: int
    asks: Counter[Any] = field(default_factory=Counter)
    lives: dict[Any, Any] = field(default_factory=dict)
    room: Room | None = None
    error: float = 0.0
    takes: bool = True
    begun: int | None = None
    # What a step rejected, or took for true though no state allowed it.
    strange: frozenset[Any] = frozenset()
    known: dict[Done, float] | None = None
    # The last step of an open act that begins in a place, and who is elsewhere in some state.
    near: dict[Place, int] | None = None
    away: frozenset[int] = frozenset()

    def take(self, step: int, rows: list[Meant], rejects_impossible: bool) -> tuple[int, bool]:
        """Take in the rows of a step.

        Returns the time of the last that was admitted, and whether anything but a place is new.
        """
        self.at, last, movers, self.strange = step + 1, NEVER_YET, set[int](), frozenset()
        for k, (row, act) in enumerate(rows):
            if isinstance(act, str):
                continue
            if row.person is None:
                return max(last, self._admitted(rows[k:], movers, rejects_impossible)), True
            person = self.owners.ward.number_of[row.person]
            if not self._is_idle(person, act) or (act.is_move and person in movers):
                return max(last, self._admitted(rows[k:], movers, rejects_impossible)), True
            self.worlds.heads[person] = (act.place, act.step)
            if act.is_move:
                movers.add(person)
            last = max(last, row.time)
        return last, False

    def _is_idle(self, person: int, act: Act) -> bool:
        """Whether all worlds go on as they are where somebody is read."""
        if self.near is None:
            self._look_around()
        assert self.near is not None
        place, step = self.worlds.heads[person]
        if person in self.away or place not in act.origins:
            return False
        return person in self.owners.apart or self.near.get(place, BEFORE) <= step

    def _look_around(self) -> None:
        self.near = {}
        for act in self.worlds.acts.values():
            for origin in act.origins:
                self.near[origin] = max(act.step, self.near.get(origin, BEFORE))
        self.away = frozenset(each[0] for moved, _, _ in self.worlds.states for each in moved)

    def _admitted(self, rows: list[Meant], movers: set[int], rejects_impossible: bool) -> int:
        """Lead rows through the states; return the time of the last that was admitted."""
        admission = Admission(self.owners, self.worlds, rejects_impossible, movers)
        for row, act in rows:
            if not isinstance(act, str):
                admission.take([(row, act)])
                # Whether anything is left out is asked between steps, by whoever shares a track.
                if self.worlds.lost:
                    self._thin(self.at, row.id)
        self.known = self.near = None
        refused = (row.id for row, _ in admission.rejected)
        self.strange = frozenset((*refused, *admission.resets))
        if not admission.admitted:
            return NEVER_YET
        self.owners.close_step(self.worlds)
        self.thin()
        return max(row.time for row, _ in admission.admitted)

    def thin(self) -> None:
        """Leave out states that there is no room for; note how far off what is known may be."""
        self._thin(self.at)
        if self.room is not None and self.worlds.lost:
            self.error = max(self.error, likely_error(self.worlds))

    def _thin(self, *seed: Any) -> None:
        if self.room is not None and self.room.is_full(self.worlds):
            draw(self.worlds, self.room.kept, repr(seed))
            self.known = self.near = None

    @property
    def bound(self) -> float:
        """How far off the probability of anything is at most; 0 where no state was left out."""
        return 0.0 if self.room is None else self.room.bound(self.worlds, self.error)

    @property
    def shares(self) -> dict[Done, float]:
        """The probability of each set of watched acts that people did."""
        if self.known is None:
            shares = self.owners.shares(self.worlds)
            self.known = {
                frozenset(((self.unit, act), person) for act, person in done): weight
                for done, weight in shares.items()
            }
        return self.known

    def watch(self, acts: Collection[Any]) -> None:
        """Watch some acts for one claim more."""
        self.asks.update(acts)
        self.owners.watched.update(acts)

    def projected(self, acts: Collection[Any], room: Room | None) -> Track:
        """Return a track of the same people that says who did some of the acts, and no more."""
        owners = following(self.owners.ward, self.owners.singled, acts)
        worlds = copied(self.worlds)
        owners.forget_done(worlds, self.owners.watched.difference(acts))
        return Track(self.unit, owners, worlds, self.at, room=room, takes=False)

    def let_go(self, acts: Iterable[Any]) -> None:
        """Let a claim go that names some acts."""
        self.asks.subtract(acts)
        gone = {act for act in acts if not self.asks[act]}
        for act in gone:
            del self.asks[act]
        self.owners.watched.difference_update(gone)
        self.owners.forget_done(self.worlds, gone)
        self.known = None


@dataclass
class Past:
    """What is remembered of one ward: worlds before some of its steps, and the rows since.

    `front` are the worlds that nobody was singled out from, step after step, however the rows were
    cut into batches; `marks` what they were earlier. `counted` are all rows that there ever were,
    `taken` the steps since the last mark. `turns` say from which step on states are left out
    (or no more), and `strange` what the worlds did not allow.
    """

    ward: Ward
    rejects: bool
    room: Room
    front: Track
    marks: list[Track]
    rows: dict[int, list[Meant]] = field(default_factory=dict)
    steps: list[int] = field(default_factory=list)
    step_of: dict[Any, int] = field(default_factory=dict)
    counted: int = 0
    taken: int = 0
    turns: list[tuple[int, bool]] = field(default_factory=list)
    strange: dict[int, frozenset[Any]] = field(default_factory=dict)

    @staticmethod
    def begin(unit: Any, ward: Ward, rejects_impossible: bool, room: Room) -> Past:
        """Return what there is before any row."""
        front = Track(unit, following(ward), begin(ward), BEFORE, room=room)
        return Past(ward, rejects_impossible, room, front, [_copy(front)])

    def add(self, step: int, rows: Iterable[Row]) -> None:
        """Remember the rows of a step after all others."""
        self.rows[step] = own = meant(self.ward, rows, self.counted)
        self.steps.append(step)
        self.counted += len(own)
        for row, _ in own:
            self.step_of.setdefault(row.id, step)

    def reach(self, until: int) -> None:
        """Let the worlds of the ward take in the steps before one."""
        front = self.front
        for step, rows in self.between(front.at, until):
            was_sampled = front.worlds.lost > 0.0
            front.take(step, rows, self.rejects)
            if front.strange:
                self.strange[step] = front.strange
            if (front.worlds.lost > 0.0) != was_sampled:
                self.turns.append((front.at, not was_sampled))
            self.taken += 1
            if self.taken == BETWEEN_MARKS:
                self.marks.append(_copy(front))
                self.taken = 0

    def is_sampled(self, step: int) -> bool:
        """Return whether states of the ward are left out before a step, which was reached."""
        return next((is_now for at, is_now in reversed(self.turns) if at <= step), False)

    def forget(self, until: int) -> None:
        """Forget the rows of steps before one that no track will begin at any more."""
        self.reach(until)
        begun = [k for k, mark in enumerate(self.marks) if mark.at <= until]
        self.marks = self.marks[begun[-1] if begun else 0 :]
        self.forget_rows(self.marks[0].at)
        turned = [k for k, (at, _) in enumerate(self.turns) if at <= self.marks[0].at]
        self.turns = self.turns[turned[-1] if turned else 0 :]

    def forget_rows(self, until: int) -> None:
        """Forget the rows of all steps before one."""
        gone = bisect_left(self.steps, until)
        for step in self.steps[:gone]:
            self.strange.pop(step, None)
            for row, _ in self.rows.pop(step):
                self.step_of.pop(row.id, None)
        del self.steps[:gone]

    def first(self, acts: Iterable[Any], otherwise: int) -> int:
        """Return the first step of some acts that are remembered."""
        return min((self.step_of[act] for act in acts if act in self.step_of), default=otherwise)

    def track(self, people: frozenset[int], watched: Collection[Any], most: int) -> Track:
        """Return a track of some people from before the first of the acts that are watched."""
        last = self.steps[-1] if self.steps else BEFORE
        begins = self.first(watched, min(most, last))
        self.reach(begins)
        known = (self.front, *reversed(self.marks))
        track = _copy(next(each for each in known if each.at <= begins))
        for step, rows in self.between(track.at, begins):
            track.take(step, rows, self.rejects)
        owners = following(self.ward, people, watched)
        owners.single_out(track.worlds)
        found = Track(track.unit, owners, track.worlds, begins)
        if track.worlds.lost:
            found.room, found.takes, found.begun = self.room, False, begins
            found.thin()
        return found

    def between(self, since: int, until: int) -> Iterator[tuple[int, list[Meant]]]:
        """Yield the steps that are remembered from one on, and before another."""
        for k in range(bisect_left(self.steps, since), bisect_left(self.steps, until)):
            yield self.steps[k], self.rows[self.steps[k]]


def _copy(track: Track) -> Track:
    return replace(track, worlds=copied(track.worlds), near=None, known=None)
