"""What is not told of a run beside a policy: numbers that suppressed rows are among."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# They tell how many rows came, and until when.
OF_RAW_ROWS = (
    "events",
    "events_per_second",
    "watermark",
    "watermark_lag_seconds",
    "state_rows",
    "state_bytes",
)


def without_raw_rows(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the numbers of a run without those of rows that nobody may count."""
    return {**found, **dict.fromkeys(OF_RAW_ROWS)}
