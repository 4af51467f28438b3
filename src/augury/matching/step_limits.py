"""How many matches one step may make, and in how much memory: what is beyond is refused in words.

A step is what is evaluated at once: the rows of a table, of a task of Spark, of a micro-batch, or a
pushed event. Its matches lie in memory until they are told, so their number is bounded here, by all
ways that make matches, before memory is taken for them. MATCH LIMIT bounds the matches that begin
with one event; a larger one than the setting `step_match_limit` takes that setting's place.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from augury.config import value_of
from augury.errors import DataError
from augury.matching.pattern import Pattern

# Bytes that a match, one of its events, and one event that must be absent take until the match is
# told: buffers of the search, columns of matches, the answer. Measured with benchmarks/limits.py.
PER_MATCH, PER_ITEM, PER_ABSENT = 200, 80, 32
# What the lineage of a match takes more: its formula is made of objects.
PER_LINEAGE, PER_LITERAL = 1000, 300
# A column of ids, of 32 characters each, has room for no more.
MOST_ROWS = 2**26


class TooManyMatchesError(DataError):
    """A step makes more matches than it may."""


@dataclass(frozen=True, slots=True)
class StepLimits:
    """What the matches of one query may take in one step."""

    query: str
    matches: int
    bytes: int

    @classmethod
    def of(cls, query: str, own_limit: int = 0) -> StepLimits:
        """Return the limits that the settings give, and the query's own MATCH LIMIT (0: none)."""
        most = max(value_of("step_match_limit"), own_limit)
        return cls(query, min(most, MOST_ROWS), value_of("step_byte_limit"))

    @property
    def items(self) -> int:
        """How many events of matches there can be, whatever their number."""
        return min(2 * MOST_ROWS, self.bytes // PER_ITEM)

    @property
    def absents(self) -> int:
        """How many events that must be absent there can be."""
        return self.bytes // PER_ABSENT

    @property
    def rows(self) -> int:
        """How many matches there can be, whatever they hold."""
        return min(self.matches, self.bytes // PER_MATCH)

    def check(self, matches: int, items: int, absents: int = 0, *, seen: str = "") -> None:
        """Raise where so many matches are too many; `seen` tells of how many events they are."""
        if matches > self.matches:
            raise self.too_many(f"more than {self.matches:,} matches", "step_match_limit", seen)
        needed = matches * PER_MATCH + items * PER_ITEM + absents * PER_ABSENT
        if needed > self.bytes or items > 2 * MOST_ROWS:
            raise self.too_large(matches, needed, seen)

    def check_lineage(self, matches: int, items: int) -> None:
        """Raise where the lineage of so many matches takes too much memory."""
        needed = matches * PER_LINEAGE + items * PER_LITERAL
        if needed > self.bytes:
            raise self.too_large(matches, needed, " with their lineage")

    def check_pairs(self, pairs: int, needed: int) -> None:
        """Raise where a join has so many pairs of rows that they take too much memory."""
        if needed > self.bytes:
            what = f"a join of {pairs:,} pairs of rows, which take about {needed / 2**30:.1f} GiB,"
            limit = f"more than {self.bytes / 2**30:.1f} GiB"
            raise self.too_many(f"{what} {limit}", "step_byte_limit", "")

    def too_large(self, matches: int, needed: int, seen: str) -> DataError:
        """Return the error for matches that would take too much memory."""
        what = f"{matches:,} matches{seen}, which take about {needed / 2**30:.1f} GiB,"
        limit = f"more than {self.bytes / 2**30:.1f} GiB"
        return self.too_many(f"{what} {limit}", "step_byte_limit", "")

    def too_many(self, what: str, setting: str, seen: str) -> DataError:
        """Return the error, with what to write."""
        own = ", or write the MATCH LIMIT that you expect" if setting == "step_match_limit" else ""
        return TooManyMatchesError(
            f"query {self.query}: {what} in one step{seen}; narrow WITHIN, add conjuncts, raise "
            f"HAVING CONFIDENCE, or ask RETURN COUNT or RETURN PROBABILITY instead{own}; the limit "
            f"is the setting {setting} (AUGURY_{setting.upper()})"
        )


def limits_of(pattern: Pattern) -> StepLimits:
    """Return the limits of a pattern's query."""
    limits = StepLimits.of(pattern.query, pattern.written_limit)
    return replace(limits, matches=pattern.most_matches) if pattern.most_matches else limits
