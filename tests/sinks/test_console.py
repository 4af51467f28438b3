"""The console shows moments in UTC, in whatever zone the process is, and of whatever year."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from augury.sinks.console import ConsoleSink

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = """
SELECT ts, tag, array(named_struct('ts', ts, 'p', 0.5D), NULL) AS events FROM VALUES
    (timestamp_micros({}), 't1'), (CAST(NULL AS TIMESTAMP), 't2') AS rows (ts, tag)
"""


@pytest.mark.spark
@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
@pytest.mark.parametrize(
    ("moment", "told"),
    [
        (datetime(2026, 1, 1, 10, tzinfo=UTC), "2026-01-01T10:00:00Z"),
        (datetime(2026, 1, 1, 10, 0, 0, 500_000, tzinfo=UTC), "2026-01-01T10:00:00.500000Z"),
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00Z"),
        (datetime(9999, 12, 31, 23, tzinfo=UTC), "9999-12-31T23:00:00Z"),
    ],
)
def test_a_moment_is_shown_in_utc(
    monkeypatch: pytest.MonkeyPatch, spark: SparkSession, moment: datetime, told: str, zone: str
) -> None:
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    micros = (since.days * 86_400 + since.seconds) * 10**6 + since.microseconds
    shown: list[dict[str, Any]] = []
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        rows = spark.sql(ROWS.format(f"{micros}L")).coalesce(1)
        ConsoleSink("q", lambda _, row: shown.append(row)).write(rows, 0)
    finally:
        monkeypatch.undo()
        time.tzset()
    assert shown == [
        {"ts": told, "tag": "t1", "events": [{"ts": told, "p": 0.5}, None]},
        {"ts": None, "tag": "t2", "events": [{"ts": None, "p": 0.5}, None]},
    ]
