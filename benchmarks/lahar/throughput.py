"""What chains cost: rows per second in the kernels and end to end, against deciding and sampling.

A regular query of three subgoals over independent streams, and over Markovian ones; each row is a
tuple (or a table entry). `certain` is the same work on the most likely values alone. Sampling is at
error 0.1, risk 0.1. Run: python benchmarks/lahar/throughput.py [chains 1000] [steps 200]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from augury.matching.marginal import BEGINNING, Beliefs, Marginaliser, MarginalState
from augury.matching.sampled import ends, sample_size
from augury.matching.waiting_line import Node, Sign, WaitingLine
from augury.matching.worlds import Step
from lahar.lines import draw
from matching.harness import Seconds, median_seconds, on_one_core, record, sized

VALUES = 5
BY_STEPS = (100, 200, 400, 800, 1600)
LINE = WaitingLine(
    (Node(0, 0, (1,), False), Node(1, 0, (2,), False), Node(2, 0, (), True)), (0,), "NEXT"
)


def line_of(subgoals: int) -> WaitingLine:
    """Return a sequence of that many subgoals."""
    nodes = [Node(k, 0, (k + 1,), False) for k in range(subgoals - 1)]
    return WaitingLine((*nodes, Node(subgoals - 1, 0, (), True)), (0,), "NEXT")


def independent(chains: int, steps: int, values: int = VALUES) -> Beliefs:
    """Return `values` alternatives of each chain and step; value k matches component k."""
    rng = np.random.default_rng(1)
    n = chains * steps * values
    chain = np.repeat(np.arange(chains), steps * values)
    time = np.tile(np.repeat(np.arange(steps), values), chains)
    value = np.tile(np.arange(values), chains * steps)
    p = rng.dirichlet(np.ones(values), chains * steps).ravel()
    matches = np.where(value < 3, 1 << value, 0)
    none = np.zeros(n, np.int64)
    return Beliefs(chain, time, chain * steps + time, none, none, p, matches, matches)


def certain(rows: Beliefs) -> Beliefs:
    """Return the most likely row of each chain and step, as if it were certain."""
    best = rows.p.reshape(-1, VALUES).argmax(axis=1) + np.arange(0, len(rows), VALUES)
    kept = rows.take(best)
    return Beliefs(
        kept.chain,
        kept.time,
        kept.group,
        kept.origin,
        kept.value,
        np.ones(len(kept)),
        kept.matches,
        kept.accepted,
    )


def markovian(chains: int, steps: int, values: int = VALUES) -> Beliefs:
    """Return full tables between `values` hidden values of each chain and step."""
    rng = np.random.default_rng(2)
    each = values * values
    chain = np.repeat(np.arange(chains), steps * each)
    time = np.tile(np.repeat(np.arange(steps), each), chains)
    origin = np.tile(np.repeat(np.arange(values), values), chains * steps) + 2
    value = np.tile(np.arange(values), chains * steps * values)
    p = rng.dirichlet(np.ones(values), chains * steps * values).ravel()
    first = time == 0
    kept = ~first | (origin == 2)
    origin = np.where(first, BEGINNING, origin)
    matches = np.where(value < 3, 1 << value, 0)
    rows = Beliefs(chain, time, np.arange(len(p)), origin, value + 2, p, matches, matches)
    return rows.take(kept)


def carried(operator: Marginaliser, rows: Beliefs) -> tuple[MarginalState, Any]:
    """Carry all rows in one batch."""
    return operator.advance(operator.start(rows), rows, 2**61)


def seconds(work: Callable[[], Any]) -> Seconds:
    """Return the median after one round that compiles."""
    work()
    return median_seconds(work)[0]


def sampled_seconds(rows: Beliefs, chains: int) -> Seconds:
    """Return what sampling the same rows takes, on the first chains."""
    size, rng = sample_size(0.1, 0.1), np.random.default_rng(3)
    steps: dict[int, list[Step]] = {}
    for c in range(chains):
        own = rows.take(rows.chain == c)
        for t in np.unique(own.time).tolist():
            at = np.flatnonzero(own.time == t).tolist()
            group = [(float(own.p[k]), Sign(int(own.matches[k]), int(own.accepted[k]))) for k in at]
            steps.setdefault(c, []).append(Step(t, (group,)))
    return seconds(lambda: [ends(LINE, own, size, rng) for own in steps.values()])


def main() -> None:
    """Print and store the figures."""
    chains, steps = (int(a) for a in [*sys.argv[1:], sized(1000, 10), 200][:2])
    on_one_core()
    rows, tables = independent(chains, steps), markovian(chains, steps)
    plain, linked = Marginaliser(LINE), Marginaliser(LINE, is_markovian=True)
    whole = seconds(lambda: carried(plain, rows))
    decided = seconds(lambda: carried(plain, certain(rows)))
    sampled = sampled_seconds(rows, 5)
    figures: dict[str, Any] = {
        "chains": chains,
        "steps": steps,
        "independent_tuples_per_core_second": round(len(rows) / whole.processor),
        "markovian_entries_per_core_second": round(
            len(tables) / seconds(lambda: carried(linked, tables)).processor
        ),
        "times_the_cost_of_most_likely_values": round(whole.processor / decided.processor, 2),
        "times_faster_than_sampling": round(sampled.processor / 5 / (whole.processor / chains), 1),
        "seconds_by_steps": {
            str(s): round(seconds(lambda own=own: carried(plain, own)).processor, 4)
            for s, own in ((s, independent(chains, s)) for s in BY_STEPS)
        },
        "state_bytes_per_chain_by_steps": {
            str(s): _state_bytes(linked, markovian(20, s)) for s in (50, 500)
        },
    }
    record("lahar_throughput", figures)
    line = [(float(x), y) for x, y in figures["seconds_by_steps"].items()]
    draw("lahar_seconds_by_steps", "seconds of one core by steps", "steps", {"chain": line})


def _state_bytes(operator: Marginaliser, rows: Beliefs) -> int:
    state, _ = carried(operator, rows)
    return (state.value.nbytes + state.mass.nbytes) // state.n_chains


if __name__ == "__main__":
    main()
