"""Windows of 20 thousand to 2 million rows: a micro-batch costs what is new, not what is old.

- 1,000 keys whose events A, B and D come without end and never complete a match, one event a tick,
  so that a window of n ticks remembers n rows. Beside them a hundredth of the events are of keys
  that have three: A, B and C, a few ticks apart. So matches do not grow with the window.
- Micro-batches of 20,000 rows, after larger ones have filled the window. Seconds are the median of
  those that are counted.
- Stored: what the files of the state store have grown by, changelogs and snapshots together, per
  micro-batch; against the bytes of the new rows as Arrow has them.
- The store alone: the same, with shards that remember rows and evaluate nothing.
- Killed: the run is killed with signal 9 in the middle, twice, and goes on from its checkpoint; its
  matches are those of a run that was left alone.

Run: python benchmarks/spark/windows.py [query ...]
"""

from __future__ import annotations

import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from measuring import CACHE, FIGURES, ROUNDS, record, rounded, scale, scaled, scratch, session
from patterns import asked

A_BATCH, KEYS, COMPLETE = scaled(20_000), 1000, 0.01
WINDOWS = tuple(A_BATCH * times for times in (1, 10, 100))
# Micro-batches that fill a window at most, that warm up, and that count.
FILLING, WARM, COUNTED = 10, 5, 15
SHARDS = 16
SCHEMA = "id LONG, key LONG, kind STRING, t LONG, p DOUBLE"
STREAM = """
CREATE STREAM s (id LONG, key LONG, kind STRING, t LONG, p DOUBLE)
ID id KEY key TIME t TYPE kind PROBABILITY p{more};
CREATE QUERY q ON s PATTERN {pattern} WHERE [key] {using} WITHIN {window} {having}
RETURN a.id AS a, c.id AS c;
"""
GAPS = "CREATE GAPS g ON q (a TO b EXPONENTIAL(20), b TO c EXPONENTIAL(20));"
CONFIDENT = "HAVING CONFIDENCE >= 0.2"
QUERIES: dict[str, dict[str, str]] = {
    "next_match": {"pattern": "SEQ(A a, B b, C c)", "using": "USING SKIP TILL NEXT MATCH"},
    "any_match_with_a_threshold": {"pattern": "SEQ(A a, B b, C c)", "having": CONFIDENT},
    "negation": {"pattern": "SEQ(A a, !D d, C c)", "having": CONFIDENT},
    "allow_1_missed": {
        "pattern": "SEQ(A a, B b, C c)",
        "having": f"ALLOW 1 MISSED OF (b) {CONFIDENT}",
        "more": " MISS RATE 0.1",
        "gaps": GAPS,
    },
}
STORE = "store_alone"


def script_of(name: str, window: int) -> str:
    """Return the stream and the query of that name over a window of so many ticks."""
    own = {"using": "", "having": "", "more": "", "gaps": "", **QUERIES.get(name, {})}
    pattern = own.pop("pattern", "SEQ(A a, B b, C c)")
    return STREAM.format(pattern=pattern, window=window, **own) + own["gaps"]


# Events ----------------------------------------------------------------------------------------


def chunk(start: int, n: int) -> pa.Table:
    """Return the events of ticks [start, start + n)."""
    rng = np.random.default_rng([2, start])
    key = rng.integers(0, KEYS, n)
    kind = rng.choice(np.array(["A", "B", "D"]), n, p=[0.45, 0.45, 0.1])
    for at in range(0, n - 12, max(12, round(3 / COMPLETE))):
        key[at : at + 12 : 4] = KEYS + start + at
        kind[at : at + 12 : 4] = ("A", "B", "C")
    p = np.round(rng.uniform(0.7, 1.0, n), 4)
    ticks = np.arange(start, start + n)
    return pa.table({"id": ticks, "key": key, "kind": pa.array(kind), "t": ticks, "p": p})


def sizes(window: int) -> list[int]:
    """Return the rows of each micro-batch: large ones to fill the window, then equal ones."""
    filling = min(FILLING, window // A_BATCH)
    return [window // filling] * filling + [A_BATCH] * (WARM + COUNTED)


def files(window: int) -> Path:
    """Return a folder with one file per micro-batch; make it unless it is there."""
    folder = CACHE / "windows" / f"{A_BATCH}-{window}"
    if not (folder / "_SUCCESS").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        start = 0
        for k, n in enumerate(sizes(window)):
            path = folder / f"part-{k:05d}.parquet"
            pq.write_table(chunk(start, n), path)
            os.utime(path, (1_700_000_000 + k,) * 2)
            start += n
        (folder / "_SUCCESS").touch()
    return folder


def answers(spark: Any, name: str, window: int) -> Any:
    """Return the streaming matches, a file per micro-batch."""
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    rows = reader.parquet(str(files(window)))
    return asked(script_of(name, window), rows, spark, shards=SHARDS)


# The store alone -------------------------------------------------------------------------------


def storing(spark: Any, window: int) -> Any:
    """Return a stream whose shards remember rows and evaluate nothing."""
    from augury.evaluation.answers.answers import Answers  # noqa: PLC0415
    from augury.evaluation.executor import Executor  # noqa: PLC0415
    from augury.runners.spark import streaming  # noqa: PLC0415

    class StoreShard(Executor):
        def advance(self, state, batch, horizon):
            state.blocks.add(batch)
            state.blocks.drop_before(horizon - self.network.memory)
            for name, rows in batch.items():
                state.sources[name].waiting = rows.slice(0, 1)
            state.horizon = horizon
            return state, Answers({}, {})

    class StoreProcessor(streaming.ShardProcessor):
        def shard(self, number):
            return StoreShard(self.task.part(number)[0], stores=True)

    with patch.object(streaming, "processor_of", StoreProcessor):
        return answers(spark, STORE, window)


# Measuring -------------------------------------------------------------------------------------


class Written:
    """The bytes of all files that were ever seen in the state of a checkpoint, but drafts."""

    def __init__(self, checkpoint: Path) -> None:
        self.state, self.files = checkpoint / "state", dict[Path, int]()

    def look(self) -> int:
        for path in self.state.rglob("*"):
            try:
                if path.is_file() and path.suffix != ".tmp":
                    self.files[path] = path.stat().st_size
            except OSError:  # Spark has removed it
                continue
        return sum(self.files.values())


def progress(query: Any, written: Written) -> Iterator[tuple[Any, int]]:
    """Yield what Spark says of each micro-batch with rows, and the bytes stored until then."""
    seen = -1
    while True:
        ended = query.awaitTermination(0.05)
        for each in query.recentProgress:
            if each.batchId > seen:
                seen = each.batchId
                if each.numInputRows:
                    yield each, written.look()
        if ended:
            return


def measured(frame: Any) -> dict[str, float]:
    """Return the median seconds of the counted micro-batches, and the bytes that each stored."""
    with scratch() as place:
        written = Written(place / "checkpoint")
        writer = frame.writeStream.format("noop")
        writer = writer.option("checkpointLocation", str(place / "checkpoint"))
        query = writer.trigger(availableNow=True).start()
        done = list(progress(query, written))
    counted = done[-COUNTED:]
    seconds = [each.durationMs["triggerExecution"] / 1000 for each, _ in counted]
    stored = (counted[-1][1] - counted[0][1]) / (len(counted) - 1)
    return {"seconds": statistics.median(seconds), "stored": stored}


def windows_of(spark: Any, name: str) -> dict[str, Any]:
    """Return the figures of one query over all windows: the medians of some rounds."""
    found: dict[int, list[dict[str, float]]] = {window: [] for window in WINDOWS}
    for _ in range(ROUNDS):
        for window, own in found.items():
            frame = storing(spark, window) if name == STORE else answers(spark, name, window)
            own.append(measured(frame))
            print(name, window, own[-1], flush=True)
    seconds = {w: statistics.median(each["seconds"] for each in own) for w, own in found.items()}
    stored = {w: statistics.median(each["stored"] for each in own) for w, own in found.items()}
    new = chunk(0, A_BATCH).nbytes
    return {
        "seconds_a_batch": rounded({str(w): s for w, s in seconds.items()}, 3),
        "longest_to_shortest": round(seconds[WINDOWS[-1]] / seconds[WINDOWS[0]], 2),
        "bytes_stored_a_batch": {str(w): round(n) for w, n in stored.items()},
        "bytes_of_new_rows": new,
        "stored_to_new": round(max(stored.values()) / new, 2),
    }


# Killed ----------------------------------------------------------------------------------------


def deliver(folder: Path, window: int) -> None:
    """Stream into a folder until all is delivered; to be run as a process that may be killed."""
    with session("windows, killed") as spark:
        frame = answers(spark, "next_match", window)
        writer = frame.writeStream.format("parquet").option("path", str(folder / "matches"))
        writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
        writer.trigger(availableNow=True).start().awaitTermination()
    (folder / "done").touch()


def delivered(folder: Path, window: int, kills: int) -> set[tuple[Any, ...]]:
    """Deliver, killed so often when some more micro-batches are done; return the matches."""
    for left in range(kills, -1, -1):
        work = subprocess.Popen(
            [sys.executable, __file__, "--deliver", str(folder), str(window)],
            start_new_session=True,
        )
        target = _commits(folder) + len(sizes(window)) // (kills + 2)
        while work.poll() is None and not (left and _commits(folder) >= target):
            time.sleep(0.05)
        if work.poll() is None:
            os.killpg(work.pid, signal.SIGKILL)
        work.wait()
    if not (folder / "done").exists():
        raise SystemExit("the run that was killed did not come to its end")
    rows = _told(folder / "matches")
    found = {tuple(row) for row in rows}
    if len(found) != len(rows):
        raise SystemExit("the run that was killed delivered matches twice")
    return found


def _commits(folder: Path) -> int:
    return len(list((folder / "checkpoint" / "commits").glob("[0-9]*")))


def _told(folder: Path) -> list[tuple[Any, ...]]:
    """Return the matches that a folder has by Spark's notes: a killed run leaves other files."""
    with session("windows, told") as spark:
        table = spark.read.parquet(str(folder)).select("match_id", "a", "c", "confidence").toArrow()
    return list(zip(*(table.column(name).to_pylist() for name in table.column_names), strict=True))


def killed(kills: int = 2) -> dict[str, Any]:
    """Return how many matches a run that is killed delivers, and one that is not."""
    window = WINDOWS[1]
    files(window)
    with scratch() as place:
        wanted = delivered(place / "alone", window, 0)
        found = delivered(place / "killed", window, kills)
    if found != wanted:
        raise SystemExit(f"a run that was killed found {len(found)} matches, not {len(wanted)}")
    return {"kills": kills, "matches": len(found), "expected": len(wanted)}


# The chart -------------------------------------------------------------------------------------

WIDTH, HEIGHT, LEFT, BOTTOM, RIGHT = 640, 360, 60, 50, 190
COLOURS = ("#1f6fb4", "#d1495b", "#4c9f70", "#b8860b", "#777777")


def chart(figures: Mapping[str, Any]) -> str:
    """Return the seconds of a micro-batch by rows of the window, as SVG."""
    lines = {name: list(own["seconds_a_batch"].items()) for name, own in figures.items()}
    most = max(s for line in lines.values() for _, s in line) * 1.1
    labels = [f"{int(window):,}" for window, _ in next(iter(lines.values()))]

    def place(k: int, seconds: float) -> tuple[float, float]:
        across = LEFT + k / max(1, len(labels) - 1) * (WIDTH - LEFT - RIGHT)
        return across, HEIGHT - BOTTOM - seconds / most * (HEIGHT - BOTTOM - 50)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="22" font-size="14">Seconds a micro-batch, {A_BATCH:,} rows</text>',
        f'<text x="{LEFT}" y="{HEIGHT - 12}">rows in the window</text>',
    ]
    for step in range(5):
        _, y = place(0, most * step / 4)
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
            f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{most * step / 4:.2f}</text>'
        )
    for k, label in enumerate(labels):
        x, y = place(k, 0)
        parts.append(f'<text x="{x:.1f}" y="{y + 16:.1f}" text-anchor="middle">{label}</text>')
    for k, (name, line) in enumerate(lines.items()):
        where = " ".join(
            f"{x:.1f},{y:.1f}" for x, y in (place(i, s) for i, (_, s) in enumerate(line))
        )
        parts.append(
            f'<polyline points="{where}" fill="none" stroke="{COLOURS[k]}" stroke-width="2"/>'
            f'<text x="{WIDTH - RIGHT + 8}" y="{60 + 18 * k}" fill="{COLOURS[k]}">'
            f"{name.replace('_', ' ')}</text>"
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def main() -> None:
    """Measure."""
    if sys.argv[1:2] == ["--deliver"]:
        deliver(Path(sys.argv[2]), int(sys.argv[3]))
        return
    names = sys.argv[1:] or [*QUERIES, STORE]
    with session("windows") as spark:
        measured(answers(spark, "next_match", WINDOWS[0]))
        queries = {name: windows_of(spark, name) for name in names}
    figures = {"rows_a_batch": A_BATCH, "shards": SHARDS, "queries": queries}
    if len(names) < len(QUERIES):
        print(figures, flush=True)
        return
    record("spark_windows", {**figures, "kill": killed()})
    if scale() >= 1 and ROUNDS >= 3:
        (FIGURES / "spark_windows.svg").write_text(chart(queries))


if __name__ == "__main__":
    main()
