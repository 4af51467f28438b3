"""Windows are [k s, k s + W), and those without an event have no row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from augury.analysis.checked import CheckedWindow
from augury.evaluation.answers.windows import windows_of


@dataclass
class Asked:
    """As much of a query as windows need."""

    within: CheckedWindow | None
    every: CheckedWindow | None = None


def starts(times: list[int], length: int, step: int | None = None) -> list[int | None]:
    query = Asked(CheckedWindow(length), CheckedWindow(step) if step else None)
    return [start for start, _ in windows_of(query, np.array(times, np.int64))]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("times", "length", "step", "expected"),
    [
        ([5, 45], 10, None, [0, 40]),
        ([5, 5, 12], 10, 5, [0, 5, 10]),
        ([-1], 10, 5, [-10, -5]),
        ([3, 9], 2, 10, []),
        ([0, 11], 2, 10, [0, 10]),
        ([0, 10**15], 10, 10, [0, 10**15]),
        ([], 10, 5, []),
    ],
)
def test_every_window_that_holds_an_event_is_there_once(
    times: list[int], length: int, step: int | None, expected: list[int]
) -> None:
    assert starts(times, length, step) == expected


def test_without_a_window_of_time_the_whole_input_is_one() -> None:
    times = np.array([1, 2], np.int64)
    assert list(windows_of(Asked(None), times)) == [(None, None)]  # type: ignore[arg-type]
    counted = Asked(CheckedWindow(3, events=True))
    assert list(windows_of(counted, times)) == [(None, None)]  # type: ignore[arg-type]
