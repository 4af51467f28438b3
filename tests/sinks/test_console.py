"""The console shows moments in UTC, in whatever zone the process is."""

from __future__ import annotations

import time
from datetime import datetime

import pytest

from augury.sinks.console import in_utc


def test_a_moment_is_shown_in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        # As Spark's Python side makes them: in the zone of the process, without saying so.
        moment = datetime.fromtimestamp(1_767_261_600)
        row = {"ts": moment, "events": [{"ts": moment, "p": 0.5}], "tag": "t1"}
        told = "2026-01-01T10:00:00Z"
        assert in_utc(row) == {"ts": told, "events": [{"ts": told, "p": 0.5}], "tag": "t1"}
    finally:
        monkeypatch.undo()
        time.tzset()
