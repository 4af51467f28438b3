"""Rules with contents in the run's state: events a second, by how many candidates there are.

Two queries read a table, two rules write it; as many workers as keys. Measured are events a second
of the same queries without rules and with them, and the bytes of the state that a stream keeps from
batch to batch, after a tenth of the candidates and more.

    PYTHONPATH=benchmarks python benchmarks/rules/contents.py [events] [keys]

Seconds are those of the processor.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury import Session
from augury.evaluation.stages.act import ActStage
from matching.harness import record, sized

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


def session(rows: pa.Table, keys: int, *, acts: bool) -> Session:
    """Return a session over the rows, with rules or without."""
    ag = Session(engine="local")
    ag.sql(SCRIPT.format(safe=SAFE if acts else "", warned=WARNED if acts else ""))
    if acts:
        ag.sql(RULES)
        ag.bind("status", pa.table({"worker": np.arange(keys), "state": ["safe"] * keys}))
    ag.bind("doors", rows)
    return ag


def kept(ag: Session, steps: int = 10) -> list[dict[str, Any]]:
    """Settle candidates in steps of time; return firings so far, and bytes kept, after each."""
    stage = ActStage.of(ag._declared.catalog, ag._declared.checked_queries, ag._bound.rows)
    runner, state, fired = ag._bound.local_runner(), stage.start(), 0
    found = list[dict[str, Any]]()
    rows = {name: runner.table(name) for name in stage.acting.candidates}
    ends = np.linspace(
        -1, max(pc.max(r.column("end_ts")).as_py() for r in rows.values()), steps + 1
    )
    for start, end in zip(ends[:-1].astype(int), ends[1:].astype(int), strict=True):
        own = {
            name: each.filter((pc.field("end_ts") > start) & (pc.field("end_ts") <= end))
            for name, each in rows.items()
        }
        state, acted = stage.advance(state, own, int(end) + 1)
        fired += len(acted.firings)
        found.append({"firings": fired, "bytes": len(stage.dump(state))})
    return found


def main() -> None:
    """Measure the rates and the state."""
    events = int(sys.argv[1]) if len(sys.argv) > 1 else EVENTS
    keys = int(sys.argv[2]) if len(sys.argv) > 2 else KEYS
    rows = doors(events, keys)
    plain = session(rows, keys, acts=False)
    begin = time.process_time()
    found = sum(plain.table(name).num_rows for name in ("unwashed", "cleaned"))
    without = time.process_time() - begin
    ag = session(rows, keys, acts=True)
    begin = time.process_time()
    state = ag._acted.state()
    took = time.process_time() - begin
    figures = {
        "events": events,
        "keys": keys,
        "candidates": found,
        "firings": len(state.firings),
        "without_events_per_second": round(events / without),
        "with_events_per_second": round(events / took),
        "times_the_time": round(took / without, 2),
        "state": kept(session(rows, keys, acts=True)),
    }
    record("rules_contents", figures)


if __name__ == "__main__":
    main()
