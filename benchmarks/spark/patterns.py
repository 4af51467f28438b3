"""The queries of the Spark benchmarks, and their answers as plain sets of event ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import events
import pyarrow as pa

# Flink's WITHIN excludes the end of the window, augury's includes it.
INCLUSIVE = events.WINDOW - 1
COLUMNS = ["id", "key", "kind", "t", "p"]
ABC = "kind IN ('A', 'B', 'C')"

UNCERTAIN = f"""
CREATE STREAM s (id LONG, key LONG, kind STRING, t LONG, p DOUBLE)
ID id KEY key TIME t TYPE kind PROBABILITY p;
CREATE QUERY q ON s PATTERN SEQ(A a, B b, C c) WHERE [key]
WITHIN {INCLUSIVE} HAVING CONFIDENCE >= {events.THRESHOLD}
RETURN a.id AS a, b.id AS b, c.id AS c;
"""
CERTAIN = f"""
CREATE STREAM s (id LONG, key LONG, kind STRING, t LONG)
ID id KEY key TIME t TYPE kind;
CREATE QUERY q ON s PATTERN SEQ(A a, B b, C c) WHERE [key] {{using}}
WITHIN {INCLUSIVE} RETURN a.id AS a, b.id AS b, c.id AS c;
"""
NEXT_MATCH = CERTAIN.format(using="USING SKIP TILL NEXT MATCH")
ANY_MATCH = CERTAIN.format(using="")


def asked(
    script: str,
    rows: Any,
    spark: Any = None,
    columns: Sequence[str] | None = None,
    **options: Any,
) -> Any:
    """Return the answer of query `q` over the rows: of Spark if given, else in this process."""
    import augury  # noqa: PLC0415

    ag = augury.Session(spark, **options) if spark else augury.Session(engine="local")
    ag.sql(script)
    ag.bind("s", rows)
    return ag.table("q", columns)


def triples(table: pa.Table) -> pa.Table:
    """Return the ids of the matched events in one order, so that equal sets are equal tables."""
    ids = table.select(["a", "b", "c"]).cast(pa.schema([(n, pa.int64()) for n in "abc"]))
    return ids.sort_by([(name, "ascending") for name in "abc"]).combine_chunks()


def require_equal(found: dict[str, pa.Table]) -> int:
    """Return the number of matches; end the run if two engines disagree."""
    (first, table), *others = found.items()
    for name, other in others:
        if not table.equals(other):
            raise SystemExit(
                f"{first} found {table.num_rows} matches and {name} {other.num_rows}, and they "
                "are not the same"
            )
    return table.num_rows
