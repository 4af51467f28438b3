"""Simulated streams with unreliable readers and a known truth.

x happens; y's clock runs from x; z's time is independent of y's; some y never come. Every reader
misses each event with its miss rate. Times are ticks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

MEAN = 1000.0
WINDOW = 4000
REACHES = 0.85
FAMILIES = {
    "exponential": f"EXPONENTIAL({MEAN:g})",
    "gamma": f"GAMMA({MEAN:g}, 2.5)",
    "lognormal": "LOGNORMAL(900, 0.6)",
}


def draw(family: str, rng: np.random.Generator, n: int) -> np.ndarray:
    """Return n gaps of a family."""
    if family == "exponential":
        return rng.exponential(MEAN, n)
    if family == "gamma":
        return rng.gamma(2.5, MEAN / 2.5, n)
    return 900.0 * np.exp(0.6 * rng.standard_normal(n))


@dataclass(frozen=True)
class Case:
    """A query over simulated sequences, one per tag; `true[tag]` tells if its match is real."""

    query: str
    gaps: str
    reads: pa.Table
    true: np.ndarray


def reads_of(times: dict[str, np.ndarray], rate: float, rng: np.random.Generator) -> pa.Table:
    """Return what readers saw of the events that happened (finite times)."""
    tags, kinds, at = [], [], []
    for kind, own in times.items():
        seen = np.isfinite(own) & (rng.random(len(own)) >= rate)
        tags.append(np.flatnonzero(seen))
        kinds.append(np.repeat(kind, seen.sum()))
        at.append(np.round(own[seen]).astype(np.int64))
    columns = {"tag": np.concatenate(tags), "kind": np.concatenate(kinds), "t": np.concatenate(at)}
    return pa.table(columns).sort_by("t")


def case(kind: str, family: str, rate: float, n: int, rng: np.random.Generator) -> Case:
    """Return sequences with a component that may be missed, positive or negated, in some place."""
    start = rng.uniform(0, 1000 * n, n)
    gap = np.where(rng.random(n) < REACHES, draw(family, rng, n), np.inf)
    wait = rng.gamma(2.0, 800.0, n)
    law = f"{FAMILIES[family]} REACHES {REACHES}"
    within = f"WHERE [tag] WITHIN {WINDOW}"
    if kind == "first":
        times = {"Z": start, "Y": start - gap}
        query = f"PATTERN SEQ(Y y, Z z) {within} ALLOW 1 MISSED OF (y)"
        true = gap <= WINDOW
        gaps = f"y BEFORE z {law}"
    elif kind == "last":
        times = {"X": start, "Y": start + gap}
        query, gaps = f"PATTERN SEQ(X x, Y y) {within} ALLOW 1 MISSED OF (y)", f"x TO y {law}"
        true = gap <= WINDOW
    elif kind == "negated first":
        # What the window leaves before x is forbidden to n.
        times = {"X": start, "N": start - gap, "Z": start + wait}
        query, gaps = f"PATTERN SEQ(!N n, X x, Z z) {within}", f"n BEFORE x {law}"
        true = gap > WINDOW - wait
    elif kind == "negated last":
        times = {"X": start, "Z": start + wait, "N": start + wait + gap}
        query, gaps = f"PATTERN SEQ(X x, Z z, !N n) {within}", f"z TO n {law}"
        true = gap > WINDOW - wait
    elif kind == "negated":
        times = {"X": start, "N": start + gap, "Z": start + wait}
        query, gaps = f"PATTERN SEQ(X x, !N n, Z z) {within}", f"x TO n {law}"
        true = gap >= wait
    else:
        times = {"X": start, "Y": start + gap, "Z": start + wait}
        query = f"PATTERN SEQ(X x, Y y, Z z) {within} ALLOW 1 MISSED OF (y)"
        gaps, true = f"x TO y {law}", gap < wait
    return Case(query, gaps, reads_of(times, rate, rng), true)


def script(case: Case, rate: float, scoring: str = "LAW", rest: str = "") -> str:
    """Return the declarations of a case."""
    return f"""
    CREATE STREAM s (tag LONG, kind STRING, t LONG) KEY tag TIME t TYPE kind MISS RATE {rate};
    CREATE QUERY q ON s {case.query} SCORING {scoring} {rest};
    CREATE GAPS g ON q ({case.gaps});
    """
