"""What may be asked for beside the answers of queries: rows that other stages of the graph give.

`stream` are the rows of a stream that is made of another (what a policy keeps; events with their
owners, as last told), `revisions` all that was told of them, `audit` the log of a policy,
`forecast` the rows of a forecast. Of what acts: `settled` are the matches of a query that stand,
`firings` and `aside` what a rule did and could not do, `changes` and `contents` of a table, and
`written` the changes of all tables that lie in stores, for who commits them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "stream",
    "revisions",
    "audit",
    "forecast",
    "settled",
    "firings",
    "aside",
    "changes",
    "contents",
    "written",
]
# What is asked of what acts.
ACTED = ("settled", "firings", "aside", "changes", "contents", "written")


@dataclass(frozen=True, slots=True, order=True)
class Asked:
    """Rows of some kind, of what is declared under that name, in lower case."""

    kind: Kind
    name: str

    @property
    def key(self) -> str:
        """What its rows are called among the answers; no query can be called so."""
        return f"{self.kind}\n{self.name.lower()}"
