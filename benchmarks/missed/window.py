"""Time per event as the window grows tenfold, where two components may be missed.

    python benchmarks/missed/window.py

Under AYAC's scoring with a threshold above the square of the miss rate, and under the law with one
above the best score of two missed components: in both, edges over two missed components are removed
at planning. Two streams. `many tags`: short visits of many tags, so that a window of ten times the
length holds ten times as many reads, and as many of one tag. `one tag`: reads of x and y without
end, and never a z, so that all that a read costs is to be kept for later. Writes
docs/benchmarks/missed-window.json and a chart; seconds are those of the processor.
"""

from __future__ import annotations

import sys

import numpy as np
import pyarrow as pa

from augury import Session
from matching.harness import chart, median_seconds, on_one_core, record, sized

EVENTS, WINDOWS = sized(200_000, 600), (600, 1200, 2400, 4200, 6000)
RATE, PER_TAG = 0.1, 6
GAPS = """x BEFORE y EXPONENTIAL(60) REACHES 0.9, x TO y EXPONENTIAL(60) REACHES 0.9,
y TO z EXPONENTIAL(60) REACHES 0.9"""
SCORINGS = {"AYAC": 0.02, "LAW": 0.3}
STATES = 3


def many_tags(n: int) -> pa.Table:
    """Return reads of tags that pass three readers, in any order, within 500 ticks."""
    rng = np.random.default_rng(3)
    tag = np.repeat(np.arange(n // PER_TAG), PER_TAG)
    at = np.repeat(rng.integers(0, 33 * n, n // PER_TAG), PER_TAG) + rng.integers(0, 500, len(tag))
    kind = np.array(["X", "Y", "Z"])[rng.integers(0, 3, len(tag))]
    return pa.table({"tag": tag, "kind": kind, "t": at}).sort_by("t")


def one_tag(n: int) -> pa.Table:
    """Return reads of x and y, one in five ticks."""
    kind = np.array(["X", "Y"])[np.random.default_rng(3).integers(0, 2, n)]
    return pa.table({"tag": np.zeros(n, np.int64), "kind": kind, "t": 5 * np.arange(n)})


def session(scoring: str, window: int, allow: str) -> Session:
    """Return a session with the query."""
    ag = Session(engine="local")
    ag.sql(f"""
    CREATE STREAM s (tag LONG, kind STRING, t LONG) KEY tag TIME t TYPE kind MISS RATE {RATE};
    CREATE QUERY q ON s PATTERN SEQ(X x, Y y, Z z) WHERE [tag] WITHIN {window}
    {allow} HAVING CONFIDENCE >= {SCORINGS[scoring]} SCORING {scoring};
    CREATE GAPS g ON q ({GAPS});""")
    return ag


def measured(reads: pa.Table, scoring: str, window: int, allow: str) -> dict[str, float]:
    """Return what one event costs in one state, and how many matches there are."""
    ag = session(scoring, window, allow)

    def work() -> int:
        ag.bind("s", reads)
        return ag.table("q").num_rows

    work()
    seconds, found = median_seconds(work)
    micros = 1e6 * seconds.processor / reads.num_rows / STATES
    removed = ag.explain("q").count("removed")
    return {"window": window, "us_per_event_and_state": round(micros, 4), "matches": found,
            "edges_removed": removed}  # fmt: skip


def main() -> None:
    """Measure, print and write."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else EVENTS
    on_one_core()
    figures: dict[str, object] = {"events": n}
    lines = {}
    for name, reads, allow in (
        ("many tags", many_tags(n), "ALLOW 2 MISSED"),
        ("one tag", one_tag(n), "ALLOW 2 MISSED OF (x, y)"),
    ):
        for scoring in SCORINGS:
            found = [measured(reads, scoring, window, allow) for window in WINDOWS]
            cost = [each["us_per_event_and_state"] for each in found]
            figures[f"{name}, {scoring}"] = {
                "by_window": found,
                "last_to_first": cost[-1] / cost[0],
            }
            lines[f"{name}, {scoring}"] = list(zip(WINDOWS, cost, strict=True))
    record("missed-window", figures)
    title = "two components may be missed: cost as the window grows"
    chart("missed-window", title, ("window, in ticks", "microseconds per event and state"), lines)


if __name__ == "__main__":
    main()
