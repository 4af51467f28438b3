"""What `augury run --engine local` keeps in memory while it reads CSV that does not fit.

A file is written as large as asked for, and one a third as large; each is read by a process of its
own. What such a run remembers is a block and the window, not the file, so both take about as much
memory. Kept: megabytes, seconds of the clock and of the processor, and matches.
Run: python benchmarks/large_files.py [megabytes]
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from matching.harness import record, sized

MEGABYTES = 1000
SHARES = (3, 1)
# A file is read block by block from here on; small files, too, where the benchmark is small.
WHOLE = "AUGURY_WHOLE_INPUT_BYTES"
SCRIPT = """
CREATE STREAM reads (id LONG, tag STRING, reader STRING, t LONG, p DOUBLE)
ID id KEY tag TIME t TYPE reader PROBABILITY p FROM csv 'reads.csv';
CREATE QUERY theft ON reads PATTERN SEQ(SHELF x, !COUNTER y, EXIT z)
WHERE [tag] WITHIN 5000 HAVING CONFIDENCE >= 0.6;
"""
RUN = "import sys; from augury.cli.main import main; sys.argv[0] = 'augury'; main()"
READERS = ("SHELF", "COUNTER", "SHELF", "COUNTER", "HALL", "COUNTER", "SHELF", "HALL", "EXIT")
ROWS_AT_ONCE = 50_000


def written(place: Path, wanted: int) -> int:
    """Write reads of tags, a few of them behind the time of earlier ones; return how many."""
    size = count = 0
    with place.open("w", encoding="ascii") as file:
        size += file.write("id,tag,reader,t,p\n")
        while size < wanted:
            lines = (
                f"{k},tag-{k * 7919 % 4_001:04d},{READERS[k * 31 % 1009 % 9]},{k - k % 7},"
                f"0.{300 + k * 37 % 700}\n"
                for k in range(count, count + ROWS_AT_ONCE)
            )
            size += file.write("".join(lines))
            count += ROWS_AT_ONCE
    return count


def measured(folder: Path) -> dict[str, Any]:
    """Run the script in a process of its own; return what it took."""
    command = [sys.executable, "-c", RUN, "run", "big.sql", "--engine", "local"]
    begun = time.perf_counter()
    child = subprocess.Popen([*command, "--sink", "theft=parquet:found"], cwd=folder)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"augury run ended with {child.returncode}")
    return {
        "seconds": round(time.perf_counter() - begun, 1),
        "processor_seconds": round(usage.ru_utime + usage.ru_stime, 1),
        # Linux counts in kilobytes.
        "peak_megabytes": round(usage.ru_maxrss * 1024 / 1e6),
    }


def matches(folder: Path) -> int:
    """Return how many answers were written."""
    import pyarrow.parquet as pq  # noqa: PLC0415  the child measures itself without it

    files = (folder / "found").glob("batch=*/*.parquet")
    return sum(pq.ParquetFile(file).metadata.num_rows for file in files)


def main() -> None:
    """Measure, print and write down."""
    megabytes = float(sys.argv[1]) if len(sys.argv) > 1 else sized(MEGABYTES)
    if megabytes < MEGABYTES:
        os.environ.setdefault(WHOLE, "1")
    found: list[dict[str, Any]] = []
    for share in SHARES:
        with TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "big.sql").write_text(SCRIPT)
            rows = written(folder / "reads.csv", round(megabytes * 1e6 / share))
            size = (folder / "reads.csv").stat().st_size
            taken = {"megabytes": round(size / 1e6), "rows": rows, **measured(folder)}
            taken["matches"] = matches(folder)
        print(taken)
        found.append(taken)
    small, large = (each["peak_megabytes"] for each in found)
    record("large_files", {"files": found, "memory_ratio": round(large / small, 2)})


if __name__ == "__main__":
    main()
