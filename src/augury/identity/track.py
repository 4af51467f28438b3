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
from augury.identity.owners import BEFORE, Owners, Worlds, begin, copied
from augury.identity.ward import Act, Place, Row, Ward
from augury.operator import NEVER_YET

# Sampling would lose who did what.
UNLIMITED = 2**62
# The worlds of a ward are remembered before every so many of its steps.
BETWEEN_MARKS = 32
# Who did which act: (unit, id of the act), number of the person.
Done = frozenset[tuple[tuple[Any, Any], int]]


def following(
    ward: Ward, people: frozenset[int] = frozenset(), watched: Collection[Any] = ()
) -> Owners:
    """Return the law of a ward by which some people, and what they did, are followed."""
    return Owners(ward, UNLIMITED, people, set(watched), smooths=False)


@dataclass
class Track:
    """Some people of one ward, followed up to a step, with all watched acts that they did.

    `asks` counts the claims that name an act. What none names any more is forgotten. `lives` are
    the claims that may be told again, by number.
    """

    unit: Any
    owners: Owners
    worlds: Worlds
    at: int
    asks: Counter[Any] = field(default_factory=Counter)
    lives: dict[Any, Any] = field(default_factory=dict)
    known: dict[Done, float] | None = None
    # The last step of an open act that begins in a place, and who is elsewhere in some state.
    near: dict[Place, int] | None = None
    away: frozenset[int] = frozenset()

    def take(self, step: int, rows: list[Meant], rejects_impossible: bool) -> tuple[int, bool]:
        """Take in the rows of a step.

        Returns the time of the last that was admitted, and whether anything but a place is new.
        """
        self.at, last, movers = step + 1, NEVER_YET, set[int]()
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
        admission.take(rows)
        self.known = self.near = None
        if not admission.admitted:
            return NEVER_YET
        self.owners.close_step(self.worlds)
        return max(row.time for row, _ in admission.admitted)

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

    `counted` are all rows that there ever were.
    """

    ward: Ward
    rejects: bool
    marks: list[Track]
    rows: dict[int, list[Meant]] = field(default_factory=dict)
    steps: list[int] = field(default_factory=list)
    step_of: dict[Any, int] = field(default_factory=dict)
    counted: int = 0

    @staticmethod
    def begin(unit: Any, ward: Ward, rejects_impossible: bool) -> Past:
        """Return what there is before any row."""
        return Past(ward, rejects_impossible, [Track(unit, following(ward), begin(ward), BEFORE)])

    def add(self, step: int, rows: Iterable[Row]) -> None:
        """Remember the rows of a step after all others."""
        self.rows[step] = own = meant(self.ward, rows, self.counted)
        self.steps.append(step)
        self.counted += len(own)
        for row, _ in own:
            self.step_of.setdefault(row.id, step)

    def forget(self, until: int) -> None:
        """Forget the rows of steps before one that no track will begin at any more."""
        if not self.steps and len(self.marks) == 1:
            return
        while self._lags(until):
            self._mark(until)
        begun = [k for k, mark in enumerate(self.marks) if mark.at <= until]
        self.marks = self.marks[begun[-1] if begun else 0 :]
        self.forget_rows(self.marks[0].at)

    def forget_rows(self, until: int) -> None:
        """Forget the rows of all steps before one."""
        gone = bisect_left(self.steps, until)
        for step in self.steps[:gone]:
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
        while self._lags(begins):
            self._mark(begins)
        mark = next(mark for mark in reversed(self.marks) if mark.at <= begins)
        track = replace(mark, worlds=copied(mark.worlds))
        for step, rows in self.between(track.at, begins):
            track.take(step, rows, self.rejects)
        owners = following(self.ward, people, watched)
        owners.single_out(track.worlds)
        return Track(track.unit, owners, track.worlds, begins)

    def between(self, since: int, until: int) -> Iterator[tuple[int, list[Meant]]]:
        """Yield the steps that are remembered from one on, and before another."""
        for k in range(bisect_left(self.steps, since), bisect_left(self.steps, until)):
            yield self.steps[k], self.rows[self.steps[k]]

    def _lags(self, until: int) -> bool:
        """Return whether so many steps lie between the last mark and some step."""
        since = bisect_left(self.steps, self.marks[-1].at)
        return bisect_left(self.steps, until) - since > BETWEEN_MARKS

    def _mark(self, until: int) -> None:
        """Remember the worlds before a step a while after the last that was remembered."""
        last = self.marks[-1]
        track = replace(last, worlds=copied(last.worlds), near=None, known=None)
        end = self.steps[bisect_left(self.steps, last.at) + BETWEEN_MARKS]
        for step, rows in self.between(track.at, min(end, until)):
            track.take(step, rows, self.rejects)
        self.marks.append(replace(track, at=end))
