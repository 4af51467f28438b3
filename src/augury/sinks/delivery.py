"""One micro-batch to all its places: the answers of each query, and the rows that were put aside.

Answers are computed once, kept while the sinks read them, and counted. Every sink gets its rows
before Spark takes the batch for done, so that a run that ends in between repeats the batch, and
sinks make sure that nothing is there twice.

A batch may tell a match more than once. Who upserts gets the last of it, who appends gets all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event, Lock
from typing import TYPE_CHECKING, Protocol

from pyspark.sql import functions as f

from augury.sinks.revisions import in_order, last_revisions
from augury.sinks.sink import Mode, Sink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Few large files rather than many small ones.
ROWS_PER_FILE = 500_000
# What is counted under one name: rows that came again are rejected too.
_KINDS = {"repeated": "rejected"}
# The kinds of rows that were put aside, which have a reason.
ASIDE, REASON = ("late", "rejected"), "reason"
SURE = "confidence"

Counts = dict[tuple[str, str], int]


class Answers(Protocol):
    """What opens answers: the rows of one kind and name."""

    def rows(self, answers: DataFrame, kind: str, name: str) -> DataFrame: ...


class Numbers(Protocol):
    """What keeps numbers of a run: how sure its answers are, by the name of their place."""

    def sure(self, own: str, confidences: Iterable[float]) -> None: ...


class StoppedError(Exception):
    """The run is to stop, so the next batch is not begun."""


@dataclass
class Delivery:
    """Sinks by (kind, name): ('match', query), ('late', stream) and ('rejected', stream).

    `revised` are the places whose rows may come again: others need not be compared by their ids.
    `first_reasons` has why a row of each place was put aside. `metrics` hear how sure answers are.
    """

    pipeline: Answers
    sinks: Mapping[tuple[str, str], Sequence[Sink]]
    revised: Collection[tuple[str, str]] = ()
    totals: Counts = field(default_factory=dict)
    first_reasons: dict[tuple[str, str], str] = field(default_factory=dict)
    stopping: Event = field(default_factory=Event)
    failure: BaseException | None = None
    metrics: Numbers | None = None
    _is_first: bool = True
    _running: Lock = field(default_factory=Lock)

    def open(self) -> None:
        """Open every sink, before anything is read."""
        for sinks in self.sinks.values():
            for sink in sinks:
                sink.open()

    @property
    def is_running(self) -> bool:
        """Whether a batch is being delivered."""
        return self._running.locked()

    def deliver(self, answers: DataFrame, batch: int) -> None:
        """Put all rows of a batch in place; keep what went wrong, for whoever waits for the run."""
        with self._running:
            try:
                if self.stopping.is_set():
                    raise StoppedError
                self._deliver(answers, batch)
            except BaseException as problem:
                self.failure = problem
                raise

    def _deliver(self, answers: DataFrame, batch: int) -> None:
        kept = answers.persist()
        try:
            counts = counted(kept)
            self._note_reasons(kept, counts)
            self._note_confidences(kept, counts)
            for place, sinks in self.sinks.items():
                for sink in sinks:
                    self._hand_over(kept, place, counts.get(place, 0), sink, batch)
        finally:
            kept.unpersist()
        for place, count in counts.items():
            self.totals[place] = self.totals.get(place, 0) + count
        self._is_first = False

    def _note_reasons(self, kept: DataFrame, counts: Counts) -> None:
        """Remember why the first row of each kind that is put aside was, of every stream."""
        for place in counts:
            if place[0] in ASIDE and place in self.sinks and place not in self.first_reasons:
                row = self.pipeline.rows(kept, *place).select(REASON).first()
                self.first_reasons[place] = row[REASON] if row is not None else ""

    def _note_confidences(self, kept: DataFrame, counts: Counts) -> None:
        """Let who keeps numbers hear how sure the answers are; nobody else pays for that."""
        if self.metrics is None:
            return
        for place in [each for each in counts if each[0] == "match" and each in self.sinks]:
            rows = self.pipeline.rows(kept, *place)
            if SURE in rows.columns:
                found = rows.select(SURE).toArrow().column(SURE)
                self.metrics.sure(place[1], found.drop_null().to_pylist())

    def _hand_over(
        self, kept: DataFrame, place: tuple[str, str], count: int, sink: Sink, batch: int
    ) -> None:
        if count:
            rows, parts = self.pipeline.rows(kept, *place), count // ROWS_PER_FILE + 1
            mode = sink.mode if place in self.revised else None
            sink.write(_in_parts(rows, parts, mode), batch)
        elif self._is_first:
            sink.clear(batch)

    def total(self, kind: str) -> int:
        """Return how many rows of a kind there were in this run."""
        return sum(count for (own, _), count in self.totals.items() if own == kind)


def _in_parts(rows: DataFrame, parts: int, mode: Mode | None) -> DataFrame:
    """Return what a sink gets; a mode is given where rows may be revisions of each other."""
    if mode == "append":
        return in_order(rows, parts)
    return (rows if mode is None else last_revisions(rows)).coalesce(parts)


def counted(answers: DataFrame) -> Counts:
    """Return how many rows there are of each kind and name."""
    sums = answers.groupBy("kind", f.lower("name").alias("name")).agg(f.sum("n").alias("n"))
    found: Counts = {}
    for row in sums.collect():
        place = _KINDS.get(row["kind"], row["kind"]), row["name"]
        found[place] = found.get(place, 0) + row["n"]
    return found
