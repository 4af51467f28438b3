"""The same ward with better and with worse badge readers: what each way finds, by how many fail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from augury.demo.hospital.pipelines import (
    Violation,
    most_likely,
    opened,
    read_only,
    truth,
    violations_of,
)
from augury.demo.hospital.ward import Care, simulate
from augury.report.scores import Score, score

SHARES = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
# Accused is from this confidence on: rather so than not.
THRESHOLD = 0.5
SEED = 1
AUGURY, LIKELIEST, DROPPED = "augury", "the likeliest owner", "badges that were read"


@dataclass(frozen=True)
class Share:
    """What each way finds where so many badges are not read."""

    unread: float
    scores: Mapping[str, Score]


def by_unread(care: Care) -> list[Share]:
    """Return what is found of the same hours, from few unread badges to many."""
    return [_share(replace(care, unread=unread)) for unread in SHARES]


def _share(care: Care) -> Share:
    ward = simulate(SEED, care)
    session, true = opened(ward), truth(ward)
    ways: dict[str, dict[Violation, float]] = {
        AUGURY: violations_of(session),
        LIKELIEST: most_likely(ward, session),
        DROPPED: read_only(ward),
    }
    scores = {
        name: score([(p, each in true) for each, p in found.items()], len(true), THRESHOLD)
        for name, found in ways.items()
    }
    return Share(care.unread, scores)
