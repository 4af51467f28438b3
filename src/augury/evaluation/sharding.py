"""How the rows of a network are cut into shards that can be evaluated apart.

By key, where every query of the network equates the same columns of its base streams, also through
the queries between; by overlapping ranges of time, where one query over base streams has a window
of time and the input is bounded; otherwise all rows are one shard.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from augury.analysis.checked import CheckedQuery, EqualityClass
from augury.analysis.declarations.catalog import StreamSchema
from augury.analysis.declarations.forecasts import CheckedForecast
from augury.evaluation.asked import Asked
from augury.evaluation.network import Network
from augury.planning.base_streams import base_streams
from augury.planning.distribution.layout import Moving
from augury.planning.distribution.movement import asked_movement, asked_parts, is_moved, moving_of
from augury.planning.distribution.partitioning import Partitioning, shard_columns
from augury.planning.forecast_plan import plan_forecast
from augury.planning.forecast_shards import forecast_cut
from augury.planning.physical import plan_query
from augury.planning.policy_plan import plan_policy
from augury.planning.policy_shards import policy_cut


@dataclass(frozen=True, slots=True)
class Sharding:
    """`columns` are, by base stream in lower case, those whose hash names the shard.

    `keeps_chains` marks queries whose shards keep chains, not rows: those are apart from others.
    For "time", `moving` says how ranges are cut, and what each takes of the rows around it.
    """

    kind: Literal["key", "time", "single"]
    columns: tuple[tuple[str, tuple[str, ...]], ...] = ()
    moving: Moving | None = None
    keeps_chains: bool = False


SINGLE = Sharding("single")
Columns = tuple[str, ...]
# By base stream in lower case, the columns that cut it.
Cut = Mapping[str, Columns]


def sharding_of(network: Network, *, bounded: bool, parts: int = 1) -> Sharding:
    """Return how a network is cut; only a bounded input can be cut by time, into some parts."""
    if network.asked or network.policies:
        return _by_stages(network)
    if not bounded and network.keeps_chains:
        return _by_group(network)
    by_key = _by_key(network)
    if by_key is not None:
        return by_key
    if network.identified or network.forecasts_below:
        return SINGLE
    if bounded and network.is_flat and len(network.names) == 1:
        return _by_time(network, parts)
    return SINGLE


def _by_key(network: Network) -> Sharding | None:
    return _agreed([_key_columns(network, name) for name in network.names])


def _agreed(cuts: Iterable[Cut | None]) -> Sharding | None:
    """Return the cut by key that all allow; None where they do not agree on one."""
    found: dict[str, tuple[str, ...]] = {}
    for own in cuts:
        if own is None:
            return None
        for stream, columns in own.items():
            if found.setdefault(stream, columns) != columns:
                return None
    return Sharding("key", tuple(sorted(found.items())))


def _by_stages(network: Network) -> Sharding:
    """Return how rows are cut where other stages than queries read them: as all of them allow."""
    cuts = [_key_columns(network, name) for name in network.names]
    agreed = _agreed([*cuts, *(_asked_columns(network, each) for each in network.asked)])
    if agreed is None or not _settles_apart(network):
        return SINGLE
    found = dict(agreed.columns)
    for policy in network.policies:
        stream = network.catalog.streams[policy.stream.lower()]
        plan = plan_policy(policy, network.weighed, network.catalog, network.relations)
        allowed = policy_cut(plan, stream).columns
        # Who did an event of a ward, and so what is decided, depends on all events of the ward.
        wards = _wards_of(network, stream) if stream.is_identified else {}
        if allowed is None or wards is None:
            return SINGLE
        ((base, columns),) = (wards or {policy.stream.lower(): allowed}).items()
        if not set(found.setdefault(base, columns)) <= set(allowed):
            return SINGLE
    return Sharding("key", tuple(sorted(found.items())))


def _settles_apart(network: Network) -> bool:
    """Return whether candidates that are cut as their rows are never meet in a table."""
    if network.act is None:
        return True
    shards = network.act.shards
    if shards.kind != "key":
        return False
    for name in network.names:
        own = tuple(column.lower() for column in shards.queries[name])
        key = _partitioning(network, network.queries[name]).key
        if own != ("match_id",) and own != tuple(column.lower() for column in key):
            return False
    return True


def _asked_columns(network: Network, asked: Asked) -> Cut | None:
    """Return the columns of each base stream that cut what is asked for; None if none do."""
    if asked.kind == "revisions" and asked.name in network.queries:
        return _key_columns(network, asked.name)
    if network.catalog.owners_of(asked.name) is not None:
        return _wards_of(network, network.catalog.streams[asked.name])
    if asked.kind == "forecast":
        return _forecast_columns(network, network.forecasts[asked.name])
    # What a policy keeps, and its log, are cut as the policy is; firings and changes as candidates
    # are. A table is whole in every shard, so its contents are told by one.
    return None if asked.kind == "contents" else {}


def _forecast_columns(network: Network, forecast: CheckedForecast) -> Cut | None:
    """Return the columns of each base stream that cut a forecast; None if none do."""
    columns = forecast_cut(plan_forecast(forecast, network.catalog)).columns
    if columns is None:
        return None
    found: dict[str, Columns] = {}
    for stream in forecast.query.streams:
        own = _at_the_ground(network, stream, columns[stream.name])
        if own is None or any(found.setdefault(s, c) != c for s, c in own.items()):
            return None
    return found


def _wards_of(network: Network, stream: StreamSchema) -> Cut | None:
    """Return the columns by which the wards of a stream of owners are parted; None if by none."""
    ward, name = stream.key[:-1], network.catalog.owners_of(stream.name)
    how = network.catalog.identified[name or ""]
    return {how.statement.readings.lower(): ward} if ward else None


def _by_group(network: Network) -> Sharding:
    """Return how chains are cut: by what they are grouped by, for then no answer needs two."""
    found: dict[str, tuple[str, ...]] = {}
    for name in network.names:
        names = tuple(column for _, column in network.chains[name].groups)
        for stream in network.queries[name].streams:
            for base in base_streams(stream, network.catalog):
                if not names or found.setdefault(base, names) != names:
                    return Sharding("single", keeps_chains=True)
    return Sharding("key", tuple(sorted(found.items())), keeps_chains=True)


def _key_columns(network: Network, name: str) -> dict[str, tuple[str, ...]] | None:
    """Return the columns of each base stream that cut a query and all below it; None if none do."""
    query = network.queries[name]
    cut = shard_columns(query, _partitioning(network, query))
    if cut is None:
        return None
    found: dict[str, tuple[str, ...]] = {}
    for stream, columns in cut.items():
        schema = next(s for s in query.streams if s.name == stream)
        own: Mapping[str, tuple[str, ...]] | None = _at_the_ground(network, schema, columns)
        if schema.query is not None:
            own = _below(network, schema.query.lower(), columns)
        elif schema.name.lower() in network.catalog.forecast_streams:
            # A forecast has the keys by which its rows are parted.
            of_all = {n.lower() for n in columns} == {n.lower() for n in schema.key}
            forecast = network.forecasts[schema.name.lower()]
            own = _forecast_columns(network, forecast) if of_all else None
        if own is None or any(found.setdefault(s, c) != c for s, c in own.items()):
            return None
    return found


def _partitioning(network: Network, query: CheckedQuery) -> Partitioning:
    """Return how a query is cut; one event that an owner did lies where all of the owner's do."""
    stream = query.streams[0]
    is_listed = network.graph.of(query.name).lists_matches
    if is_listed and network.is_one_event_of_owners(query.name):
        classes = tuple(EqualityClass(((0, name),), covers_all=True) for name in stream.key)
        return Partitioning("key", "a match is one event", classes, ((stream.name, stream.key),))
    return plan_query(query, network.catalog).partitioning


def _at_the_ground(network: Network, stream: StreamSchema, columns: tuple[str, ...]) -> Cut | None:
    """Return the cut of the rows that a stream is made of; None where all must be together."""
    if stream.is_identified:
        # Who did an event of a ward depends on all events of the ward.
        ward = _wards_of(network, stream)
        return ward if set(stream.key[:-1]) <= set(columns) else None
    kept = network.catalog.suppressed.get(stream.name.lower())
    if kept is not None:
        return {kept.stream.lower(): columns}
    how = network.catalog.inferred.get(stream.name.lower())
    if how is None and stream.markov is not None:
        # The tables of an object go where its rows go.
        whole = {stream.name.lower(): columns, stream.markov.lower(): columns}
        return whole if set(columns) <= set(stream.key) else None
    if how is None:
        return {stream.name.lower(): columns}
    is_learned = network.catalog.models[how.statement.model.lower()].statement.learn_from
    if is_learned or not set(columns) <= set(stream.key):
        return None
    return {how.statement.readings.lower(): columns}


def _below(
    network: Network, name: str, columns: tuple[str, ...]
) -> dict[str, tuple[str, ...]] | None:
    """Return the cut of a lower query, if its matches have its key in the given columns."""
    own = _key_columns(network, name)
    if own is None:
        return None
    query = network.queries[name]
    keys = plan_query(query, network.catalog).partitioning.key
    same = tuple(column.lower() for column in columns) == tuple(key.lower() for key in keys)
    return own if same and _are_keys(query, keys) else None


def _are_keys(query: CheckedQuery, columns: tuple[str, ...]) -> bool:
    known = {key.name.lower() for key in query.keys}
    return all(column.lower() in known for column in columns)


def _by_time(network: Network, parts: int) -> Sharding:
    query = network.queries[network.names[0]]
    cut = plan_query(query, network.catalog).partitioning
    if not is_moved(query, cut):
        return SINGLE
    asked = asked_parts(query)
    movement = asked_movement(query) or "results"
    moving = moving_of(cut, movement, asked or parts, exactly=asked is not None)
    return Sharding("time", moving=moving)
