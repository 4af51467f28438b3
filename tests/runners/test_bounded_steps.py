"""Rows of a partition are evaluated in steps, but for what hangs together over all times."""

from __future__ import annotations

import pyarrow as pa
import pytest

from augury import DataError, Session
from augury.evaluation.executor import Executor
from augury.evaluation.network import Network
from augury.evaluation.packing import SHARD, Packer
from augury.evaluation.sharding import sharding_of
from augury.runners.spark import tasks
from augury.runners.spark.tasks import BoundedTask, blobs_of

LIMITED = """
CREATE STREAM s (id LONG, kind STRING, t LONG) ID id TIME t TYPE kind;
CREATE QUERY q ON s PATTERN SEQ(A a, B b) WITHIN 100 MATCH LIMIT 2;
"""
APART = """
CREATE STREAM s (id LONG, kind STRING, t LONG, p DOUBLE)
ID id TIME t TYPE kind ALTERNATIVES kind PROBABILITY p;
CREATE QUERY q ON s PATTERN A a WITHIN 5;
"""


def matches(text: str, rows: pa.Table) -> int:
    ag = Session(engine="local")
    ag.sql(text)
    network = Network.of(
        ["q"], {n: query for n, (query, _) in ag._declared.queries.items()}, ag._declared.catalog
    )
    packer = Packer(network.bases["s"], Executor(network).schemas["s"])
    blobs = []
    for k in range(rows.num_rows):
        part = rows.slice(k, 1).append_column(SHARD, pa.array([0], pa.int64()))
        blobs += list(blobs_of(packer(part.to_batches())))
    task = BoundedTask(network, sharding_of(network, bounded=False))
    found = [answers.found.get("q") for _, answers in task.steps(iter(blobs))]
    return sum(table.num_rows for table in found if table is not None)


@pytest.fixture(autouse=True)
def in_single_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "STEP", 1)


def test_matches_that_are_counted_are_counted_at_once() -> None:
    kinds = ["A", *"BBBBB"]
    rows = pa.table({"id": range(6), "kind": kinds, "t": range(6)})
    with pytest.raises(DataError, match="more than 2 matches"):
        matches(LIMITED, rows)
    assert matches(LIMITED, rows.slice(0, 3)) == 2


def test_alternatives_of_one_id_are_added_up_over_all_times() -> None:
    rows = pa.table({"id": [1, 1], "kind": ["A", "A"], "t": [0, 100], "p": [0.7, 0.7]})
    assert matches(APART, rows) == 0
    assert matches(APART, rows.set_column(3, "p", pa.array([0.7, 0.2]))) == 2
