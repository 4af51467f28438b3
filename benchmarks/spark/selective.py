"""A query to which 1 % of the events matter, against the same query where all do.

10 M events, of types A, B and C where they matter and of another type where they do not. The query
is that of `floor.py`. It is asked again in a tenth of its window and without a threshold: then
there are few matches where all matter, too, and what is compared is what is read and moved. Through
Spark, what does not matter is dropped by its scan and never moved. Where workers read the files
themselves, both take less time, and what they share, the reading, is more of it.
Run: python benchmarks/spark/selective.py
"""

from __future__ import annotations

from typing import Any

import events
from measuring import (
    drain,
    medians,
    ratio,
    read_by,
    record,
    scaled,
    session,
    shown,
    warm_workers,
)
from patterns import INCLUSIVE, UNCERTAIN, asked

RARELY = UNCERTAIN.replace(
    f"WITHIN {INCLUSIVE} HAVING CONFIDENCE >= {events.THRESHOLD}", f"WITHIN {INCLUSIVE // 10}"
)
assert RARELY != UNCERTAIN
QUERIES = {"pattern": UNCERTAIN, "few_matches": RARELY}
WAYS = {"through_spark": "spark", "by_workers": "workers"}


def measured(spark: Any, n: int) -> dict[str, Any]:
    """Return seconds and the ratios."""
    folders = {
        "all": events.files(n, types="ABC"),
        "one_percent": events.files(n, types="ABC", relevant=0.01),
    }
    return {"events": n, **{name: compared(spark, text, folders) for name, text in QUERIES.items()}}


def compared(spark: Any, script: str, folders: dict[str, Any]) -> dict[str, Any]:
    """Return seconds and the ratio of one query."""
    found = {
        f"{name}_{by}": asked(script, read_by(spark, reader, folder), spark)
        for by, reader in WAYS.items()
        for name, folder in folders.items()
    }
    warm_workers(*(found[f"{name}_by_workers"] for name in folders))
    taken = medians({name: lambda f=frame: drain(f) for name, frame in found.items()})
    return {
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
