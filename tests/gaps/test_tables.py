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
from augury.gaps.tables import Table, Tables, tabulate, tabulate_both
from augury.records import Reals

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
    assert tabulate(np.zeros_like, (), 5.0).best(10.0) == 0.0


def waves(seed: int) -> Table:
    """Return a table with jumps and with many pieces."""
    cuts = np.random.default_rng(seed).uniform(0.0, 10.0, 5)
    jumps = np.sort(cuts)
    return tabulate(
        lambda t: np.sin(t * (1.0 + seed)) + np.searchsorted(jumps, t, side="right"), cuts, 10.0
    )


def test_two_tables_are_read_together_as_each_is_alone() -> None:
    first, second = waves(1), waves(2)
    lengths = np.linspace(-1.0, 12.0, 5000)
    together = Tables.of(first, second)(lengths)
    # A piece of one ends inside a piece of the other, where a rounding may fall on either side.
    for own, table in zip(together, (first, second), strict=True):
        far = np.abs(lengths[:, None] - table.cuts).min(axis=1) > 1e-9
        assert np.abs(own - table(lengths))[far].max() < 1e-12


def test_joined_tables_have_few_pieces_keep_jumps_and_zeros_and_stay_within_the_error() -> None:
    jumps, bends = np.array([2.5, 6.0, 7.25]), np.linspace(0.0, 9.5, 301)

    def leaping(t: Reals) -> Reals:
        return 2.0 + np.sin(3.0 * t) + np.searchsorted(jumps, t, side="right")

    def late(t: Reals) -> Reals:
        return np.where(t < 3.0, 0.0, 1e-9 * (t - 2.9))

    first, second = (tabulate(f, (*jumps, *bends, 3.0), 10.0, 1e-10) for f in (leaping, late))
    tables = Tables.of(first, second)
    joined, lengths = tables.joined(1e-10), np.random.default_rng(0).uniform(0.0, 10.0, 50_000)
    assert len(joined.cuts) < len(tables.cuts) / 5
    assert set(joined.turns) >= {*jumps, 3.0}
    for own, before in zip(joined(lengths), tables(lengths), strict=True):
        assert np.abs(own - before).max() <= 2e-10
    assert (joined.second(lengths[lengths < 3.0]) == 0.0).all()
    assert (joined.first(lengths) == joined(lengths)[0]).all()


def test_a_piece_thinner_than_a_sliver_that_begins_at_zero_leaves_the_cuts_in_order() -> None:
    # As sums of the bounds of gaps do, that are one place but for their rounding.
    table = tabulate(lambda t: np.maximum(t - 7.0, 0.0), (7.0, 7.0 + 2e-14), 100.0)
    assert (np.diff(table.cuts) > 0.0).all()
    assert table.best(100.0) == pytest.approx(93.0)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("width", [1e-3, 0.3, 4.0])
def test_rows_within_a_piece_and_across_are_read_as_single_lengths(
    width: float, sign: float
) -> None:
    table = waves(3)
    rows = np.linspace(0.0, 9.0, 400)[:, None] + sign * width * np.linspace(0.0, 1.0, 7)
    assert (table(rows) == table(rows.ravel()).reshape(rows.shape)).all()


def test_two_functions_tabulated_together_have_the_tables_that_each_has_alone() -> None:
    functions = (lambda t: np.exp(-t), lambda t: np.exp(-((t - 3.0) ** 2) * 40.0))
    asked: list[int] = []

    def both(lengths: Reals) -> tuple[Reals, Reals]:
        asked.append(len(lengths))
        return functions[0](lengths), functions[1](lengths)

    found = tabulate_both(both, functions, (1.0, 2.0), 8.0, 1e-10)
    for own, function in zip(found, functions, strict=True):
        alone = tabulate(function, (1.0, 2.0), 8.0, 1e-10)
        assert (own.cuts == alone.cuts).all()
        assert (own.coefficients == alone.coefficients).all()
    assert asked[0] > 0
