"""What queries, streams and models are made of: the streams, queries and relations below them."""

from __future__ import annotations

from collections.abc import Mapping

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import Catalog, ModelSchema, StreamSchema


def base_streams(stream: StreamSchema, catalog: Catalog) -> dict[str, StreamSchema]:
    """Return the streams whose rows a stream is made of, by lower-case name.

    What a forecast reads is read by itself.
    """
    if stream.name.lower() in catalog.forecast_streams:
        return {}
    how = catalog.inferred.get(stream.name.lower())
    known = catalog.identified.get(stream.name.lower())
    kept = catalog.suppressed.get(stream.name.lower())
    names = [stream.name]
    if known is not None:
        names = [known.statement.readings]
    elif kept is not None:
        return base_streams(catalog.streams[kept.stream.lower()], catalog)
    elif how is not None:
        model = catalog.models[how.statement.model.lower()].statement
        names = [how.statement.readings, model.learn_from or "", model.learn_on or ""]
    elif stream.markov is not None:
        names.append(stream.markov)
    found = (catalog.stream(name) for name in names if name)
    return {each.name.lower(): each for each in found if each is not None}


def model_tables(model: ModelSchema) -> set[str]:
    """Return the relations that a model is made of, by lower-case name."""
    own = model.statement
    of_states = (own.states, own.initial, own.transition, own.emission)
    names = (*of_states, own.cells, own.walls, own.antennas)
    return {name.lower() for name in names if name is not None}


def below(query: CheckedQuery, queries: Mapping[str, CheckedQuery]) -> dict[str, CheckedQuery]:
    """Return a query and all queries that it reads, by lower-case name."""
    found = {query.name.lower(): query}
    for stream in query.streams:
        if stream.query is not None:
            found |= below(queries[stream.query.lower()], queries)
    return found


def owned_streams(query: CheckedQuery, queries: Mapping[str, CheckedQuery]) -> list[str]:
    """Return the streams with owners in doubt that a query reads, or one below it."""
    found = below(query, queries).values()
    return [s.name.lower() for each in found for s in each.streams if s.is_identified]


def weighed_queries(catalog: Catalog) -> list[str]:
    """Return the queries that policies name, in lower case."""
    nodes = [policy.statement for policy in catalog.policies.values()]
    return [each.query.lower() for node in nodes for each in (*node.public, *node.private)]
