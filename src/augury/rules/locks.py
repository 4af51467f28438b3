"""What a moment may read and write, known before it is settled: locks on rows, or on tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from augury.errors import DataError
from augury.rules.contents import Row
from augury.rules.limits import limit_keys
from augury.rules.plan import Change, Insert, Rule, Value, World
from augury.rules.reading import Member, Reading, Subquery
from augury.rules.stage import Candidate

Grain = Literal["row", "table"]


@dataclass(frozen=True)
class Lock:
    """A row of a table by its key, or the whole table; `writes`: it may become another."""

    table: str
    key: Row | None
    writes: bool


@dataclass(frozen=True)
class Locking:
    """Finds the locks of candidates of a world."""

    world: World
    grain: Grain = "row"

    def locks(self, found: Iterable[Candidate]) -> frozenset[Lock]:
        """Return the locks of the candidates of one moment."""
        return frozenset(lock for each in found for lock in self._of(each))

    @cached_property
    def _listening(self) -> dict[str, list[Rule]]:
        found: dict[str, list[Rule]] = {}
        for rule in self.world.rules:
            found.setdefault(rule.query, []).append(rule)
        return found

    def _of(self, match: Candidate) -> Iterator[Lock]:
        reading = Reading({}, match.match)
        for condition in self.world.queries[match.query].conditions:
            yield from self._reads(condition.reads, reading)
        for rule in self._listening.get(match.query, ()):
            yield from self._reads(rule.reads, reading)
            for change in rule.changes:
                yield from self._writes(change, reading)
            query = self.world.queries[match.query]
            for name, key in limit_keys(rule, query, match.match_id, reading):
                # How often a rule acted is read and written like a row.
                yield Lock(name, key, writes=True)

    def _reads(self, reads: Iterable[Subquery | Member], reading: Reading) -> Iterator[Lock]:
        for read in reads:
            yield Lock(read.table, self._key(self._asked(read), reading), writes=False)

    def _asked(self, read: Subquery | Member) -> tuple[Value, ...] | None:
        if isinstance(read, Subquery):
            return read.key
        places = self.world.tables[read.table].key
        return tuple(read.values[place] for place in places) if places else None

    def _writes(self, change: Change, reading: Reading) -> Iterator[Lock]:
        if isinstance(change, Insert):
            places = self.world.tables[change.table].key
            for row in change.rows:
                key = tuple(row[place] for place in places) if places else None
                yield Lock(change.table, self._key(key, reading), writes=True)
        else:
            yield Lock(change.table, self._key(change.where.key, reading), writes=True)

    def _key(self, values: tuple[Value, ...] | None, reading: Reading) -> Row | None:
        if values is None or self.grain == "table":
            return None
        try:
            return tuple(value(reading) for value in values)
        except (KeyError, DataError):
            # A key that is itself looked up is known only then.
            return None


# Who waits for whom -------------------------------------------------------------------------------

Scheduler = Literal["sei", "s2pl", "lwm"]


def waits_for(scheduler: Scheduler, locks: Iterable[frozenset[Lock]]) -> list[frozenset[int]]:
    """Return, of moments in order, the earlier ones that each has to wait for.

    SEI: all of them. S2PL: those with which it shares something that one of the two may write. LWM:
    those that may write what it reads or writes; a write leaves the versions that earlier moments
    read, and waits for none of them. It is enough to name the last of those that wait for each
    other.
    """
    held: dict[str, _Held] = {}
    found: list[frozenset[int]] = []
    for number, own in enumerate(locks):
        if scheduler == "sei":
            found.append(frozenset({number - 1} if number else ()))
            continue
        waits = set[int]()
        for lock in own:
            waits |= held.setdefault(lock.table, _Held()).before(lock, scheduler == "s2pl")
        for lock in own:
            held[lock.table].add(lock, number)
        found.append(frozenset(waits))
    return found


class _Held:
    """Who has locked a table so far: the last writers, and the readers since, of rows and whole."""

    def __init__(self) -> None:
        self.writers: dict[Row | None, int] = {}
        self.readers: dict[Row | None, set[int]] = {}

    def before(self, lock: Lock, reads_count: bool) -> set[int]:
        """Return whom a lock waits for."""
        keys = self._overlapping(lock.key)
        found = {self.writers[key] for key in keys if key in self.writers}
        if reads_count and lock.writes:
            found = found.union(*(self.readers.get(key, ()) for key in keys))
        return found

    def _overlapping(self, key: Row | None) -> list[Row | None]:
        return [*self.writers, *self.readers] if key is None else [key, None]

    def add(self, lock: Lock, number: int) -> None:
        """Count a lock as taken."""
        if not lock.writes:
            self.readers.setdefault(lock.key, set()).add(number)
        elif lock.key is None:
            # Whoever comes later waits for this one, and it for all before.
            self.writers, self.readers = {None: number}, {}
        else:
            self.writers[lock.key] = number
            self.readers.pop(lock.key, None)
