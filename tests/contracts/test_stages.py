"""One battery for the executor's stages, whatever the query: laws that `augury.operator` states.

That batches, shards and stored state change nothing is held in `test_shards`.
"""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.errors import StateError
from augury.evaluation.answers.answers import Answers
from augury.evaluation.encoding import declaration_of
from augury.evaluation.executor import Executor
from augury.evaluation.network import Network
from augury.evaluation.packing import Packer
from augury.matching.matcher import ALWAYS
from augury.operator import Operator
from augury.sources.rows import conform
from contracts.live_cases import comparable
from contracts.test_shards import CASES, expected, network_of
from matching.as_text import Case, bindings
from matching.random_cases import random_case
from oracles.model import Comp, Event, Query, Seq


def rows_of(case: Case, network: Network, executor: Executor) -> dict[str, pa.Table]:
    """Return the rows of a case as they travel."""
    return {
        name: Packer(stream, executor.schemas[name]).travelling(
            conform(bindings(case)[name], declaration_of(stream))
        )
        for name, stream in network.bases.items()
    }


def at_once(executor: Executor, rows: dict[str, pa.Table]) -> list[dict[str, Any]]:
    """Return the answers of a run over all rows in one step."""
    _, answers = executor.advance(executor.start(), rows, ALWAYS)
    return [row for table in answers.found.values() for row in table.to_pylist()]


@given(CASES)
def test_every_stage_is_an_operator(case: tuple[str, str, int]) -> None:
    for stage in Executor(network_of(random_case(*case))).stages.values():
        asked = [name for name in vars(Operator) if not name.startswith("_")]
        assert [name for name in asked if not hasattr(stage, name)] == []


@given(CASES)
def test_batches_are_not_changed(case: tuple[str, str, int]) -> None:
    made = random_case(*case)
    network = network_of(made)
    executor = Executor(network)
    rows = rows_of(made, network, executor)
    # As texts: NaN is not equal to itself.
    before = {name: repr(table.to_pylist()) for name, table in rows.items()}
    assert comparable(at_once(executor, rows)) == expected(made)
    assert {name: repr(table.to_pylist()) for name, table in rows.items()} == before


@given(CASES, st.randoms(use_true_random=False))
def test_the_order_of_rows_is_irrelevant(case: tuple[str, str, int], rng: random.Random) -> None:
    made = random_case(*case)
    network = network_of(made)
    executor = Executor(network)
    turned = {}
    for name, table in rows_of(made, network, executor).items():
        order = list(range(table.num_rows))
        rng.shuffle(order)
        turned[name] = table.take(pa.array(order, pa.int64()))
    assert comparable(at_once(executor, turned)) == expected(made)


@given(CASES)
def test_confidences_are_probabilities(case: tuple[str, str, int]) -> None:
    made = random_case(*case)
    network = network_of(made)
    executor = Executor(network)
    found = at_once(executor, rows_of(made, network, executor))
    assert all(0.0 < row["confidence"] <= 1.0 + 1e-9 for row in found)


# State ---------------------------------------------------------------------------------------


def plain(within: tuple[str, int], n: int) -> Case:
    events = tuple(Event(str(k), k, "AB"[k % 2], 1.0) for k in range(n))
    return Case((Query(Seq((Comp("a", "A"), Comp("b", "B"))), within=within),), events)


def in_batches(case: Case, size: int) -> list[int]:
    """Return how many events are remembered after each step of so many rows."""
    network = network_of(case)
    executor = Executor(network)
    (rows,) = rows_of(case, network, executor).values()
    state, sizes = executor.start(), list[int]()
    for first in range(0, rows.num_rows, size):
        state, _ = executor.advance(state, {"s": rows.slice(first, size)}, first + size)
        (own,) = state.stages.values()
        sizes.append(0 if own.events is None else len(own.events))
    return sizes


@pytest.mark.parametrize("within", [("time", 8), ("events", 8)])
def test_state_stays_bounded_under_a_stream_many_times_as_long(within: tuple[str, int]) -> None:
    short, long = (max(in_batches(plain(within, n), 50)) for n in (1_000, 4_000))
    assert long <= short + 50
    assert short < 300


def test_a_contiguous_run_is_reported_by_the_step_that_brings_its_end() -> None:
    events = tuple(Event(str(k), k, kind, 1.0) for k, kind in enumerate("AABAAB"))
    asked = Query(Comp("a", "A", 1, None), strategy="strict", within=("time", 1_000))
    case = Case((asked,), events)
    network = network_of(case)
    executor = Executor(network)
    (rows,) = rows_of(case, network, executor).values()
    state, found = executor.start(), list[int]()
    for k in range(rows.num_rows):
        state, answers = executor.advance(state, {"s": rows.slice(k, 1)}, k + 1)
        found.append(sum(table.num_rows for table in answers.found.values()))
    assert found == [0, 0, 2, 0, 0, 2]


def stored() -> tuple[Executor, bytes, dict[int, bytes]]:
    case = plain(("time", 5), 6)
    network = network_of(case)
    executor = Executor(network, stores=True)
    state, _ = executor.advance(executor.start(), rows_of(case, network, executor), 4)
    whole = executor.stored(state)
    return executor, whole.head, dict(whole.added)


def test_a_later_version_is_refused() -> None:
    executor, head, blocks = stored()
    later = head[:8] + (99).to_bytes(2, "little") + head[10:]
    with pytest.raises(StateError, match="format version 99, and this release reads"):
        executor.load(later, blocks)


@pytest.mark.parametrize("at", [50, -1])
def test_damaged_blocks_are_refused(at: int) -> None:
    executor, head, blocks = stored()
    broken = bytearray(blocks[0])
    broken[at] ^= 0x40
    with pytest.raises(StateError, match="damaged"):
        executor.load(head, {0: bytes(broken)})


@pytest.mark.parametrize("data", [b"", b"hello", b"AUGURYHD", b"x" * 200])
def test_what_is_no_state_is_refused(data: bytes) -> None:
    executor, _, blocks = stored()
    with pytest.raises(StateError, match="no such state"):
        executor.load(data, blocks)


@given(st.binary(max_size=80))
def test_a_block_cut_short_or_followed_by_rubbish_is_refused(tail: bytes) -> None:
    executor, head, blocks = stored()
    with pytest.raises(StateError):
        executor.load(head, {0: blocks[0][: len(blocks[0]) // 2] + tail})


# What a stage knows beside its rows -------------------------------------------------------------


class Counted(int):
    """How many rows a stage has seen; none of them is remembered."""

    nbytes = 8

    @property
    def is_empty(self) -> bool:
        return not self


class Counting:
    """A stage whose state is no row: how many rows have come since the beginning."""

    revises = False

    def start(self, since: int) -> Counted:
        return Counted(0)

    def advance(self, state: Counted, batch: Any, horizon: int) -> tuple[Counted, Answers]:
        now = Counted(state + sum(rows.table.num_rows for rows in batch.values()))
        return now, Answers({"counted": pa.table({"n": [int(now)]})}, {})

    def dump(self, state: Counted) -> bytes:
        return str(int(state)).encode()

    def restore(self, batch: Any, reported: int, own: bytes = b"") -> Counted:
        return Counted(own or 0)

    def oldest(self, state: Counted, horizon: int) -> int:
        return horizon

    def due(self, state: Counted) -> int | None:
        return None


class CountingExecutor(Executor):
    """An executor that counts the rows of a network, and does nothing else."""

    stages = {"count": Counting()}  # noqa: RUF012


@pytest.mark.parametrize("size", [1, 4, 30])
def test_what_a_stage_knows_beside_its_rows_is_stored(size: int) -> None:
    case = plain(("time", 5), 20)
    network = network_of(case)
    executor = CountingExecutor(network, stores=True)
    (rows,) = rows_of(case, network, executor).values()
    state, blocks, found = executor.start(), dict[int, bytes](), list[int]()
    for first in range(0, rows.num_rows, size):
        state, answers = executor.advance(state, {"s": rows.slice(first, size)}, first + size)
        found += answers.found["counted"].column("n").to_pylist()
        stored = executor.stored(state)
        blocks |= stored.added
        for number in stored.dropped:
            del blocks[number]
        state = executor.load(stored.head, blocks)
    assert found[-1] == 20
    assert found == sorted(found)
