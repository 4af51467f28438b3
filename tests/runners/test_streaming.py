"""The streaming operator refuses state that is not its own, before it reads any of it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from augury.errors import StateError
from augury.runners.spark.streaming import NUMBERING, StreamingTask


@pytest.mark.parametrize(
    ("stored", "says"),
    [
        (8, "numbers shards in another way"),
        (NUMBERING + 3, "written with 3 shards, and this run has 8"),
    ],
)
def test_state_of_other_shards_is_refused(stored: int, says: str) -> None:
    state = SimpleNamespace(exists=True, get=(stored, b""))
    with pytest.raises(StateError, match=says):
        StreamingTask((), 8)._stored(None, state)
