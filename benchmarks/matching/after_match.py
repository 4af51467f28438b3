"""AFTER MATCH SKIP PAST LAST EVENT over certain events, beside the same query without it.

Seconds of the processor for one answer of a local session, all threads together, and their ratio:
for a plain sequence under next-match, and for a contiguous run. Run:
python benchmarks/matching/after_match.py [events, 10 million]
"""

from __future__ import annotations

import statistics
import sys
import time

import numpy as np
import pyarrow as pa

from augury import Session
from matching.harness import record, sized

ROUNDS = 5
KEYS, TYPES, WINDOW = 1000, "ABCD", 20_000
STREAM = "CREATE STREAM s (id LONG, key LONG, kind STRING, t LONG) ID id KEY key TIME t TYPE kind;"
QUERIES = {
    "sequence": "PATTERN SEQ(A a, B b, C c) WHERE [key] USING SKIP TILL NEXT MATCH",
    "run": "PATTERN SEQ(A a, B+ b, C c) WHERE [key] USING PARTITION CONTIGUITY",
}
SKIP = "AFTER MATCH SKIP PAST LAST EVENT"


def events(n: int) -> pa.Table:
    """Return random events: one per tick, of a random key and type."""
    rng = np.random.default_rng(1)
    kinds = pa.DictionaryArray.from_arrays(
        pa.array(rng.integers(0, len(TYPES), n, dtype=np.int32)), pa.array(list(TYPES))
    )
    return pa.table(
        {
            "id": np.arange(n),
            "key": rng.integers(0, KEYS, n),
            "kind": kinds.cast(pa.string()),
            "t": np.arange(n),
        }
    )


def answered(rows: pa.Table, query: str) -> pa.Table:
    """Return the answer of a query, from rows that nobody has looked at."""
    ag = Session(engine="local")
    ag.sql(f"{STREAM} CREATE QUERY q ON s {query} WITHIN {WINDOW};")
    ag.bind("s", rows)
    return ag.table("q")


def in_turns(rows: pa.Table, queries: list[str]) -> list[tuple[float, int]]:
    """Return the median seconds of each query, and its matches: a machine's load is shared."""
    seconds: list[list[float]] = [[] for _ in queries]
    matches = [0 for _ in queries]
    for _ in range(ROUNDS):
        for k, query in enumerate(queries):
            busy = time.process_time()
            matches[k] = answered(rows, query).num_rows
            seconds[k].append(time.process_time() - busy)
    return list(zip(map(statistics.median, seconds), matches, strict=True))


def main() -> None:
    """Measure both queries with and without the clause, and print ratios."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else sized(10_000_000, 20_000)
    rows, figures = events(n), {"events": n}
    for name, query in QUERIES.items():
        both = [query, f"{query} {SKIP}"]
        for each in both:
            answered(rows.slice(0, 1000), each)
        (plain, found), (skipping, taken) = in_turns(rows, both)
        figures |= {
            f"{name}_matches": found,
            f"{name}_taken": taken,
            f"{name}_seconds": round(plain, 2),
            f"{name}_seconds_after_match": round(skipping, 2),
            f"{name}_ratio": round(skipping / plain, 2),
        }
    record("after_match", figures)


if __name__ == "__main__":
    main()
