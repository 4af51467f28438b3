"""What of a run is evaluated together in this process: networks, each with its state.

Spark cuts the rows of every part into shards; here a part is one shard, and the same executor makes
the steps. So what a run over files finds in this process is what it finds on Spark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import Catalog
from augury.analysis.declarations.forecasts import CheckedForecast
from augury.errors import DataError
from augury.evaluation.acting.opened import with_stores
from augury.evaluation.answers.answers import Answers
from augury.evaluation.answers.asked_rows import asked_schema
from augury.evaluation.answers.schemas import network_schema
from augury.evaluation.executor import Executor, shard_for
from augury.evaluation.learning.learned_gaps import learned
from augury.evaluation.network import Network
from augury.evaluation.packing import Packer
from augury.evaluation.row_filter import RowFilter
from augury.evaluation.stages.act import ActStage
from augury.evaluation.stages.forecasting import taught
from augury.planning.base_streams import below
from augury.planning.match_plan import refuse_unlearned
from augury.runners.endless import refuse_endless
from augury.runners.request import Request


@dataclass
class Part:
    """A network with what evaluates it; `shard` keeps its state between steps."""

    network: Network
    shard: Any
    state: Any = None
    _filters: dict[str, RowFilter] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.state = self.shard.start() if self.state is None else self.state

    @cached_property
    def packers(self) -> dict[str, Packer]:
        """What makes rows travel, by stream."""
        bases = self.network.bases.items()
        return {name: Packer(stream, self.shard.schemas[name]) for name, stream in bases}

    def advance(self, rows: Mapping[str, pa.Table], horizon: int) -> Answers:
        """Take good rows in; return what is known once all before the horizon are there."""
        batch = {
            name: packer.travelling(self._relevant(name, rows[name]))
            for name, packer in self.packers.items()
            if name in rows
        }
        until = max(horizon, self.state.horizon)
        answers: Answers
        self.state, answers = self.shard.advance(self.state, batch, until)
        return answers

    def _relevant(self, name: str, rows: pa.Table) -> pa.Table:
        """Return the rows that may change an answer."""
        if self.network.act is not None or self.network.counts_ties:
            return rows
        if name not in self._filters:
            self._filters[name] = RowFilter(self.network, self.network.bases[name])
        return self._filters[name].of(rows)

    @property
    def goes_by_steps(self) -> bool:
        """Whether rows that have an end may be taken in bit by bit, in the order of time."""
        whole = any(self.network.graph.of(n).step == "all" for n in self.network.queries)
        return self.network.goes_by_time and self.network.act is None and not whole

    def schema(self, kind: str, name: str) -> pa.Schema | None:
        """Return the columns of answers of this part; None where it has no such."""
        for each in self.network.asked:
            if each.key.lower() == name:
                return asked_schema(self.network, each)
        return network_schema(self.network, name) if name in self.network.names else None


@dataclass(frozen=True)
class Declared:
    """What was declared, with the tables and histories that were read for it."""

    catalog: Catalog
    queries: Mapping[str, CheckedQuery]
    forecasts: Mapping[str, CheckedForecast]
    bound: Mapping[str, pa.Table]


def parts_of(declared: Declared, request: Request, *, streaming: bool) -> list[Part]:
    """Return what is to be evaluated, in as few parts as there are ways to do it."""
    found = list[Network]()
    if request.acts:
        found.append(_acting(declared, request))
    known = _with_gaps(declared, request.plain)
    every = Network.of(request.plain, known, declared.catalog)
    by_time = [n for n in request.plain if _is_chain(every.only([n]), streaming)]
    others = [name for name in request.plain if name not in by_time]
    if by_time:
        found.append(every.only(by_time))
    if others or request.others:
        found.append(every.only(others, request.others))
    return [_part(declared, network, streaming) for network in found]


def _is_chain(network: Network, streaming: bool) -> bool:
    return streaming and network.keeps_chains


def _part(declared: Declared, network: Network, streaming: bool) -> Part:
    network = replace(network, whole_rows=True, counts_ties=network.act is None)
    network = replace(network, forecasts=declared.forecasts)
    network = replace(network, tables=_tables(declared, network))
    network = replace(network, taught=taught(network))
    network.refuse_unplanned()
    if streaming:
        refuse_endless(network)
    return Part(network, shard_for(network) if streaming else Executor(network))


def _tables(declared: Declared, network: Network) -> dict[str, pa.Table]:
    """Return the relations and histories that a network reads."""
    missing = sorted(set(network.tables_read) - set(declared.bound))
    if missing:
        raise DataError(f"{missing[0]} has no rows to be read; say FROM where they lie")
    return {name: declared.bound[name] for name in network.tables_read}


def _acting(declared: Declared, request: Request) -> Network:
    """Return the network of what acts: all candidates, and what is asked for of them."""
    catalog, queries = declared.catalog, declared.queries
    found = request.acting.searched
    known = _with_gaps(declared, list(found)) | found
    network = Network.of(list(found), known, catalog).only(found, request.of_acting)
    bound = {n.lower(): declared.bound[n.lower()] for n in _bound_tables(declared, request)}
    return replace(network, act=with_stores(ActStage.of(catalog, queries, bound)))


def _bound_tables(declared: Declared, request: Request) -> list[str]:
    return [name for name in request.acting.world.tables if name.lower() in declared.bound]


def _with_gaps(declared: Declared, names: Sequence[str]) -> dict[str, CheckedQuery]:
    """Return the queries, those asked for with the gaps that their histories teach."""
    found = dict(declared.queries)
    for name in names:
        for lower, query in below(declared.queries[name], declared.queries).items():
            found[lower] = learned(query, declared.catalog, declared.bound)
            refuse_unlearned(found[lower])
    return found
