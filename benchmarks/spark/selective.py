"""A query to which 1 % of the events matter, against the same query where all do.

10 M events, of types A, B and C where they matter and of another type where they do not; a short
window keeps the number of matches small in both, so that what is compared is what is moved. No
threshold: rows that cannot reach one are left where they are, so not all would matter. Through
Spark, what does not matter is dropped by its scan and never moved. Where workers read the files
themselves, both queries take less time, and what they share, the reading, is more of it.
Run: python benchmarks/spark/selective.py
"""

from __future__ import annotations

from typing import Any

import events
from measuring import drain, medians, ratio, read_by, record, scaled, session, shown
from patterns import INCLUSIVE, UNCERTAIN, asked

RARELY = UNCERTAIN.replace(
    f"WITHIN {INCLUSIVE} HAVING CONFIDENCE >= {events.THRESHOLD}", f"WITHIN {INCLUSIVE // 10}"
)
assert RARELY != UNCERTAIN
WAYS = {"through_spark": "spark", "by_workers": "workers"}


def measured(spark: Any, n: int) -> dict[str, Any]:
    """Return seconds and the ratio."""
    folders = {
        "all": events.files(n, types="ABC"),
        "one_percent": events.files(n, types="ABC", relevant=0.01),
    }
    found = {
        f"{name}_{by}": asked(RARELY, read_by(spark, reader, folder), spark)
        for by, reader in WAYS.items()
        for name, folder in folders.items()
    }
    taken = medians({name: lambda f=frame: drain(f) for name, frame in found.items()})
    return {
        "events": n,
        "matches": {name: frame.count() for name, frame in found.items()},
        "seconds": shown(taken),
        **{
            f"times_faster_{by}": ratio(taken[f"all_{by}"], taken[f"one_percent_{by}"])
            for by in WAYS
        },
    }


def main() -> None:
    """Measure."""
    with session("selective") as spark:
        figures = measured(spark, scaled(10_000_000))
    record("spark_selective", figures)


if __name__ == "__main__":
    main()
