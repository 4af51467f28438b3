"""How many events a second a policy decides about, and what it costs those who read behind it.

    python benchmarks/privacy/throughput.py [events]

A ward: twenty events a second, of twelve types and a hundred workers, who are equated. Ten public
and four private sequences of two to six types, in windows of half a minute to two hours, as in
figure 4.8 of Wang's thesis; then the same where every prefix is kept, one by one. Rows come as an
Arrow table, and what is measured ends with the kept rows and the log of decisions. Then the window
grows while prefixes do not: first events become as much rarer as it grows. Then fifty sequences in
short windows, whose public matches are asked for with and without the policy. Writes
docs/benchmarks/privacy-throughput.json.
"""

from __future__ import annotations

import sys

import numpy as np
import pyarrow as pa

from augury import Session
from augury.evaluation.stages.suppress import SuppressStage
from augury.evaluation.stream_rows import StreamRows
from augury.planning.policy_plan import plan_policy
from matching.harness import median_seconds, on_one_core, rates, record, sized

EVENTS, HISTORY = sized(1_000_000, 3_000), sized(20_000, 300)
TYPES, WORKERS, A_SECOND = "ABCDEFGHIJKL", 100, 20
STREAM = """
CREATE STREAM s (id LONG, type STRING, t LONG, worker LONG) ID id TIME t TYPE type;
CREATE STREAM h (id LONG, type STRING, t LONG, worker LONG) ID id TIME t TYPE type;
"""
METHODS = {
    "greedy": "GREEDY",
    "types": "TYPES LEARN FROM h",
    "rates": "HYBRID RATES LEARN FROM h PATIENCE 1",
    "periodic": "HYBRID PERIODIC PERIOD 250000 LEARN FROM h PATIENCE 1",
    "rates, learning on": "HYBRID RATES LEARN FROM h ONLINE PATIENCE 1",
}
# What is decided about prefix by prefix, over so many times fewer events.
BY_PREFIX = {
    "rates of the last ten minutes": "HYBRID RATES LEARN ONLINE OVER 600000 PATIENCE 1",
    "cycles, learning on": "HYBRID PERIODIC PERIOD 250000 LEARN FROM h ONLINE PATIENCE 1",
    "conditions between events": METHODS["rates"],
}
FEWER = 100
# Times are milliseconds.
LONG, SHORT = (30_000, 7_200_000), (2_000, 30_000)
WINDOWS, FIRST_EVERY = (60_000, 600_000, 6_000_000), 1.5


def ward(count: int, begin: int, seed: int, weights: np.ndarray | None = None) -> pa.Table:
    """Return events, of types that are as likely as their weights."""
    rng = np.random.default_rng(seed)
    # Each moment is that of one event: those of equal times are in no sequence.
    gaps = np.maximum(1, rng.exponential(1000 / A_SECOND, count).astype(np.int64))
    return pa.table(
        {
            "id": np.arange(count),
            "type": pa.array(np.array(list(TYPES))[rng.choice(len(TYPES), count, p=weights)]),
            "t": begin + np.cumsum(gaps),
            "worker": rng.integers(0, WORKERS, count),
        }
    )


def sequences(count: int, windows: tuple[int, int], rng: np.random.Generator) -> list[str]:
    """Return patterns of two to six types."""
    found = []
    for _ in range(count):
        kinds = rng.choice(list(TYPES), rng.integers(2, 7))
        parts = ", ".join(f"{kind} x{k}" for k, kind in enumerate(kinds))
        window = int(np.exp(rng.uniform(*np.log(windows))))
        found.append(f"PATTERN SEQ({parts}) WHERE [worker] WITHIN {window}")
    return found


def declared(public: list[str], private: list[str], cost: float = 1.0) -> tuple[str, str]:
    """Return the queries, and a policy without its method; private ones cost more and more."""
    queries = [f"CREATE QUERY q{k} ON s {each};" for k, each in enumerate(public)]
    queries += [f"CREATE QUERY p{k} ON s {each};" for k, each in enumerate(private)]
    gains = ", ".join(f"q{k} WEIGHT {k % 10 + 1}" for k in range(len(public)))
    costs = ", ".join(f"p{k} WEIGHT {cost * 10 ** (k % 4)}" for k in range(len(private)))
    return "\n".join(queries), f"CREATE POLICY pol ON s PUBLIC {gains} PRIVATE {costs} USING "


def staged(script: str) -> SuppressStage:
    """Return the stage of the policy of a script."""
    ag = Session(engine="local")
    ag.sql(STREAM + script)
    catalog = ag._declared.catalog
    plan = plan_policy(catalog.policies["pol"], ag._declared.checked_queries, catalog, {})
    return SuppressStage(plan, catalog.streams["s"])


def decided(script: str, rows: pa.Table, before: pa.Table) -> dict[str, float]:
    """Return how fast rows are decided about, and the share that is kept."""
    stage = staged(script)
    past, own = (StreamRows(stage.stream, each, each.slice(0, 0)) for each in (before, rows))
    stage.advance(stage.start(past), StreamRows(stage.stream, rows.slice(0, 10), own.rejected))
    states = [stage.start(past) for _ in range(3)]
    seconds, passed = median_seconds(lambda: stage.advance(states.pop(), own)[1])
    return rates("decided", rows.num_rows, seconds) | {"kept": round(float(passed.keeps.mean()), 3)}


def by_method(count: int) -> dict[str, dict[str, float]]:
    """Return the figures of each method with ten public and four private sequences."""
    rng = np.random.default_rng(48)
    queries, policy = declared(sequences(10, LONG, rng), sequences(4, LONG, rng))
    rows, before = ward(count, 0, 1), ward(HISTORY, -2_000_000, 2)
    return {
        name: decided(f"{queries}\n{policy}{method};", rows, before)
        for name, method in METHODS.items()
    }


def by_prefix(count: int) -> dict[str, dict[str, float]]:
    """Return the figures of what keeps every prefix, with the same sequences."""
    rng, found = np.random.default_rng(48), {}
    queries, policy = declared(sequences(10, LONG, rng), sequences(4, LONG, rng))
    joined = queries.replace("[worker]", "[worker] AND x0.id <= x1.id")
    rows, before = ward(count // FEWER, 0, 1), ward(HISTORY // FEWER, -2_000_000, 2)
    for name, method in BY_PREFIX.items():
        own = joined if name.startswith("conditions") else queries
        found[name] = decided(f"{own}\n{policy}{method};", rows, before)
    return found


def by_window(count: int) -> dict[str, dict[str, float]]:
    """Return the figures for windows that grow while the events that begin prefixes grow rarer."""
    found = {}
    for window in WINDOWS:
        public = [
            f"PATTERN SEQ(A x0, {kind} x1, C x2) WHERE [worker] WITHIN {window}" for kind in "BDEF"
        ]
        private = [f"PATTERN SEQ(A x0, {kind} x1) WHERE [worker] WITHIN {window}" for kind in "GH"]
        queries, policy = declared(public, private)
        weights = np.ones(len(TYPES))
        weights[0] = FIRST_EVERY * len(TYPES) * WORKERS * 1000 / A_SECOND / window
        rows = ward(count, 0, 3, weights / weights.sum())
        script = f"{queries}\n{policy}{METHODS['greedy']};"
        found[str(window)] = decided(script, rows, rows.slice(0, 0))
    return found


def behind(count: int) -> dict[str, float]:
    """Return how fast fifty sequences are asked for, with and without a policy."""
    rng = np.random.default_rng(49)
    # So cheap that nearly all is kept: else there is less to find behind the policy.
    queries, policy = declared(sequences(36, SHORT, rng), sequences(14, SHORT, rng), 1e-6)
    rows, before = ward(count, 0, 4), ward(HISTORY, -2_000_000, 5)
    _asked(queries, rows.slice(0, 1000), before)
    asked = {"without": "", "with": f"{policy}{METHODS['rates']};"}
    found = dict[str, float]()
    for name, more in asked.items():
        seconds, _ = median_seconds(lambda more=more: _asked(queries + more, rows, before))
        found |= rates(name, count, seconds)
    found["share"] = round(
        found["with_events_per_core_second"] / found["without_events_per_core_second"], 3
    )
    return found


def _asked(script: str, rows: pa.Table, before: pa.Table) -> int:
    ag = Session(engine="local")
    ag.sql(STREAM + script)
    ag.bind("s", rows)
    ag.bind("h", before)
    return sum(ag.table(f"q{k}").num_rows for k in range(36))


def main() -> None:
    """Measure all three."""
    on_one_core()
    count = int(sys.argv[1]) if sys.argv[1:] else EVENTS
    record(
        "privacy-throughput",
        {
            "events": count,
            "ten_public_four_private": by_method(count),
            "prefix_by_prefix": by_prefix(count),
            "by_window_in_ms_greedy": by_window(count),
            "fifty_sequences": behind(count),
        },
    )


if __name__ == "__main__":
    main()
