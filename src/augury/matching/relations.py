"""Relations of independent rows: what the safe plan of a type or rank query is made of.

A relation has named columns of codes and, for each row, the probability that the row is there. Rows
that differ in what is still to be projected are independent; that is the plan's promise, not
checked here.

Oracle: tests/oracles/worlds.py enumerates possible worlds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from augury.matching.step_limits import StepLimits
from augury.records import Flags, Reals, Words

# Bytes that a pair of rows takes, and each column of it.
PER_PAIR, PER_COLUMN = 48, 16


@dataclass(frozen=True, slots=True)
class Relation:
    """Rows by column, and how likely each is."""

    columns: Mapping[str, Words]
    p: Reals

    def __len__(self) -> int:
        return len(self.p)

    def take(self, rows: Words | Flags) -> Relation:
        """Return some of the rows."""
        return Relation({name: c[rows] for name, c in self.columns.items()}, self.p[rows])

    def without(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the names of the other columns."""
        gone = set(names)
        return tuple(name for name in self.columns if name not in gone)


def some(relation: Relation, keep: Sequence[str]) -> Relation:
    """Return, for each value of the columns kept, P(at least one row): 1 - prod(1 - p)."""
    order, first = _groups(relation, keep)
    if not len(order):
        return Relation({name: np.zeros(0, np.int64) for name in keep}, np.zeros(0))
    none = np.multiply.reduceat(1.0 - relation.p[order], first)
    head = order[first]
    return Relation({name: relation.columns[name][head] for name in keep}, 1.0 - none)


def total(relation: Relation, keep: Sequence[str]) -> Relation:
    """Return, for each value of the columns kept, the sum of the rows, which exclude each other."""
    order, first = _groups(relation, keep)
    if not len(order):
        return Relation({name: np.zeros(0, np.int64) for name in keep}, np.zeros(0))
    head = order[first]
    columns = {name: relation.columns[name][head] for name in keep}
    return Relation(columns, np.add.reduceat(relation.p[order], first))


def both(left: Relation, right: Relation, limits: StepLimits) -> Relation:
    """Return the natural join, with the products of the probabilities."""
    a, b = pairs(left, right, limits)
    columns = {name: column[a] for name, column in left.columns.items()}
    columns |= {n: c[b] for n, c in right.columns.items() if n not in columns}
    return Relation(columns, left.p[a] * right.p[b])


def pairs(left: Relation, right: Relation, limits: StepLimits) -> tuple[Words, Words]:
    """Return which rows agree in all columns that both relations have."""
    common = [name for name in left.columns if name in right.columns]
    joint = {n: np.concatenate([left.columns[n], right.columns[n]]) for n in common}
    codes = _codes(joint.values(), len(left) + len(right))
    mine, theirs = codes[: len(left)], codes[len(left) :]
    order = np.argsort(theirs, kind="stable")
    low = np.searchsorted(theirs[order], mine, "left")
    count = np.searchsorted(theirs[order], mine, "right") - low
    size = int(count.sum())
    width = len(left.columns) + len(right.columns)
    limits.check_pairs(size, size * (PER_PAIR + PER_COLUMN * width))
    a = np.repeat(np.arange(len(left)), count)
    within = np.arange(size) - np.repeat(np.cumsum(count) - count, count)
    return a, order[np.repeat(low, count) + within]


def best(relation: Relation, value: str, *, least: bool) -> Relation:
    """Return P(the value is the least, or greatest, one there) for each value of each group.

    Groups are those of the other columns; within one, the rows returned exclude each other.
    """
    present = some(relation, tuple(relation.columns))
    sign = 1 if least else -1
    group = _codes((present.columns[n] for n in present.without([value])), len(present))
    order = np.lexsort((sign * present.columns[value], group))
    ordered, chances = present.take(order), present.p[order].copy()
    edges = np.flatnonzero(np.diff(group[order])) + 1
    for part in np.split(np.arange(len(order)), edges):
        before = np.multiply.accumulate(1.0 - ordered.p[part[:-1]])
        chances[part[1:]] *= before
    return Relation(ordered.columns, chances)


def _groups(relation: Relation, keep: Sequence[str]) -> tuple[Words, Words]:
    """Return the rows in the order of the columns kept, and where each new value begins."""
    codes = _codes((relation.columns[name] for name in keep), len(relation))
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    return order, np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]][: len(ordered)])


def _codes(columns: Iterable[Words], n: int) -> Words:
    """Return one number for each combination of values."""
    codes = np.zeros(n, np.int64)
    for column in columns:
        own = np.unique(column, return_inverse=True)[1].reshape(-1)
        codes = codes * (int(own.max(initial=0)) + 1) + own
        codes = np.unique(codes, return_inverse=True)[1].reshape(-1)
    return codes
