"""How well visits are found: seconds whose probability is above a threshold, against the truth.

As in the paper on Lahar, a second that is told counts if a visit of that person is near.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5)
NEAR = 30
Chances = Mapping[str, Mapping[str, list[float]]]


@dataclass(frozen=True, slots=True)
class Scores:
    """Of the seconds that are claimed, those near a visit; of the visits, those near such a second.

    >>> Scores(claimed=4, right=2, visits=2, found=1).f1
    0.5
    """

    claimed: int
    right: int
    visits: int
    found: int

    @property
    def precision(self) -> float:
        return self.right / self.claimed if self.claimed else 0.0

    @property
    def recall(self) -> float:
        return self.found / self.visits if self.visits else 0.0

    @property
    def f1(self) -> float:
        both = self.precision + self.recall
        return 2.0 * self.precision * self.recall / both if both else 0.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """The visits of everybody, what was answered, and how good that is by approach."""

    there: Mapping[str, list[int]]
    chances: Chances
    scores: Mapping[tuple[str, float], Scores]

    @property
    def visits(self) -> int:
        return sum(map(len, self.there.values()))

    @property
    def busiest(self) -> str:
        """Who went for coffee most often."""
        return max(self.there, key=lambda person: len(self.there[person]))

    @property
    def shown(self) -> list[tuple[str, float]]:
        """The lines of a table: what is decided already has one threshold."""
        certain = ("mle", "map")
        return [(n, t) for n, t in self.scores if n not in certain or t == THRESHOLDS[-1]]


def judge(there: Mapping[str, list[int]], chances: Chances) -> Verdict:
    """Return how good the answers are at every threshold."""
    scores = {
        (name, threshold): _scores(there, own, threshold)
        for name, own in chances.items()
        for threshold in THRESHOLDS
    }
    return Verdict(there, chances, scores)


def _scores(
    there: Mapping[str, Sequence[int]], chances: Mapping[str, Sequence[float]], threshold: float
) -> Scores:
    claimed = right = found = 0
    for person, visits in there.items():
        seen = [t for t, p in enumerate(chances[person]) if p > threshold]
        claimed += len(seen)
        right += sum(any(abs(t - visit) <= NEAR for visit in visits) for t in seen)
        found += sum(any(abs(t - visit) <= NEAR for t in seen) for visit in visits)
    return Scores(claimed, right, sum(map(len, there.values())), found)
