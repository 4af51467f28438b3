"""What a step gives back: new rows of queries, and rows of streams that were put aside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Answers:
    """New rows of each query, and by stream the rows that were put aside, with their reason."""

    found: Mapping[str, pa.Table]
    rejected: Mapping[str, pa.Table]
