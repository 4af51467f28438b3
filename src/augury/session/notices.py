"""What a session says of rows beside its answers: each thing once, at the line of its user."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from augury.errors import RowsWarning, warn

if TYPE_CHECKING:
    from augury.rules.stage import State
    from augury.session.declared import Declared

# How many rows were put aside, and why the first of them.
Aside = tuple[int, str]


class Notices:
    """Python warnings, with what was said already."""

    def __init__(self, declared: Declared) -> None:
        self._declared = declared
        self._said: set[str] = set()
        self._counts: dict[tuple[str, str], int] = {}

    def say(self, notices: Iterable[str]) -> None:
        """Warn of what was not said yet."""
        for notice in dict.fromkeys(notices):
            if notice not in self._said:
                self._said.add(notice)
                warn(notice)

    def forget(self, stream: str) -> None:
        """Let the bad rows of a stream be announced anew, since its rows are others."""
        self._counts.pop((stream.lower(), "rejected"), None)

    def announce(self, found: Mapping[tuple[str, str], Aside], *, again: bool = False) -> None:
        """Say of which streams rows were put aside: once of each, and `again` where it was more.

        Of a stream under a policy nothing is told, not even how many rows are bad.
        """
        from augury.sources.announced import announcement

        for (stream, kind), (count, first) in found.items():
            if stream.lower() in self._declared.catalog.guarded:
                continue
            sentence = f"{announcement(stream, kind, count, first)}; see {kind}({stream!r})"
            self._announce((stream.lower(), kind), count, sentence, again=again)

    def announce_firings(self, state: State, *, again: bool = False) -> None:
        """Say of which rules firings were put aside, as of rows."""
        counts: dict[str, int] = {}
        for firing in state.rejected:
            counts[firing.rule] = counts.get(firing.rule, 0) + 1
        for rule, count in counts.items():
            which = "1 firing" if count == 1 else f"{count:,} firings"
            sentence = f"{which} of rule {rule} could not be done; see rejected({rule!r})"
            self._announce((rule.lower(), "firings"), count, sentence, again=again)

    def announce_passed_over(self, count: int, *, again: bool = False) -> None:
        """Say how many matches were left alone, since a store was written beyond their moments."""
        which = "1 match was" if count == 1 else f"{count:,} matches were"
        sentence = f"{which} settled by an earlier run"
        self._announce(("", "passed over"), count, sentence, again=again)

    def _announce(self, what: tuple[str, str], count: int, sentence: str, *, again: bool) -> None:
        known = self._counts.get(what, 0)
        if count > known and (again or not known):
            self._counts[what] = count
            warn(sentence, RowsWarning)
