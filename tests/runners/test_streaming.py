"""The streaming operator refuses state that is not its own, before it reads any of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from augury.errors import AuguryError, StateError
from augury.runners.spark.streaming import (
    NUMBERING,
    PART,
    ROCKSDB,
    Kept,
    StreamingTask,
    _expect_rocksdb,
)


@pytest.mark.parametrize(
    ("stored", "says"),
    [
        (8, "numbers shards in another way"),
        (NUMBERING + 3, "written with 3 shards, and this run has 8"),
    ],
)
def test_state_of_other_shards_is_refused(stored: int, says: str) -> None:
    network: Any = SimpleNamespace(bases={"s": SimpleNamespace(time_is_ticks=False)})
    with pytest.raises(StateError, match=says):
        StreamingTask((), 8).expect(Kept(stored, None, "", b"", b""), network, 0)


def test_a_shard_of_a_part_that_is_not_there_is_refused() -> None:
    with pytest.raises(StateError, match="written by other queries"):
        StreamingTask((), 8).part(PART)


def test_a_session_with_another_store_is_told_what_to_set() -> None:
    other: Any = SimpleNamespace(conf={"spark.sql.streaming.stateStore.providerClass": "a.Other"})
    with pytest.raises(AuguryError, match=rf"has a.Other; set .*providerClass to {ROCKSDB}, for"):
        _expect_rocksdb(other)
