"""What makes streams of others, between sources and queries: its steps, and what they make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa

from augury.evaluation.asked import Asked
from augury.evaluation.stream_rows import StreamRows

Rows = Mapping[str, StreamRows]


@dataclass(frozen=True)
class Made:
    """What a step made: streams that go on, rows that may be asked for, and rows put aside."""

    streams: Mapping[str, StreamRows] = field(default_factory=dict)
    requested: Mapping[Asked, pa.Table] = field(default_factory=dict)
    rejected: Mapping[str, pa.Table] = field(default_factory=dict)

    @property
    def num_rows(self) -> int:
        """How many rows were made: those that may be asked for, or else those that go on."""
        going_on = [rows.table for rows in self.streams.values()]
        return max((table.num_rows for table in [*self.requested.values()] or going_on), default=0)


class StreamStage(Protocol):
    """A stage that makes streams of one stream; its state is used up by a step."""

    @property
    def name(self) -> str:
        """What EXPLAIN and measurements call it."""
        ...

    @property
    def source(self) -> str:
        """The stream whose rows it takes, or the first of them, in lower case."""
        ...

    def start(self) -> Any: ...

    def advance(self, state: Any, fresh: Rows, horizon: int) -> tuple[Any, Made]: ...

    def again(self, state: Any, fresh: Rows) -> Rows:
        """Return the streams that rows go on as, which went through before a state was stored."""
        ...

    def forget(self, state: Any, oldest: int) -> None:
        """Let rows go that were made and that no stage needs any more."""
        ...

    def waits(self, state: Any) -> bool:
        """Return whether rows wait for something but the next row."""
        ...

    def dump(self, state: Any) -> bytes: ...

    def load(self, data: bytes) -> Any: ...
