"""Lahar's figures 12, 13 and 14: objects, subgoals, and a safe plan against sampling.

12: rows a second for 1 to 100 objects, a regular query (one object is asked for) and an extended
regular one (a chain per object), against deciding first and against sampling at error 0.1, risk
0.1. 13: seconds by subgoals, independent and Markovian. 14: seconds of `R(x); S(x); T('a', y)` by
the length of the trace, by its safe plan and sampled.
Run: python benchmarks/lahar/papers_figures.py [steps 200] [rounds of figure 14, 4]
"""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np

from augury import Session
from augury.matching.intervals import sequence_probabilities
from augury.matching.marginal import Beliefs, Marginaliser
from augury.matching.sampled import ends, sample_size
from augury.planning.chain_plan import ChainPlan, plan_chain
from augury.runners.feed import Feed, feed_of
from augury.runners.local import LocalRunner
from lahar.lines import draw
from lahar.throughput import (
    LINE,
    carried,
    certain,
    independent,
    line_of,
    markovian,
    sampled_seconds,
    seconds,
)
from matching.harness import machine, on_one_core, record

OBJECTS, SUBGOALS = (1, 5, 10, 25, 50, 100), (1, 2, 3, 4, 5)
SAFE = """
CREATE STREAM R (value STRING, t LONG, p DOUBLE) KEY value TIME t PROBABILITY p;
CREATE STREAM S (value STRING, t LONG, p DOUBLE) KEY value TIME t PROBABILITY p;
CREATE STREAM T (value STRING, other STRING, t LONG, p DOUBLE) KEY value TIME t PROBABILITY p;
CREATE QUERY q AS R(x); S(x); T('a', y);
"""


def objects_figure(steps: int) -> dict[str, dict[str, float]]:
    """Return rows a second by number of objects."""
    found: dict[str, dict[str, float]] = {}
    plain = Marginaliser(LINE)
    for n in OBJECTS:
        rows = independent(n, steps)
        asked = _only_the_first(rows)
        sampled = sampled_seconds(rows, min(n, 2)).processor * n / min(n, 2)
        timed = {
            "extended regular": seconds(lambda rows=rows: carried(plain, rows)).processor,
            "regular": seconds(lambda asked=asked: carried(plain, asked)).processor,
            "most likely": seconds(lambda rows=rows: carried(plain, certain(rows))).processor,
            "sampled": sampled,
        }
        for name, taken in timed.items():
            found.setdefault(name, {})[str(n)] = round(len(rows) / max(taken, 1e-9))
    return found


def _only_the_first(rows: Beliefs) -> Beliefs:
    """Return the rows as a query about one object sees them: of the others, nothing matches."""
    own = rows.chain == 0
    nothing = np.where(own, rows.matches, 0)
    return Beliefs(
        np.zeros_like(rows.chain),
        rows.time,
        rows.group,
        rows.origin,
        rows.value,
        rows.p,
        nothing,
        nothing,
    ).take(np.flatnonzero(own))


def subgoals_figure(steps: int) -> dict[str, dict[str, float]]:
    """Return seconds by number of subgoals."""
    rows, tables = independent(100, steps), markovian(100, steps)
    found: dict[str, dict[str, float]] = {"independent": {}, "Markovian": {}}
    for k in SUBGOALS:
        plain, linked = Marginaliser(line_of(k)), Marginaliser(line_of(k), is_markovian=True)
        taken = seconds(lambda plain=plain: carried(plain, rows)).processor
        found["independent"][str(k)] = round(taken, 4)
        taken = seconds(lambda linked=linked: carried(linked, tables)).processor
        found["Markovian"][str(k)] = round(taken, 4)
    return found


def trace_figure(rounds: int) -> dict[str, dict[str, float]]:
    """Return seconds by length of the trace, of the safe plan and of sampling."""
    size, found = sample_size(0.1, 0.1), {"safe plan": {}, "sampled": {}}
    for k in range(rounds):
        length = 25 * 2**k
        plan, feed = safe_feed(length)
        steps = [feed.steps(key) for key in feed.parts]
        exact = seconds(lambda p=plan, s=steps: [sequence_probabilities(p.line, o) for o in s])
        rng = np.random.default_rng(1)
        drawn = seconds(lambda p=plan, s=steps, r=rng: [ends(p.line, o, size, r) for o in s])
        found["safe plan"][str(length)] = round(exact.processor, 4)
        found["sampled"][str(length)] = round(drawn.processor, 4)
    return found


def safe_feed(length: int) -> tuple[ChainPlan, Feed]:
    """Return a trace of three streams as the chain of the safe query reads it."""
    rng = random.Random(1)
    ag = Session(engine="local")
    ag.sql(SAFE)
    for stream in "RST":
        rows = [{"value": rng.choice("abc"), "t": t, "p": rng.random()} for t in range(length)]
        ag.bind(stream, [row | {"other": "b"} if stream == "T" else row for row in rows])
    query = ag._queries["q"][0]
    plan = plan_chain(query, ag._catalog)
    assert isinstance(plan, ChainPlan)
    runner = LocalRunner(ag._catalog, {"q": query}, dict(ag._bound))
    feed = feed_of(plan, [runner._load(s.name) for s in query.streams], {}, {})
    assert isinstance(feed, Feed)
    return plan, feed


def main() -> None:
    """Print and store the figures and charts."""
    steps, rounds = (int(a) for a in [*sys.argv[1:], *("200", "4")[len(sys.argv) - 1 :]])
    on_one_core()
    figures: dict[str, Any] = {
        "machine": machine(),
        "steps": steps,
        "rows_a_second_by_objects": objects_figure(steps),
        "seconds_by_subgoals": subgoals_figure(steps),
        "seconds_by_length_of_trace": trace_figure(rounds),
    }
    record("lahar_figures", figures)
    for name, title, across in (
        ("rows_a_second_by_objects", "rows a second of one core", "objects"),
        ("seconds_by_subgoals", "seconds of one core", "subgoals"),
        ("seconds_by_length_of_trace", "seconds, safe plan and sampling", "steps of the trace"),
    ):
        lines = {
            label: [(float(x), y) for x, y in line.items()] for label, line in figures[name].items()
        }
        draw(f"lahar_{name}", title, across, lines)


if __name__ == "__main__":
    main()
