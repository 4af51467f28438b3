"""Tables over time: a function as polynomials on pieces, with a bounded error of interpolation.

A piece is halved until its polynomial agrees with the function between the nodes too. Pieces are
closed on the left, so a jump that stands at a cut is kept as it is. Kernels read a table as it is:
find the piece by bisection, then one polynomial.

Shapes: K pieces, D = DEGREE + 1 coefficients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from augury.records import Reals

DEGREE = 7
ERROR = 2e-9
# Powers below this weigh less than the error of any table that bounds a search.
SLIGHT = 1e-11
MOST_HALVINGS = 40
# Values of a function below this are rounding, or the error of the tables it is made of
# (integrals.FINE); so wide, of the whole, is a piece for one length.
ZERO, SLIVER = 1e-11, 1e-14
# A function that no polynomial fits must not fill the memory: its last pieces stay as they are.
MOST_PIECES = 4000
Function = Callable[[Reals], Reals]

# Chebyshev nodes of a piece, which goes from -1 to 1, the inverse of the polynomials at them, and
# places between the nodes where the polynomial is put to the test. The last one is just inside.
_NODES = -np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))
_INVERSE = np.linalg.inv(np.vander(_NODES, DEGREE + 1, increasing=True))
_TESTS = np.array([-1.0, -0.91, -0.7, -0.37, 0.0, 0.37, 0.7, 0.91, 1.0 - 2e-9])
_AT_TESTS = np.vander(_TESTS, DEGREE + 1, increasing=True)


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
        share = np.clip(np.asarray(lengths, np.float64), self.cuts[0], self.cuts[-1])
        piece = np.searchsorted(self.cuts, share, side="right") - 1
        piece = np.minimum(piece, len(self.cuts) - 2)
        widths, by_power = self._pieces
        share = 2.0 * (share - self.cuts[piece]) / widths[piece] - 1.0
        value = np.asarray(by_power[DEGREE][piece])
        for power in range(DEGREE - 1, -1, -1):
            value *= share
            value += by_power[power][piece]
        return value

    @cached_property
    def _pieces(self) -> tuple[Reals, Reals]:
        """The widths of the pieces, and the coefficients by power: small enough to stay at hand."""
        return np.diff(self.cuts), np.ascontiguousarray(self.coefficients.T)

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


def constant(value: float) -> Table:
    """Return a table that has one value everywhere."""
    coefficients = np.zeros((1, DEGREE + 1))
    coefficients[0, 0] = value
    return Table(np.array([0.0, 1.0]), coefficients)


def tabulate(function: Function, cuts: Iterable[float], top: float, error: float = ERROR) -> Table:
    """Return a table of the function on [0, top], whose pieces end at least at the cuts."""
    inner = sorted({float(cut) for cut in cuts if 0.0 < cut < top})
    waiting = list(zip([0.0, *inner], [*inner, top], strict=True))
    done: list[tuple[float, Reals]] = []
    for halving in range(MOST_HALVINGS):
        if not waiting:
            break
        pairs = np.array(waiting)
        fits = _fit(function, pairs)
        last = halving == MOST_HALVINGS - 1 or len(waiting) + len(done) > MOST_PIECES
        again: list[tuple[float, float]] = []
        for (low, high), (coefficients, worst) in zip(waiting, fits, strict=True):
            if worst <= error or last or high - low <= 1e-9 * top:
                done.append((low, coefficients))
            else:
                middle = (low + high) / 2.0
                again += [(low, middle), (middle, high)]
        waiting = again
    done.sort(key=lambda piece: piece[0])
    done = _with_zeros(function, done, top)
    starts = [low for low, _ in done]
    return Table(np.array([*starts, top]), np.array([own for _, own in done]), error)


def _with_zeros(
    function: Function, pieces: list[tuple[float, Reals]], top: float
) -> list[tuple[float, Reals]]:
    """Return the pieces, with 0 itself at the beginning of those at which the function is 0.

    A polynomial would be off by the error there, and what cannot be would be told as unlikely.
    """
    starts = np.array([low for low, _ in pieces])
    are_zero = function(starts) <= ZERO
    found: list[tuple[float, Reals]] = []
    for (low, own), is_zero in zip(pieces, are_zero.tolist(), strict=True):
        if is_zero and own.any():
            found.append((low, np.zeros_like(own)))
            low += SLIVER * top  # noqa: PLW2901
        found.append((low, own))
    return found


def _fit(function: Function, pairs: Reals) -> list[tuple[Reals, float]]:
    """Return the polynomial of each piece, and how far it is off between the nodes."""
    low, width = pairs[:, :1], np.diff(pairs, axis=1)
    lengths = low + width * (np.concatenate([_NODES, _TESTS]) + 1.0) / 2.0
    values = function(lengths.ravel()).reshape(lengths.shape)
    coefficients = values[:, : DEGREE + 1] @ _INVERSE.T
    off = np.abs(coefficients @ _AT_TESTS.T - values[:, DEGREE + 1 :]).max(axis=1)
    return [(own, float(worst)) for own, worst in zip(coefficients, off, strict=True)]
