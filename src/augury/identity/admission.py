"""The rows of one step, admitted: badge reads first, then the others, each by time and id.

What no world allows is rejected and changes nothing; a badge read that is impossible puts its owner
where it leads (a reset), unless impossible reads are rejected, too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from augury.identity.owners import Owners, Worlds
from augury.identity.ward import Act, Row

IMPOSSIBLE = "no world allows this event"
IMPOSSIBLE_READ = "no world allows this read (IMPOSSIBLE REJECT)"


@dataclass
class Admission:
    """One step of one ward; `acts` counts what was admitted so far, here and before."""

    owners: Owners
    worlds: Worlds
    rejects_impossible: bool
    acts: int
    admitted: list[tuple[Row, Act]] = field(default_factory=list)
    rejected: list[tuple[Row, str]] = field(default_factory=list)
    resets: list[Any] = field(default_factory=list)

    @property
    def last(self) -> int | None:
        """The time of the last admitted event."""
        return max((row.time for row, _ in self.admitted), default=None)

    def take(self, rows: list[Row]) -> None:
        """Admit or reject each row of the step."""
        movers: set[int] = set()
        for row in sorted(rows, key=lambda row: (row.person is None, row.time, row.id)):
            act = self.owners.ward.act(row, self.acts)
            why = act if isinstance(act, str) else self._refused(row, act, movers)
            if isinstance(act, str) or why is not None:
                self.rejected.append((row, why or ""))
            else:
                self.acts += 1
                self.admitted.append((row, act))

    def _refused(self, row: Row, act: Act, movers: set[int]) -> str | None:
        """Take an act in; return why it cannot be."""
        if row.person is None:
            return None if self.owners.admit(self.worlds, act) else IMPOSSIBLE
        person = self.owners.ward.number_of[row.person]
        again = act.is_move and person in movers
        if not self.owners.read(self.worlds, person, act, again=again):
            if self.rejects_impossible:
                self.owners.reject(self.worlds)
                return IMPOSSIBLE_READ
            self.owners.reset(self.worlds, person, act)
            self.resets.append(row.id)
        if act.is_move:
            movers.add(person)
        return None
