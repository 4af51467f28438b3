"""Scores as tables over the length of a stretch: by the law, or by AYAC's formulas.

AYAC (section 3 of the paper): a missed positive component scores e F(T); several score the chance
that they come in order, each timed from the start of the stretch; a negated one scores
(1 - F(T)) / (e F(T) + 1 - F(T)) over the whole stretch. Under the law each gap starts where the one
before it ended, the stretch is split where the missed component fell, and all is conditioned on
what was not read (see `law`).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal

import numpy as np

from augury.gaps.families import bends
from augury.gaps.integrals import came, each_mean, mean_over
from augury.gaps.law import Parts, longest, parts_of
from augury.gaps.stretch import Stretch, Unseen, missed_in, nameless, unseen_in
from augury.gaps.tables import ERROR, Function, Table, tabulate
from augury.records import Reals

Scoring = Literal["LAW", "AYAC"]
# Double integrals are costly, and this is far below what a confidence is used for.
ENDS_ERROR = 1e-7


def score_table(stretch: Stretch, scoring: Scoring, window: float) -> Table:
    """Return the score of a stretch as a function of its length, up to `window` (inf: any)."""
    return _score_table(nameless(stretch), scoring, window)


@lru_cache(maxsize=2048)
def best_score(stretch: Stretch, scoring: Scoring, window: float) -> float:
    """Return the highest score of a stretch within the window."""
    return min(1.0, score_table(stretch, scoring, window).best(window))


@lru_cache(maxsize=512)
def _score_table(stretch: Stretch, scoring: Scoring, window: float) -> Table:
    top = longest(stretch)
    if math.isfinite(window):
        # One more than the window, so that a jump at its very end is inside.
        top = min(top, window * (1.0 + 1e-9) + 1.0)
    if scoring == "AYAC":
        cuts = tuple(cut for part in unseen_in(stretch) for cut in bends(part.gap))
        return tabulate(lambda lengths: _by_paper(stretch, lengths), cuts, top)
    parts = parts_of(stretch, top)
    return tabulate(_ratio(parts), parts.cuts, top, ENDS_ERROR if parts.is_slow else ERROR)


def _ratio(parts: Parts) -> Function:
    def score(lengths: Reals) -> Reals:
        true, silent = parts.both(lengths)
        found = np.divide(true, silent, out=np.zeros_like(true), where=silent > 0.0)
        return np.clip(found, 0.0, 1.0)

    return score


def _by_paper(stretch: Stretch, lengths: Reals) -> Reals:
    score = _in_order(missed_in(stretch), lengths)
    for part in unseen_in(stretch):
        if part.negated:
            came_by = came(part.gap, lengths)
            score = score * (1.0 - came_by) / (1.0 - (1.0 - part.rate) * came_by)
    return score


def _in_order(missed: tuple[Unseen, ...], lengths: Reals) -> Reals:
    """Return the chance that all come in order, each timed from the start, and are missed."""
    if not missed:
        return np.ones_like(lengths)
    *earlier, last = missed
    if not earlier:
        return last.rate * came(last.gap, lengths)
    before = tuple(earlier)
    cuts = tuple(cut for part in before for cut in bends(part.gap))
    return last.rate * each_mean(
        lengths,
        lambda length: mean_over(last.gap, lambda t: _in_order(before, t), 0.0, length, cuts),
    )
