"""Partial matches that ran out of time, over bound and over pushed rows: `Session.expired`."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any

import pyarrow as pa

from augury.analysis.expired import Waiting, waiting_of
from augury.language.printer import to_text
from augury.language.tree import CreateQuery

Row = dict[str, Any]


class Expired:
    """Which queries of a session are of partial matches, and what was found of them by `push`."""

    def __init__(self) -> None:
        self.watched: dict[str, list[Waiting]] = {}
        self._owner: dict[str, tuple[str, str]] = {}
        self._found: dict[str, list[Row]] = {}

    def watch(
        self, statement: CreateQuery, declare: Callable[[str], Any], known: Container[str]
    ) -> list[Waiting]:
        """Return the queries of the partial matches of a query; declare those not yet `known`."""
        assert statement.name is not None
        name = statement.name
        if name.lower() not in self.watched:
            waiting = waiting_of(statement)
            fresh = [e.query for e in waiting if str(e.query.name).lower() not in known]
            if fresh:
                declare("\n".join(map(to_text, fresh)))
            self.watched[name.lower()], self._found[name.lower()] = waiting, []
            for each in waiting:
                assert each.query.name is not None
                self._owner[each.query.name] = (name, each.component)
        return self.watched[name.lower()]

    def aside(self, found: list[Row]) -> list[Row]:
        """Return the matches of a push without partial ones, which are kept here."""
        if not self._owner:
            return found
        complete = []
        for row in found:
            owner = self._owner.get(row["query"])
            if owner is None:
                complete.append(row)
            else:
                name, component = owner
                self._found[name.lower()].append({**row, "query": name, "waiting_for": component})
        return complete

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
        names = [f"`{name}`" for name in frame.columns if name != "query"]
        own = frame.selectExpr(f"'{query}' AS query", *names, f"'{component}' AS waiting_for")
        found = own if found is None else found.unionByName(own)
    return found


def in_one_pass(query: str, pipeline: Any, components: Mapping[str, str]) -> Any:
    """Return partial matches of a streaming run; `components` are waited for, by query."""
    found = pipeline.matches_of(list(components))
    names = [f"`{name}`" for name in found.columns if name != "query"]
    cases = " ".join(f"WHEN '{name}' THEN '{part}'" for name, part in components.items())
    return found.selectExpr(f"'{query}' AS query", *names, f"CASE query {cases} END AS waiting_for")


def _of(query: str, component: str, table: pa.Table) -> pa.Table:
    n = table.num_rows
    place = table.column_names.index("query")
    named = table.set_column(place, "query", pa.repeat(pa.scalar(query, pa.string()), n))
    return named.append_column("waiting_for", pa.repeat(pa.scalar(component, pa.string()), n))
