"""Policies over bound rows: what is kept of a stream, and the log of decisions.

This stands before every reader: whoever evaluates gets the kept rows in the place of the raw ones,
which are out of reach from here on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import Catalog, PolicySchema, StreamSchema
from augury.errors import DataError
from augury.evaluation.encoding import declaration_of, rows_of_table
from augury.evaluation.identifying import Identities, identify_stage, last_tellings
from augury.evaluation.stages.kept_owners import KeptOwners
from augury.evaluation.stages.suppress import Deciding, SuppressStage
from augury.evaluation.stream_rows import StreamRows
from augury.planning.policy_plan import plan_policy
from augury.sources.rows import conform, sift


@dataclass(frozen=True)
class Suppressed:
    """A stream under a policy: its kept rows, and what was decided.

    `identities` is all that is told of the owners of what was kept.
    """

    kept: StreamRows
    audit: pa.Table
    decider: Deciding
    identities: Identities | None = None


def gated(
    catalog: Catalog, queries: Mapping[str, CheckedQuery], bound: Mapping[str, pa.Table]
) -> dict[str, Suppressed]:
    """Return what every policy keeps of its stream, if that is bound, by lower-case stream."""
    found = {}
    for policy in catalog.policies.values():
        if policy.stream.lower() in bound:
            plan = plan_policy(policy, queries, catalog, table_rows(catalog, bound))
            stage = SuppressStage(plan, catalog.streams[policy.stream.lower()])
            state, rows = taught(stage, catalog, bound), _checked(stage.stream, bound)
            decider, passed = stage.advance(state, rows)
            found[policy.stream.lower()] = Suppressed(passed.kept, passed.audit, decider)
    for policy in catalog.policies.values():
        known = catalog.identified.get(policy.stream.lower())
        if known is not None and known.statement.readings.lower() in bound:
            plan = plan_policy(policy, queries, catalog, table_rows(catalog, bound))
            stage = SuppressStage(plan, catalog.streams[policy.stream.lower()])
            found[policy.stream.lower()] = _of_owners(stage, catalog, bound)
    return found


def _of_owners(stage: SuppressStage, catalog: Catalog, bound: Mapping[str, pa.Table]) -> Suppressed:
    """Return what is told of the owners of kept events, in one step."""
    owners = kept_owners(stage, catalog, bound)
    rows = _checked(owners.source, bound).table
    state, tidings = owners.advance(owners.start(), rows)
    last = StreamRows(owners.own, last_tellings(tidings.told, owners.own), tidings.rejected)
    known = Identities(last, tidings.told, 0, owners.identifier, owners.seen(rows))
    assert tidings.audit is not None
    return Suppressed(last, tidings.audit, state.decider, known)


def kept_owners(
    stage: SuppressStage, catalog: Catalog, bound: Mapping[str, pa.Table]
) -> KeptOwners:
    """Return the stage of a policy on events whose owners are told."""
    owners = identify_stage(catalog, bound, stage.stream.name)
    return KeptOwners(owners, stage, history_of(stage.plan.schema, catalog, bound))


def history_of(
    policy: PolicySchema, catalog: Catalog, bound: Mapping[str, pa.Table]
) -> StreamRows | None:
    """Return the rows that a policy learns from, of owners as last told; None where it has none."""
    if policy.statement.learn_from is None:
        return None
    schema = catalog.streams[policy.statement.learn_from.lower()]
    known = catalog.identified.get(schema.name.lower())
    below = schema if known is None else catalog.streams[known.statement.readings.lower()]
    if below.name.lower() not in bound:
        raise DataError(
            f"policy {policy.name} learns from {below.name}, which has no data; bind it: "
            f"bind({below.name!r}, table)"
        )
    rows = _checked(below, bound)
    if known is None:
        return rows
    stage = identify_stage(catalog, bound, schema.name)
    log = stage.advance(stage.start(), rows.table)[1].told
    return StreamRows(schema, last_tellings(log, schema), rows.rejected)


def owners_behind_policies(
    catalog: Catalog, found: Mapping[str, Suppressed]
) -> dict[str, Identities]:
    """Return what readers are told of owners, by lower-case stream, of streams under a policy.

    Streams AS SUPPRESS are told what their stream is.
    """
    identities = dict[str, Identities]()
    for policy in catalog.policies.values():
        own = found.get(policy.stream.lower())
        if own is None or own.identities is None:
            continue
        known = identities[policy.stream.lower()] = own.identities
        for alias, kept in catalog.suppressed.items():
            if kept.policy == policy.name:
                last = replace(known.last, schema=catalog.streams[alias])
                identities[alias] = replace(known, last=last)
    return identities


def taught(stage: SuppressStage, catalog: Catalog, bound: Mapping[str, pa.Table]) -> Deciding:
    """Return what decides, with what its history teaches."""
    return stage.start(history_of(stage.plan.schema, catalog, bound))


def behind_policies(
    catalog: Catalog, bound: Mapping[str, pa.Table], found: Mapping[str, Suppressed]
) -> tuple[dict[str, pa.Table], dict[str, StreamRows]]:
    """Return the bound rows and the loaded streams that readers see: of policies, what was kept.

    A history is read by its policy alone, so that nothing of it is left.
    """
    rows, loaded = dict(bound), dict[str, StreamRows]()
    for policy in catalog.policies.values():
        name, history = policy.stream.lower(), (policy.statement.learn_from or "").lower()
        if (known := catalog.identified.get(history)) is not None:
            history = known.statement.readings.lower()
        if history in rows:
            empty = _checked(catalog.streams[history], bound)
            none, bad = empty.table.slice(0, 0), empty.rejected.slice(0, 0)
            loaded[history] = replace(empty, table=none, rejected=bad)
        if name in found:
            loaded[name] = found[name].kept
            for alias, own in catalog.suppressed.items():
                if own.policy == policy.name:
                    table = found[name].kept.table
                    loaded[alias] = StreamRows(catalog.streams[alias], table, table.slice(0, 0))
    rows |= {name: each.table for name, each in loaded.items()}
    return rows, loaded


def rejected_rows(catalog: Catalog, name: str, bound: Mapping[str, pa.Table]) -> pa.Table:
    """Return the bad rows of a stream under a policy, or of a history, for their owner."""
    return _checked(catalog.streams[name], bound).rejected


def _checked(schema: StreamSchema, bound: Mapping[str, pa.Table]) -> StreamRows:
    """Return the rows of a stream, good and bad; an error tells nothing of what they hold."""
    declared = declaration_of(schema)
    try:
        return StreamRows(schema, *sift(conform(bound[schema.name.lower()], declared), declared))
    except (DataError, pa.ArrowException):
        raise DataError(
            f"the rows of stream {schema.name} do not have the columns and types that it declares; "
            "what is wrong is not told, because a policy reads them"
        ) from None


def table_rows(catalog: Catalog, bound: Mapping[str, pa.Table]) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of the bound tables."""
    return {
        name: rows_of_table(schema, bound[name])
        for name, schema in catalog.tables.items()
        if name in bound
    }
