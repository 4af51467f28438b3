"""A pushing session that is killed between two writes, started again, and goes on.

Run as a program it takes orders, a line of JSON each, and does each in a process of its own, which
may kill itself: `url` of the store, `seed` of the events, `kill_at` which step (0: none), and
`checkpoint`, a file, or nothing where all events are pushed again.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import warnings
from pathlib import Path
from typing import Any

from augury import Session

SCRIPT = """
CREATE STREAM doors (id LONG, worker STRING, action STRING, room STRING, t LONG)
ID id KEY worker TIME t TYPE action;
CREATE TABLE status (worker STRING, state STRING) KEY worker STORE ward;
CREATE TABLE counts (worker STRING, n LONG) KEY worker STORE ward;
CREATE TABLE alarms (id STRING, worker STRING, at LONG) KEY id STORE ward;
CREATE QUERY entered ON doors PATTERN SEQ(EXIT x, ENTER e)
WHERE [worker] AND x.room <> e.room
  AND 'warning' <> COALESCE((SELECT state FROM status WHERE worker = e.worker), 'none')
WITHIN 8;
CREATE QUERY cleaned ON doors PATTERN SEQ(CLEAN c) WHERE [worker] WITHIN 1;
CREATE RULE warn ON entered
BEGIN
    INSERT INTO status VALUES (new.worker, 'warning') ON CONFLICT DO UPDATE;
    INSERT INTO counts VALUES (new.worker, 1) ON CONFLICT DO UPDATE SET n = n + 1;
    INSERT INTO alarms VALUES (new.match_id, new.worker, new.end_ts);
END;
CREATE RULE calm ON cleaned DO UPDATE status SET state = 'safe' WHERE worker = new.worker;
"""
EVENTS, EVERY = 24, 5


def rows(seed: int) -> list[dict[str, Any]]:
    """Return the events of a ward of three."""
    chance = random.Random(seed)
    return [
        {
            "id": k,
            "worker": chance.choice("uvw"),
            "action": chance.choice(["EXIT", "ENTER", "ENTER", "CLEAN"]),
            "room": chance.choice("AB"),
            "t": k // 2,
        }
        for k in range(EVENTS)
    ]


def push(url: str, seed: int, kill_at: int, checkpoint: str | None) -> None:
    """Push all events, from the last checkpoint on; die at a step."""
    steps = 0

    def step(_: str) -> None:
        nonlocal steps
        steps += 1
        if steps == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    ag = Session(engine="local")
    ag.sql(f"CREATE STORE ward AT '{url}';{SCRIPT}")
    start, saved = 0, None if checkpoint is None else Path(checkpoint)
    if saved is not None and saved.exists():
        head, _, state = saved.read_bytes().partition(b"\n")
        start = int(head)
        ag.restore(state)
    acting = ag._pushed.runner().acting
    assert acting is not None
    assert acting.stores is not None
    acting.stores.stores["ward"].between = step
    for number, row in enumerate(rows(seed)[start:], start + 1):
        step("before a push")
        ag.push("doors", row)
        if saved is not None and number % EVERY == 0:
            new = saved.with_suffix(".new")
            new.write_bytes(b"%d\n" % number + ag.checkpoint())
            step("before a checkpoint counts")
            new.replace(saved)
    ag.finish()


def main() -> None:
    """Do what is ordered, each in a process of its own; say how it ended."""
    warnings.simplefilter("ignore")
    # What is loaded here is so in every child.
    warm = Session(engine="local")
    warm.sql(SCRIPT.replace(" STORE ward", ""))
    warm.push("doors", rows(0))
    warm.finish()
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                push(**json.loads(line))
                os._exit(0)
            except BaseException as error:
                sys.stderr.write(f"{error!r}\n")
                os._exit(1)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
