"""SEQ of 3 over 1,000 keys and 8 types, window of about 10 events per key, threshold 0.2.

Events per second of finding the matches alone, from Arrow table to Arrow table, and of a naive loop
written for this one query. Run: python benchmarks/matching/throughput.py [events, 10 million]
"""

from __future__ import annotations

import statistics
import sys
import time
from unittest import mock

import numba
import numpy as np
import pyarrow as pa

from augury.matching import matcher
from matching.harness import (
    Seconds,
    answer,
    checked,
    median_seconds,
    on_one_core,
    rates,
    record,
    sized,
)

KEYS, TYPES, WINDOW, THRESHOLD = 1000, "ABCDEFGH", 10_000, 0.2
SCRIPT = f"""
CREATE STREAM s (id LONG, key LONG, kind STRING, t LONG, p DOUBLE)
ID id KEY key TIME t TYPE kind PROBABILITY p;
CREATE QUERY q ON s PATTERN SEQ(A a, B b, C c) WHERE [key]
WITHIN {WINDOW} HAVING CONFIDENCE >= {THRESHOLD};
"""


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
            "p": rng.uniform(0.3, 1.0, n),
        }
    )


@numba.njit
def naive(key, kind, t, p, room):
    """Find the matches with three nested loops over the latest events of a key."""
    recent = np.full((KEYS, room), -1, np.int64)
    used = np.zeros(KEYS, np.int64)
    matches, total = 0, 0.0
    for c in range(len(key)):
        k = key[c]
        if kind[c] == 2:
            for j in range(max(0, used[k] - room), used[k]):
                b = recent[k, j % room]
                if kind[b] != 1 or t[c] - t[b] > WINDOW:
                    continue
                for i in range(max(0, used[k] - room), j):
                    a = recent[k, i % room]
                    if kind[a] == 0 and t[c] - t[a] <= WINDOW:
                        confidence = p[a] * p[b] * p[c]
                        if confidence >= THRESHOLD - 1e-9:
                            matches += 1
                            total += confidence
        if kind[c] < 2:
            recent[k, used[k] % room] = c
            used[k] += 1
    return matches, total


class Stopwatch:
    """Stands in for what finds the matches, and keeps the time each evaluation spends in it."""

    def __init__(self) -> None:
        self.followed = matcher.followed
        self.spent: list[tuple[float, float]] = [(0.0, 0.0)]

    def __call__(self, *arguments):
        start, busy = time.perf_counter(), time.process_time()
        result = self.followed(*arguments)
        clock, processor = self.spent[-1]
        taken = time.perf_counter() - start, time.process_time() - busy
        self.spent[-1] = clock + taken[0], processor + taken[1]
        return result

    def median(self) -> Seconds:
        """Return the median over the evaluations; all of them must have come by here."""
        if any(clock == 0.0 for clock, _ in self.spent[1:]):
            raise SystemExit("the query is no longer answered by the kernels that are timed")
        clock, processor = zip(*self.spent[1:], strict=True)
        return Seconds(statistics.median(clock), statistics.median(processor))


def main() -> None:
    """Measure."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else sized(10_000_000, 20_000)
    on_one_core()
    table, script = events(n), checked(SCRIPT)
    answer(script, table.slice(0, 1000), "q")
    watch = Stopwatch()

    def evaluated() -> pa.Table:
        watch.spent.append((0.0, 0.0))
        return answer(script, table, "q")

    with mock.patch.object(matcher, "followed", watch):
        whole, result = median_seconds(evaluated)
    kernel = watch.median()
    codes = np.asarray(table.column("kind").combine_chunks().dictionary_encode().indices)
    letters = table.column("kind").combine_chunks().dictionary_encode().dictionary.to_pylist()
    kinds = np.array([TYPES.index(letter) for letter in letters])[codes]
    columns = [table.column(c).to_numpy() for c in ("key", "t", "p")]
    naive(columns[0][:9], kinds[:9], columns[1][:9], columns[2][:9], 64)
    loop, (matches, total) = median_seconds(
        lambda: naive(columns[0], kinds, columns[1], columns[2], 64)
    )
    assert matches == result.num_rows, (matches, result.num_rows)
    assert abs(total - sum(result.column("confidence").to_numpy())) < 1e-6 * total
    record(
        "throughput",
        {
            "events": n,
            "matches": matches,
            **rates("kernel", n, kernel),
            **rates("arrow_to_arrow", n, whole),
            **rates("naive_loop", n, loop),
            "kernel_to_naive": round(loop.processor / kernel.processor, 2),
            "arrow_to_naive": round(loop.processor / whole.processor, 2),
        },
    )


if __name__ == "__main__":
    main()
