"""What one pushed event costs: microseconds per push, and bytes per live event.

One query, SEQ of three typed components of one key, a window of about ten events per key, two
attributes compared across components, a threshold. Time is the median over several runs, because
the machine may be busy; memory is what the allocator says that the live events of a query took.
"""

from __future__ import annotations

import gc
import random
import statistics
import time
import tracemalloc
from collections.abc import Iterator
from itertools import islice
from typing import Any

from augury import Session
from matching.harness import sized

SCRIPT = """
CREATE STREAM reads (id LONG, tag LONG, reader STRING, at LONG, price DOUBLE, weight LONG, p DOUBLE)
ID id KEY tag TIME at TYPE reader PROBABILITY p;
CREATE QUERY taken ON reads PATTERN SEQ(A x, B y, C z)
WHERE [tag] AND y.price > x.price AND z.weight > y.weight
WITHIN {window} HAVING CONFIDENCE >= 0.2
RETURN x.price AS price;
"""
KEYS, PER_KEY, EVENTS, RUNS = 100, 10, sized(20_000, 1_000), 7
LIVE, MANY_KEYS = (1_000, sized(1_000_000, 1_000)), sized(2_000, 20)
TYPES = "ABCDEFGH"


def rows(n: int, keys: int) -> Iterator[dict[str, Any]]:
    """Yield a seeded stream: eight types, of which the query names three."""
    rng = random.Random(20)
    for k in range(1, n + 1):
        yield {
            "id": k,
            "tag": rng.randrange(keys),
            "reader": rng.choice(TYPES),
            "at": k,
            "price": rng.random(),
            "weight": rng.randrange(1000),
            "p": rng.random(),
        }


def session(keys: int) -> Session:
    """Return a session whose window holds about ten events of each key."""
    ag = Session(engine="local")
    ag.sql(SCRIPT.format(window=keys * PER_KEY))
    return ag


def microseconds_per_push(events: list[dict[str, Any]]) -> tuple[float, int]:
    """Return the mean processor time of a push over one run, and how many matches came back."""
    ag = session(KEYS)
    ag.push("reads", events[0])
    matches = 0
    start = time.process_time()
    for row in events[1:]:
        matches += len(ag.push("reads", row))
    return (time.process_time() - start) / (len(events) - 1) * 1e6, matches


def microseconds_with_live_events(live: int, pushes: int) -> float:
    """Return the mean processor time of a push while so many events are live."""
    keys = max(1, live // PER_KEY)
    # Three events in eight can play; the window is so long that as many are live.
    ag = Session(engine="local")
    ag.sql(SCRIPT.format(window=live * len(TYPES) // 3))
    stream = rows(live * len(TYPES) // 3 + pushes, keys)
    for row in islice(stream, live * len(TYPES) // 3):
        ag.push("reads", row)
    rest = list(stream)
    start = time.process_time()
    for row in rest:
        ag.push("reads", row)
    return (time.process_time() - start) / len(rest) * 1e6


def bytes_per_live_event(keys: int) -> tuple[float, int]:
    """Return memory per live event once the window is full, and how many are live."""
    ag = session(keys)
    ag.push("reads", next(rows(1, keys)))
    gc.collect()
    tracemalloc.start()
    for row in rows(4 * keys * PER_KEY, keys):
        ag.push("reads", row)
    del row
    gc.collect()
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    live = len(ag._pushed.live.queries["taken"].ring)  # type: ignore[union-attr]
    return used / live, live


def main() -> None:
    """Print the figures."""
    stream = list(rows(EVENTS, KEYS))
    microseconds_per_push(stream)
    runs = [microseconds_per_push(stream) for _ in range(RUNS)]
    times = [each for each, _ in runs]
    print(
        f"push, one 3-step query: {statistics.median(times):.1f} us per event (median of {RUNS} "
        f"runs, {min(times):.1f} to {max(times):.1f}; {runs[0][1]} matches in {EVENTS} events)"
    )
    for live in LIVE:
        spent = microseconds_with_live_events(live, EVENTS)
        print(f"push, {live:,} live events: {spent:.1f} us per event")
    used, live = bytes_per_live_event(MANY_KEYS)
    print(f"memory: {used:.0f} bytes per live event ({live} live events of {MANY_KEYS} keys)")


if __name__ == "__main__":
    main()
