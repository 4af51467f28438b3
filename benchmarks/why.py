"""What an explanation costs: `why` and `why_not` over 100,000 rows, of a key, around a time.

Rows are read and checked before, as they are for the answers that one asks about. Kept: seconds,
and how many answers of `table` that is.
Run: python benchmarks/why.py [rows]
"""

from __future__ import annotations

import random
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from augury import Session
from matching.harness import record, sized

EVENTS = sized(100_000, 500)
SCRIPT = """
CREATE STREAM reads (id LONG, tag STRING, reader STRING, door STRING, t LONG, p DOUBLE)
ID id KEY tag TIME t TYPE reader PROBABILITY p;
CREATE QUERY theft ON reads PATTERN SEQ(SHELF x, !COUNTER y, EXIT z)
WHERE [tag] AND z.door <> 'staff' WITHIN 5000 HAVING CONFIDENCE >= 0.3;
"""


def rows(n: int) -> pa.Table:
    """Return reads of tags that are seen ten times each, and one that is put back."""
    rng = random.Random(1)
    kinds = rng.choices(("SHELF", "COUNTER", "EXIT"), (3, 6, 1), k=n)
    return pa.table(
        {
            "id": list(range(n)),
            "tag": [f"t{rng.randrange(max(1, n // 50))}" for _ in range(n - 2)] + ["put back"] * 2,
            "reader": [*kinds[: n - 2], "SHELF", "COUNTER"],
            "door": rng.choices(("main", "staff"), k=n),
            "t": list(range(n)),
            "p": [round(rng.uniform(0.3, 1), 2) for _ in range(n)],
        }
    )


def taken(what: Callable[[], Any]) -> tuple[float, Any]:
    """Return how long something takes, and what comes of it."""
    before = time.perf_counter()
    found = what()
    return time.perf_counter() - before, found


def main() -> None:
    """Measure, print and write down."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else EVENTS
    ag = Session(engine="local")
    ag.sql(SCRIPT)
    ag.bind("reads", rows(n))
    warnings.simplefilter("ignore")
    ag.why_not("theft", key="put back")
    answer_s, found = taken(lambda: ag.table("theft"))
    measured = {
        "why": lambda: ag.why(found.column("match_id")[0].as_py()),
        "why_not_of_a_key": lambda: ag.why_not("theft", key="put back"),
        "why_not_around_a_time": lambda: ag.why_not("theft", key="put back", around=n),
        "why_not_of_a_key_without_rows": lambda: ag.why_not("theft", key="nobody"),
    }
    figures: dict[str, Any] = {"rows": n, "matches": found.num_rows, "answer_s": round(answer_s, 3)}
    for name, what in measured.items():
        seconds, _ = taken(what)
        figures[name] = {"seconds": round(seconds, 3), "answers": round(seconds / answer_s, 1)}
        print(f"{name}: {seconds:.3f} s")
    record("why", figures)


if __name__ == "__main__":
    main()
