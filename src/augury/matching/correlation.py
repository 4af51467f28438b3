"""CORRELATED BY: confidence as a chain of conditional probabilities (DPCEP definition 4.1).

P(first event), times P(event | the event before it in the match) for every further one, in the
order of time. Pairs of events come from a table, or pairs of components from a history. Where the
table has no pair with the event before, that is unrelated, and the nearest one before it with which
there is a pair counts (DPCEP equation 4.1); with none, it is refused, or taken as independent.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from augury.errors import DataError
from augury.matching.resolve_confidence import TOLERANCE
from augury.records import Matches, Reals, Words


@dataclass(frozen=True, slots=True)
class Correlation:
    """Conditional probabilities, and the rows of a query that they speak of.

    `names[name_of_row[r]]` is the id of row r, and `p` the probability of each row. `pair` are
    sorted, each `earlier name * N + later name` of N names, with `chance[k]` for `pair[k]`.
    """

    table: str
    names: Sequence[Hashable]
    name_of_row: Words
    p: Reals
    pair: Words
    chance: Reals
    unlisted_is_independent: bool
    threshold: float
    strict: bool

    def applied(self, matches: Matches) -> Matches:
        """Return the matches that pass the threshold, with their confidences as chains."""
        factor, lacking = self._factors(matches)
        self._refuse_missing(matches, lacking)
        return _passing(matches, factor, self.threshold, strict=self.strict)

    def _refuse_missing(self, matches: Matches, lacking: Words) -> None:
        if len(lacking) and not self.unlisted_is_independent:
            rows = matches.row[lacking[0]], matches.row[lacking[0] - 1]
            pair = [self.names[self.name_of_row[row]] for row in rows]
            raise DataError(
                f"{self.table} has no probability of event {pair[0]} after {pair[1]}; add the row, "
                "or write OPTIONS (unlisted = 'independent') to take such pairs as independent"
            )

    def _factors(self, matches: Matches) -> tuple[Reals, Words]:
        """Return the factor of each item, and the items that go with none before them."""
        factor = self.p[matches.row].copy()
        first = np.repeat(matches.first_item[:-1], np.diff(matches.first_item))
        open_ones = np.flatnonzero(_follows(matches))
        lacking, back = open_ones, 1
        while len(open_ones):
            place, found = self._found(matches.row[open_ones - back], matches.row[open_ones])
            factor[open_ones[found]] = self.chance[place[found]]
            lacking = np.setdiff1d(lacking, open_ones[found], assume_unique=True)
            back += 1
            open_ones = open_ones[~found]
            open_ones = open_ones[open_ones - back >= first[open_ones]]
        return factor, lacking

    def _found(self, earlier: Words, later: Words) -> tuple[Words, np.ndarray]:
        """Return where each pair stands in the table, and whether it does."""
        asked = self.name_of_row[earlier] * len(self.names) + self.name_of_row[later]
        place = np.minimum(np.searchsorted(self.pair, asked), max(len(self.pair) - 1, 0))
        if not len(self.pair):
            return place, np.zeros(len(asked), np.bool_)
        return place, self.pair[place] == asked


@dataclass(frozen=True, slots=True)
class LearnedCorrelation:
    """Conditional probabilities by pairs of components, learned from a history.

    `chance[a, b]` is P(an event that plays b happened | the one before it, which plays a, did); NaN
    where the history has no such pair. `p` are the probabilities of the rows.
    """

    query: str
    components: Sequence[str]
    p: Reals
    chance: Reals
    unlisted_is_independent: bool
    threshold: float
    strict: bool

    def applied(self, matches: Matches) -> Matches:
        """Return the matches that pass the threshold, with their confidences as chains."""
        factor = self.p[matches.row].copy()
        at = np.flatnonzero(_follows(matches))
        before, after = matches.component[at - 1], matches.component[at]
        learned = self.chance[before, after]
        unknown = np.isnan(learned)
        if unknown.any() and not self.unlisted_is_independent:
            k = int(np.flatnonzero(unknown)[0])
            names = self.components[int(after[k])], self.components[int(before[k])]
            raise DataError(
                f"query {self.query}: no match in its history has {names[0]} after {names[1]}; "
                "bind a longer one, or write OPTIONS (unlisted = 'independent') to take such "
                "pairs as independent"
            )
        factor[at] = np.where(unknown, factor[at], learned)
        return _passing(matches, factor, self.threshold, strict=self.strict)


def _passing(matches: Matches, factor: Reals, threshold: float, *, strict: bool) -> Matches:
    """Return the matches whose product of factors passes the threshold."""
    if not len(matches):
        return matches.settled(np.zeros(0))
    confidence = np.multiply.reduceat(factor, matches.first_item[:-1])
    if strict:
        passes = confidence > threshold + TOLERANCE
    else:
        passes = (confidence > 0.0) & (confidence >= threshold - TOLERANCE)
    kept = np.flatnonzero(passes)
    return matches.only(kept).settled(confidence[kept])


def _follows(matches: Matches) -> np.ndarray:
    """Return which items are not the first of their match."""
    follows = np.ones(len(matches.row), np.bool_)
    follows[matches.first_item[:-1]] = False
    return follows
