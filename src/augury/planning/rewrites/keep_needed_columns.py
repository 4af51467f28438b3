"""Read only the columns that something above the scan needs."""

from __future__ import annotations

from dataclasses import replace

from augury.analysis.declarations.catalog import StreamSchema
from augury.planning.expressions.lower import Scope
from augury.planning.logical import Mask, Node, Return, Scan, Union, chain_of, find, search_of
from augury.planning.logical import replaced as exchanged
from augury.planning.needed import columns_read, group_columns


def keep_needed_columns(plan: Node, scope: Scope) -> Node:
    """Return the plan with its scans narrowed."""
    mask = find(plan, Mask)
    pushed = [p.expression for play in mask.plays for p in play.predicates] if mask else []
    searched = [p.expression for p in search_of(plan).predicates]
    answer = find(plan, Return)
    returned = [value for _, value in answer.columns] if answer else []
    names = {name.lower() for _, name in columns_read([*pushed, *searched, *returned])}
    names |= {name.lower() for _, name in group_columns(scope.query)}
    names |= {name.lower() for c in scope.query.equalities for _, name in c.members}
    bottom = next(node for node in chain_of(plan) if isinstance(node, Scan | Union))
    scans = bottom.sources if isinstance(bottom, Union) else (bottom,)
    narrow = tuple(_narrowed(scan, names) for scan in scans)
    new: Node = Union(narrow) if isinstance(bottom, Union) else narrow[0]
    return exchanged(plan, bottom, new)


def _narrowed(scan: Scan, names: set[str]) -> Scan:
    needed = names | _roles(scan.stream)
    return replace(scan, columns=tuple(c for c in scan.columns if c.lower() in needed))


def _roles(stream: StreamSchema) -> set[str]:
    single = (stream.id, stream.time, stream.order_by, stream.type, stream.probability)
    return {n.lower() for n in (*single, *stream.key, *stream.alternatives) if n}
