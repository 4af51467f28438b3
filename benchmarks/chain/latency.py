"""From an event to the badge that is committed: the chain on Spark streaming, over many wards.

Files with what readers tell arrive four times a second, at a rate that does not wait for anybody.
`augury run` streams them through the whole script of the hospital: owners, the policy, matches,
rules, badges and alarms in PostgreSQL. A badge's latency is from the arrival of the event at whose
moment it changes until it is seen that the store is committed beyond that moment. Time on the wards
goes as much faster as it must for that rate. Memory is that of the driver, its JVM and workers.

Run: PYTHONPATH=benchmarks:tests python benchmarks/chain/latency.py [wards] [rate] [seconds]
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import threading
import time
from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from augury.demo.hospital.pipelines import script, table_of
from augury.demo.hospital.ward import Care, Ward, simulate
from fault_tolerance.processes import in_session
from kafka.driver import Driver
from matching.harness import record, scale, sized
from stores.databases import Server, connected

WARDS, RATE = sized(250, 4), sized(1_000, 80)
# Time does not shrink as rows do.
SECONDS = 120 if scale() >= 1 else 50
FILES_A_SECOND = 4
# What arrives while workers start and kernels are loaded does not count.
WARM_S = 30
# Memory is looked at so often; after the last arrival there is so much time to commit.
PART_S, DRAIN_S = 10, 120
TABLES = "(CREATE TABLE {} \\([^)]*\\)( KEY [\\w, ]+)?)"
LOOK_S = 0.05


@dataclass
class Arrivals:
    """When what happened up to a moment was there to be read."""

    moments: list[Any] = field(default_factory=list)
    walls: list[float] = field(default_factory=list)

    def of(self, moment: Any) -> float | None:
        """Return when the event of a moment had arrived; None where nothing did so late."""
        k = bisect_left(self.moments, moment)
        return self.walls[k] if k < len(self.walls) else None


def text(ward: Ward, home: Path, url: str) -> str:
    """Return the script of the hospital with the places of this run."""
    changed = script("ward.sql")
    pq.write_table(pa.Table.from_pylist(ward.staff), home / "staff.parquet")
    rooms = [{"room": f"R{k + 1}"} for k in range(ward.care.contagious)]
    pq.write_table(pa.Table.from_pylist(rooms), home / "contagious.parquet")
    for table in ("staff", "contagious"):
        place = rf"\1 FROM parquet '{home}/{table}.parquet'"
        changed = re.sub(TABLES.format(table), place, changed)
    for table in ("badges", "alarms"):
        changed = re.sub(TABLES.format(table), r"\1 STORE station", changed)
    changed = changed.replace("TYPE action;", f"TYPE action FROM parquet '{home}/doors';", 1)
    return (
        f"CREATE STORE station AT '{url}';\n{changed}\nWRITE badges TO parquet '{home}/changes';\n"
    )


def arrive(ward: Ward, folder: Path, found: Arrivals, rate: int, part: int) -> None:
    """Let the files of one part arrive, each whole at once; note when."""
    size, count = rate // FILES_A_SECOND, PART_S * FILES_A_SECOND
    first = part * count
    rows = table_of(ward.told[first * size : (first + count) * size])
    began = time.time()
    for k in range(-(-rows.num_rows // size)):
        own, name = rows.slice(k * size, size), first + k
        time.sleep(max(0.0, began + k / FILES_A_SECOND - time.time()))
        pq.write_table(own, folder / f".{name}")
        (folder / f".{name}").rename(folder / f"{name:06}.parquet")
        found.walls.append(time.time())
        found.moments.append(own.column("at")[-1].as_py())


@dataclass
class Commits:
    """Up to which moment a store is committed, and since when; looked at all the time."""

    url: str
    seen: list[tuple[int, float]] = field(default_factory=list)
    ends: threading.Event = field(default_factory=threading.Event)

    def look(self) -> None:
        """Look until it ends."""
        with connected(self.url) as store:
            store.execution_options(isolation_level="AUTOCOMMIT")
            while not self.ends.wait(LOOK_S):
                found = store.exec_driver_sql("SELECT to_regclass('augury_runs')").scalar()
                asked = "SELECT max(moment) FROM augury_runs"
                moment = found and store.exec_driver_sql(asked).scalar()
                if moment is not None and (not self.seen or moment > self.seen[-1][0]):
                    self.seen.append((moment, time.time()))

    @property
    def moment(self) -> datetime:
        """The last moment that is committed."""
        last = self.seen[-1][0] if self.seen else 0
        return datetime.fromtimestamp(last / 1_000_000, UTC)

    def of(self, moment: int) -> float | None:
        """Return since when what was done at a moment is committed."""
        k = bisect_right(self.seen, moment, key=lambda each: each[0])
        return self.seen[k][1] if k < len(self.seen) else None


def latencies(changes: Path, commits: Commits, arrivals: Arrivals) -> list[tuple[float, float]]:
    """Return when events arrived, and how long after that their badge was committed."""
    found = []
    for at in pq.read_table(changes, columns=["ts"]).column("ts").to_pylist():
        arrived = arrivals.of(at)
        committed = commits.of(round(at.timestamp() * 1_000_000))
        if arrived is not None and committed is not None:
            found.append((arrived, committed - arrived))
    return found


def resident(leader: int) -> dict[str, int]:
    """Return megabytes by kind of process, of all processes of a session."""
    found: dict[str, int] = defaultdict(int)
    for process in in_session(leader):
        kind = "java" if b"java" in process.command.split(b"\0")[0] else "python"
        pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
        found[kind] += pages * os.sysconf("SC_PAGE_SIZE") // 2**20
    return dict(found)


def measured(ward: Ward, home: Path, server: Server, rate: int, seconds: int) -> dict[str, Any]:
    """Run it, and return the figures."""
    url = server.database()
    (home / "doors").mkdir()
    (home / "ward.sql").write_text(text(ward, home, url), encoding="utf-8")
    commits = Commits(url)
    looks = threading.Thread(target=commits.look, daemon=True)
    looks.start()
    driver = Driver(home, "ward.sql", "--stream", "--checkpoint", "state")
    memory = list[dict[str, int]]()
    try:
        arrivals = Arrivals()
        for part in range(seconds // PART_S):
            arrive(ward, home / "doors", arrivals, rate, part)
            memory.append(resident(driver.process.pid))
        behind = time.time() - (arrivals.of(commits.moment) or time.time())
        ends = time.time() + DRAIN_S
        while commits.moment < arrivals.moments[-FILES_A_SECOND] and time.time() < ends:
            time.sleep(LOOK_S)
        driver.stop()
    finally:
        driver.close()
        commits.ends.set()
        looks.join()
    batches = [each for each in driver.said if "batch" in each]
    if os.environ.get("AUGURY_BENCH_SAYS"):
        print(*driver.said, sep="\n", file=sys.stderr)
    found = latencies(home / "changes", commits, arrivals)
    late = [took for at, took in found if at >= arrivals.walls[0] + WARM_S]
    return {
        "events": len(arrivals.walls) * (rate // FILES_A_SECOND),
        "batches": len(batches),
        "badges": len(late),
        **{f"p{n}_s": round(float(np.percentile(late, n)), 2) for n in (50, 90, 99)},
        "most_s": round(max(late), 2),
        # How old the first event was that was not committed, when the last one arrived.
        "behind_at_the_end_s": round(behind, 2),
        "memory_mb": memory,
    }


def main() -> None:
    """Measure, and write the figures down."""
    given = [int(each) for each in sys.argv[1:]]
    wards, rate, seconds = (*given, *(WARDS, RATE, SECONDS)[len(given) :])
    care = replace(Care(), corridors=wards)
    each_hour = len(simulate(1, replace(care, corridors=10, hours=2.0)).told) / 20
    care = replace(care, hours=1.1 * rate * seconds / (each_hour * wards))
    server = Server()
    try:
        with tempfile.TemporaryDirectory() as folder:
            found = measured(simulate(1, care), Path(folder), server, rate, seconds)
    finally:
        server.stop()
    faster = round(care.hours * 3600 / (1.1 * seconds), 1)
    about = {"wards": wards, "people": wards * care.workers, "faster": faster}
    record("chain_latency", about | {"rate": rate, "seconds": seconds} | found)


if __name__ == "__main__":
    main()
