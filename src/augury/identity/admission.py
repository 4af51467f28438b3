"""The rows of one step, admitted: badge reads first, then the others, each by time and id.

What no world allows is rejected and changes nothing; a badge read that is impossible puts its owner
where it leads (a reset), unless impossible reads are rejected, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from augury.identity.owners import Owners, Worlds
from augury.identity.ward import Act, Row, Ward

IMPOSSIBLE = "no world allows this event"
IMPOSSIBLE_READ = "no world allows this read (IMPOSSIBLE REJECT)"


# A row with what it means, or why it means nothing.
Meant = tuple[Row, Act | str]


def meant(ward: Ward, rows: Iterable[Row], first: int) -> list[Meant]:
    """Return the rows of a step in the order of their admission; acts are numbered from `first`."""
    ordered = sorted(rows, key=lambda row: (row.person is None, row.time, row.id))
    return [(row, ward.act(row, first + k)) for k, row in enumerate(ordered)]


@dataclass
class Admission:
    """One step of one ward; `movers` have moved in it."""

    owners: Owners
    worlds: Worlds
    rejects_impossible: bool
    movers: set[int] = field(default_factory=set)
    admitted: list[tuple[Row, Act]] = field(default_factory=list)
    rejected: list[tuple[Row, str]] = field(default_factory=list)
    resets: list[Any] = field(default_factory=list)

    def take(self, rows: Iterable[Meant]) -> None:
        """Admit or reject each row of the step."""
        for row, act in rows:
            why = act if isinstance(act, str) else self._refused(row, act)
            if isinstance(act, str) or why is not None:
                self.rejected.append((row, why or ""))
            else:
                self.admitted.append((row, act))

    def _refused(self, row: Row, act: Act) -> str | None:
        """Take an act in; return why it cannot be."""
        if row.person is None:
            return None if self.owners.admit(self.worlds, act) else IMPOSSIBLE
        person = self.owners.ward.number_of[row.person]
        again = act.is_move and person in self.movers
        if not self.owners.read(self.worlds, person, act, again=again):
            if self.rejects_impossible:
                self.owners.reject(self.worlds)
                return IMPOSSIBLE_READ
            self.owners.reset(self.worlds, person, act)
            self.resets.append(row.id)
        if act.is_move:
            self.movers.add(person)
        return None
