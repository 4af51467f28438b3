"""augury against the queries that a Spark user would write for SEQ of 3, over certain events.

Every match (skip till any match): a self-join on the key with bounds on time, and the same join cut
into time bins as wide as the window, which a patient user comes to. The next match only: frames
that look ahead as far as the window, as WITHIN would be written; and two that do without such
frames, LEAD, which skips what is of another type, and window functions that look back in rows
sorted backwards, so that each frame grows by one row. (Frames that look ahead to the end of the key
take Spark ten times as long.) All are asked for the ids of the three events, over 2 M events and
over 10 M, for the next match over 50 M, too, and must find the same. Spark has a heap of 8 GB here.

A self-join compares all pairs of a key, once for every step; over 10 M events it is asked for SEQ
of 3 and of 7. Beside it stand bare Spark of `floor.py`, which moves the rows of SEQ of 3 and
computes nothing, and augury where Spark reads the files for it: what goes through Spark's scan,
shuffle, sort and Arrow cannot be faster than the former.
Run: python benchmarks/spark/against_plain_spark.py
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import events
import pyarrow.dataset as ds
from floor import bare
from measuring import (
    cores,
    drain,
    medians,
    ratio,
    read_by,
    record,
    scaled,
    scratch,
    session,
    shown,
    warm_workers,
)
from patterns import ANY_MATCH, INCLUSIVE, NEXT_MATCH, asked, require_equal, triples

BINNED_SELF_JOIN = f"""
WITH binned AS (
    SELECT *, CAST(FLOOR(t / {INCLUSIVE}) AS LONG) AS bin FROM events
    WHERE kind IN ('A', 'B', 'C')
), ahead AS (
    SELECT *, EXPLODE(ARRAY(bin, bin + 1)) AS reach FROM binned WHERE kind = 'A'
), pairs AS (
    SELECT a.id AS a, a.t AS start, b.id AS b, b.t, b.key, b.bin
    FROM ahead a JOIN binned b ON b.key = a.key AND b.bin = a.reach
    WHERE b.kind = 'B' AND b.t > a.t AND b.t <= a.t + {INCLUSIVE}
), further AS (
    SELECT *, EXPLODE(ARRAY(bin, bin + 1)) AS reach FROM pairs
)
SELECT p.a, p.b, c.id AS c
FROM further p JOIN binned c ON c.key = p.key AND c.bin = p.reach
WHERE c.kind = 'C' AND c.t > p.t AND c.t <= p.start + {INCLUSIVE}
"""
# Plain Spark sorts in its heap; over 50 M events some of its queries do not fit into two gigabytes.
HEAP = {"spark.driver.memory": "8g"}
# Rounds before those that count. The JVM compiles for some seconds what it runs for the first time,
# beside queries that take a tenth of a second over few events.
WARM_UPS = {"few": 5, "many": 1, "most": 1}
# By the function that picks an event, and the frame.
NEAREST = f"""
WITH nearest_c AS (
    SELECT id, key, kind, t,
        {{pick}}(IF(kind = 'C', NAMED_STRUCT('id', id, 't', t), NULL)) IGNORE NULLS
        OVER (PARTITION BY key ORDER BY {{frame}}) AS c
    FROM events WHERE kind IN ('A', 'B', 'C')
), nearest_b AS (
    SELECT id, kind, t,
        {{pick}}(IF(kind = 'B', NAMED_STRUCT('id', id, 'c', c), NULL)) IGNORE NULLS
        OVER (PARTITION BY key ORDER BY {{frame}}) AS b
    FROM nearest_c
)
SELECT id AS a, b.id AS b, b.c.id AS c FROM nearest_b
WHERE kind = 'A' AND b.c.t <= t + {INCLUSIVE}
"""
FRAMES_AHEAD = NEAREST.format(
    pick="FIRST", frame=f"t RANGE BETWEEN 1 FOLLOWING AND {INCLUSIVE} FOLLOWING"
)
LEAD = NEAREST.format(pick="LEAD", frame="t")
WINDOW_FUNCTIONS = NEAREST.format(
    pick="LAST", frame="t DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
)


def frames(spark: Any, rows: Any) -> dict[str, dict[str, Any]]:
    """Return the lazy answers, by question."""
    rows.createOrReplaceTempView("events")
    return {
        "any_match": {
            "augury": asked(ANY_MATCH, rows, spark, ["a", "b", "c"]),
            "self_join": spark.sql(in_order("ABC")[1]),
            "binned_self_join": spark.sql(BINNED_SELF_JOIN),
        },
        "next_match": {
            "augury": asked(NEXT_MATCH, rows, spark, ["a", "b", "c"]),
            "frames_ahead": spark.sql(FRAMES_AHEAD),
            "lead": spark.sql(LEAD),
            "window_functions": spark.sql(WINDOW_FUNCTIONS),
        },
    }


def compared(answers: dict[str, Any], folder: Path, n: int, warm_ups: int) -> dict[str, Any]:
    """Return the figures of one question."""
    for name, answer in answers.items():
        answer.write.mode("overwrite").parquet(str(folder / name))
    found = {name: triples(ds.dataset(folder / name).to_table()) for name in answers}
    warm_workers(answers["augury"])
    pieces = {name: lambda k=name: drain(answers[k]) for name in answers}
    taken = medians(pieces, warm_ups=warm_ups, roused={"augury"})
    return {
        "events": n,
        "matches": require_equal(found),
        "seconds": shown(taken),
        "augury_events_per_second": round(n / taken["augury"].clock),
        "times_faster_than": {
            name: ratio(taken[name], taken["augury"], 1) for name in answers if name != "augury"
        },
    }


def in_order(types: str) -> tuple[str, str]:
    """Return a script and a self-join for every match of one event of each type, in order."""
    parts = [f"{kind} {kind.lower()}" for kind in types]
    names = [kind.lower() for kind in types]
    returned = ", ".join(f"{name}.id AS {name}" for name in names)
    script = ANY_MATCH.replace("SEQ(A a, B b, C c)", f"SEQ({', '.join(parts)})")
    script = script.replace("a.id AS a, b.id AS b, c.id AS c", returned)
    joins = "".join(
        f" JOIN events {name} ON {name}.key = a.key AND {name}.t > {before}.t"
        f" AND {name}.t <= a.t + {INCLUSIVE}"
        for before, name in pairwise(names)
    )
    kinds = " AND ".join(f"{name}.kind = '{name.upper()}'" for name in names)
    return script, f"SELECT {returned} FROM events a{joins} WHERE {kinds}"


def grown(spark: Any, n: int, types: str) -> dict[str, Any]:
    """Return the figures of every match over more events."""
    folder, names = events.files(n), [kind.lower() for kind in types]
    script, self_join = in_order(types)
    through = asked(script, read_by(spark, "spark", folder), spark, names)
    rows = read_by(spark, "workers", folder)
    rows.createOrReplaceTempView("events")
    answers = {
        "augury": asked(script, rows, spark, names),
        "augury_through_spark": through,
        "self_join": spark.sql(self_join),
        "bare_spark": bare(rows, cores()),
    }
    warm_workers(answers["augury"], answers["augury_through_spark"])
    pieces = {name: lambda k=name: drain(answers[k]) for name in answers}
    taken = medians(pieces, roused={"augury", "augury_through_spark", "bare_spark"})
    counts = {name: answers[name].count() for name in ("augury", "self_join")}
    if len(set(counts.values())) > 1:
        raise SystemExit(f"the numbers of matches differ: {counts}")
    return {
        "events": n,
        "matches": counts["augury"],
        "seconds": shown(taken),
        "times_faster": ratio(taken["self_join"], taken["augury"], 1),
        "bare_spark_times_faster": ratio(taken["self_join"], taken["bare_spark"], 1),
    }


def main() -> None:
    """Measure."""
    few, many, most = scaled(2_000_000), scaled(10_000_000), scaled(50_000_000)
    figures: dict[str, Any] = {}
    with session("plain Spark", **HEAP) as spark, scratch() as folder:
        for name, n in (("few", few), ("many", many), ("most", most)):
            questions = frames(spark, spark.read.parquet(str(events.files(n))))
            if name == "many":
                # It is compared beside bare Spark, below.
                del questions["any_match"]["self_join"]
            if name == "most":
                del questions["any_match"]
            figures[name] = {
                question: compared(answers, folder / name / question, n, WARM_UPS[name])
                for question, answers in questions.items()
            }
        for types in ("ABC", "ABCDEFG"):
            figures[f"seq_of_{len(types)}"] = grown(spark, many, types)
    record("spark_against_plain_spark", figures)


if __name__ == "__main__":
    main()
