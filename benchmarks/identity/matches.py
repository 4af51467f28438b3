"""Whether matches over owners are as likely as is told: expected calibration error, in 20 bins.

    python benchmarks/identity/matches.py [events]

Visits: the same person entered a room and left it within half an hour. Many wards of `ward.py`'s
kind with 6 people and 10 rooms and stays without memory, so that all is exact and the law holds.
Every match is right or not, as told first and as told last. Writes
docs/benchmarks/identity_matches.json.
"""

from __future__ import annotations

import sys
import warnings
from time import process_time

import numpy as np

from augury import Session
from identity.calibration import error
from identity.ward import Walked, walked
from matching.harness import record, sized

EVENTS, A_WARD = sized(200_000, 500), 500
PLACES, STAFF, UNREAD = 10, 6, 0.25
SCRIPT = """
CREATE TABLE staff (person LONG, room STRING);
CREATE STREAM doors (id LONG, person LONG, action STRING, room STRING, t LONG)
ID id TIME t TYPE action;
CREATE MODEL ward MOVES (OBJECTS staff, OWNER person, PLACE room, ENTER 'ENTER', EXIT 'EXIT',
HALL 'H', STEP 1);
CREATE STREAM known AS IDENTIFY doors USING ward WITHIN 3600 REVISE ANY;
CREATE QUERY visit ON known PATTERN SEQ(ENTER x, EXIT e) WHERE [person] AND x.room = e.room
WITHIN 1800 RETURN x.id AS x, e.id AS e;
"""


def told_of(walk: Walked, people: int) -> list[dict]:
    """Return all that is told of visits."""
    ag = Session(engine="local")
    ag.sql(SCRIPT)
    ag.bind("staff", [{"person": k, "room": None} for k in range(people)])
    names = ("id", "person", "action", "room", "t")
    rows = [(r.id, r.person, r.type, r.place, r.time) for _, r in walk.rows]
    ag.bind("doors", [dict(zip(names, row, strict=True)) for row in rows])
    return ag.revisions("visit").to_pylist()


def judged(log: list[dict], walk: Walked) -> list[tuple[float, float, bool]]:
    """Return the first and the last confidence of each match in doubt, and whether it is right."""
    first, last = {row["match_id"]: row for row in reversed(log)}, {r["match_id"]: r for r in log}
    found = []
    for match, row in first.items():
        is_right = walk.owner[row["x"]] == walk.owner[row["e"]] == row["person"]
        if row["confidence"] < 1.0:
            found.append((row["confidence"], last[match]["confidence"], is_right))
    return found


def main() -> None:
    """Measure, print and write."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else EVENTS
    size, found, spent = min(A_WARD, n), [], 0.0
    warnings.simplefilter("ignore")
    for seed in range(max(n // size, 1)):
        walk = walked(seed, size, UNREAD, (STAFF, PLACES), is_memoryless=True)
        began = process_time()
        log = told_of(walk, STAFF)
        spent += process_time() - began
        found += judged(log, walk)
    first, last, right = (np.array(each) for each in zip(*found, strict=True))
    figures = {
        "events": n,
        "matches in doubt": len(found),
        "error, told first": round(error(first, right)[0], 5),
        "error, told last": round(error(last, right)[0], 5),
        "events a core-second": round(n / spent),
    }
    record("identity_matches", figures)


if __name__ == "__main__":
    main()
