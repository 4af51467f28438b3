"""What a run says while it goes on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from augury.cli.progress import Reporter, numbers


class Totals:
    """Counts that are known beforehand."""

    def total(self, kind: str) -> int:
        return {"match": 7, "late": 1, "rejected": 2}[kind]


PROGRESS: dict[str, Any] = {
    "batchId": 3,
    "numInputRows": 500,
    "processedRowsPerSecond": 250.04,
    "eventTime": {"max": "2026-01-01T00:10:00.000Z", "watermark": "2026-01-01T00:08:00.000Z"},
    "stateOperators": [
        {"numRowsTotal": 4, "memoryUsedBytes": 1_000_000},
        {"numRowsTotal": 2, "memoryUsedBytes": 500_000},
    ],
}


def test_numbers_are_those_of_spark_and_of_the_run() -> None:
    assert numbers(PROGRESS, Totals()) == {
        "batch": 3,
        "events": 500,
        "events_per_second": 250.0,
        "matches": 7,
        "late": 1,
        "rejected": 2,
        "watermark": "2026-01-01T00:08:00.000Z",
        "watermark_lag_seconds": 120.0,
        "state_rows": 6,
        "state_bytes": 1_500_000,
    }


@pytest.mark.parametrize(
    "times",
    [
        {},
        {"watermark": "2026-01-01T00:08:00.000Z"},
        {**PROGRESS["eventTime"], "watermark": "1970-01-01T00:00:00.000Z"},
    ],
)
def test_without_a_watermark_there_is_no_lag(times: dict[str, str]) -> None:
    found = numbers(PROGRESS | {"eventTime": times}, Totals())
    assert found["watermark_lag_seconds"] is None


def test_ticks_are_told_as_numbers() -> None:
    times = {"max": "1970-01-01T00:00:02.000Z", "watermark": "1970-01-01T00:00:01.500Z"}
    found = numbers(PROGRESS | {"eventTime": times}, Totals(), in_ticks=True)
    assert (found["watermark"], found["watermark_lag_seconds"]) == (1500, None)


def test_a_batch_without_a_rate_has_none() -> None:
    found = numbers(PROGRESS | {"processedRowsPerSecond": float("nan")}, Totals())
    assert found["events_per_second"] == 0.0


def test_a_terminal_gets_one_line_that_is_written_over(capsys: pytest.CaptureFixture[str]) -> None:
    reporter = Reporter(False, is_terminal=True)
    reporter.progress(PROGRESS, Totals())
    reporter.note("done")
    said = capsys.readouterr()
    assert said.out == ""
    line = "batch 3 | 250 events/s | 7 matches | lag 120 s | state 1.5 MB | 1 late | 2 bad"
    assert said.err.replace("\x1b[K", "") == f"\r{line}\ndone\n"


def test_tools_get_json_lines_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    reporter = Reporter(True, is_terminal=True)
    reporter.progress(PROGRESS, Totals())
    reporter.note("not for tools")
    said = capsys.readouterr()
    assert json.loads(said.out)["event"] == "progress"
    assert said.err == ""


def test_a_log_file_gets_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    Reporter(False, is_terminal=False).progress(PROGRESS, Totals())
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "")


def test_answers_are_printed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    Reporter(False, is_terminal=False).row("theft", {"match_id": "m", "confidence": 0.5})
    assert json.loads(capsys.readouterr().out) == {"match_id": "m", "confidence": 0.5}
