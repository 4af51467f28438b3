"""How good answers are: precision and recall by threshold, and whether confidences are true.

Answers are numbers here: a confidence and whether it was right. What is an answer, and what right
means, is each scene's own business.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt

Judged = tuple[float, bool]  # a confidence, and whether the statement is true

# As in the language: thresholds have this tolerance.
TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Score:
    """What is accused from a threshold on: `right` of `accused`, out of `relevant` in all."""

    threshold: float
    accused: int
    right: int
    relevant: int

    @property
    def precision(self) -> float | None:
        """Of the accused, those who are right; None where nobody is accused."""
        return self.right / self.accused if self.accused else None

    @property
    def recall(self) -> float | None:
        """Of what is relevant, what was found; None where there was nothing to find."""
        return self.right / self.relevant if self.relevant else None


def f1(found: Score) -> float:
    """Return the harmonic mean of precision and recall."""
    return 2 * found.right / (found.accused + found.relevant) if found.relevant else 1.0


def score(judged: Iterable[Judged], relevant: int, threshold: float) -> Score:
    """Return how good the answers at or above a threshold are.

    >>> found = score([(0.9, True), (0.8, False), (0.3, True)], relevant=4, threshold=0.5)
    >>> found.precision, found.recall
    (0.5, 0.25)
    """
    kept = [right for confidence, right in judged if confidence >= threshold - TOLERANCE]
    return Score(threshold, len(kept), sum(kept), relevant)


@dataclass(frozen=True, slots=True)
class Band:
    """The answers with a confidence in [low, high), the last band's high included."""

    low: float
    high: float
    count: int
    right: int
    mean: float

    @property
    def share(self) -> float:
        """The share that is right: what the mean confidence promises."""
        return self.right / self.count

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval: where the true share lies, with 95 % confidence."""
        z, n = 1.959964, self.count
        middle = (self.share + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * sqrt(self.share * (1 - self.share) / n + z * z / (4 * n * n))
        return max(0.0, middle - half), min(1.0, middle + half)


def band(judged: Iterable[Judged], low: float, high: float) -> Band | None:
    """Return one band of confidences, or None where it is empty.

    >>> one = band([(0.78, True), (0.82, False), (0.2, False)], 0.75, 0.85)
    >>> one.count, one.right, round(one.mean, 2)
    (2, 1, 0.8)
    """
    closed = high >= 1.0
    kept = [(c, right) for c, right in judged if low <= c < high or (closed and c == high)]
    if not kept:
        return None
    mean = sum(confidence for confidence, _ in kept) / len(kept)
    return Band(low, high, len(kept), sum(right for _, right in kept), mean)


def bands(judged: Sequence[Judged], n: int = 10) -> list[Band]:
    """Return the bands of equal width that hold anything."""
    edges = [k / n for k in range(n + 1)]
    found = (band(judged, low, high) for low, high in pairwise(edges))
    return [each for each in found if each is not None]
