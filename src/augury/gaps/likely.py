"""When a missed component probably happened: the middle nine tenths of its time, by length.

Read off a grid, as shares of the stretch: it is for people to look at, and no confidence depends on
it. Good to about a percent of a stretch that is no longer than a few gaps; in one that is far
longer the shares of the longest grid length stand in, which is too wide. Negated components, and
conditions on time, are left out of account.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from augury.gaps.families import Gap
from augury.gaps.integrals import ended
from augury.gaps.stretch import Backward, Ends, Forward, Stretch
from augury.records import Reals

CELLS = 128
LENGTHS = 33
LOW, HIGH = 0.05, 0.95


@dataclass(frozen=True)
class Likely:
    """Shares of the stretch, from its start on, between which the component probably lies."""

    component: int
    lengths: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


def likely_times(stretch: Stretch, top: float) -> tuple[Likely, ...]:
    """Return when each missed component of a stretch probably happened."""
    return tuple(_likely(stretch, top))


def _likely(stretch: Stretch, top: float) -> Iterator[Likely]:
    lengths = np.append(top * np.linspace(0.0, 1.0, LENGTHS)[1:] ** 2, 2.0 * top)
    if isinstance(stretch, Ends):
        yield from _likely(stretch.start, top)
        yield from _likely(stretch.end, top)
    elif isinstance(stretch, Backward) and stretch.first is not None:
        shares = np.array([_shares([stretch.first.gap], t)[0] for t in lengths])
        yield _as_likely(stretch.first.component, lengths, 1.0 - shares[:, ::-1])
    elif isinstance(stretch, Forward):
        missed = [step.missed for step in stretch.steps if step.missed is not None]
        if missed:
            every = np.array([_shares([m.gap for m in missed], t) for t in lengths])
            for k, own in enumerate(missed):
                yield _as_likely(own.component, lengths, every[:, k])


def _as_likely(component: int, lengths: Reals, shares: Reals) -> Likely:
    low, high = (tuple(column.tolist()) for column in shares.T)
    return Likely(component, tuple(lengths.tolist()), low, high)


def _shares(gaps: list[Gap], length: float) -> list[tuple[float, float]]:
    """Return, for gaps one after the other that all end within the length, where each ends."""
    steps = [_masses(gap, length) for gap in gaps]
    reached = [steps[0]]
    for step in steps[1:]:
        reached.append(np.convolve(reached[-1], step)[:CELLS])
    left = [np.ones(CELLS)]
    for step in reversed(steps[1:]):
        onward = np.convolve(step, left[0][::-1])[:CELLS][::-1]
        left.insert(0, onward)
    return [_middle(own * rest) for own, rest in zip(reached, left, strict=True)]


def _masses(gap: Gap, length: float) -> Reals:
    edges = np.linspace(0.0, length, CELLS + 1)
    return np.diff(ended(gap)(edges))


def _middle(weights: Reals) -> tuple[float, float]:
    total = weights.sum()
    if total <= 0.0:
        return 0.0, 1.0
    summed = np.concatenate([[0.0], np.cumsum(weights) / total])
    places = np.linspace(0.0, 1.0, CELLS + 1)
    return float(np.interp(LOW, summed, places)), float(np.interp(HIGH, summed, places))
