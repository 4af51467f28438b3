"""What protects: time and memory of queries that once took all there was, as their input grows.

Each case is run in a process of its own at 1, 4 and 16 times its size: all pairs of a stream, which
must end in an error in words; a condition over two streams, sampled world by world; failures of
which one match is enough; a window of events and a negated sequence over uncertain rows; and the
plan of a query of which every component may be missed. Printed and kept: seconds of the processor,
the most memory that the process took, and what came out.
Run: python benchmarks/limits.py
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from augury import DataError, Session
from matching.harness import chart, record, scale

TIMES = (1, 4, 16) if scale() >= 1 else (1, 2)
UNCERTAIN = """
CREATE STREAM s (id LONG, kind STRING, t LONG, p DOUBLE) ID id TIME t TYPE kind PROBABILITY p;
CREATE QUERY q ON s PATTERN {pattern};
"""
Rows = dict[str, list[dict[str, Any]]]
Case = tuple[str, Rows]


def uncertain(pattern: str, n: int) -> Case:
    """Return a query over random uncertain events, one a tick."""
    rng = random.Random(1)
    rows = [
        {"id": k, "kind": rng.choice("ABC"), "t": k, "p": round(rng.uniform(0.1, 0.9), 2)}
        for k in range(n)
    ]
    return UNCERTAIN.format(pattern=pattern), {"s": rows}


def pairs(n: int) -> Case:
    """Return all pairs of a stream without a window."""
    return uncertain("SEQ(A a, B b)", n)


def sampled(n: int) -> Case:
    """Return a condition over two streams."""
    rng = random.Random(1)
    script = """
    CREATE STREAM R (x LONG, t LONG, p DOUBLE) KEY x TIME t PROBABILITY p;
    CREATE STREAM S (y LONG, t LONG, p DOUBLE) KEY y TIME t PROBABILITY p;
    CREATE QUERY q ON R, S AS sigma{x<y}(R(x); S(y)) APPROXIMATE (0.05, 0.05);
    """

    def rows(column: str, first: int) -> list[dict[str, Any]]:
        return [
            {column: rng.randrange(1000), "t": 2 * k + first, "p": round(rng.uniform(0.1, 0.9), 2)}
            for k in range(n // 2)
        ]

    return script, {"R": rows("x", 0), "S": rows("y", 1)}


def certain(n: int) -> Case:
    """Return failures within a minute, all certain."""
    script = """
    CREATE STREAM log (ip LONG, kind STRING, ts LONG) TIME ts TYPE kind;
    CREATE QUERY q ON log PATTERN SEQ(FAIL a, FAIL b, FAIL c, FAIL d)
    WHERE [ip] AND d.ts - a.ts <= 60 GROUP BY ip RETURN PROBABILITY;
    """
    return script, {"log": [{"ip": k % 3, "kind": "FAIL", "ts": k} for k in range(n)]}


def counted(n: int) -> Case:
    """Return a window of events, with the threshold without which its answer has no end."""
    pattern = "SEQ(C* a, !B b, B{2,3} c, A d) WITHIN 5 EVENTS HAVING CONFIDENCE >= 0.001"
    return uncertain(pattern, n)


def negated(n: int) -> Case:
    """Return a negated sequence."""
    return uncertain("SEQ(A a, !SEQ(B b, A c), C d) WITHIN 40", n)


def missed(n: int) -> Case:
    """Return a sequence of which every component may be missed; n are its rows."""
    families = ("EXPONENTIAL(10)", "LOGNORMAL(12, 0.5)", "GAMMA(9, 3)")
    return missed_after([families[k % 3] for k in range(6)], "EXPONENTIAL(10)", n)


def bent(n: int) -> Case:
    """Return the same with gaps that bend: of 60 random mixes the one that took longest to plan."""
    gaps = ("LOGNORMAL(10, 0.5)", "GAMMA(20, 7)", "UNIFORM(5, 20)", "GAMMA(10, 0.6)")
    return missed_after([*gaps, "GAMMA(3, 0.6)", "UNIFORM(1, 6)"], "UNIFORM(5, 20)", n)


def missed_after(gaps: list[str], before: str, n: int) -> Case:
    """Return a sequence of seven with a gap before each but the first, and one looking back."""
    names = "tuvwxyz"
    told = ", ".join(f"{a} TO {b} {gap}" for (a, b), gap in zip(pairwise(names), gaps, strict=True))
    script = f"""
    CREATE STREAM s (tag LONG, kind STRING, t LONG) KEY tag TIME t TYPE kind MISS RATE 0.1;
    CREATE QUERY q ON s PATTERN SEQ({", ".join(f"{x.upper()} {x}" for x in names)})
    WHERE [tag] WITHIN 100 ALLOW ALL MISSED;
    CREATE GAPS g ON q ({told}, t BEFORE u {before});
    """
    rows = [{"tag": k // 7, "kind": names[k % 7].upper(), "t": 5 * k} for k in range(n)]
    return script, {"s": rows}


CASES: dict[str, tuple[Callable[[int], Case], int]] = {
    "all_pairs": (pairs, 15_000),
    "sampled": (sampled, 2500),
    "certain": (certain, 400),
    "window_of_events": (counted, 250),
    "negated_sequence": (negated, 250),
    "all_missed": (missed, 70),
    "all_missed_bent": (bent, 70),
}


def measured(name: str, n: int) -> dict[str, Any]:
    """Return what one case takes in this process, and what comes out of it."""
    script, rows = CASES[name][0](n)
    ag = Session(engine="local")
    ag.sql(script)
    for stream, own in rows.items():
        ag.bind(stream, own)
    clock, start = time.perf_counter(), time.process_time()
    try:
        came = f"{ag.table('q').num_rows:,} rows"
    except DataError as error:
        came = str(error)
    return {
        "rows": n,
        "seconds": round(time.process_time() - start, 2),
        "clock_seconds": round(time.perf_counter() - clock, 2),
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "came": came,
    }


def apart(name: str, n: int) -> dict[str, Any]:
    """Return the same of a process of its own, whose memory is the case's."""
    command = [sys.executable, __file__, name, str(n)]
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    found: dict[str, Any] = json.loads(told.splitlines()[-1])
    return found


def main() -> None:
    """Measure every case at every size; or one, for the process that asks for it."""
    if len(sys.argv) > 2:
        print(json.dumps(measured(sys.argv[1], int(sys.argv[2]))))
        return
    found = {}
    for name, (_, n) in CASES.items():
        found[name] = [apart(name, n * k) for k in TIMES]
        for each in found[name]:
            print(name, each, flush=True)
    record("limits", {"cases": found})
    lines = {
        name.replace("_", " "): [(k, each["seconds"]) for k, each in zip(TIMES, own, strict=True)]
        for name, own in found.items()
    }
    chart("limits", "Seconds as the input grows", ("times the input", "seconds"), lines)


if __name__ == "__main__":
    main()
