"""What travels between stages: events as columns of arrays, and matches as rows over them.

Read this first. Every stage takes and gives these; nothing here knows Spark, Arrow or the language.

Shapes: T events, C attribute columns, M matches.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.int64]
# Small numbers, of which there are as many as events.
Places = npt.NDArray[np.int32]
Reals = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

# Probabilities are decimal fractions, or computed: rounding may lead beyond 0 and 1 by so much.
ROUNDING = 1e-9
# A sum of fractions that are 1 together is off by less than that.
SUM_ERROR = 1e-12


def chance(p: float) -> float:
    """Return the probability that a number means which rounding may have moved."""
    return min(max(p, 0.0), 1.0)


def remainder(total: float) -> float:
    """Return what is missing to 1, and nothing where that is what a sum of fractions is off by."""
    return 1.0 - total if total < 1.0 - SUM_ERROR else 0.0


@dataclass(frozen=True, slots=True)
class Events:
    """T events, one array per property.

    Fields:
        time: microseconds or ticks; `tie` orders equal times within one `stream`.
        key: number of the object that the event is about; adjacency is within one key.
        partition: number of the value that the query equates; matches lie in one partition.
        mask: bit c is set if the event may play component c.
        p: P(the event happened); `group` numbers alternatives that exclude each other (-1: none).
        row: number of the event in its source, by which callers know it.
        values, nulls: (C, T) attributes that rules read, floats as bits, strings as codes.
        is_float: which attributes are doubles.
    """

    time: Words
    tie: Words
    stream: Words
    key: Words
    partition: Words
    mask: Words
    p: Reals
    group: Words
    row: Words
    values: Words
    nulls: Flags
    is_float: tuple[bool, ...] = ()

    def __len__(self) -> int:
        return len(self.time)

    def take(self, positions: Words | slice | Flags) -> Events:
        """Return the events at the given positions."""
        changed: dict[str, Any] = {}
        for item in fields(self):
            array = getattr(self, item.name)
            if isinstance(array, tuple):
                continue
            changed[item.name] = array[:, positions] if array.ndim == 2 else array[positions]
        return replace(self, **changed)

    @staticmethod
    def joined(first: Events, second: Events) -> Events:
        """Return the events of both, first those of the first."""
        if not len(first):
            return second
        changed: dict[str, Any] = {}
        for item in fields(Events):
            pair = getattr(first, item.name), getattr(second, item.name)
            if isinstance(pair[0], tuple):
                continue
            changed[item.name] = np.concatenate(pair, axis=pair[0].ndim - 1)
        return replace(first, **changed)


@dataclass(frozen=True)
class Matches:
    """M matches over the rows of a source, in compressed rows.

    Items `first_item[m]..first_item[m + 1]` are (component, row) in the order of time; absents
    `first_absent[m]..` are (row, since) as the search kernel gives them, empty where the confidence
    is final. `confidence` is an upper bound where `is_final` is False. `missed` has the components
    (bits) that were not read, though they are part of the match. `revision` counts how often
    a match was told again under its id: 0 is the first time. `number` counts those that AFTER MATCH
    takes, in each partition from 1; it is empty elsewhere. `ended_by` has the row of the event with
    which each is known, as `matching.run_ends` has it, where somebody asks for it.
    """

    first_item: Words
    component: Words
    row: Words
    first_absent: Words
    absent_row: Words
    absent_since: Words
    confidence: Reals
    report_time: Words
    is_final: Flags
    missed: Words
    revision: Words
    number: Words = field(default_factory=lambda: np.zeros(0, np.int64))
    ended_by: Words = field(default_factory=lambda: np.zeros(0, np.int64))

    def __len__(self) -> int:
        return len(self.confidence)

    @staticmethod
    def none() -> Matches:
        """Return no matches."""
        start, words = np.zeros(1, np.int64), np.zeros(0, np.int64)
        items, absents = (start, words, words), (start, words, words)
        flags = np.zeros(0, np.bool_)
        return Matches(*items, *absents, np.zeros(0), words, flags, words, words)

    @property
    def n_missed(self) -> Words:
        """How many components each match takes as missed."""
        if not self.missed.any():
            return np.zeros(len(self), np.int64)
        bits = np.unpackbits(self.missed.view(np.uint8).reshape(-1, 8), axis=1)
        counted: Words = bits.sum(axis=1, dtype=np.int64)
        return counted

    @cached_property
    def has_one_of_each(self) -> bool:
        """Whether every match has one item of each of the first components, by their numbers."""
        each = len(self.row) // max(len(self), 1)
        if not each or each * len(self) != len(self.row):
            return False
        return bool((self.component.reshape(-1, each) == np.arange(each)).all())

    def only(self, numbers: Words) -> Matches:
        """Return the matches of the given numbers, in that order."""
        items, first_item = _picked(self.first_item, numbers)
        absents, first_absent = _picked(self.first_absent, numbers)
        return Matches(
            first_item,
            self.component[items],
            self.row[items],
            first_absent,
            self.absent_row[absents],
            self.absent_since[absents],
            self.confidence[numbers],
            self.report_time[numbers],
            self.is_final[numbers],
            self.missed[numbers],
            self.revision[numbers],
            self.number[numbers] if len(self.number) else self.number,
            self.ended_by[numbers] if len(self.ended_by) else self.ended_by,
        )

    def settled(self, confidence: Reals) -> Matches:
        """Return the same matches with final confidences, and nothing left to settle."""
        none = np.zeros(0, np.int64)
        return replace(
            self,
            first_absent=np.zeros(len(self) + 1, np.int64),
            absent_row=none,
            absent_since=none,
            confidence=np.clip(confidence, 0.0, 1.0),
            is_final=np.ones(len(self), np.bool_),
        )

    @staticmethod
    def joined(first: Matches, second: Matches) -> Matches:
        """Return the matches of both, first those of the first."""
        changed: dict[str, Any] = {}
        for item in fields(Matches):
            one, other = getattr(first, item.name), getattr(second, item.name)
            if item.name.startswith("first_"):
                other = other[1:] + one[-1]
            changed[item.name] = np.concatenate([one, other])
        return replace(first, **changed)


def _picked(starts: Words, numbers: Words) -> tuple[Words, Words]:
    """Return where the given compressed rows stand, one after the other, and their new starts."""
    firsts, lengths = starts[:-1][numbers], np.diff(starts)[numbers]
    fresh = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return np.arange(fresh[-1]) + np.repeat(firsts - fresh[:-1], lengths), fresh


# One object for all of them: as a key, Python finds NaN again only where it is the same object.
NOT_A_NUMBER = float("nan")


def as_key(value: Any) -> Any:
    """Return a value as dictionaries and sets tell it apart: one NaN, one zero, as in SQL."""
    if not isinstance(value, float):
        return value
    return NOT_A_NUMBER if math.isnan(value) else value + 0.0
