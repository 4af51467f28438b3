"""SEQ of 7 in a window of 3,000 events, thresholds from 0 to 0.9: what an answer costs.

Three streams, by how many events of a type a window has: `even` twelve of each; `rare end` twenty,
but few of the last type, so that nearly all candidate paths lead nowhere; `dense` forty, for high
thresholds only. The time should follow the reported matches, not the candidate paths; those are
counted without listing them, by RETURN COUNT.
"""

from __future__ import annotations

import sys

import numpy as np
import pyarrow as pa

from augury.matching import find
from matching.harness import answer, chart, checked, median_seconds, on_one_core, record, sized

WINDOW, TYPES = 3000, "ABCDEFG"
THRESHOLDS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
PATTERN = "SEQ(A a, B b, C c, D d, E e, F f, G g)"
STREAM = """
CREATE STREAM s (id LONG, kind STRING, t LONG, p DOUBLE)
ID id TIME t TYPE kind PROBABILITY p;
"""


def script(threshold: float) -> str:
    """Return the query, and the counts of its beginnings."""
    having = f"HAVING CONFIDENCE >= {threshold}" if threshold else ""
    prefixes = "".join(
        f"CREATE QUERY n{k} ON s PATTERN SEQ({', '.join(f'{x} {x.lower()}' for x in TYPES[:k])}) "
        f"WITHIN {WINDOW} RETURN COUNT;"
        for k in range(2, 8)
    )
    limit = "MATCH LIMIT 100000000"
    query = f"CREATE QUERY q ON s PATTERN {PATTERN} WITHIN {WINDOW} {having} {limit};"
    return f"{STREAM} {prefixes} {query}"


PER_WINDOW = {
    "even": (12.0,) * 7,
    "rare end": (*(20.0,) * 6, 0.2),
    "dense": (40.0,) * 7,
}
LEAST = {"even": 0.0, "rare end": 0.0, "dense": 0.6}


def events(n: int, name: str) -> pa.Table:
    """Return one event per tick; those of no type in the pattern fill the window up."""
    rng = np.random.default_rng(4)
    share = np.array(PER_WINDOW[name]) / WINDOW
    kinds = rng.choice([*TYPES, "Z"], n, p=[*share, 1.0 - share.sum()])
    return pa.table(
        {"id": np.arange(n), "kind": kinds, "t": np.arange(n), "p": rng.uniform(0.4, 1.0, n)}
    )


def measured(table: pa.Table, least: float) -> list[dict[str, float]]:
    """Return matches and seconds for each threshold from `least` on."""
    found = []
    for threshold in (t for t in THRESHOLDS if t >= least):
        text = checked(script(threshold))
        seconds, result = median_seconds(lambda text=text: answer(text, table, "q"))
        found.append(
            {
                "threshold": threshold,
                "matches": result.num_rows,
                "seconds": round(seconds.processor, 4),
            }
        )
        print(found[-1], flush=True)
    return found


def without_bounds(table: pa.Table, least: float) -> list[dict[str, float]]:
    """Return the same, of a search that never makes bounds."""
    before, find.WORK_BEFORE_BOUNDS = find.WORK_BEFORE_BOUNDS, 2**62
    try:
        return measured(table, least)
    finally:
        find.WORK_BEFORE_BOUNDS = before


def candidates(table: pa.Table) -> int:
    """Return the number of partial paths that a search without pruning walks."""
    text = checked(script(0.0))
    return sum(answer(text, table, f"n{k}").column("count")[0].as_py() for k in range(2, 8))


def main() -> None:
    """Measure, and draw."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else sized(50_000, 3_000)
    on_one_core()
    figures: dict[str, object] = {"events": n, "window": WINDOW}
    for name in PER_WINDOW:
        table = events(n, name)
        answer(checked(script(0.5)), table.slice(0, 100), "q")
        figures[name] = {
            "candidate_paths": candidates(table),
            "with_bounds": measured(table, LEAST[name]),
            "without_bounds": without_bounds(table, LEAST[name]),
        }
    record("long_sequences", figures)
    for name in PER_WINDOW:
        own = figures[name]
        series = {
            "ms": [(r["threshold"], r["seconds"] * 1000) for r in own["with_bounds"]],
            "ms, no bounds": [(r["threshold"], r["seconds"] * 1000) for r in own["without_bounds"]],
            "matches": [(r["threshold"], r["matches"] or 1) for r in own["with_bounds"]],
        }
        title = f"SEQ of 7, window {WINDOW} events, {own['candidate_paths']:,} candidate paths"
        labels = ("threshold", "milliseconds; matches")
        chart(f"long_sequences_{name.replace(' ', '_')}", title, labels, series)


if __name__ == "__main__":
    main()
