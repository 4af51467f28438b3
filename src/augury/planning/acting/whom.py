"""Whom rules and active conjuncts concern: queries that read tables which change.

A conjunct is active if it reads such a table, or has a subquery by which no search can go
(`analysis.settled`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from augury.analysis.checked import CheckedQuery, Conjunct
from augury.analysis.declarations.catalog import Catalog
from augury.analysis.expressions.walk import tables_read
from augury.analysis.settled import dynamic_tables

Queries = Mapping[str, CheckedQuery]


def active_conjuncts(query: CheckedQuery, dynamic: frozenset[str]) -> tuple[Conjunct, ...]:
    """Return the conjuncts that are tested on the whole match, where these tables change.

    What FIRST and LAST say of the events that they forbid is none of them.
    """
    forbidden = forbidden_by_edges(query)
    asking = (each for each in query.lookups if forbidden.isdisjoint(each.components))
    return (*asking, *(c for c in query.conjuncts if reads(c, dynamic)))


def forbidden_by_edges(query: CheckedQuery) -> frozenset[int]:
    """Return the components that FIRST and LAST forbid, which nobody named."""
    return frozenset(c.index for c in query.components if c.negated and not c.named)


def reads(conjunct: Conjunct, tables: frozenset[str]) -> bool:
    """Return whether a conjunct looks into one of some tables."""
    return any(name.lower() in tables for name in tables_read(conjunct.expression))


def tested_names(catalog: Catalog, queries: Queries) -> frozenset[str]:
    """Return the queries that have active conjuncts, and those over them, in lower case."""
    dynamic = dynamic_tables(catalog)
    tested = {name for name, query in queries.items() if active_conjuncts(query, dynamic)}
    for name, query in queries.items():
        # Queries come after those that they read.
        if any(stream.query and stream.query.lower() in tested for stream in query.streams):
            tested.add(name)
    return frozenset(tested)


def heard_names(catalog: Catalog, queries: Queries) -> frozenset[str]:
    """Return the queries that rules listen to, and all that these are made of."""
    return _with_lower({rule.query.lower() for rule in catalog.rules.values()}, queries)


def acting_names(catalog: Catalog, queries: Queries) -> frozenset[str]:
    """Return the queries whose matches are settled by moment, in lower case."""
    tested = tested_names(catalog, queries)
    return _with_lower(tested, queries) | heard_names(catalog, queries)


def _with_lower(names: Iterable[str], queries: Queries) -> frozenset[str]:
    found = set(names)
    for name in reversed(list(queries)):
        if name in found:
            found |= {s.query.lower() for s in queries[name].streams if s.query}
    return frozenset(found)
