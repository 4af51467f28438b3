"""Lahar's figure 14: a safe plan against sampling, by objects and by the length of the trace.

The query is `R(x); S(x); T('a', y)`. 14 (a): 60 steps of 1 to 30 objects; 14 (b): three objects,
ever longer traces; once more with a last subgoal that is a thousand times less likely, where the
plan can forget no start and takes the square of the length. The plan is exact; sampling is timed at
several errors, each at risk 0.1, for the number of its worlds grows with the inverse square of the
error that is asked for. An error of 0.2 takes one machine word, the least that sampling can do.
Run: python benchmarks/lahar/safe_plan.py [rounds of the length, 8]
"""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np

from augury import Session
from augury.evaluation.evaluator import Evaluator
from augury.evaluation.probability.chain_inputs import ChainInputs, chain_inputs_of
from augury.matching.intervals import sequence_probabilities
from augury.matching.sampled import ends, sample_size
from augury.planning.chain_plan import ChainPlan, plan_chain
from lahar.lines import draw
from lahar.throughput import seconds
from matching.harness import machine, on_one_core, record, sized

OBJECTS, STEPS, ERRORS = (1, 3, 10, 30), 60, (0.2, 0.1, 0.01)
RISK = 0.1
SAFE = """
CREATE STREAM R (value STRING, t LONG, p DOUBLE) KEY value TIME t PROBABILITY p;
CREATE STREAM S (value STRING, t LONG, p DOUBLE) KEY value TIME t PROBABILITY p;
CREATE STREAM T (value STRING, other STRING, t LONG, p DOUBLE) KEY value TIME t PROBABILITY p;
CREATE QUERY q AS R(x); S(x); T('a', y);
"""
Times = dict[str, float]


def timed(plan: ChainPlan, feed: ChainInputs) -> Times:
    """Return the seconds of the safe plan, and of sampling at each error."""
    steps = [feed.steps(key) for key in feed.parts]
    exact = seconds(lambda: [sequence_probabilities(plan.line, own) for own in steps])
    found = {"safe plan": round(exact.processor, 4)}
    for error in ERRORS:
        size, rng = sample_size(error, RISK), np.random.default_rng(1)
        drawn = seconds(lambda n=size, r=rng: [ends(plan.line, own, n, r) for own in steps])
        found[f"sampled, error {error}"] = round(drawn.processor, 4)
    return found


def safe_feed(length: int, values: list[str], last: float = 1.0) -> tuple[ChainPlan, ChainInputs]:
    """Return a trace of three streams, one event a step for each value or for a value drawn.

    Events of the last subgoal are `last` times as likely as the others.
    """
    rng, rows = random.Random(1), dict[str, list[dict[str, Any]]]()
    for stream in "RST":
        told = [(v, t) for t in range(length) for v in (values or [rng.choice("abc")])]
        rows[stream] = [{"value": v, "t": t, "p": rng.random()} for v, t in told]
    rows["T"] = [row | {"other": "b", "p": last * row["p"]} for row in rows["T"]]
    ag = Session(engine="local")
    ag.sql(SAFE)
    for stream, own in rows.items():
        ag.bind(stream, own)
    query = ag._declared.queries["q"][0]
    plan = plan_chain(query, ag._declared.catalog)
    assert isinstance(plan, ChainPlan)
    runner = Evaluator(ag._declared.catalog, {"q": query}, dict(ag._bound.rows))
    feed = chain_inputs_of(plan, [runner._load(s.name) for s in query.streams], {}, {})
    assert isinstance(feed, ChainInputs)
    return plan, feed


def main() -> None:
    """Print and store the figures and charts."""
    rounds = int([*sys.argv[1:], sized(8, 3)][0])
    on_one_core()
    names = ["a", *(f"v{k}" for k in range(1, max(OBJECTS)))]
    figures: dict[str, Any] = {
        "machine": machine(),
        "seconds_by_concurrent_objects": {
            str(n): timed(*safe_feed(STEPS, names[:n])) for n in OBJECTS
        },
        "seconds_by_length_of_trace": {
            str(25 * 2**k): timed(*safe_feed(25 * 2**k, [])) for k in range(rounds)
        },
        "seconds_by_length_where_nothing_is_forgotten": {
            str(25 * 2**k): timed(*safe_feed(25 * 2**k, [], 0.001)) for k in range(rounds)
        },
    }
    record("lahar_safe_plan", figures)
    for name, across in (
        ("seconds_by_concurrent_objects", "objects at once, 60 steps"),
        ("seconds_by_length_of_trace", "steps of the trace, 3 objects"),
        ("seconds_by_length_where_nothing_is_forgotten", "steps of the trace, weak last subgoal"),
    ):
        lines: dict[str, list[tuple[float, float]]] = {}
        for x, own in figures[name].items():
            for label, taken in own.items():
                lines.setdefault(label, []).append((float(x), taken))
        draw(f"lahar_{name}", "seconds, safe plan and sampling", across, lines)


if __name__ == "__main__":
    main()
