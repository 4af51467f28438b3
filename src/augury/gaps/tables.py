"""Tables over time: a function as polynomials on pieces, with a bounded error of interpolation.

A piece is halved until its polynomial agrees with the function between the nodes too. Pieces are
closed on the left, so a jump that stands at a cut is kept as it is. Kernels read a table as it is:
find the piece by bisection, then one polynomial.

Shapes: K pieces, D = DEGREE + 1 coefficients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from augury.records import Reals

DEGREE = 7
# Of the pieces of tables that are integrated over again, which are to be few.
JOINED = 11
ERROR = 2e-9
# Powers below this weigh less than the error of any table that bounds a search.
SLIGHT = 1e-11
MOST_HALVINGS = 40
# Values of a function below this are rounding, or the error of the tables it is made of
# (integrals.FINE); so wide, of the whole, is a piece for one length.
ZERO, SLIVER = 1e-11, 1e-14
# A function that no polynomial fits must not fill the memory: its last pieces stay as they are.
MOST_PIECES = 4000
# From so many lengths in a row on it pays to look for rows that lie in one piece.
NODES_OF_A_ROW = 4
Function = Callable[[Reals], Reals]
# Two functions of the same lengths, computed together.
Pair = Callable[[Reals], tuple[Reals, Reals]]
# From where to where; a polynomial, and how far it is off.
Piece = tuple[float, float]
Fit = tuple[Reals, float]

# Chebyshev nodes of a piece, which goes from -1 to 1, the inverse of the polynomials at them, and
# places between the nodes where the polynomial is put to the test. The last one is just inside.
_NODES = -np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))
_INVERSE = np.linalg.inv(np.vander(_NODES, DEGREE + 1, increasing=True))
_TESTS = np.array([-1.0, -0.91, -0.7, -0.37, 0.0, 0.37, 0.7, 0.91, 1.0 - 2e-9])
_AT_TESTS = np.vander(_TESTS, DEGREE + 1, increasing=True)
# The same nodes and inverse of pieces that are joined.
_JOINED_NODES = -np.cos(np.pi * (np.arange(JOINED + 1) + 0.5) / (JOINED + 1))
_JOINED_INVERSE = np.linalg.inv(np.vander(_JOINED_NODES, JOINED + 1, increasing=True))


@dataclass(frozen=True)
class Table:
    """Pieces [cuts[k], cuts[k + 1]) with polynomials in x, which goes from -1 to 1 over a piece.

    Before the first cut the value is that at the cut, after the last one that of the end.
    `error` is how far the function may be off.
    """

    cuts: Reals
    coefficients: Reals
    error: float = 0.0

    def __call__(self, lengths: Reals) -> Reals:
        """Return the value at each length."""
        return _read(self.cuts, [self._by_power], lengths)[0]

    @cached_property
    def _by_power(self) -> Reals:
        """The coefficients by power: small enough to stay at hand."""
        return np.ascontiguousarray(self.coefficients.T)

    def best(self, longest: float) -> float:
        """Return a bound of table and function at lengths up to `longest`, off by the error.

        What it leaves out is lost, so it is the highest value of the polynomials, not of samples.
        """
        starts = self.cuts[:-1][self.cuts[:-1] <= longest]
        own, widths = self.coefficients[: len(starts)], np.diff(self.cuts)[: len(starts)]
        ends = np.minimum(1.0, 2.0 * (longest - starts) / widths - 1.0)
        highest = max(_values(own, np.full(len(starts), -1.0)).max(), _values(own, ends).max())
        for k in np.flatnonzero(own[:, 0] + np.abs(own[:, 1:]).sum(axis=1) > highest):
            turns = _turns(own[k])
            highest = max(highest, _values(own[k], turns[turns <= ends[k]]).max(initial=0.0))
        return float(highest + self.error) if highest > 0.0 else 0.0


def _read(cuts: Reals, tables: Sequence[Reals], lengths: Reals) -> list[Reals]:
    """Return the values of some tables with the same cuts, whose polynomials are by power.

    Lengths in rows (N, M) rise, or fall, along each row. Where its ends lie in one piece, as those
    of a cell of an integral mostly do, the piece is looked up once.
    """
    given = np.clip(np.asarray(lengths, np.float64), cuts[0], cuts[-1])
    if given.ndim != 2 or given.shape[1] < NODES_OF_A_ROW:
        return _evaluated(cuts, tables, given, _pieces(cuts, given))
    first, last = _pieces(cuts, given[:, 0]), _pieces(cuts, given[:, -1])
    alike = first == last
    if alike.all():
        return _evaluated(cuts, tables, given, first[:, None])
    inside, across = given[alike], given[~alike]
    parts = (
        _evaluated(cuts, tables, inside, first[alike, None]),
        _evaluated(cuts, tables, across, _pieces(cuts, across)),
    )
    found = []
    for own, other in zip(*parts, strict=True):
        values = np.empty_like(given)
        values[alike], values[~alike] = own, other
        found.append(values)
    return found


def _pieces(cuts: Reals, lengths: Reals) -> Any:
    return np.minimum(np.searchsorted(cuts, lengths, side="right") - 1, len(cuts) - 2)


def _evaluated(cuts: Reals, tables: Sequence[Reals], lengths: Reals, piece: Any) -> list[Reals]:
    if piece.ndim == 2 and piece.shape[1] == 1:
        # A coefficient for a row of few would be spread anew over each: columns are long.
        across = _evaluated(cuts, tables, np.ascontiguousarray(lengths.T), piece[:, 0])
        return [own.T for own in across]
    share = 2.0 * (lengths - cuts[piece]) / (cuts[piece + 1] - cuts[piece]) - 1.0
    found = []
    for by_power in tables:
        *lower, highest = by_power
        value = highest[piece] * share
        for own in lower[:0:-1]:
            value += own[piece]
            value *= share
        value += lower[0][piece]
        found.append(value)
    return found


@dataclass(frozen=True)
class Tables:
    """Two tables that are read at the same lengths: each is looked up once.

    Their polynomials, by power, are on the pieces between cuts that they share.
    """

    cuts: Reals
    by_power: tuple[Reals, Reals]

    @classmethod
    def of(cls, first: Table, second: Table) -> Tables:
        cuts = np.union1d(first.cuts, second.cuts)
        return cls(cuts, (_narrowed(first, cuts), _narrowed(second, cuts)))

    def __call__(self, lengths: Reals) -> tuple[Reals, Reals]:
        """Return both values at each length."""
        first, second = _read(self.cuts, self.by_power, lengths)
        return first, second

    def first(self, lengths: Reals) -> Reals:
        """Return the value of the first at each length."""
        return _read(self.cuts, self.by_power[:1], lengths)[0]

    def second(self, lengths: Reals) -> Reals:
        """Return the value of the second at each length."""
        return _read(self.cuts, self.by_power[1:], lengths)[0]

    @property
    def turns(self) -> tuple[float, ...]:
        """Where they bend: the cuts inside, without those of pieces for one length."""
        wide = np.diff(self.cuts) > 2.0 * SLIVER * self.cuts[-1]
        return tuple(self.cuts[1:-1][wide[:-1]].tolist())

    def joined(self, error: float) -> Tables:
        """Return the tables with few pieces: neighbours are one where a polynomial fits both.

        A table has to be cut wherever its function might bend, and those who integrate over it
        look at each piece; at most of the cuts it does not bend by as much as the error. Zero
        stays zero: a piece of zeros joins its like alone.
        """
        ends, stays = self.cuts, np.ones(len(self.cuts), bool)
        zeros = np.array([(own == 0.0).all(axis=0) for own in self.by_power])
        stays[1:-1] = (zeros[:, 1:] != zeros[:, :-1]).any(axis=0)
        while not stays.all():
            left = np.flatnonzero(~stays)
            # Of two neighbouring ends one is tried, for both are ends of one piece.
            odd = left[left % 2 == 1]
            tried = odd if len(odd) else left
            fits = self._off_across(ends[tried - 1], ends[tried], ends[tried + 1]) <= error
            stays[tried[~fits]] = True
            ends, stays = np.delete(ends, tried[fits]), np.delete(stays, tried[fits])
        values = self._at(_placed(ends[:-1], ends[1:], _JOINED_NODES))
        first, second = (np.ascontiguousarray(_JOINED_INVERSE @ own.T) for own in values)
        return Tables(ends, (first, second))

    def _off_across(self, low: Reals, middle: Reals, high: Reals) -> Reals:
        """Return how far one polynomial from low to high is off, at the nodes of both its parts."""
        tests = [_placed(low, middle, _JOINED_NODES), _placed(middle, high, _JOINED_NODES)]
        places = np.concatenate(tests, axis=1)
        shares = 2.0 * (places - low[:, None]) / (high - low)[:, None] - 1.0
        inside = self._at(_placed(low, high, _JOINED_NODES))
        off: list[Reals] = [
            np.abs(_polynomials(own @ _JOINED_INVERSE.T, shares) - there).max(axis=1)
            for own, there in zip(inside, self._at(places), strict=True)
        ]
        return np.maximum(*off)

    def _at(self, places: Reals) -> list[Reals]:
        return [own.reshape(places.shape) for own in self(places.ravel())]


def _placed(low: Reals, high: Reals, nodes: Reals) -> Reals:
    # The nodes of pieces, each a row.
    found: Reals = low[:, None] + (high - low)[:, None] * (nodes + 1.0) / 2.0
    return found


def _polynomials(coefficients: Reals, shares: Reals) -> Reals:
    # Each row of shares by its own row of coefficients.
    found = np.zeros_like(shares)
    for own in coefficients.T[::-1]:
        found = found * shares + own[:, None]
    return found


def _narrowed(table: Table, cuts: Reals) -> Reals:
    """Return the polynomials of a table, by power, on the narrower pieces between some cuts."""
    low, high = np.clip((cuts[:-1], cuts[1:]), table.cuts[0], table.cuts[-1])
    piece = _pieces(table.cuts, (low + high) / 2.0)
    width = np.diff(table.cuts)[piece]
    # The piece's own x is middle + half * y, where y goes from -1 to 1 over the narrower one.
    middle = ((low - table.cuts[piece]) + (high - table.cuts[piece])) / width - 1.0
    half = (high - low) / width
    own, found = table.coefficients[piece].T, np.zeros((DEGREE + 1, len(piece)))
    for power in range(DEGREE, -1, -1):
        # Horner's rule for polynomials: what is there, times (middle + half * y).
        found[1:] = found[1:] * middle + found[:-1] * half
        found[0] = found[0] * middle + own[power]
    return found


def _values(coefficients: Reals, shares: Reals) -> Reals:
    found = np.polynomial.polynomial.polyval(shares, coefficients.T, tensor=False)
    return np.asarray(found, np.float64)


def _turns(coefficients: Reals) -> Reals:
    """Return the places inside a piece at which its polynomial may turn."""
    slope = np.polynomial.polynomial.polyder(coefficients)
    # Leading powers that weigh nothing would make the roots of the others inexact.
    slope = np.polynomial.polynomial.polytrim(slope, SLIGHT)
    roots = np.polynomial.polynomial.polyroots(slope).real
    return np.asarray(roots[np.abs(roots) <= 1.0], np.float64)


def tabulate(function: Function, cuts: Iterable[float], top: float, error: float = ERROR) -> Table:
    """Return a table of the function on [0, top], whose pieces end at least at the cuts."""
    draft = _Draft.of(cuts, top, error)
    while draft.waiting:
        draft.take(dict(zip(draft.waiting, _fit(function, draft.waiting), strict=True)))
    return draft.table(function)


def tabulate_both(
    both: Pair, alone: tuple[Function, Function], cuts: Iterable[float], top: float, error: float
) -> tuple[Table, Table]:
    """Return the tables of two functions that are cheaper together: where both are needed.

    They are those that each of the functions `alone` has.
    """
    own = tuple(cuts)
    drafts = _Draft.of(own, top, error), _Draft.of(own, top, error)
    while any(draft.waiting for draft in drafts):
        shared = [piece for piece in drafts[0].waiting if piece in set(drafts[1].waiting)]
        shared_fits = _fit_both(both, shared)
        for draft, function, fits in zip(drafts, alone, shared_fits, strict=True):
            known = dict(zip(shared, fits, strict=True))
            rest = [piece for piece in draft.waiting if piece not in known]
            draft.take(known | dict(zip(rest, _fit(function, rest), strict=True)))
    first, second = (d.table(function) for d, function in zip(drafts, alone, strict=True))
    return first, second


@dataclass
class _Draft:
    """A table while its pieces are halved."""

    waiting: list[Piece]
    top: float
    error: float
    done: list[tuple[float, Reals]] = field(default_factory=list)
    halvings: int = 0

    @classmethod
    def of(cls, cuts: Iterable[float], top: float, error: float) -> _Draft:
        inner = sorted({float(cut) for cut in cuts if 0.0 < cut < top})
        return cls(list(zip([0.0, *inner], [*inner, top], strict=True)), top, error)

    def take(self, fits: Mapping[Piece, Fit]) -> None:
        """Keep the pieces that fit, and halve the others."""
        self.halvings += 1
        full = len(self.waiting) + len(self.done) > MOST_PIECES
        last = full or self.halvings == MOST_HALVINGS
        again: list[Piece] = []
        for low, high in self.waiting:
            coefficients, worst = fits[low, high]
            if worst <= self.error or last or high - low <= 1e-9 * self.top:
                self.done.append((low, coefficients))
            else:
                middle = (low + high) / 2.0
                again += [(low, middle), (middle, high)]
        self.waiting = again

    def table(self, function: Function) -> Table:
        """Return the table, with 0 itself where the function is."""
        pieces = sorted(self.done, key=lambda piece: piece[0])
        pieces = _with_zeros(function, pieces, self.top)
        starts = [low for low, _ in pieces]
        return Table(
            np.array([*starts, self.top]), np.array([own for _, own in pieces]), self.error
        )


def _with_zeros(
    function: Function, pieces: list[tuple[float, Reals]], top: float
) -> list[tuple[float, Reals]]:
    """Return the pieces, with 0 itself at the beginning of those at which the function is 0.

    A polynomial would be off by the error there, and what cannot be would be told as unlikely.
    """
    starts = np.array([low for low, _ in pieces])
    are_zero = function(starts) <= ZERO
    ends = [*starts[1:].tolist(), top]
    found: list[tuple[float, Reals]] = []
    for (low, own), end, is_zero in zip(pieces, ends, are_zero.tolist(), strict=True):
        if not (is_zero and own.any()):
            found.append((low, own))
            continue
        found.append((low, np.zeros_like(own)))
        # Cuts that are sums may lie closer to each other than a sliver is wide.
        if low + SLIVER * top < end:
            found.append((low + SLIVER * top, own))
    return found


def _fit(function: Function, pieces: Sequence[Piece]) -> list[Fit]:
    """Return the polynomial of each piece, and how far it is off between the nodes."""
    lengths = _sampled(pieces)
    return _fitted(function(lengths.ravel()).reshape(lengths.shape))


def _fit_both(function: Pair, pieces: Sequence[Piece]) -> tuple[list[Fit], list[Fit]]:
    lengths = _sampled(pieces)
    first, second = function(lengths.ravel())
    return _fitted(first.reshape(lengths.shape)), _fitted(second.reshape(lengths.shape))


def _sampled(pieces: Sequence[Piece]) -> Reals:
    pairs = np.array(pieces, np.float64).reshape(-1, 2)
    low, width = pairs[:, :1], np.diff(pairs, axis=1)
    found: Reals = low + width * (np.concatenate([_NODES, _TESTS]) + 1.0) / 2.0
    return found


def _fitted(values: Reals) -> list[Fit]:
    coefficients = values[:, : DEGREE + 1] @ _INVERSE.T
    off = np.abs(coefficients @ _AT_TESTS.T - values[:, DEGREE + 1 :]).max(axis=1, initial=0.0)
    return [(own, float(worst)) for own, worst in zip(coefficients, off, strict=True)]
