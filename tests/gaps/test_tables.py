"""Tables: what they bound is at least what they hold, and what they were made of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.gaps.families import Gap
from augury.gaps.law import parts_of
from augury.gaps.scores import score_table
from augury.gaps.stretch import Forward, Step, Unseen
from augury.gaps.tables import constant, tabulate

HUMPED = Forward(
    (
        Step((), Unseen(1, Gap("LOGNORMAL", (26.755603, 0.24084224050726513)), 0.3958766154270743)),
        Step((Unseen(2, Gap("LOGNORMAL", (24.788280, 0.36668707), 0.9), 0.183522526, True),)),
    )
)


def test_the_best_of_a_humped_score_is_its_peak_and_not_the_highest_of_some_samples() -> None:
    table, lengths = score_table(HUMPED, "LAW", 211.0), np.linspace(0.0, 211.0, 200_001)
    parts = parts_of(HUMPED, 211.0)
    peak = lengths[table(lengths).argmax()] + np.linspace(-0.002, 0.002, 41)
    exact = parts.true(peak) / parts.silent(peak)
    assert table.best(211.0) >= max(table(lengths).max(), exact.max())
    assert table.best(211.0) == pytest.approx(table(lengths).max(), abs=1e-8)


@given(st.floats(0.5, 30.0), st.floats(0.01, 2.0), st.floats(0.5, 40.0))
def test_the_best_is_no_less_than_the_table_anywhere_up_to_the_longest_length(
    place: float, width: float, longest: float
) -> None:
    table = tabulate(lambda t: np.exp(-(((t - place) / width) ** 2)), (place - width,), 32.0)
    lengths = np.append(np.linspace(0.0, longest, 4001), min(place, longest))
    values = table(lengths)
    # Far before the hump the table is nothing but rounding errors.
    assert values.max() - 1e-12 <= table.best(longest) <= values.max() + 1e-8


def test_the_best_of_what_is_never_true_is_nothing() -> None:
    assert constant(0.0).best(10.0) == 0.0
    assert tabulate(np.zeros_like, (), 5.0).best(10.0) == 0.0
