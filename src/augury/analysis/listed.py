"""A query as one that lists its matches, whatever it returns."""

from __future__ import annotations

from dataclasses import replace

from augury.language.tree import CreateQuery


def listed(query: CreateQuery) -> CreateQuery:
    """Return a query without what it returns; a threshold of something else than matches goes."""
    lists = query.returns is None or query.returns.kind in ("COLUMNS", "STAR")
    query = replace(query, returns=None, each_event=False, approximate=None)
    query = replace(query, group_by=(), every=None)
    return query if lists else replace(query, having=None)
