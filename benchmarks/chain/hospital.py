"""How good the chain is over simulated wards, against simpler ways, and how long it takes.

Each ward is an hour of `augury.demo.hospital`, with a seed of its own. F1 of violations at the best
threshold over all wards, with intervals over the wards, and the calibration of all confidences.
Run as `python benchmarks/chain/hospital.py [wards] [hours] [unread]`.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from math import sqrt
from statistics import mean, stdev
from time import perf_counter
from typing import Any

from augury.demo.hospital.pipelines import (
    Violation,
    chain,
    most_likely,
    opened,
    read_only,
    truth,
)
from augury.demo.hospital.ward import Care, simulate
from augury.report.scores import Judged, bands
from matching.harness import record

STEPS = tuple(k / 20 for k in range(1, 21))
Found = dict[Violation, float]


def f1(found: Found, true: Found, threshold: float) -> float:
    """Return F1 of what is accused from a threshold on."""
    accused = {each for each, confidence in found.items() if confidence >= threshold - 1e-9}
    return 2 * len(accused & true.keys()) / max(1, len(accused) + len(true))


def played(seed: int, care: Care) -> tuple[dict[str, Found], Found, dict[str, float]]:
    """Return what each pipeline says of a ward, what is so, and what it took."""
    ward, began = simulate(seed, care), perf_counter()
    session = opened(ward)
    whole = chain(ward, session)
    took = perf_counter() - began
    found = {
        "chain": whole.violations,
        "badges that were read": read_only(ward),
        "likeliest owners": most_likely(ward, session),
    }
    return found, truth(ward), {"events": len(ward.told), "seconds": took}


def report(wards: int, care: Care) -> dict[str, Any]:
    """Return the figures over some wards."""
    warnings.simplefilter("ignore")
    plays = [played(seed, care) for seed in range(1, wards + 1)]
    shown: dict[str, Any] = {}
    for name in plays[0][0]:
        own = [(found[name], true) for found, true, _ in plays]
        best = max(STEPS, key=lambda t: mean(f1(found, true, t) for found, true in own))
        scores = [f1(found, true, best) for found, true in own]
        half = 1.96 * stdev(scores) / sqrt(wards) if wards > 1 else 0.0
        shown[name] = {"threshold": best, "f1": mean(scores), "half": half}
    judged: list[Judged] = [
        (confidence, each in true)
        for found, true, _ in plays
        for each, confidence in found["chain"].items()
    ]
    own_bands = bands(judged)
    error = sum(b.count * abs(b.share - b.mean) for b in own_bands) / max(1, len(judged))
    seconds, events = (sum(took[k] for *_, took in plays) for k in ("seconds", "events"))
    return {
        "wards": wards,
        "hours": care.hours,
        "unread": care.unread,
        "pipelines": shown,
        "matches": len(judged),
        "calibration error": error,
        "bands": [(b.mean, b.share, b.count) for b in own_bands],
        "events": events,
        "events a second": events / seconds,
    }


def main() -> None:
    """Print the figures, and write them down."""
    wards, hours, unread = (*sys.argv[1:], *("20", "1", "0.1")[len(sys.argv) - 1 :])
    care = replace(Care(), hours=float(hours), unread=float(unread))
    record("chain_hospital", report(int(wards), care))


if __name__ == "__main__":
    main()
