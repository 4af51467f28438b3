"""Moments in flight together: each reads what all earlier ones wrote, and nothing of later ones.

A moment starts when those have ended that it waits for (`locks.waits_for`). What it writes is a
version under its number, so that earlier moments which are still under way read what was before.
When all have ended the versions become the contents, in order; where one could not be done, those
before it stand, and all others never were.

Threads cost more than they gain where a read takes no longer than to hand it over, so moments are
settled one after another, which every scheduler allows, unless side by side is seen to be faster.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import ChainMap, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property, partial
from heapq import heapify, heappop, heappush
from statistics import median
from threading import Event, Lock
from time import perf_counter, thread_time
from typing import Any

from augury.errors import DataError
from augury.rules.contents import Contents, RefusedKeyError, Row, is_row
from augury.rules.locks import Locking, Scheduler, waits_for
from augury.rules.stage import Candidate, Followed, Settled, Stage, State

# A read by key that goes to where the table lies.
ReadByKey = Callable[[Row], Row | None]
# Rows that one moment can add: places of new rows are numbered by moments.
_MOST = 2**24
_ABSENT: tuple[int, Row | None] = (-1, None)
# For how many seconds a moment has to wait for tables that threads are tried at all, how many are
# settled at a time in one way, and after how many times the other way is looked at again.
WORTH_A_THREAD = 100e-6
FEW, SOME, MANY = 4, 64, 1024
AGAIN_AFTER = 16


@dataclass
class Versions:
    """Rows of a table that moments in flight wrote: by key (of a bag, by place), in order.

    `contents` are the rows before; `read`, if any, asks where the table lies.
    """

    contents: Contents
    read: ReadByKey | None = None
    written: dict[Any, list[tuple[int, int, Row | None]]] = field(default_factory=dict)
    unknown: dict[Row, int] = field(default_factory=dict)

    def at(self, key: Any, number: int) -> tuple[int, Row | None] | None:
        """Return place and row of a key as earlier moments left it; None if they left it alone."""
        known = self.written.get(key)
        if not known:
            return None
        last = bisect_left(known, number, key=lambda version: version[0])
        return known[last - 1][1:] if last else None

    def before(self, key: Row) -> tuple[int, Row | None]:
        """Return place and row of a key before all."""
        place = self.contents.places.get(key)
        if self.read is not None:
            # One that somebody else has added has a place of its own, before all others.
            known = -2 - self.unknown.setdefault(key, len(self.unknown)) if place is None else place
            return known, self.read(key)
        return _ABSENT if place is None else (place, self.contents.held.get(place))


class View:
    """A table as one moment sees and changes it; it has the ways of `Contents`."""

    def __init__(self, versions: Versions, number: int) -> None:
        self.versions, self.number = versions, number
        self.name, self.key = versions.contents.name, versions.contents.key
        self.own: dict[Any, tuple[int, Row | None]] = {}
        self.changed: list[tuple[Any, tuple[int, Row | None] | None]] = []
        # New rows have places after all others, in the order of moments.
        self.first = self._following = versions.contents.following + (number + 1) * _MOST
        self._keys: dict[int, Any] = {}

    def key_of(self, row: Row) -> Row:
        """Return the values of the KEY; of a bag, none."""
        return self.versions.contents.key_of(row)

    def _seen(self, key: Any) -> tuple[int, Row | None]:
        found = self.own.get(key) or self.versions.at(key, self.number)
        return found if found is not None else self.versions.before(key)

    def by_key(self, key: Row) -> Iterator[tuple[int, Row]]:
        """Yield the row of a key, if it is there."""
        if None in key:
            return
        place, row = self._seen(key)
        if row is not None:
            self._keys[place] = key
            yield place, row

    def rows(self) -> list[tuple[int, Row]]:
        """Return all rows with their places, in order."""
        held = dict(self.versions.contents.held)
        for key in [*self.versions.written, *self.own]:
            found = self.own.get(key) or self.versions.at(key, self.number)
            if found is None:
                continue
            held.pop(self.versions.contents.places.get(key, -1) if self.key else key, None)
            if found[1] is not None:
                held[found[0]] = found[1]
        if self.key:
            self._keys.update((place, self.key_of(row)) for place, row in held.items())
        return sorted(held.items())

    def has(self, values: Row) -> bool | None:
        """Return whether the values are a row, by SQL's rule for rows with NULLs."""
        key = self.key_of(values)
        asked = self.by_key(key) if key and None not in key else iter(self.rows())
        return is_row(values, (row for _, row in asked))

    def insert(self, row: Row) -> None:
        """Add a row; raise where its key is NULL or there."""
        place, self._following = self._following, self._following + 1
        if not self.key:
            self._put(place, (place, row))
            return
        key = self.key_of(row)
        if None in key:
            raise RefusedKeyError(f"INSERT INTO {self.name}: key {key} has a NULL")
        if self._seen(key)[1] is not None:
            raise RefusedKeyError(f"INSERT INTO {self.name}: key {key} is there already")
        self._put(key, (place, row))

    def replace(self, place: int, row: Row) -> None:
        """Put a row in the place of another, with the same key."""
        self._put(self.key_of(row) if self.key else place, (place, row))

    def delete(self, place: int) -> None:
        """Take a row out."""
        self._put(self._keys[place] if self.key else place, (place, None))

    def _put(self, key: Any, entry: tuple[int, Row | None]) -> None:
        self.changed.append((key, self.own.get(key)))
        self.own[key] = entry

    @property
    def mark(self) -> int:
        """What `undo` goes back to."""
        return len(self.changed)

    def undo(self, mark: int) -> None:
        """Take back every change since a mark, the last one first."""
        while len(self.changed) > mark:
            key, entry = self.changed.pop()
            if entry is None:
                del self.own[key]
            else:
                self.own[key] = entry

    def settle(self) -> None:
        """Let the changes stand, for those that come after."""
        self.changed.clear()
        for key, (place, row) in self.own.items():
            self.versions.written.setdefault(key, []).append((self.number, place, row))


@dataclass
class _Flight:
    """One moment under way, and what came of it.

    `followed` are its matches that may be told again, as it left them.
    """

    found: list[Candidate]
    state: State
    told: list[Candidate] = field(default_factory=list)
    error: DataError | None = None
    followed: list[tuple[Candidate, Followed]] = field(default_factory=list)


@dataclass
class Pace:
    """How long moments have taken lately, by themselves and side by side.

    `waits` is for how long each has waited by itself.
    """

    waits: deque[float] = field(default_factory=lambda: deque(maxlen=3 * FEW))
    alone: deque[float] = field(default_factory=lambda: deque(maxlen=3 * FEW))
    together: deque[float] = field(default_factory=lambda: deque(maxlen=3))
    times: int = 0

    def following(self) -> tuple[bool, int]:
        """Return whether the next moments are settled side by side, and how many of them."""
        self.times += 1
        looks = self.times % AGAIN_AFTER == 0
        if len(self.waits) < FEW:
            return False, FEW
        if median(self.waits) <= WORTH_A_THREAD:
            return False, SOME
        if not self.together:
            return True, SOME
        is_faster = median(self.together) < median(self.alone)
        if looks:
            return not is_faster, FEW if is_faster else SOME
        return is_faster, MANY if is_faster else SOME

    def clock(self, work: Callable[[], bool]) -> bool:
        """Settle a moment by itself, and look how long it took."""
        begin, spent = perf_counter(), thread_time()
        done = work()
        took = perf_counter() - begin
        self.alone.append(took)
        self.waits.append(took - (thread_time() - spent))
        return done


@dataclass(frozen=True)
class Flights:
    """Settles moments, as many at a time as threads and locks allow.

    `reads` ask for rows by key where tables lie. `fly` does the work, in an order of its own in
    which nobody starts before those it waits for; without it, threads do.
    """

    stage: Stage
    scheduler: Scheduler = "lwm"
    locking: Locking | None = None
    threads: int = 16
    reads: Mapping[str, ReadByKey] = field(default_factory=dict)
    fly: Callable[[Sequence[frozenset[int]], Callable[[int], bool]], None] | None = None
    pace: Pace = field(default_factory=Pace)

    def settle(self, state: State, moments: Sequence[list[Candidate]], told: Settled) -> None:
        """Settle moments that are in order; tell of each candidate what became of it.

        Raises for the first that cannot be done, and leaves it and all after it as they were.
        """
        versions = {
            name: Versions(contents, self.reads.get(name))
            for name, contents in state.tables.items()
        }
        counts = ChainMap[Any, Any]({}, state.counts)
        marks = ChainMap[Any, Any]({}, state.marks)
        followed, flights = _followed(state, moments), list[_Flight]()
        for number, found in enumerate(moments):
            views: dict[str, Any] = {n: View(each, number) for n, each in versions.items()}
            own = State(views, found=state.found, counts=counts, marks=marks)  # type: ignore[arg-type]
            own.followed = followed
            flights.append(_Flight(found, own))
        try:
            self._fly(flights)
        except BaseException:
            self._take_back(flights)
            raise
        places: dict[str, dict[int, int]] = {name: {} for name in versions}
        for number, flight in enumerate(flights):
            if flight.error is not None:
                self._take_back(flights[number:])
                raise flight.error
            self._land(state, flight, places)
            told.passed += flight.told
            told.tried += flight.found

    def _fly(self, flights: list[_Flight]) -> None:
        if self.fly is not None:
            self.fly(self._waits(flights), lambda number: self._settled(flights[number]))
            return
        start = 0
        while start < len(flights):
            together, count = self.pace.following()
            own = flights[start : start + count]
            if together and self.scheduler != "sei" and len(own) > 1:
                begin = perf_counter()
                in_order(self._waits(own), partial(self._settled_at, own), self._pool, self.threads)
                self.pace.together.append((perf_counter() - begin) / len(own))
            else:
                all(self.pace.clock(partial(self._settled, flight)) for flight in own)
            if any(flight.error is not None for flight in own):
                # No later one will have been.
                return
            start += len(own)

    def _waits(self, flights: list[_Flight]) -> list[frozenset[int]]:
        """Return for each moment the earlier ones that it waits for."""
        locking = self.locking or Locking(self.stage.world)
        waits = waits_for(self.scheduler, [locking.locks(each.found) for each in flights])
        return _with_lower(waits, flights)

    def _settled_at(self, flights: list[_Flight], number: int) -> bool:
        return self._settled(flights[number])

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.threads)

    def _settled(self, flight: _Flight) -> bool:
        """Settle a moment; return whether it could be done."""
        try:
            flight.told = self.stage.at_moment(flight.state, flight.found)
            for each in flight.found:
                known = flight.state.followed.get(each.query, {}).get(each.match_id)
                if known is not None:
                    flight.followed.append((each, known.copy()))
        except DataError as error:
            flight.error = error
        return flight.error is None

    def _land(self, state: State, flight: _Flight, places: dict[str, dict[int, int]]) -> None:
        """Let what a moment did become the contents."""
        for name, view in flight.state.tables.items():
            _apply(state.tables[name], view, places[name])  # type: ignore[arg-type]
        for firing in flight.state.firings:
            for change in firing.changes:
                state.counts[change.table, change.key] = change.seq
        state.marks.update(flight.state.marked)
        for each, known in flight.followed:
            state.followed.setdefault(each.query, {})[each.match_id] = known
        state.firings += flight.state.firings
        state.rejected += flight.state.rejected
        state.reached = flight.found[0].moment

    def _take_back(self, flights: list[_Flight]) -> None:
        """Let matches of moments that never were be undecided."""
        for flight in flights:
            for each in flight.found:
                self.stage.hear_of(flight.state, each)


def in_order(
    waits: Sequence[frozenset[int]],
    work: Callable[[int], bool],
    pool: Executor,
    threads: int = 16,
) -> None:
    """Do pieces of work side by side, each when those that it waits for have ended well.

    What waits for one that has not ended well is not done. Of several that may start those go first
    that others wait for; who has ended one goes on with the next, so that a chain of them is handed
    over to nobody.
    """
    left = [len(each) for each in waits]
    after: dict[int, list[int]] = {}
    for number, each in enumerate(waits):
        for earlier in each:
            after.setdefault(earlier, []).append(number)
    ready = [(number not in after, number) for number, count in enumerate(left) if not count]
    heapify(ready)
    lock, ended, working, failed = Lock(), Event(), 0, list[BaseException]()

    def begin(own: int) -> None:
        """Let as many more work as have something to do; `own` is what is taken by who asks."""
        nonlocal working
        with lock:
            more = max(0, min(threads - working, len(ready) - own))
            working += more
        for _ in range(more):
            pool.submit(go_on)

    def go_on() -> None:
        nonlocal working
        while True:
            with lock:
                if failed or not ready:
                    working -= 1
                    if not working:
                        ended.set()
                    return
                _, number = heappop(ready)
            try:
                done = work(number)
            except BaseException as error:
                failed.append(error)
                continue
            if done and number in after:
                with lock:
                    for later in after[number]:
                        left[later] -= 1
                        if not left[later]:
                            heappush(ready, (later not in after, later))
                begin(1)

    begin(0)
    if ready or working:
        ended.wait()
    if failed:
        raise failed[0]


def _followed(state: State, moments: Iterable[list[Candidate]]) -> dict[str, dict[str, Followed]]:
    """Return what is known of matches that are told again now."""
    found: dict[str, dict[str, Followed]] = {}
    for each in (each for moment in moments for each in moment if each.is_again):
        known = state.followed.get(each.query, {}).get(each.match_id)
        if known is not None:
            found.setdefault(each.query, {})[each.match_id] = known.copy()
    return found


def _with_lower(waits: list[frozenset[int]], flights: list[_Flight]) -> list[frozenset[int]]:
    """Return the same, where a match waits for those that it is made of, and to be told again."""
    last: dict[tuple[str, str], int] = {}
    found = []
    for number, (own, flight) in enumerate(zip(waits, flights, strict=True)):
        before = {lower for each in flight.found for lower in each.over}
        before |= {(each.query, each.match_id) for each in flight.found if each.is_again}
        found.append(own | {last[each] for each in before if each in last})
        last |= {(each.query, each.match_id): number for each in flight.found}
    return found


def _apply(contents: Contents, view: View, places: dict[int, int]) -> None:
    """Write the rows of a moment into a table; `places` are those of rows that were new."""
    for key, (place, row) in sorted(view.own.items(), key=lambda each: each[1][0]):
        is_new = place >= view.first
        there = contents.places.get(key) if view.key else places.get(place, place)
        if there is not None and there not in contents.held:
            there = None
        if there is not None and (is_new or row is None):
            contents.delete(there)
            there = None
        if row is not None and there is None:
            places[place] = contents.following
            contents.insert(row)
        elif row is not None and there is not None:
            contents.replace(there, row)
    contents.settle()
