"""Rules with contents in the run's state: events a second, by how many candidates there are.

Two queries read a table, two rules write it; as many workers as keys. Printed are events a second
of the same queries without rules and with them.

    python benchmarks/rules/contents.py [events] [keys]

Seconds are those of the processor.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import pyarrow as pa

from augury import Session
from matching.harness import sized

EVENTS, KEYS = sized(10_000_000, 2_000), sized(100_000, 50)
SCRIPT = """
CREATE STREAM doors (id LONG, worker LONG, action STRING, room LONG, t LONG)
ID id KEY worker TIME t TYPE action;
CREATE TABLE status (worker LONG, state STRING) KEY worker;
CREATE QUERY unwashed ON doors PATTERN SEQ(EXIT x, ENTER e)
WHERE [worker] AND x.room <> e.room{safe} WITHIN 100000;
CREATE QUERY cleaned ON doors PATTERN SEQ(CLEAN c) WHERE [worker]{warned} WITHIN 1;
"""
SAFE = " AND 'safe' = (SELECT state FROM status WHERE worker = e.worker)"
WARNED = " AND 'warning' = (SELECT state FROM status WHERE worker = c.worker)"
RULES = """
CREATE RULE warn ON unwashed DO UPDATE status SET state = 'warning' WHERE worker = new.worker;
CREATE RULE calm ON cleaned DO UPDATE status SET state = 'safe' WHERE worker = new.worker;
"""


def doors(events: int, keys: int) -> pa.Table:
    """Return events of a ward in which most workers walk, and few do what queries ask for."""
    rng = np.random.default_rng(7)
    kinds = rng.choice(4, events, p=[0.88, 0.04, 0.04, 0.04])
    return pa.table(
        {
            "id": np.arange(events),
            "worker": rng.integers(0, keys, events),
            "action": pa.DictionaryArray.from_arrays(
                pa.array(kinds, pa.int32()), ["WALK", "EXIT", "ENTER", "CLEAN"]
            ),
            "room": rng.integers(0, 50, events),
            "t": np.arange(events),
        }
    )


def main() -> None:
    """Print the rates."""
    events = int(sys.argv[1]) if len(sys.argv) > 1 else EVENTS
    keys = int(sys.argv[2]) if len(sys.argv) > 2 else KEYS
    rows = doors(events, keys)
    plain = Session(engine="local")
    plain.sql(SCRIPT.format(safe="", warned=""))
    plain.bind("doors", rows)
    begin = time.process_time()
    found = sum(plain.table(name).num_rows for name in ("unwashed", "cleaned"))
    without = time.process_time() - begin
    ag = Session(engine="local")
    ag.sql(SCRIPT.format(safe=SAFE, warned=WARNED) + RULES)
    ag.bind("status", pa.table({"worker": np.arange(keys), "state": ["safe"] * keys}))
    ag.bind("doors", rows)
    begin = time.process_time()
    state = ag._acted.state()
    took = time.process_time() - begin
    print(f"{events:,} events, {keys:,} keys, {found:,} candidates, {len(state.firings):,} firings")
    print(f"without rules {events / without:>12,.0f} events/s")
    print(f"with rules    {events / took:>12,.0f} events/s, {took / without:.2f} times the time")


if __name__ == "__main__":
    main()
