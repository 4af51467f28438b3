"""Whether owners are as likely as is told: expected calibration error, in 20 bins.

    python benchmarks/identity/calibration.py [events]

Many wards, each of `ward.py`'s kind but with 12 people and 10 rooms, so that all is exact; every
alternative of an unread event, as told first and as told last, is right or not. The law takes all
worlds for equally likely, which they are where stays have no memory; how far off it is where they
are Gaussian is told, too. Writes docs/benchmarks/identity_calibration.json and a chart.
"""

from __future__ import annotations

import sys

import numpy as np

from augury.identity.telling import Tellings
from identity.ward import Walked, identifier, told_of, walked
from lahar.lines import draw
from matching.harness import record, sized

EVENTS, A_WARD, BINS = sized(200_000, 300), 2_000, 20
PLACES, STAFF, UNREAD = 10, 12, 0.25
# What marks an alternative as told first; one told last is odd.
FIRST = 2


def alternatives(told: Tellings, walk: Walked) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return p, whether it is right, and the revision, of every alternative of unread events."""
    unread = set(walk.unread)
    truth = np.array([walk.owner[key] if key in unread else -1 for key in told.ids])
    of = told.rows_of
    owner = truth[told.event[of]]
    last = np.zeros(len(told.ids), np.int64)
    last[told.event] = np.arange(len(told))
    is_last = last[told.event[of]] == of
    asked = owner >= 0
    kind = np.where(is_last, 1, 0) + np.where(told.revision[of] == 0, FIRST, 0)
    return told.p[asked], (told.person == owner)[asked], kind[asked]


def error(p: np.ndarray, right: np.ndarray) -> tuple[float, list[tuple[float, float]]]:
    """Return the expected calibration error, and the points of the diagram."""
    which = np.minimum((p * BINS).astype(int), BINS - 1)
    total, points = 0.0, []
    for k in range(BINS):
        own = which == k
        if own.any():
            total += own.mean() * abs(p[own].mean() - right[own].mean())
            points.append((float(p[own].mean()), float(right[own].mean())))
    return float(total), points


def main() -> None:
    """Measure, print and write."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else EVENTS
    size = min(A_WARD, n)
    figures: dict[str, object] = {"events": n}
    series = {}
    for name, is_memoryless in (("without memory", True), ("Gaussian", False)):
        parts = []
        for seed in range(max(n // size, 1)):
            walk = walked(seed, size, UNREAD, (STAFF, PLACES), is_memoryless=is_memoryless)
            parts.append(alternatives(told_of(identifier(STAFF), walk), walk))
        p, right, kind = (np.concatenate(each) for each in zip(*parts, strict=True))
        for when, chosen in (("told first", kind >= FIRST), ("told last", kind % FIRST == 1)):
            off, points = error(p[chosen], right[chosen])
            figures[f"stays {name}, {when}"] = {
                "alternatives": int(chosen.sum()),
                "expected calibration error": round(off, 5),
            }
            series[f"{name}, {when}"] = points
    record("identity_calibration", figures)
    draw("identity_calibration", "how often it was them", "probability told", series)


if __name__ == "__main__":
    main()
