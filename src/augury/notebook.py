"""Cells of notebooks: `%%augury`, with answers that show themselves.

`%load_ext augury` brings the cell magic; a cell is a script for the session `ag` of the notebook,
or for a local one that is made there.
"""

from __future__ import annotations

from html import escape
from typing import Any

from augury.errors import QueryError, Source
from augury.language.parser import parse
from augury.language.tree import Explain
from augury.report.shown import Shown, display, explained
from augury.session import Session


def run_cell(namespace: dict[str, Any], line: str, cell: str) -> Shown:
    """Run a cell: a script for the session that the line names, `ag` unless it names one.

    Shown is what its EXPLAIN statements give, and else the answer of the last query of it, if
    that has rows to be answered from; what a policy keeps private is passed over. A mistake is
    shown with its caret.
    """
    name = line.strip() or "ag"
    ag = namespace.get(name)
    if not isinstance(ag, Session):
        ag = namespace[name] = Session(engine="local")
    known = set(ag.queries)
    try:
        outputs = ag.sql(cell, name="<cell>")
    except QueryError as error:
        return Shown(f'<pre style="color:#be123c">{escape(str(error))}</pre>', str(error))
    pictures = [explained(ag, each) for each in _explained_in(cell)] if outputs else []
    if pictures:
        both = (part.html for part in pictures), (part.text for part in pictures)
        return Shown("".join(both[0]), "\n".join(both[1]))
    catalog = ag._declared.catalog
    new = [each for each in ag.queries if each not in known and not catalog.is_private(each)]
    if new and _has_rows(ag, new[-1]):
        return display(ag, new[-1])
    return Shown("", "")


def _explained_in(cell: str) -> list[str]:
    statements = parse(Source("<cell>", cell)).statements
    return [each.query for each in statements if isinstance(each, Explain)]


def _has_rows(ag: Session, query: str) -> bool:
    """Return whether all streams of a query are bound, or are made of others."""
    streams = ag._declared.checked_queries[query.lower()].streams
    return all(s.query is not None or s.name.lower() in ag._bound.rows for s in streams)


def load(shell: Any) -> None:
    """Give a shell of IPython the magic `%%augury`."""

    def augury(line: str, cell: str) -> Shown:
        return run_cell(shell.user_ns, line, cell)

    shell.register_magic_function(augury, magic_kind="cell")
