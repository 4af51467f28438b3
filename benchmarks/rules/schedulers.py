"""Wang's schedulers over a store (figures 3.5 to 3.8): moments a second, by reads, writes, locks.

Every event is a moment that reads `readN` tables by key in PostgreSQL; a part of them, `writeN`,
also writes. They are all there at once; the clock runs while they are settled and committed, not
while matches are searched. The same again with 1 ms added to every read, which is a store in the
next room. Schedulers take turns, and of several rounds the fastest counts: whatever else a machine
does makes it slower.

    PYTHONPATH=benchmarks python benchmarks/rules/schedulers.py [moments] [rounds]
"""

from __future__ import annotations

import sys
from statistics import mean
from typing import Any

from matching.harness import record, sized
from rules.stores import SCHEDULERS, Pushing, opened, rows, server

MOMENTS, ROUNDS = sized(200, 12), 5
READS, WRITES = (1, 2, 3, 4, 5, 6), (0.125, 0.25, 0.5, 1.0)
GRAINS, DELAYS = ("row", "table"), (0.001, 0.0)
Cell = dict[str, Any]


class Turns:
    """One session of each scheduler; they push the same rows, one after another."""

    def __init__(self, url: str, reads: int, grain: str, delay: float) -> None:
        self.sessions: dict[str, Pushing] = {
            scheduler: opened(url, reads, (scheduler, grain, delay)) for scheduler in SCHEDULERS
        }
        self.reads, self.reached = reads, 0
        # Lines are opened, and the pace is found.
        self.measured(40, 1, 0.25)

    def measured(self, moments: int, rounds: int, writes: float) -> Cell:
        """Return moments a second of each scheduler, the best of some rounds."""
        best = dict.fromkeys(SCHEDULERS, 0.0)
        for _ in range(rounds):
            events = rows(moments, writes, self.reached)
            self.reached += len(events)
            last = {"id": self.reached, "kind": "NONE", "worker": "w0", "t": self.reached}
            self.reached += 1
            for scheduler, own in self.sessions.items():
                before = own.seconds
                own.push([*events, last])
                best[scheduler] = max(best[scheduler], moments / (own.seconds - before))
        rates = {scheduler: round(rate) for scheduler, rate in best.items()}
        return {"reads": self.reads, "writes": writes, **rates}

    def close(self) -> None:
        """End all sessions."""
        for each in self.sessions.values():
            each.close()


def figure(url: str, how_many: tuple[int, int], grain: str, delay: float) -> dict[str, Any]:
    """Return the figures of one kind of locks, near or far, and LWM's ratios over readN."""
    by_reads, by_writes = list[Cell](), list[Cell]()
    for reads in READS:
        turns = Turns(url, reads, grain, delay)
        by_reads.append(turns.measured(*how_many, 0.25))
        if reads == 1:
            by_writes = [turns.measured(*how_many, writes) for writes in WRITES]
        turns.close()
        print(grain, delay, by_reads[-1], flush=True)
    found: dict[str, Any] = {"by_reads": by_reads, "by_writes": by_writes}
    for other in ("sei", "s2pl"):
        ratios = [each["lwm"] / each[other] for each in by_reads]
        found[f"lwm_to_{other}"] = round(mean(ratios), 2)
        found[f"least_lwm_to_{other}"] = round(min(ratios), 2)
    return found


def main() -> None:
    """Measure all figures."""
    given = [int(each) for each in sys.argv[1:]]
    moments, rounds = (*given, *(MOMENTS, ROUNDS)[len(given) :])
    found = dict[str, Any]()
    with server() as url:
        for delay in DELAYS:
            for grain in GRAINS:
                name = f"{grain} locks, {delay * 1e3:g} ms added"
                found[name] = figure(url, (moments, rounds), grain, delay)
                record("rules_schedulers", {"moments": moments, "rounds": rounds, **found})


if __name__ == "__main__":
    main()
