"""How good the chain is over simulated weeks of wards, against simpler ways, and how long it takes.

Each ward is that of `augury.demo.hospital`, with a seed of its own. All pipelines see the same
wards, so they are compared ward by ward: an interval of the difference has less in it than two
intervals side by side. The threshold of a ward is the best one of all other wards.

Utility is how many matches of the public query are left of those there were without the policy, by
their confidence; private matches are counted among what is published, as it was first told. The
forecast is judged on the badges that were read, which is what it is made of.
Run as `python benchmarks/chain/hospital.py [wards] [hours] [unread] [corridors]`.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt
from statistics import mean, stdev
from time import process_time
from typing import Any

import numpy as np

from augury import Session
from augury.demo.hospital.pipelines import (
    Violation,
    anybody,
    most_likely,
    opened,
    read_only,
    script,
    table_of,
    truth,
    violations_of,
)
from augury.demo.hospital.ward import Care, Ward, simulate
from augury.report.scores import Judged, bands
from matching.harness import record, sized

POLICY = re.compile(r"CREATE POLICY.*?;\nCREATE STREAM published.*?;", re.DOTALL)
STEPS = tuple(k / 20 for k in range(1, 21))
Found = dict[Violation, float]


@dataclass(frozen=True)
class Play:
    """A ward: F1 of each pipeline at each threshold, and what the chain's confidences were."""

    scores: dict[str, list[float]]
    judged: list[Judged]
    violations: int
    events: int
    seconds: float
    kept: Kept
    foreseen: Foreseen


@dataclass(frozen=True)
class Kept:
    """Public and private matches without the policy, and what is left of them with it."""

    public: tuple[float, float]
    private: tuple[float, int]


@dataclass(frozen=True)
class Foreseen:
    """How good the forecast was: its log loss and that of the base rate, and seconds of warning."""

    judged: int
    loss: float
    base_loss: float
    error: float
    warnings: list[float]


def f1(found: Found, true: Found, threshold: float) -> float:
    """Return F1 of what is accused from a threshold on."""
    accused = {each for each, confidence in found.items() if confidence >= threshold - 1e-9}
    return 2 * len(accused & true.keys()) / max(1, len(accused) + len(true))


def played(seed: int, care: Care) -> Play:
    """Return what comes of a ward."""
    ward, began = simulate(seed, care), process_time()
    session, true = opened(ward), truth(ward)
    pipelines = {
        "chain": violations_of(session),
        "likeliest owners": most_likely(ward, session),
        "badges that were read": read_only(ward),
        "unread is anybody": anybody(ward),
    }
    took = process_time() - began
    kept, soon = kept_of(ward, session), foreseen_of(ward, session)
    scores = {name: [f1(found, true, t) for t in STEPS] for name, found in pipelines.items()}
    judged = [(confidence, each in true) for each, confidence in pipelines["chain"].items()]
    print(f"ward {seed}: {len(ward.told)} events, {took:.0f} s", file=sys.stderr, flush=True)
    return Play(scores, judged, len(true), len(ward.told), took, kept, soon)


def kept_of(ward: Ward, session: Session) -> Kept:
    """Return what the policy leaves of public and private matches."""
    raw = opened(ward, text=POLICY.sub("", script("ward.sql")))
    public = [_sum(each.table("washed")) for each in (raw, session)]
    private = _sum(raw.table("scrubs")) + _sum(raw.table("therapy"))
    published = session.revisions("published").to_pylist()
    return Kept((public[0], public[1]), (private, private_in(published)))


def private_in(published: list[dict[str, Any]]) -> int:
    """Count who is seen to wash again within 20 minutes, or within 15 after the psychiatrist."""
    count, by_person = 0, dict[tuple[str, str], list[dict[str, Any]]]()
    for row in published:
        if not row["revision"]:
            by_person.setdefault((row["corridor"], row["person"]), []).append(row)
    for rows in by_person.values():
        for wash in (row for row in rows if row["action"] == "WASH"):
            for row in rows:
                before = (wash["at"] - row["at"]).total_seconds()
                is_therapy = row["action"] == "EXIT" and row["room"] == "R6"
                longest = 1200 if row["action"] == "WASH" else 900 if is_therapy else 0
                count += 0 < before <= longest
    return count


def foreseen_of(ward: Ward, session: Session) -> Foreseen:
    """Return how good the forecast of the next violation was."""
    seen = table_of(act for act in ward.told if act.person is not None)
    score, ends = session.score("soon", seen), dict[str, Any]()
    for row in session.table("near").to_pylist():
        ends.setdefault(row["events"][0]["event_id"], row["end_ts"])
    soon = session.table("soon").to_pylist()
    warned = [
        (ends[first] - row["ts"]).total_seconds()
        for row in soon
        if (first := row["events"][0]["event_id"]) in ends and row["ts"] == row["start_ts"]
    ]
    losses = score.log_loss, score.base_log_loss
    return Foreseen(score.judged, *losses, score.calibration_error, warned)


def _sum(table: Any) -> float:
    return float(sum(table.column("confidence").to_pylist()))


def at_best(scores: Sequence[Sequence[float]]) -> list[float]:
    """Return F1 of each ward at the threshold that is best for the others."""
    sums = [sum(column) for column in zip(*scores, strict=True)]
    found = []
    for own in scores:
        others = [whole - part for whole, part in zip(sums, own, strict=True)]
        found.append(own[others.index(max(others))])
    return found


def interval(values: Sequence[float]) -> dict[str, float]:
    """Return the mean, and half of its 95 % interval."""
    half = 1.96 * stdev(values) / sqrt(len(values)) if len(values) > 1 else 0.0
    return {"mean": mean(values), "half": half}


def report(plays: Sequence[Play]) -> dict[str, Any]:
    """Return the figures over some wards."""
    found = {name: at_best([play.scores[name] for play in plays]) for name in plays[0].scores}
    chain = found["chain"]
    means = [mean(play.scores["chain"][k] for play in plays) for k in range(len(STEPS))]
    judged = [each for play in plays for each in play.judged]
    own_bands = bands(judged)
    error = sum(b.count * abs(b.share - b.mean) for b in own_bands) / max(1, len(judged))
    events = sum(play.events for play in plays)
    warned = [each for play in plays for each in play.foreseen.warnings] or [0.0]
    return {
        "threshold": STEPS[means.index(max(means))],
        "pipelines": {name: interval(own) for name, own in found.items()},
        "chain beats by": {
            name: interval([c - o for c, o in zip(chain, own, strict=True)])
            for name, own in found.items()
            if name != "chain"
        },
        "violations": sum(play.violations for play in plays),
        "matches": len(judged),
        "calibration error": error,
        "bands": [(b.mean, b.share, b.count) for b in own_bands],
        "public": _left([play.kept.public for play in plays]),
        "private": _left([play.kept.private for play in plays]),
        "forecast": {
            "judged": sum(play.foreseen.judged for play in plays),
            "log loss": mean(play.foreseen.loss for play in plays),
            "base log loss": mean(play.foreseen.base_loss for play in plays),
            "calibration error": mean(play.foreseen.error for play in plays),
            "warnings": len(warned),
            "seconds of warning": {f"{n} %": float(np.percentile(warned, n)) for n in (10, 50, 90)},
        },
        "events": events,
        "events a second": events / sum(play.seconds for play in plays),
    }


def _left(pairs: Sequence[tuple[float, float]]) -> dict[str, float]:
    """Return how much there was, and how much of it is left."""
    return {"before": sum(b for b, _ in pairs), "left": sum(a for _, a in pairs)}


def main() -> None:
    """Print the figures, and write them down."""
    warnings.simplefilter("ignore")
    given = (*sys.argv[1:], *(sized(20, 2), sized(168, 5), 0.1, 1)[len(sys.argv) - 1 :])
    wards, hours, unread, corridors = int(given[0]), *map(float, given[1:3]), int(given[3])
    care = replace(Care(), hours=hours, unread=unread, corridors=corridors)
    found = report([played(seed, care) for seed in range(1, wards + 1)])
    told = {"wards": wards, "hours": hours, "unread": unread, "corridors": corridors}
    record("chain_hospital", told | found)


if __name__ == "__main__":
    main()
