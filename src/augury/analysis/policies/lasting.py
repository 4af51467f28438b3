"""Types that are bound for what outlasts a match: what rules write, and what is forecast.

A firing that is lost leaves a table as it was, and a match that looks into it could appear; so what
the firing hangs on is never suppressed. A forecast is of all events that go by; so is a match of
forecasts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import BoundType
from augury.analysis.declarations.ledger import Ledger
from augury.analysis.expressions.walk import tables_read
from augury.analysis.policies.bindings import EVERY, made_of, reads
from augury.language.tree import CreateRule, Insert

Queries = Mapping[str, CheckedQuery]


def bound_by_rules(
    streams: frozenset[str], readable: Queries, queries: Queries, ledger: Ledger
) -> Iterator[BoundType]:
    """Yield the types that rules need which write what a readable query looks into."""
    rules = list(ledger.rules.values())
    looked = {
        name.lower()
        for query in readable.values()
        for conjunct in (*query.conjuncts, *query.lookups)
        for name in tables_read(conjunct.expression)
    }
    while True:
        needed = [rule for rule in rules if looked & {each.table.lower() for each in rule.changes}]
        more = {name.lower() for rule in needed for part in _parts(rule) for name in part}
        if more <= looked:
            break
        looked |= more
    for rule in needed:
        why = "it writes what a query looks into"
        if rule.query.lower() in ledger.forecasts:
            yield BoundType(EVERY, rule.name, why)
        for kind in made_of(rule.query, streams, queries):
            yield BoundType(kind, rule.name, why)


def bound_by_forecasts(
    streams: frozenset[str], queries: Queries, ledger: Ledger
) -> Iterator[BoundType]:
    """Yield every type where a query is asked on a forecast of a stream."""
    forecasts = {name: node.query.lower() for name, node in ledger.forecasts.items()}
    for query in queries.values():
        for stream in query.streams:
            below = forecasts.get(stream.name.lower())
            if below is not None and reads(below, streams, queries):
                yield BoundType(EVERY, query.name, "it is asked on a forecast of them")


def _parts(rule: CreateRule) -> Iterator[Any]:
    """Yield the tables that each condition of a rule looks into."""
    if rule.when is not None:
        yield tables_read(rule.when)
    for change in rule.changes:
        if not isinstance(change, Insert) and change.condition is not None:
            yield tables_read(change.condition)
