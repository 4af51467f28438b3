"""Blocks of rows: what is stored follows what came and went, and brings the same rows back."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.errors import StateError
from augury.evaluation.row_blocks import SMALL, TOGETHER, Kind, RowBlocks

SCHEMA = pa.schema([("t", pa.int64()), ("name", pa.string())])
KIND = Kind({"s": SCHEMA, "u": SCHEMA}, {"s": "t", "u": "t"}, "queries q", bytes(32))
FOREVER = 2**60
Rows = list[tuple[int, str]]


def table(rows: Rows) -> pa.Table:
    return pa.Table.from_pylist([{"t": t, "name": name} for t, name in rows], SCHEMA)


def rows_of(blocks: RowBlocks, name: str = "s", since: int = -FOREVER) -> Rows:
    return [(row["t"], row["name"]) for row in blocks.rows(since)[name].to_pylist()]


class Store:
    """A dictionary that is told only of changes, and counts what is written to it."""

    def __init__(self) -> None:
        self.held, self.written = dict[int, bytes](), 0

    def take(self, blocks: RowBlocks) -> None:
        added, dropped = blocks.changes()
        for number in dropped:
            del self.held[number]
        self.held |= added
        self.written += sum(map(len, added.values()))

    def loaded(self) -> RowBlocks:
        return RowBlocks.load(KIND, self.held)


STEPS = st.lists(
    st.tuples(
        st.lists(st.tuples(st.integers(-3, 9), st.text(max_size=3)), max_size=5),
        st.sampled_from(["go on", "load", "expire", "reject"]),
    ),
    max_size=60,
)


@given(STEPS)
def test_what_was_stored_brings_the_same_rows_back(steps: list[tuple[Rows, str]]) -> None:
    blocks, store, model, oldest = RowBlocks(KIND), Store(), Rows(), -FOREVER
    for now, (rows, action) in enumerate(steps):
        came = [(2 * now + lag, name) for lag, name in rows if 2 * now + lag >= oldest]
        blocks.add({"s": table(came)})
        model += came
        if action == "reject":
            good = [(t, name) for t, name in model if t % 3]
            span = max(oldest, 0), 2 * now
            kept = [row for row in good if span[0] <= row[0] < span[1]]
            blocks.keep_only("s", span, table(kept))
            model = [row for row in model if row[0] % 3 or not span[0] <= row[0] < span[1]]
        if action == "expire":
            oldest = max(oldest, 2 * now - 5)
            blocks.drop_before(oldest)
            model = [row for row in model if row[0] >= oldest]
        store.take(blocks)
        blocks = store.loaded() if action == "load" else blocks
        in_order = sorted(rows_of(blocks, since=oldest), key=lambda row: row[0])
        assert in_order == sorted(model, key=lambda row: row[0])
        assert set(store.held) == set(blocks.blocks)


def test_a_step_writes_its_own_rows_however_many_are_remembered() -> None:
    def written(remembered: int) -> int:
        blocks, store = RowBlocks(KIND), Store()
        for start in range(0, remembered, 5000):
            blocks.add({"s": table([(t, "a row") for t in range(start, start + 5000)])})
        store.take(blocks)
        before = store.written
        blocks.add({"s": table([(remembered, "a row")] * 5000)})
        store.take(blocks)
        return store.written - before

    assert written(5000) == written(100_000)


@pytest.mark.parametrize("size", [1, 10, 200])
def test_many_small_steps_make_few_blocks_and_bounded_writes(size: int) -> None:
    rng = random.Random(size)
    blocks, store, plain = RowBlocks(KIND), Store(), 0
    steps = 2000
    for now in range(steps):
        rows = {"s": table([(now, str(rng.random())) for _ in range(size)])}
        alone = RowBlocks(KIND)
        alone.add(rows)
        plain += sum(map(len, alone.changes()[0].values()))
        blocks.add(rows)
        store.take(blocks)
    held = sum(block.size for block in blocks.blocks.values())
    assert len(blocks.blocks) <= held / SMALL + 4 * TOGETHER
    assert store.written < 3 * plain
    assert len(rows_of(store.loaded())) == steps * size


def test_what_expires_before_it_is_stored_is_never_written() -> None:
    blocks, store = RowBlocks(KIND), Store()
    blocks.add({"s": table([(1, "a")])})
    blocks.drop_before(2)
    store.take(blocks)
    assert (store.written, store.held) == (0, {})


def test_a_block_stays_as_long_as_one_of_its_streams_is_needed() -> None:
    blocks = RowBlocks(KIND)
    blocks.add({"s": table([(1, "old")]), "u": table([(9, "new")])})
    blocks.drop_before(5)
    assert (rows_of(blocks, "s", 5), rows_of(blocks, "u", 5)) == ([], [(9, "new")])


def test_blocks_of_other_queries_are_refused() -> None:
    blocks = RowBlocks(KIND)
    blocks.add({"s": table([(1, "a")])})
    other: dict[str, Any] = {"schemas": KIND.schemas, "times": KIND.times}
    with pytest.raises(StateError, match="belongs to other declarations than queries r has now"):
        RowBlocks.load(Kind(**other, owner="queries r", mark=b"1" * 32), blocks.changes()[0])
