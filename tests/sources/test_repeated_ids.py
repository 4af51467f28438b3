"""Ids that were seen before, in rows that come in pieces."""

from __future__ import annotations

import pyarrow as pa
import pytest

from augury.sources.rows import Declaration, sift

DECLARED = Declaration("stream s", {"id": "LONG", "t": "LONG"}, id="id", time="t")


@pytest.mark.parametrize(
    ("pieces", "rejected"),
    [
        ([[1, 2], [3, 4]], []),
        ([[1, 2], [], [2, 3]], [2]),
        ([[3, 4], [1, 2]], []),
        ([[1, 1], [2]], [1]),
        ([[5], [6], [5]], [5]),
    ],
)
def test_a_repeat_is_found_within_and_between_pieces(
    pieces: list[list[int]], rejected: list[int]
) -> None:
    ids = pa.chunked_array([pa.array(piece, pa.int64()) for piece in pieces])
    good, bad = sift(pa.table({"id": ids, "t": ids}), DECLARED)
    assert bad.column("id").to_pylist() == rejected
    assert good.num_rows + bad.num_rows == len(ids)
