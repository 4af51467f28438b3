"""A run over files in this process: from where a script says to where it says, without Java.

Bounded rows are taken whole where they fit; where they are many, and the queries look back no
further than a window, they are taken block by block in the order in which they lie. How far that
order is from the order of time is measured first, so no row comes too late. Rows that arrive make a
step each time there are some: a row behind the watermark of the steps before is late, as on Spark.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.analysis.declarations.catalog import StreamSchema
from augury.config import value_of
from augury.evaluation.encoding import declaration_of, whole
from augury.matching.matcher import ALWAYS
from augury.operator import NEVER_YET
from augury.runners.live.silence import Silence
from augury.runners.local.arriving import Arriving, arriving, bounded_blocks
from augury.runners.local.committing import Committing
from augury.runners.local.delivery import LocalDelivery
from augury.runners.local.parts import Part
from augury.runners.local.saved import Saved
from augury.runners.untold import without_raw_rows
from augury.sinks.moments import moment_text
from augury.sources.declared import FAULT, RAW
from augury.sources.local_files import LocalFiles
from augury.sources.rows import REASON, conform, own_reasons
from augury.sources.values import written

_PAUSE_S = 0.1
_MICROSECONDS = 1_000_000
Progress = Callable[[dict[str, Any], LocalDelivery], None]


@dataclass
class FileRun:
    """Parts of a run over the streams that they read, and where answers go.

    `commits` writes the tables that lie in stores, where there are some.
    """

    parts: Sequence[Part]
    files: Mapping[str, LocalFiles]
    delivery: LocalDelivery
    progress: Progress
    commits: Committing | None = None
    batch: int = 0
    horizon: int = NEVER_YET
    greatest: dict[str, int] = field(default_factory=dict)
    _begun: float = field(default_factory=time.monotonic)

    @property
    def streams(self) -> dict[str, StreamSchema]:
        """The declared streams that are read, by lower-case name."""
        return {name: each for part in self.parts for name, each in part.network.bases.items()}

    # Bounded ----------------------------------------------------------------------------------

    def run_bounded(self) -> None:
        """Answer over all rows that are there, and commit them as one batch."""
        if self._is_taken_whole():
            batch = {name: list(bounded_blocks(each)) for name, each in self.files.items()}
            self._step(batch, ALWAYS)
        else:
            self._run_by_steps()
        self._finish_batch(ALWAYS)

    def _is_taken_whole(self) -> bool:
        """Whether rows fit, or cannot come bit by bit: standard input is not read twice."""
        if any(each.is_standard_input for each in self.files.values()):
            return True
        size = sum(each.size() for each in self.files.values())
        fits = size <= value_of("whole_input_bytes")
        return fits or not all(part.goes_by_steps for part in self.parts)

    def _run_by_steps(self) -> None:
        """Take rows in block by block; of several streams always the one that is behind."""
        behind = {name: self._disorder(name) for name in self.files}
        reading = {name: bounded_blocks(each) for name, each in self.files.items()}
        reached = dict.fromkeys(self.files, NEVER_YET)
        while reading:
            name = min(reading, key=lambda each: reached[each])
            rows = next(reading[name], None)
            if rows is None:
                del reading[name]
                reached[name] = ALWAYS
                if reading:
                    continue
            before = self.delivery.total("match")
            self._note_greatest(name, rows)
            latest = self.greatest.get(name, NEVER_YET)
            if rows is not None and latest != NEVER_YET:
                reached[name] = latest - behind[name]
            horizon = ALWAYS if not reading else min(reached.values())
            self._step({} if rows is None else {name: [rows]}, horizon, tells_late=False)
            self._tell(0 if rows is None else rows.num_rows, before)

    def _disorder(self, name: str) -> int:
        """Return how far any row of a stream is behind an earlier one, in units of its time."""
        stream, latest, most = self.streams[name], NEVER_YET, 0
        for rows in bounded_blocks(_only_time(self.files[name], stream)):
            column = rows.column(stream.time)
            if column.null_count:
                column = column.drop_null()
            times = whole(column)
            if not len(times):
                continue
            before = np.maximum.accumulate(np.concatenate([[latest], times]))[:-1]
            most = max(most, int((before - times)[before > NEVER_YET].max(initial=0)))
            latest = max(latest, int(times.max()))
        return most

    def _note_greatest(self, name: str, rows: pa.Table | None) -> None:
        if rows is None:
            return
        column = rows.column(self.streams[name].time)
        if column.null_count < len(column):
            latest = int(pc.max(column).cast(pa.int64()).as_py())
            self.greatest[name] = max(self.greatest.get(name, NEVER_YET), latest)

    # Streaming --------------------------------------------------------------------------------

    def follow(self, saved: Saved, *, once: bool, pause: float | None, by_clock: bool) -> None:
        """Go on with what arrives until it ends, or the run is told to stop."""
        self.restore(saved)
        sources = {
            name: arriving(each, saved.seen.setdefault(name, {}), once=once)
            for name, each in self.files.items()
        }
        silence = Silence()
        for name, stream in self.streams.items():
            silence.expect(name, stream.idle)
        while not self.delivery.stopping.is_set():
            batch = {name: each.take() for name, each in sources.items()}
            batch = {name: tables for name, tables in batch.items() if tables}
            for name in batch:
                silence.hear(name)
            ended = self._have_ended(sources) and not batch
            moved = self._make_step(batch, saved, silence, ends=ended, by_clock=by_clock)
            if ended or (once and not batch):
                return
            if pause is not None or not (batch or moved):
                self.delivery.stopping.wait(_PAUSE_S if pause is None else pause)

    def _have_ended(self, sources: Mapping[str, Arriving]) -> bool:
        return all(each.has_ended for each in sources.values())

    def _make_step(
        self,
        batch: Mapping[str, list[pa.Table]],
        saved: Saved,
        silence: Silence,
        *,
        ends: bool,
        by_clock: bool,
    ) -> bool:
        """Make a step if there is something to do, and keep what it came to."""
        before, count = self.horizon, sum(t.num_rows for found in batch.values() for t in found)
        matches = self.delivery.total("match")
        good = self._take(batch)
        horizon = ALWAYS if ends else self._watermark(silence.streams(), by_clock)
        if not (count or horizon > before):
            return False
        self._advance(good, horizon)
        self._finish_batch(horizon)
        saved.keep(self, ended=ends)
        self._tell(count, matches)
        self.batch += 1
        return True

    def restore(self, saved: Saved) -> None:
        """Go on where a run has stopped."""
        saved.load(self)

    def _watermark(self, silent: Sequence[str], by_clock: bool) -> int:
        """Return before which time all rows are there: that of the slowest that is not silent."""
        marks = {}
        for name, stream in self.streams.items():
            latest = self.greatest.get(name)
            own = NEVER_YET if latest is None else latest - stream.lateness
            if by_clock and not stream.time_is_ticks:
                own = max(own, int(time.time() * _MICROSECONDS) - stream.lateness)
            marks[name] = own
        awake = [own for name, own in marks.items() if name not in silent]
        return max(self.horizon, min(awake) if awake else max(marks.values()))

    # Steps ------------------------------------------------------------------------------------

    def _step(
        self, batch: Mapping[str, list[pa.Table]], horizon: int, *, tells_late: bool = True
    ) -> None:
        self._advance(self._take(batch, tells_late=tells_late), horizon)

    def _take(
        self, batch: Mapping[str, list[pa.Table]], *, tells_late: bool = True
    ) -> dict[str, pa.Table]:
        """Return the good rows of a batch; what is bad or late is put aside."""
        found = {}
        for name, tables in batch.items():
            stream, parts = self.streams[name], list[pa.Table]()
            for table in tables:
                good, bad = judged(table, stream)
                self._put_aside("rejected", stream, bad)
                if tells_late:
                    good = self._in_time(good, stream)
                parts.append(good)
            if parts:
                found[name] = pa.concat_tables(parts)
                self._note_greatest(name, found[name])
        return found

    def _in_time(self, rows: pa.Table, stream: StreamSchema) -> pa.Table:
        late = whole(rows.column(stream.time)) < self.horizon
        if not late.any():
            return rows
        kind = "LONG" if stream.time_is_ticks else "TIMESTAMP"
        behind = rows.filter(pa.array(late))
        mark = f"before the watermark {written(self.horizon, kind)}"
        times = whole(behind.column(stream.time)).tolist()
        reasons = [f"{stream.time} is {written(each, kind)}, {mark}" for each in times]
        raw = pa.nulls(len(times), pa.string())
        bad_rows = behind.append_column("raw", raw).append_column(REASON, pa.array(reasons))
        self._put_aside("late", stream, bad_rows)
        return rows.filter(pa.array(~late))

    def _advance(self, rows: Mapping[str, pa.Table], horizon: int) -> None:
        """Let every part take rows in, and deliver what is known."""
        reported = set[str]()
        for part in self.parts:
            own = {name: rows[name] for name in part.network.bases if name in rows}
            answers = part.advance(own, horizon)
            for name, table in answers.found.items():
                self._deliver(name, table)
            for name, bad in answers.rejected.items():
                if name not in reported:
                    bad_rows = bad.append_column("raw", pa.nulls(bad.num_rows, pa.string()))
                    stream = part.network.bases[name]
                    names = [*(c.name for c in stream.columns), "raw", REASON]
                    self._put_aside("rejected", stream, bad_rows.select(names))
            reported |= set(part.network.bases)
            for name, count in answers.tied.items():
                self.delivery.count(("tied", name.lower()), count)
        self.horizon = max(self.horizon, horizon)

    def _deliver(self, name: str, table: pa.Table) -> None:
        if self.commits is not None and self.commits.takes(name):
            self.commits.add(table)
            return
        self.delivery.add(("match", name.lower()), table)

    def _put_aside(self, kind: str, stream: StreamSchema, rows: pa.Table) -> None:
        if stream.name.lower() in self._guarded:
            # Of a stream under a policy nothing is told, not even how many rows are bad.
            return
        self.delivery.add((kind, stream.name.lower()), rows)

    @property
    def _guarded(self) -> frozenset[str]:
        """The streams of which readers get what a policy keeps, and no more."""
        return frozenset().union(*(part.network.catalog.guarded for part in self.parts))

    def _finish_batch(self, horizon: int) -> None:
        if self.commits is not None:
            self.commits.commit(self.parts, self.greatest, horizon, self.batch)
        self.delivery.commit(self.batch)

    def _tell(self, rows: int, before: int) -> None:
        """Say how far the run has come."""
        spent = max(time.monotonic() - self._begun, 1e-9)
        self._begun = time.monotonic()
        found = {
            "batch": self.batch,
            "events": rows,
            "events_per_second": round(rows / spent, 1),
            "matches": self.delivery.total("match"),
            "late": self.delivery.total("late"),
            "rejected": self.delivery.total("rejected"),
            **self._time(),
            "state_rows": sum(_state_rows(part) for part in self.parts),
            "state_bytes": sum(_state_bytes(part) for part in self.parts),
            "new_matches": self.delivery.total("match") - before,
        }
        if self._guarded:
            found = without_raw_rows(found)
        self.progress(found, self.delivery)

    def _time(self) -> dict[str, Any]:
        latest, mark = max(self.greatest.values(), default=NEVER_YET), self.horizon
        known = NEVER_YET < mark < ALWAYS
        ticks = any(stream.time_is_ticks for stream in self.streams.values())
        if ticks:
            return {"watermark": mark if known else None, "watermark_lag_seconds": None}
        lag = max(0, latest - mark) / _MICROSECONDS if known else None
        return {
            "watermark": moment_text(mark) if known else None,
            "watermark_lag_seconds": lag,
        }


def judged(table: pa.Table, stream: StreamSchema) -> tuple[pa.Table, pa.Table]:
    """Return the good rows, and the bad ones as they are put aside: with text and reason."""
    raw = table.column(RAW) if RAW in table.column_names else pa.nulls(table.num_rows, pa.string())
    declared = declaration_of(stream)
    rows = conform(table, declared)
    reasons = own_reasons(rows, declared)
    rows = rows.drop_columns(FAULT) if FAULT in rows.column_names else rows
    if reasons.are_none:
        return rows, rows.slice(0, 0)
    good = reasons.good
    bad = rows.append_column("raw", raw).filter(pa.array(~good))
    said = pa.array(reasons.texts(), pa.string())
    return rows.filter(pa.array(good)), bad.append_column(REASON, said)


def _only_time(files: LocalFiles, stream: StreamSchema) -> LocalFiles:
    """Return the files, of which nothing is read but the time."""
    column = next(each for each in stream.columns if each.name == stream.time)
    columns = tuple(files.columns)
    return replace(files, declared=replace(stream, columns=(column,)), roles=(), fields=columns)


def _state_rows(part: Part) -> int:
    sources = getattr(part.state, "sources", {})
    return sum(each.waiting.num_rows for each in sources.values())


def _state_bytes(part: Part) -> int:
    stages = getattr(part.state, "stages", {})
    return sum(getattr(each, "nbytes", 0) for each in stages.values())
