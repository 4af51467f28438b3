"""What Spark's workers do with rows that time cuts, without Spark: pack, move, match by range."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from augury.evaluation.encoding import Encoder, chances_of, declaration_of, whole
from augury.evaluation.executor import Executor
from augury.evaluation.network import Network
from augury.evaluation.packing import SHARD
from augury.evaluation.sharding import Sharding
from augury.planning.distribution.layout import Layout, Moving, Sketch
from augury.planning.distribution.reachable import least_chance
from augury.records import Flags
from augury.runners.spark.range_packing import ENTERS, RangePacker
from augury.runners.spark.ranges import MOVEMENT
from augury.runners.spark.tasks import BoundedTask, blobs_of
from augury.sources.rows import conform
from matching.as_text import Case
from matching.random_cases import CONSTRUCTS, OVER_QUERIES, random_case

# One query each, over events that any stream may have.
FLAT = tuple(
    name for name in CONSTRUCTS if name not in ("streams", *OVER_QUERIES, "alternatives", "keys")
)


def spread_over_streams(case: Case, names: tuple[str, ...], seed: int) -> Case:
    """Return a case whose events lie in several streams, which begin and end at different times."""
    rng = np.random.default_rng(seed)
    latest = max(event.ts for event in case.events)
    spans = {name: sorted(rng.integers(0, latest + 2, 2).tolist()) for name in names[1:]}
    events = []
    for event in case.events:
        able = [name for name, (start, end) in spans.items() if start <= event.ts < end]
        events.append(replace(event, stream=str(rng.choice([names[0], *able]))))
    window = "time", int(rng.integers(2, 12))
    queries = tuple(replace(query, streams=names, within=window) for query in case.queries)
    return replace(case, queries=queries, events=tuple(events), streams=names)


def over_streams(construct: str, strategy: str, seed: int, streams: int) -> Case:
    """Return a random case over some streams, with a window of time."""
    return spread_over_streams(
        random_case(construct, strategy, seed), ("s", "u", "w")[:streams], seed
    )


def enters(network: Network, name: str, rows: pa.Table) -> Flags:
    """Return which rows of a stream enter a queue of some query; Catalyst tells the same."""
    stream = network.bases[name]
    found = np.zeros(rows.num_rows, np.bool_)
    for plan in network.plans.values():
        if not plan.drops_others:
            return np.ones(rows.num_rows, np.bool_)
        encoder = Encoder(plan, network.relations)
        nowhere = np.full(rows.num_rows, -1, np.int64)
        events = encoder.encode(stream, rows, 0, nowhere)
        p = chances_of(stream, rows)[events.row]
        for component in range(len(plan.query.components)):
            plays = (events.mask >> component) & 1 == 1
            least = least_chance(plan.query, component)
            found[events.row[plays if least is None else plays & (p >= least)]] = True
    return found


def loaded(network: Network, tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """Return the rows of the base streams, which know their shard and whether they enter."""
    found = {}
    for name, stream in network.bases.items():
        rows = conform(tables[name], declaration_of(stream))
        flags = pa.array(enters(network, name, rows))
        rows = rows.append_column(ENTERS, flags)
        found[name] = rows.append_column(SHARD, pa.array(np.zeros(len(rows), np.int64)))
    return found


def sketches_of(network: Network, rows: Mapping[str, pa.Table]) -> dict[str, Sketch]:
    return {
        name: Sketch.of(
            whole(rows[name].column(stream.time)), np.asarray(rows[name].column(ENTERS), np.bool_)
        )
        for name, stream in network.bases.items()
    }


def moved(
    network: Network,
    tables: Mapping[str, pa.Table],
    moving: Moving,
    layout: Layout | None = None,
    rows_of_a_task: int = 5,
) -> tuple[list[dict[str, Any]], pa.Table]:
    """Return the matches that two tasks find between them, and what came to each range."""
    rows = loaded(network, tables)
    layout = layout or moving.layout(sketches_of(network, rows))
    tasks: dict[int, list[pa.RecordBatch]] = {0: [], 1: []}
    for name, stream in network.bases.items():
        packer = RangePacker(stream, Executor(network).schemas[name], moving, 2, layout)
        for k in range(0, len(rows[name]), rows_of_a_task):
            for batch in packer(rows[name].slice(k, rows_of_a_task).to_batches()):
                tasks[batch.column("shard")[0].as_py()].append(batch)
    task = BoundedTask(network, Sharding("time", moving=moving), tells_movement=True)
    found, movement = list[dict[str, Any]](), [MOVEMENT.empty_table()]
    for batches in tasks.values():
        ordered = sorted(batches, key=lambda batch: batch.column("first")[0].as_py())
        for told, answers in task.steps(blobs_of(ordered)):
            movement += [pa.ipc.open_stream(payload).read_all() for *_, payload in told]
            found += [row for table in answers.found.values() for row in table.to_pylist()]
    return found, pa.concat_tables(movement)
