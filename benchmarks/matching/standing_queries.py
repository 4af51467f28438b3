"""1,000 standing queries of length 10 over a pool of 50 predicates (P-ToPSS's default workload).

Of the nine steps of a query two are non-contiguous, at random places, and the others contiguous:
SEQ of three NEXT(...). The stream is random events from the pool, in which full matches of random
queries are sown. Run: python benchmarks/matching/standing_queries.py [events, 1 million]
"""

from __future__ import annotations

import random
import sys
import time

import numpy as np
import pyarrow as pa

from augury.evaluation.evaluator import Evaluator
from matching.harness import checked, median_seconds, on_one_core, rates, record, sized

QUERIES, LENGTH, POOL, LOOSE, WINDOW = 1000, 10, 50, 2, 100
STREAM = "CREATE STREAM s (id LONG, v LONG, t LONG) ID id TIME t;"


def workload(rng: random.Random) -> list[list[list[int]]]:
    """Return queries as lists of terms; a term is a list of values that follow each other."""
    found = []
    for _ in range(QUERIES):
        values = [rng.randrange(POOL) for _ in range(LENGTH)]
        cuts = sorted(rng.sample(range(1, LENGTH), LOOSE))
        found.append([values[a:b] for a, b in zip([0, *cuts], [*cuts, LENGTH], strict=True)])
    return found


def query_text(number: int, terms: list[list[int]]) -> str:
    """Return CREATE QUERY for the terms."""
    names = iter(f"x{k}" for k in range(LENGTH))
    parts = []
    for term in terms:
        inside = [f"_ {name} ({name}.v = {value})" for value in term for name in [next(names)]]
        parts.append(f"NEXT({', '.join(inside)})" if len(inside) > 1 else inside[0])
    return f"CREATE QUERY q{number} ON s PATTERN SEQ({', '.join(parts)}) WITHIN {WINDOW};"


def events(n: int, queries: list[list[list[int]]], rng: random.Random) -> pa.Table:
    """Return random events; about every 1,000 events, a query's terms with noise between them."""
    values: list[int] = []
    while len(values) < n:
        values += [rng.randrange(POOL) for _ in range(1000)]
        for term in rng.choice(queries):
            values += [*term, rng.randrange(POOL), rng.randrange(POOL)]
    return pa.table({"id": np.arange(n), "v": np.array(values[:n]), "t": np.arange(n)})


def main() -> None:
    """Measure."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else sized(1_000_000, 2_000)
    on_one_core()
    rng = random.Random(3)
    queries = workload(rng)
    start = time.perf_counter()
    catalog, known = checked(STREAM + "".join(query_text(k, q) for k, q in enumerate(queries)))
    plans: dict = {}
    Evaluator(catalog, known, {"s": events(1000, queries, rng)}, plans=plans).run_all()
    prepared = time.perf_counter() - start
    table = events(n, queries, rng)

    def together() -> dict[str, pa.Table]:
        return Evaluator(catalog, known, {"s": table}, plans=plans).run_all()

    seconds, found = median_seconds(together)
    some = [f"q{k}" for k in range(0, QUERIES, QUERIES // 10)]
    alone = Evaluator(catalog, known, {"s": table}, plans=plans)
    start = time.process_time()
    for name in some:
        assert alone.table(name).num_rows == found[name].num_rows, name
    one_by_one = (time.process_time() - start) / len(some) * QUERIES
    record(
        "standing_queries",
        {
            "events": n,
            "queries": QUERIES,
            "matches": sum(result.num_rows for result in found.values()),
            "seconds_to_check_and_plan": round(prepared, 2),
            **rates("together", n, seconds),
            "estimated_core_seconds_one_by_one": round(one_by_one, 1),
            "gain": round(one_by_one / seconds.processor, 1),
        },
    )


if __name__ == "__main__":
    main()
