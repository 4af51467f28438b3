"""Wang's figures 3.9 to 3.12: how long a match waits, and what is kept, by length and by rate.

Events come at a steady rate, whether or not those before them are done with, and wait in a buffer;
what is there is pushed together. A match's latency runs from the arrival of the event that makes it
known, the first that is later, until the push returns it. Reads go to PostgreSQL and take 1 ms
more; locks are on rows; readN is 1, writeN a quarter. Of some rounds in turns the best counts.

    PYTHONPATH=benchmarks python benchmarks/rules/latency.py [seconds]
"""

from __future__ import annotations

import sys
import time
from math import log10
from statistics import mean
from typing import Any

from matching.harness import chart, record, sized
from rules.stores import SCHEDULERS, Pushing, opened, rows, server

SECONDS, MOST, ROUNDS = 1.5, sized(3000, 20), 3
DELAY, READS, WRITES = 0.001, 1, 0.25
LENGTHS, SLOW = (2, 3, 4, 5, 6), 100
RATES, LENGTH = (50, 200, 1000, 2000, 5000, 20_000), 3
Turn = dict[str, float]


def driven(own: Pushing, rate: int, length: int, start: int, seconds: float) -> Turn:
    """Let events come at a rate; return mean latency in ms, and the most that was kept."""
    matches = max(4, int(min(seconds * rate, MOST) / length))
    events = rows(matches, WRITES, start, length)
    events.append({**events[-1], "id": -start - 1, "kind": "NONE", "t": events[-1]["t"] + 1})
    at, waits, buffered, versions = 0, list[float](), 0, 0
    begin = time.perf_counter()
    while at < len(events):
        upto = min(len(events), int((time.perf_counter() - begin) * rate) + 1)
        if upto == at:
            time.sleep(max(0.0, begin + at / rate - time.perf_counter()))
            continue
        batch, at = events[at:upto], upto
        buffered = max(buffered, len(batch))
        versions = max(versions, sum(row["kind"] == "MARK" for row in batch))
        told = own.push(batch)
        now = time.perf_counter() - begin
        # The event after a match's last one makes it known.
        waits += [now - (row["end_ts"] - start + 1) / rate for row in told]
    assert len(waits) == matches
    return {
        "milliseconds": round(1e3 * mean(waits), 2),
        "most_waiting_events": buffered,
        "most_versions": versions,
    }


def compared(url: str, length: int, rates: tuple[int, ...], seconds: float) -> dict[str, Any]:
    """Return the figures of all schedulers, by rate."""
    sessions = {s: opened(url, READS, (s, "row", DELAY), length) for s in SCHEDULERS}
    start, found = 0, dict[str, Any]()
    # The first turn opens lines to the store, and is not counted.
    for number, rate in enumerate((SLOW, *(rate for rate in rates for _ in range(ROUNDS)))):
        turn = {s: driven(own, rate, length, start, seconds) for s, own in sessions.items()}
        if number:
            known = found.setdefault(str(rate), turn)
            found[str(rate)] = {s: min(known[s], turn[s], key=_latency) for s in SCHEDULERS}
        start += MOST + length + 10
    for each in sessions.values():
        each.close()
    print(length, found, flush=True)
    return found


def _latency(turn: Turn) -> float:
    return turn["milliseconds"]


def main() -> None:
    """Measure, and draw."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    with server() as url:
        by_length = {str(n): compared(url, n, (SLOW,), seconds)[str(SLOW)] for n in LENGTHS}
        by_rate = compared(url, LENGTH, RATES, seconds)
    record(
        "rules_latency",
        {"rounds": ROUNDS, "slow": SLOW, "by_length": by_length, "by_rate": by_rate},
    )
    lengths = {float(n): each for n, each in by_length.items()}
    draw("rules_latency_by_length", "length of the sequence", lengths)
    powers = {round(log10(int(rate)), 1): each for rate, each in by_rate.items()}
    draw("rules_latency_by_rate", "events a second, as a power of ten", powers)
    draw("rules_kept_by_rate", "events a second, as a power of ten", powers, "most_waiting_events")


def draw(name: str, across: str, cells: dict[float, Any], what: str = "milliseconds") -> None:
    """Draw a line for each scheduler."""
    lines = {s: [(x, each[s][what]) for x, each in cells.items()] for s in SCHEDULERS}
    told = "latency" if what == "milliseconds" else "kept"
    chart(name, told, (across, what.replace("_", " ")), lines)


if __name__ == "__main__":
    main()
