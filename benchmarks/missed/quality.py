"""How many complex events come back that plain matching loses to missed reads.

    python benchmarks/missed/quality.py [room.parquet]

A simulated store: an item leaves the shelf (x), is paid for (y) or not, and leaves the store (z). A
theft is x and z without y between them. Every reader misses a quarter of the reads, so plain
matching loses thefts whose x or z was missed, and calls the honest thieves whose y was. The
threshold is chosen on one store, as the lowest that is more precise than plain matching there, and
judged on another. With the path of the RFID room, a bed exit (on the bed, then walking) is looked
for in trials from which neither gaps nor threshold were learned. Writes
docs/benchmarks/missed-quality.json.
"""

from __future__ import annotations

import json
import sys

import numpy as np
import pyarrow as pa

from augury import Session
from matching.harness import FIGURES, sized
from missed.room import bed_exits
from missed.simulated import reads_of

TAGS, RATE, PAID = sized(150_000, 2_000), 0.25, 0.7
# Precision differs from store to store; what is chosen must hold on the next one.
TO_SPARE = 0.003
QUERY = "PATTERN SEQ(X x, !Y y, Z z) WHERE [tag] WITHIN 20000"
GAPS = f"""
x TO y EXPONENTIAL(1000) REACHES {PAID}, x TO z GAMMA(4000, 4), x BEFORE z GAMMA(4000, 4)"""


def store(seed: int) -> tuple[pa.Table, np.ndarray]:
    """Return what was read, and which tags were really stolen."""
    rng = np.random.default_rng(seed)
    start = rng.uniform(0, 1e8, TAGS)
    y = np.where(rng.random(TAGS) < PAID, start + rng.exponential(1000, TAGS), np.inf)
    z = start + rng.gamma(4.0, 1000.0, TAGS)
    return reads_of({"X": start, "Y": y, "Z": z}, RATE, rng), y >= z


def asked(reads: pa.Table, clauses: str, gaps: str) -> pa.Table:
    """Return the answer of the query."""
    ag = Session(engine="local")
    ag.sql(f"""
    CREATE STREAM s (tag LONG, kind STRING, t LONG) KEY tag TIME t TYPE kind MISS RATE {RATE};
    CREATE QUERY q ON s {QUERY} {clauses};
    {f"CREATE GAPS g ON q ({gaps});" if gaps else ""}""")
    ag.bind("s", reads)
    return ag.table("q")


def found(reads: pa.Table, clauses: str, gaps: str) -> set[int]:
    """Return the tags of the matches."""
    return set(asked(reads, clauses, gaps).column("tag").to_pylist())


def graded(tags: set[int], true: np.ndarray) -> dict[str, float]:
    """Return precision and recall."""
    hits = sum(bool(true[tag]) for tag in tags)
    precision = hits / len(tags) if tags else 1.0
    return {"precision": round(precision, 4), "recall": round(hits / int(true.sum()), 4)}


def allowing(threshold: float) -> str:
    """Return the clauses of a query that may miss a read."""
    return f"ALLOW 1 MISSED HAVING CONFIDENCE >= {threshold}"


def chosen_threshold(seed: int) -> float:
    """Return the lowest threshold that is more precise than plain matching, on another store."""
    reads, true = store(seed)
    least = graded(found(reads, "", ""), true)["precision"] + TO_SPARE
    answer = asked(reads, allowing(0.1), GAPS)
    best: dict[int, float] = {}
    for tag, own in zip(
        *(answer.column(name).to_pylist() for name in ("tag", "confidence")), strict=True
    ):
        best[tag] = max(own, best.get(tag, 0.0))
    tags = sorted(best, key=best.__getitem__, reverse=True)
    right = np.cumsum([bool(true[tag]) for tag in tags])
    falls = np.append(np.diff([best[tag] for tag in tags]) < 0, True)
    precise = falls & (right / np.arange(1, len(tags) + 1) >= least)
    # Of equal confidences all are accused or none; a millionth is for rounding.
    return round(best[tags[int(np.flatnonzero(precise)[-1])]] - 1e-6, 6)


def main() -> None:
    """Measure, print and write."""
    threshold = chosen_threshold(9)
    reads, true = store(10)
    plain = graded(found(reads, "", ""), true)
    own = graded(found(reads, allowing(threshold), GAPS), true)
    figures: dict[str, object] = {
        "miss rate": RATE,
        "plain": plain,
        "one missed, threshold chosen on another store": own | {"threshold": threshold},
        "points of recall gained": round(100 * (own["recall"] - plain["recall"]), 1),
        "points of precision gained": round(100 * (own["precision"] - plain["precision"]), 1),
    }
    if len(sys.argv) > 1:
        figures["bed exits"] = bed_exits(sys.argv[1])
    for name, each in figures.items():
        print(name, each)
    (FIGURES / "missed-quality.json").write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
