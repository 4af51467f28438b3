"""Ticks as Spark's watermark counts them: exact where possible, never ahead of themselves."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.errors import StateError
from augury.operator import NEVER_YET
from augury.runners.spark.streaming import NUMBERING, NUMBERING_OF_TICKS, Kept, StreamingTask
from augury.runners.spark.watermark import EXACT, STEP, horizon_of, moment_of
from augury.sources.rows import MOST_TICKS

TICKS = st.integers(1, MOST_TICKS) | st.integers(EXACT - 3 * STEP, EXACT + 3 * STEP)
# Spark keeps milliseconds as microseconds in 64 bits.
LAST_MILLISECOND = (2**63 - 1) // 1000


@given(TICKS)
def test_the_moment_of_a_tick_is_the_first_that_has_reached_it(tick: int) -> None:
    moment = moment_of(tick, ticks=True)
    assert moment <= LAST_MILLISECOND
    assert horizon_of(moment, ticks=True) >= tick
    assert horizon_of(moment - 1, ticks=True) < tick


@given(st.integers(1, EXACT))
def test_microseconds_of_today_are_exact_ticks(tick: int) -> None:
    assert horizon_of(tick, ticks=True) == moment_of(tick, ticks=True) == tick


@given(st.integers(1, 2**60))
def test_the_moment_of_microseconds_has_passed_them(time: int) -> None:
    assert horizon_of(moment_of(time, ticks=False), ticks=False) >= time


@pytest.mark.parametrize("ticks", [True, False])
def test_the_watermark_with_which_spark_begins_says_nothing(ticks: bool) -> None:
    assert horizon_of(0, ticks=ticks) == NEVER_YET


@pytest.mark.parametrize(
    ("stored", "moment", "is_ticks", "refused"),
    [
        (NUMBERING, EXACT + 1, True, True),
        (NUMBERING, EXACT, True, False),
        (NUMBERING, EXACT + 1, False, False),
        (NUMBERING_OF_TICKS, EXACT + 1, True, False),
    ],
)
def test_state_is_refused_only_where_its_watermark_meant_another_tick(
    stored: int, moment: int, is_ticks: bool, refused: bool
) -> None:
    bases = {"s": SimpleNamespace(time_is_ticks=is_ticks)}
    network: Any = SimpleNamespace(bases=bases)
    kept = Kept(stored + 8, None, "", b"", b"")
    if not refused:
        StreamingTask((), 8).expect(kept, network, moment)
        return
    with pytest.raises(StateError, match="counts ticks above 4500000000000000 in another way"):
        StreamingTask((), 8).expect(kept, network, moment)
