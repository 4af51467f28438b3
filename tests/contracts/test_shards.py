"""Shards answer what the whole would: any number of them, any cut into batches, stored between.

This is what runs in Spark's workers, without Spark: rows packed by shard, unpacked, evaluated step
by step behind a watermark. `tests/spark` lets Spark move the same blobs.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury import Session
from augury.errors import StateError
from augury.evaluation.answers.schemas import answer_schema
from augury.evaluation.encoding import declaration_of
from augury.evaluation.executor import Executor
from augury.evaluation.network import Network
from augury.evaluation.packing import SHARD, Packer
from augury.evaluation.row_blocks import Stored
from augury.evaluation.sharding import Sharding, sharding_of
from augury.matching.matcher import ALWAYS
from augury.runners.spark import tasks
from augury.runners.spark.live_shards import Step, advanced
from augury.runners.spark.tasks import Answer, Blob, BoundedTask, blobs_of
from augury.sources.rows import conform
from contracts.live_cases import comparable
from matching.as_text import Case, bindings, session_of
from matching.random_cases import CONSTRUCTS, random_case

STRATEGIES = ("any", "next", "strict", "partition")
CASES = st.tuples(
    st.sampled_from(tuple(CONSTRUCTS)), st.sampled_from(STRATEGIES), st.integers(0, 10**9)
)
# How often a worker does not have the state of the step before.
LOADED = 0.7
SHARDS, BATCHES = st.sampled_from((1, 3, 16)), st.sampled_from((1, 7, 10**6))


def network_of(case: Case) -> Network:
    ag = session_of(case)
    streams = {name.lower() for name in case.streams}
    queries = {name: query for name, (query, _) in ag._declared.queries.items()}
    network = Network.of([query.name for query in case.queries], queries, ag._declared.catalog)
    tables = {name: table for name, table in bindings(case).items() if name not in streams}
    return Network(network.names, network.queries, network.catalog, tables, network.texts)


def expected(case: Case) -> dict[str, Any]:
    ag = session_of(case)
    return comparable([row for q in case.queries for row in ag.table(q.name).to_pylist()])


def shard_numbers(rows: pa.Table, columns: tuple[str, ...], shards: int) -> list[int]:
    keys = zip(*(rows.column(name).to_pylist() for name in columns), strict=True)
    return [hash(tuple(map(str, key))) % shards for key in keys] if columns else [0] * len(rows)


def packed(case: Case, network: Network, sharding: Sharding, shards: int) -> dict[int, list[Blob]]:
    """Return the rows of a case one to a blob, by shard, in an order that LATENESS 2 allows."""
    found: dict[int, list[Blob]] = {}
    for name, stream in network.bases.items():
        rows = conform(bindings(case)[name], declaration_of(stream))
        numbers = shard_numbers(rows, dict(sharding.columns).get(name, ()), shards)
        rows = rows.append_column(SHARD, pa.array(numbers, pa.int64()))
        packer = Packer(stream, Executor(network).schemas[name])
        for k in range(rows.num_rows):
            blobs = blobs_of(packer(rows.slice(k, 1).to_batches()))
            found.setdefault(numbers[k], []).extend(blobs)
    return found


def answered(answers: list[Answer]) -> list[dict[str, Any]]:
    """Return the match rows of answers."""
    rows: list[dict[str, Any]] = []
    for kind, _, n, payload in answers:
        assert kind == "match", kind
        table = pa.ipc.open_stream(payload).read_all()
        assert table.num_rows == n
        rows += table.to_pylist()
    return rows


def micro_batches(blobs: list[Blob], size: int, rng: random.Random) -> Iterator[list[Blob]]:
    """Yield blobs a few at a time, as they come when none is late by more than 2."""
    order = sorted(blobs, key=lambda blob: blob.first + rng.random() * 1.99)
    for at in range(0, len(order), size):
        yield order[at : at + size]


class Store:
    """The state of a shard as a state store has it: a head, and blocks by their number."""

    def __init__(self) -> None:
        self.head, self.blocks = b"", dict[int, bytes]()

    def put(self, stored: Stored) -> None:
        """Take in what was added and what went."""
        self.head = stored.head
        self.blocks |= stored.added
        for number in stored.dropped:
            del self.blocks[number]


def streamed(network: Network, blobs: list[Blob], size: int, seed: int) -> list[dict[str, Any]]:
    """Return what a shard reports that is stored after every step, and loaded after some."""
    shard, rng, store = Executor(network, stores=True), random.Random(seed), Store()
    state, seen, answers = shard.start(), -(2**62), list[Answer]()
    for batch in micro_batches(blobs, size, rng):
        state, found = advanced(shard, state, Step(batch, seen))
        store.put(shard.stored(state))
        if rng.random() < 0.5:
            state = shard.load(store.head, store.blocks)
        answers += found
        seen = max(seen, *(blob.first - 2 for blob in batch))
    _, found = advanced(shard, state, Step([], ALWAYS))
    return answered(answers + found)


@given(case=CASES, shards=SHARDS, size=BATCHES)
def test_shards_and_micro_batches_change_nothing(
    case: tuple[str, str, int], shards: int, size: int
) -> None:
    made = random_case(*case)
    network = network_of(made)
    sharding = sharding_of(network, bounded=False)
    parts = packed(made, network, sharding, shards if sharding.kind == "key" else 1)
    found = [row for blobs in parts.values() for row in streamed(network, blobs, size, case[2])]
    assert comparable(found) == expected(made)


def told_until(network: Network, blobs: list[Blob], *, when_due: bool) -> Iterator[dict[str, Any]]:
    """Yield what a shard has told at each watermark; `when_due` calls it when it has asked for it.

    All rows are there before the first watermark.
    """
    shard, answers = Executor(network, stores=True), list[Answer]()
    first, last = (choose(blob.first for blob in blobs) for choose in (min, max))
    state, found = advanced(shard, shard.start(), Step(blobs, first - 1))
    answers += found
    for mark in range(first, last + (network.memory or 0) + 3):
        if not when_due or (not state.is_empty and shard.due(state) <= mark):
            state, found = advanced(shard, state, Step([], mark))
            answers += found
        yield comparable(answered(answers))


@given(case=CASES)
def test_a_shard_that_is_called_when_it_asks_for_it_tells_all_as_early(
    case: tuple[str, str, int],
) -> None:
    made = random_case(*case)
    network = network_of(made)
    blobs = packed(made, network, Sharding("single"), 1).get(0, [])
    if blobs:
        called = told_until(network, blobs, when_due=False)
        assert list(told_until(network, blobs, when_due=True)) == list(called)


@given(case=CASES, rows=st.sampled_from((1, 3)))
def test_a_bounded_task_goes_step_by_step(case: tuple[str, str, int], rows: int) -> None:
    made = random_case(*case)
    network = network_of(made)
    parts = packed(made, network, Sharding("single"), 1)
    blobs = sorted(parts.get(0, []), key=lambda blob: blob.first)
    with patch.object(tasks, "STEP", rows):
        steps = list(BoundedTask(network, Sharding("single")).steps(iter(blobs)))
    found = [row for _, each in steps for table in each.found.values() for row in table.to_pylist()]
    times = len({blob.first for blob in blobs})
    assert len(steps) >= times // rows if network.goes_by_time else len(steps) <= 1
    assert comparable(found) == expected(made)


MISSED = """
CREATE STREAM s (id LONG, tag STRING, kind STRING, t LONG, p DOUBLE)
ID id KEY tag TIME t TYPE kind PROBABILITY p MISS RATE 0.2;
CREATE QUERY m ON s PATTERN SEQ(A a, B b, !X x, C c) WHERE [tag] WITHIN 20 ALLOW 1 MISSED;
CREATE GAPS g ON m (
    a TO b EXPONENTIAL(4), b TO x EXPONENTIAL(9) REACHES 0.5, b TO c EXPONENTIAL(5) REACHES 0.9,
    a BEFORE b EXPONENTIAL(4));
"""


@pytest.mark.parametrize("size", [1, 7, 100])
def test_missed_components_are_found_in_shards_too(size: int) -> None:
    rng = random.Random(3)
    rows = [
        {"id": k, "tag": rng.choice("xy"), "kind": rng.choice("AABCX"), "t": 2 * k, "p": 0.9}
        for k in range(40)
    ]
    ag = Session(engine="local")
    ag.sql(MISSED)
    ag.bind("s", rows)
    queries = {name: query for name, (query, _) in ag._declared.queries.items()}
    network = Network.of(["m"], queries, ag._declared.catalog)
    shard, stream = Executor(network), network.bases["s"]
    packer = Packer(stream, shard.schemas["s"])
    found: list[dict[str, Any]] = []
    for tag in "xy":
        own = pa.Table.from_pylist([row | {SHARD: 0} for row in rows if row["tag"] == tag])
        blobs = [b for k in range(len(own)) for b in blobs_of(packer(own.slice(k, 1).to_batches()))]
        found += streamed(network, blobs, size, 5)
    wanted = ag.table("m")
    assert wanted.schema.remove_metadata().equals(answer_schema(network.plans["m"]))
    assert any(wanted.column("n_missed").to_pylist())
    assert comparable(found) == comparable(wanted.to_pylist())


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_the_columns_of_an_answer_are_known_before_it_is_there(construct: str) -> None:
    case = random_case(construct, "any", 1)
    ag = session_of(case)
    network = network_of(case)
    for query in case.queries:
        found = ag.table(query.name).schema.remove_metadata()
        assert answer_schema(network.plans[query.name.lower()]).equals(found)


def test_state_of_other_queries_is_refused() -> None:
    one, other = (network_of(random_case("seq", "any", seed)) for seed in (1, 2))
    shard = Executor(one, stores=True)
    stored = shard.stored(shard.start())
    with pytest.raises(StateError, match="belongs to other declarations"):
        Executor(other).load(stored.head, stored.added)


def test_what_no_match_can_need_is_forgotten() -> None:
    case = random_case("negation_at_an_end", "any", 1)
    network = network_of(case)
    shard, memory = Executor(network, stores=True), network.memory
    assert memory is not None
    parts = packed(case, network, Sharding("single"), 1)
    blobs = [blob for own in parts.values() for blob in own]
    state, _ = advanced(shard, shard.start(), Step(blobs, -(2**62)))
    assert not state.is_empty
    latest = max(blob.first for blob in blobs)
    state, _ = advanced(shard, state, Step([], latest + memory + 1))
    assert state.is_empty
    assert not state.blocks.blocks
