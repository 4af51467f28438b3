"""Partial matches that ran out of time, over bound and over pushed rows: `Session.expired`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa

from augury.analysis.expired import Waiting, waiting_of
from augury.errors import AuguryError
from augury.language.printer import to_text
from augury.language.tree import CreateQuery

Row = dict[str, Any]


class Expired:
    """Which queries of a session are of partial matches, and what was found of them by `push`."""

    def __init__(self) -> None:
        self.watched: dict[str, list[Waiting]] = {}
        self._owner: dict[str, tuple[str, str]] = {}
        self._found: dict[str, list[Row]] = {}

    def watch(self, statement: CreateQuery, declare: Callable[[str], Any]) -> list[Waiting]:
        """Return the queries of the partial matches of a query; declare them, if they are new."""
        assert statement.name is not None
        name = statement.name
        if name.lower() not in self.watched:
            waiting = waiting_of(statement)
            declare("\n".join(to_text(each.query) for each in waiting))
            self.watched[name.lower()], self._found[name.lower()] = waiting, []
            for each in waiting:
                assert each.query.name is not None
                self._owner[each.query.name] = (name, each.component)
        return self.watched[name.lower()]

    def aside(self, found: list[Row]) -> list[Row]:
        """Return the matches of a push without partial ones, which are kept here."""
        if not self._owner:
            return found
        told = []
        for row in found:
            owner = self._owner.get(row["query"])
            if owner is None:
                told.append(row)
            else:
                name, component = owner
                self._found[name.lower()].append({**row, "query": name, "waiting_for": component})
        return told

    def so_far(self, query: str) -> list[Row]:
        """Return the partial matches of a query that have run out of time among pushed rows."""
        return list(self._found[query.lower()])


def joined(query: str, tables: Iterable[tuple[str, Any]]) -> Any:
    """Return partial matches, by what they waited for, as one table of a query, or DataFrame."""
    parts = list(tables)
    if isinstance(parts[0][1], pa.Table):
        return pa.concat_tables(_of(query, component, table) for component, table in parts)
    found = None
    for component, frame in parts:
        if frame.isStreaming:
            raise AuguryError(
                f"partial matches of {query} are several queries ({query}_without_...), which are "
                "declared now: a streaming run takes them as a pipeline of these"
            )
        names = [f"`{name}`" for name in frame.columns if name != "query"]
        own = frame.selectExpr(f"'{query}' AS query", *names, f"'{component}' AS waiting_for")
        found = own if found is None else found.unionByName(own)
    return found


def _of(query: str, component: str, table: pa.Table) -> pa.Table:
    n = table.num_rows
    place = table.column_names.index("query")
    named = table.set_column(place, "query", pa.repeat(pa.scalar(query, pa.string()), n))
    return named.append_column("waiting_for", pa.repeat(pa.scalar(component, pa.string()), n))
