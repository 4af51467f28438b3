"""The events that all Spark benchmarks read, written once to Parquet and kept.

1,000 keys, 8 types, one event per tick, in time order: a random key, a random type, and a
probability. An event's id is its tick. Chunks are made one at a time, each from its own seed, so a
file of 100 million events needs little memory and two runs see the same events.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from measuring import CACHE

KEYS, TYPES, WINDOW, THRESHOLD = 1000, "ABCDEFGH", 10_000, 0.2
CHUNK, GROUP = 500_000, 250_000
OTHER = "Z"


def chunk(start: int, n: int, types: str = TYPES, relevant: float = 1.0) -> pa.Table:
    """Return the events of ticks [start, start + n); `relevant` of them are of the given types."""
    rng = np.random.default_rng([1, start])
    codes = rng.integers(0, len(types), n, dtype=np.int8)
    key = rng.integers(0, KEYS, n)
    p = np.round(rng.uniform(0.3, 1.0, n), 4)
    codes[rng.random(n) >= relevant] = len(types)
    names = pa.array([*types, OTHER])
    kinds = pa.DictionaryArray.from_arrays(pa.array(codes), names).cast(pa.string())
    ticks = np.arange(start, start + n)
    return pa.table({"id": ticks, "key": key, "kind": kinds, "t": ticks, "p": p})


def files(n: int, *, types: str = TYPES, relevant: float = 1.0, size: int = CHUNK) -> Path:
    """Return a folder with one Parquet file per chunk of events; make it unless it is there."""
    folder = CACHE / "events" / f"{n}-{types}-{relevant:g}-{size}"
    if not (folder / "_SUCCESS").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix="made-", dir=folder.parent))
        for i, start in enumerate(range(0, n, size)):
            table = chunk(start, min(size, n - start), types, relevant)
            pq.write_table(table, made / f"part-{i:05d}.parquet", row_group_size=GROUP)
        (made / "_SUCCESS").touch()
        try:
            made.rename(folder)
        except OSError:
            # Another benchmark, beside this one, was first.
            shutil.rmtree(made)
    return folder
