"""CORRELATED BY: confidence as a chain of conditional probabilities (DPCEP definition 4.1).

P(first event), times P(event | the event before it in the match) for every further one, in the
order of time. Pairs of events come from a table, or pairs of components from a history; one that is
lacking is refused, or taken as independent.
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
        self._refuse_missing(matches)
        return _passing(matches, self._factors(matches), self.threshold, strict=self.strict)

    def _refuse_missing(self, matches: Matches) -> None:
        earlier, later = _neighbours(matches)
        lacking = np.flatnonzero(~self._found(earlier, later)[1])
        if len(lacking) and not self.unlisted_is_independent:
            pair = [self.names[self.name_of_row[rows[lacking[0]]]] for rows in (later, earlier)]
            raise DataError(
                f"{self.table} has no probability of event {pair[0]} after {pair[1]}; add the row, "
                "or write OPTIONS (unlisted = 'independent') to take such pairs as independent"
            )

    def _factors(self, matches: Matches) -> Reals:
        factor = self.p[matches.row].copy()
        follows = _follows(matches)
        place, found = self._found(*_neighbours(matches))
        listed = self.chance[place] if len(self.chance) else np.zeros(len(place))
        factor[follows] = np.where(found, listed, factor[follows])
        return factor

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


def _neighbours(matches: Matches) -> tuple[Words, Words]:
    at = np.flatnonzero(_follows(matches))
    return matches.row[at - 1], matches.row[at]
