"""What really happened in the store, and how the answers compare with it.

A theft is a real read at a shelf and a later real read at a customers' door of the same item, with
no real read at a counter between the two. The reads' own probabilities play no part here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from augury.demo.store.visits import Read
from augury.report.scores import Band, Judged, Score, band, bands, score

THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
HEADLINE = 0.8


@dataclass(frozen=True)
class Day:
    """All reads of a day, with their truth."""

    reads: tuple[Read, ...]

    @cached_property
    def by_id(self) -> dict[int, Read]:
        return {read.id: read for read in self.reads}

    @cached_property
    def by_tag(self) -> dict[str, list[Read]]:
        found: dict[str, list[Read]] = {}
        for read in self.reads:
            found.setdefault(read.tag, []).append(read)
        return found

    @cached_property
    def stolen(self) -> frozenset[str]:
        """The items that were really stolen."""
        return frozenset(tag for tag, reads in self.by_tag.items() if _was_stolen(reads))

    @property
    def ghosts(self) -> int:
        return sum(not read.real for read in self.reads)

    def between(self, taken: Read, gone: Read) -> list[Read]:
        """Return the reads at counters between two reads of an item."""
        same = self.by_tag[taken.tag]
        return [y for y in same if y.reader == "COUNTER" and taken.at < y.at < gone.at]


def _was_stolen(reads: list[Read]) -> bool:
    real = [read for read in reads if read.real]
    unpaid = False  # taken from a shelf, and at no counter since
    for read in real:
        if read.reader == "EXIT" and read.door != "staff" and unpaid:
            return True
        if read.reader != "EXIT":
            unpaid = read.reader == "SHELF"
    return False


@dataclass(frozen=True, slots=True)
class Found:
    """A match: the item was taken at one read and carried out at another."""

    taken: Read
    gone: Read
    confidence: float
    real: bool

    @property
    def tag(self) -> str:
        return self.taken.tag


@dataclass(frozen=True, slots=True)
class Answers:
    """What a session said: matches, and the items that two simpler ways accuse."""

    matches: tuple[Found, ...]
    every_read: frozenset[str]
    likely_reads: frozenset[str]
    script: str
    automaton: str


def found_match(day: Day, row: dict[str, Any]) -> Found:
    """Return a row of the answer with its reads and its truth."""
    taken, gone = (day.by_id[int(event["event_id"])] for event in row["events"])
    paid = any(read.real for read in day.between(taken, gone))
    return Found(taken, gone, row["confidence"], taken.real and gone.real and not paid)


@dataclass(frozen=True)
class Judgement:
    """The answers against the truth.

    `items` are accused by their most confident match, so precision and recall count items;
    `matches` are judged one by one, for that is what a confidence speaks of.
    """

    day: Day
    answers: Answers
    best: dict[str, Found]

    @cached_property
    def items(self) -> list[Judged]:
        stolen = self.day.stolen
        return [(match.confidence, tag in stolen) for tag, match in self.best.items()]

    @cached_property
    def matches(self) -> list[Judged]:
        return [(match.confidence, match.real) for match in self.answers.matches]

    def at(self, threshold: float) -> Score:
        """Return precision and recall from a threshold on."""
        return score(self.items, len(self.day.stolen), threshold)

    def believed(self, accused: Iterable[str]) -> Score:
        """Return precision and recall of a set of items."""
        certain = [(1.0, tag in self.day.stolen) for tag in accused]
        return score(certain, len(self.day.stolen), 1.0)

    @property
    def about_headline(self) -> Band | None:
        """The matches whose confidence is about the headline's threshold."""
        return band(self.matches, HEADLINE - 0.05, HEADLINE + 0.05)

    @property
    def calibration(self) -> list[Band]:
        return bands(self.matches)


def judge(day: Day, answers: Answers) -> Judgement:
    """Hold the answers against the truth."""
    best: dict[str, Found] = {}
    for match in sorted(answers.matches, key=lambda m: (-m.confidence, m.tag, m.taken.id)):
        best.setdefault(match.tag, match)
    return Judgement(day, answers, best)
