"""How fast owners are told, and how far off a sample is.

    python benchmarks/identity/feasibility.py [events]

The ward of `ward.py`. A quarter unread: exact throughout, from rows to tellings and from an Arrow
table to the rows of `revisions`, by the processor's time of one core. 45 % unread: what is told
first, and all that is told at the same moment, against ten times the states (total variation). At
30 %, where the exact answer can still be had: how often a sampled probability is further off than
its bound. Writes docs/benchmarks/identity_feasibility.json.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np
import pyarrow as pa

from augury.evaluation.identifying import Identifying
from augury.identity.identifier import Identifier
from augury.identity.telling import Tellings
from identity.ward import PEOPLE, Walked, identifier, told_of, walked
from matching.harness import checked, on_one_core, record, sized

EVENTS, SEEDS = sized(10_000, 500), (1, 2, 3)
SAMPLED, TIMES = 2_000, 10
AGAINST = 1_500
SCRIPT = """
CREATE TABLE staff (person LONG, room STRING);
CREATE STREAM doors (id LONG, person LONG, action STRING, room STRING, t LONG)
ID id TIME t TYPE action;
CREATE MODEL ward MOVES (
    OBJECTS staff, OWNER person, PLACE room, ENTER 'ENTER', EXIT 'EXIT', HALL 'H', STEP 1
);
CREATE STREAM known AS IDENTIFY doors USING ward WITHIN 3600 REVISE ANY;
"""


def timed(who: Identifier, walk: Walked) -> tuple[Tellings, float]:
    """Return what is told, and events a second of one core's work."""
    busy = time.process_time()
    told = told_of(who, walk)
    return told, len(walk.rows) / (time.process_time() - busy)


def through_arrow(walk: Walked) -> tuple[int, float]:
    """Return how many rows of revisions there are, and events a second from table to table."""
    catalog, _ = checked(SCRIPT)
    staff = pa.table({"person": list(range(PEOPLE)), "room": pa.nulls(PEOPLE, pa.string())})
    rows = [row for _, row in walk.rows]
    columns = {"id": "id", "person": "person", "action": "type", "room": "place", "t": "time"}
    doors = pa.table({name: [getattr(row, own) for row in rows] for name, own in columns.items()})
    stage = Identifying(catalog, lambda _: None, lambda _: staff).stage("known")
    busy = time.process_time()
    _, tidings = stage.advance(stage.start(), doors)
    return tidings.told.num_rows, len(rows) / (time.process_time() - busy)


def by_moment(told: Tellings, walk: Walked) -> dict[tuple[int, int], tuple[np.ndarray, float, int]]:
    """Return P(owner), bound and revision of each telling of an unread event, by event and time."""
    shares = np.zeros((len(told), PEOPLE))
    shares[told.rows_of, told.person] = told.p
    unread = set(walk.unread)
    return {
        (told.ids[told.event[t]], int(told.as_of[t])): (
            shares[t],
            float(told.bound[t]),
            int(told.revision[t]),
        )
        for t in range(len(told))
        if told.ids[told.event[t]] in unread
    }


def against(few: Tellings, many: Tellings, walk: Walked) -> dict[str, float]:
    """Return how far what is told is from what is told of more states."""
    own, other = by_moment(few, walk), by_moment(many, walk)
    both = [(own[key], other[key]) for key in own if key in other]
    off = np.array([0.5 * np.abs(a[0] - b[0]).sum() for a, b in both])
    first = np.array([a[2] == 0 for a, _ in both])
    return {"told first": float(off[first].mean()), "all told": float(off.mean())}


def bounds(few: Tellings, exact: Tellings, walk: Walked) -> dict[str, float]:
    """Return how often a sampled probability is further off than its bound."""
    own, truth = by_moment(few, walk), by_moment(exact, walk)
    both = [(own[k], truth[k]) for k in own if own[k][1] > 0 and k in truth and truth[k][1] == 0]
    far = [np.abs(a[0] - b[0]).max() > a[1] + 1e-9 for a, b in both]
    mean = float(np.mean([a[1] for a, _ in both])) if both else 0.0
    return {"sampled tellings": len(both), "outside": int(np.sum(far)), "mean bound": mean}


def main() -> None:
    """Measure, print and write."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else EVENTS
    on_one_core()
    told_of(identifier(), walked(0, 200, 0.25))
    figures: dict[str, object] = {"events": n, "seeds": len(SEEDS)}
    quarter, memory = [], []
    for seed in SEEDS:
        walk = walked(seed, n, 0.25)
        told, rate = timed(identifier(), walk)
        rows, whole = through_arrow(walk)
        share = float((told.bound > 0).mean())
        memory.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
        quarter.append(
            {
                "events a second": round(rate),
                "table to table": round(whole),
                "rows told": rows,
                "sampled share": share,
            }
        )
    figures["25 %"], figures["most memory after each, MB"] = quarter, memory
    nearly = []
    for seed in SEEDS:
        walk = walked(seed, min(n, SAMPLED), 0.45)
        few, rate = timed(identifier(), walk)
        many, slow = timed(identifier(limit=TIMES * 2_000), walk)
        off = {name: round(each, 4) for name, each in against(few, many, walk).items()}
        nearly.append(
            {
                "events a second": round(rate),
                "with ten times the states": round(slow),
                "total variation": off,
            }
        )
    figures["45 %"] = nearly
    kept = []
    for seed in SEEDS:
        walk = walked(seed, min(n, AGAINST), 0.30)
        kept.append(
            bounds(
                told_of(identifier(limit=100), walk), told_of(identifier(limit=20_000), walk), walk
            )
        )
    figures["30 %, bounds of 64 to 128 states against the exact answer"] = kept
    record("identity_feasibility", figures)


if __name__ == "__main__":
    main()
