"""Policies over bound rows: what is kept of a stream, and the log of decisions.

This stands before every reader: whoever evaluates gets the kept rows in the place of the raw ones,
which are out of reach from here on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import Catalog, StreamSchema
from augury.analysis.declarations.moves import REVISION
from augury.errors import DataError
from augury.evaluation.encoding import declaration_of, rows_of_table
from augury.evaluation.evaluator import Evaluator
from augury.evaluation.identifying import Identities
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
    """Decide about events by what was first told of their owners; what is told again follows."""
    name = stage.plan.schema.statement.learn_from
    history = None
    if name is not None and name.lower() in catalog.identified:
        history = _identities(catalog, name, bound).last
    state = taught(stage, catalog, bound) if history is None else stage.start(history)
    known = _identities(catalog, stage.stream.name, bound)
    log = known.log
    first = log.filter(pc.equal(log.column(REVISION), 0))
    state, passed = stage.advance(state, replace(known.last, table=first))
    kept = published(known, passed.kept.table.column(stage.stream.id))
    return Suppressed(kept.last, passed.audit, state, kept)


def published(known: Identities, ids: Any) -> Identities:
    """Return what is told of some events, by their ids: nothing of others, nor of bad rows."""
    schema, wanted = known.last.schema, pa.chunked_array(ids).combine_chunks()
    table, log = (
        rows.filter(pc.is_in(rows.column(schema.id), wanted))
        for rows in (known.last.table, known.log)
    )
    bad = known.last.rejected.slice(0, 0)
    return replace(known, last=replace(known.last, table=table, rejected=bad), log=log, resets=0)


def _identities(catalog: Catalog, name: str, bound: Mapping[str, pa.Table]) -> Identities:
    below = catalog.identified[name.lower()].statement.readings.lower()
    rows = {below: _checked(catalog.streams[below], bound)}
    return Evaluator(catalog, {}, dict(bound), rows).known(name)


def owners_behind_policies(
    catalog: Catalog, found: Mapping[str, Suppressed]
) -> dict[str, Identities]:
    """Return what readers are told of owners, by lower-case stream, of streams under a policy.

    Streams AS SUPPRESS have the same, and histories nothing.
    """
    told = dict[str, Identities]()
    for policy in catalog.policies.values():
        own = found.get(policy.stream.lower())
        if own is None or own.identities is None:
            continue
        known = told[policy.stream.lower()] = own.identities
        for alias, kept in catalog.suppressed.items():
            if kept.policy == policy.name:
                last = replace(known.last, schema=catalog.streams[alias])
                told[alias] = replace(known, last=last)
        history = (policy.statement.learn_from or "").lower()
        if history in catalog.identified:
            told[history] = published(
                replace(known, last=replace(known.last, schema=catalog.streams[history])),
                known.log.column(known.last.schema.id).slice(0, 0),
            )
    return told


def taught(stage: SuppressStage, catalog: Catalog, bound: Mapping[str, pa.Table]) -> Deciding:
    """Return what decides, with what its history teaches."""
    name = stage.plan.schema.statement.learn_from
    if name is None:
        return stage.start()
    schema = catalog.streams[name.lower()]
    if name.lower() not in bound:
        raise DataError(
            f"policy {stage.plan.schema.name} learns from {schema.name}, which has no data; bind "
            f"it: bind({schema.name!r}, table)"
        )
    return stage.start(_checked(schema, bound))


def behind_policies(
    catalog: Catalog, bound: Mapping[str, pa.Table], found: Mapping[str, Suppressed]
) -> tuple[dict[str, pa.Table], dict[str, StreamRows]]:
    """Return the bound rows and the loaded streams that readers see: of policies, what was kept.

    A history is read by its policy alone, so that nothing of it is left.
    """
    rows, loaded = dict(bound), dict[str, StreamRows]()
    for policy in catalog.policies.values():
        name, history = policy.stream.lower(), (policy.statement.learn_from or "").lower()
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


def checked_history(catalog: Catalog, name: str, bound: Mapping[str, pa.Table]) -> StreamRows:
    """Return the rows that a policy learns from."""
    return _checked(catalog.streams[name.lower()], bound)


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
