"""Scores of stretches: the printed figures, and the oracle's integrals on random stretches."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.gaps.families import Gap
from augury.gaps.law import parts_of
from augury.gaps.scores import score_table
from augury.gaps.stretch import Backward, Ends, Forward, Step, Stretch, Unseen
from oracles import missed as oracle

EXPONENTIAL = Gap("EXPONENTIAL", (1.0,))
Y = Unseen(1, EXPONENTIAL, 0.1)
N = Unseen(2, EXPONENTIAL, 0.1, negated=True)
LENGTHS = np.array([0.5, 1.0, 2.0])
PRINTED = {
    "negated": (
        Forward((Step((N,)),)),
        (0.939080, 0.853367, 0.610163),
        (0.939080, 0.853367, 0.610163),
    ),
    "missed": (
        Forward((Step((), Y), Step())),
        (0.060920, 0.146633, 0.389837),
        (0.039347, 0.063212, 0.086466),
    ),
    "two missed": (
        Forward((Step((), Y), Step((), Y), Step())),
        (0.001414, 0.006487, 0.035285),
        (0.000774, 0.001998, 0.003738),
    ),
    "negated, missed": (
        Forward((Step((N,), Y), Step())),
        (0.059064, 0.135882, 0.313850),
        (0.036950, 0.053943, 0.052759),
    ),
    "missed, negated": (
        Forward((Step((), Y), Step((N,)))),
        (0.047552, 0.090319, 0.160786),
        (0.036950, 0.053943, 0.052759),
    ),
}


@pytest.mark.parametrize(("stretch", "law", "paper"), PRINTED.values(), ids=PRINTED)
def test_scores_are_as_printed(stretch: Forward, law: tuple, paper: tuple) -> None:
    assert score_table(stretch, "LAW", 10.0)(LENGTHS) == pytest.approx(law, abs=5e-7)
    assert score_table(stretch, "AYAC", 10.0)(LENGTHS) == pytest.approx(paper, abs=5e-7)


def test_a_missed_first_component_scores_as_printed() -> None:
    first = Unseen(0, Gap("EXPONENTIAL", (1.0,), 0.8), 0.1)
    table = score_table(Backward(first), "LAW", 10.0)
    assert table(np.array(1.0)) == pytest.approx(0.092810, abs=5e-7)


def test_long_gaps_score_as_printed() -> None:
    long = np.array(5.0)
    assert score_table(PRINTED["missed"][0], "LAW", 9.0)(long) == pytest.approx(0.936, abs=5e-4)
    assert score_table(PRINTED["two missed"][0], "LAW", 9.0)(long) == pytest.approx(0.487, abs=5e-4)


def test_without_a_window_a_sure_event_must_have_been_missed() -> None:
    table = score_table(Forward((Step((), Y), Step())), "LAW", math.inf)
    assert table(np.array(1e9)) == pytest.approx(1.0)


LAWS = st.one_of(
    st.floats(0.3, 3).map(lambda m: ("EXPONENTIAL", (m,), oracle.exponential(m))),
    st.tuples(st.floats(0.5, 2), st.integers(1, 4)).map(
        lambda p: ("GAMMA", (p[0], float(p[1])), oracle.erlang(*p))
    ),
    st.tuples(st.floats(0.5, 2), st.floats(0.3, 1)).map(
        lambda p: ("LOGNORMAL", p, oracle.lognormal(*p))
    ),
    st.tuples(st.floats(0.0, 1), st.floats(0.2, 2)).map(
        lambda p: ("UNIFORM", (p[0], p[0] + p[1]), oracle.uniform(p[0], p[0] + p[1]))
    ),
)


@st.composite
def unseen(draw: st.DrawFn, *, negated: bool) -> tuple[Unseen, oracle.Unseen]:
    family, parameters, law = draw(LAWS)
    rate, reaches = draw(st.floats(0.05, 0.6)), draw(st.sampled_from((1.0, 0.9, 0.5)))
    own = Unseen(0, Gap(family, parameters, reaches), rate, negated)
    return own, oracle.Unseen(law, rate, reaches, negated)


SHAPES = ("n", "nn", "y", "ny", "yn", "nyn", "yy")


@given(shape=st.sampled_from(SHAPES), length=st.floats(0.1, 4.0), data=st.data())
def test_stretches_between_seen_components_agree_with_the_oracle(
    shape: str, length: float, data: st.DataObject
) -> None:
    pairs = [data.draw(unseen(negated=letter == "n")) for letter in shape]
    stretch, expected = forward([p[0] for p in pairs]), [p[1] for p in pairs]
    table = score_table(stretch, "LAW", 5.0)
    assert table(np.array(length)) == pytest.approx(oracle.between(expected, length), abs=1e-7)
    paper = score_table(stretch, "AYAC", 5.0)
    assert paper(np.array(length)) == pytest.approx(oracle.paper(expected, length), abs=1e-7)


def test_the_density_of_the_second_missed_component_is_followed_where_it_bends() -> None:
    # All that the lognormal one has lies in the last eighth of the integral over the first.
    y, late = Unseen(0, EXPONENTIAL, 0.5), Unseen(1, Gap("LOGNORMAL", (0.5, 1.0)), 0.5)
    first = oracle.Unseen(oracle.exponential(1.0), 0.5)
    second = oracle.Unseen(oracle.lognormal(0.5, 1.0), 0.5)
    table = score_table(forward([y, late]), "LAW", 5.0)
    assert table(np.array(4.0)) == pytest.approx(oracle.between([first, second], 4.0), abs=2e-9)


@given(first=unseen(negated=False), after=unseen(negated=True), window=st.floats(0.1, 4.0))
def test_a_missed_first_component_agrees_with_the_oracle(first, after, window: float) -> None:
    plain = exact(Backward(first[0]), window)
    assert plain == pytest.approx(oracle.before(first[1], (), window), abs=1e-7)
    guarded = exact(Backward(first[0], after=(after[0],)), window)
    assert guarded == pytest.approx(oracle.before(first[1], (after[1],), window), abs=1e-6)


@given(first=unseen(negated=False), last=unseen(negated=False), window=st.floats(0.1, 4.0))
def test_both_ends_missed_agree_with_the_oracle(first, last, window: float) -> None:
    stretch = Ends(Backward(first[0]), Forward((Step((), last[0]), Step())))
    expected = oracle.both_ends(first[1], (last[1],), window)
    assert exact(stretch, window) == pytest.approx(expected, abs=1e-7)


@given(leading=unseen(negated=True), last=unseen(negated=False), window=st.floats(0.1, 4.0))
def test_a_leading_negation_and_a_missed_last_component_share_the_window(
    leading, last, window: float
) -> None:
    stretch = Ends(Backward(before=(leading[0],)), Forward((Step((), last[0]), Step())))
    expected = oracle.leading_and_last(leading[1], (last[1],), window)
    assert exact(stretch, window) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("window", [0.3, 1.0, 3.5])
def test_both_ends_missed_after_a_leading_negation_agree_with_the_oracle(window: float) -> None:
    n = Unseen(0, Gap("EXPONENTIAL", (0.8,), 0.7), 0.3, negated=True)
    x = Unseen(1, Gap("GAMMA", (1.0, 2.0), 0.9), 0.2)
    z = Unseen(2, EXPONENTIAL, 0.4)
    stretch = Ends(Backward(x, before=(n,)), Forward((Step((), z), Step())))
    laws = (oracle.exponential(0.8), oracle.erlang(1.0, 2), oracle.exponential(1.0))
    expected = oracle.leading_first_and_last(
        oracle.Unseen(laws[0], 0.3, 0.7, negated=True),
        oracle.Unseen(laws[1], 0.2, 0.9),
        oracle.Unseen(laws[2], 0.4),
        window,
    )
    assert exact(stretch, window) == pytest.approx(expected, abs=1e-8)


def test_a_table_of_both_ends_keeps_to_its_error() -> None:
    n = Unseen(0, Gap("UNIFORM", (0.5, 1.5), 0.7), 0.3, negated=True)
    x = Unseen(1, Gap("GAMMA", (1.0, 2.5), 0.9), 0.2)
    last, lengths = Forward((Step((), Y), Step())), np.linspace(0.1, 4.0, 40)
    for start in (Backward(before=(n,)), Backward(x), Backward(x, after=(n,))):
        found = score_table(Ends(start, last), "LAW", 4.0)(lengths)
        expected = [exact(Ends(start, last), length) for length in lengths]
        assert found == pytest.approx(expected, abs=1e-7)


def test_a_bound_on_the_time_of_a_missed_component_bounds_the_integral() -> None:
    bounded = score_table(Forward((Step((), Y, 0.0, 0.5), Step())), "LAW", 9.0)
    missed, came = 0.1 * (1 - math.exp(-0.5)), 1 - math.exp(-2.0)
    assert bounded(np.array(2.0)) == pytest.approx(missed / (1 - 0.9 * came), abs=1e-8)
    late = score_table(Forward((Step((), Y), Step((), None, 0.0, 0.5))), "LAW", 9.0)
    missed = 0.1 * (math.exp(-1.5) - math.exp(-2.0))
    assert late(np.array(2.0)) == pytest.approx(missed / (1 - 0.9 * came), abs=1e-8)


def test_an_empirical_gap_jumps_where_its_lengths_stand() -> None:
    own = Unseen(1, Gap("EMPIRICAL", (1.0, 2.0, 4.0, 4.0)), 0.2)
    table = score_table(Forward((Step((), own), Step())), "LAW", 4.0)
    lengths = np.array([0.5, 1.0, 1.999, 2.0, 3.9, 4.0])
    came = np.array([0.0, 0.25, 0.25, 0.5, 0.5, 1.0])
    assert table(lengths) == pytest.approx(0.2 * came / (1 - 0.8 * came), abs=1e-9)


def exact(stretch: Stretch, length: float) -> float:
    """Return the score of a stretch without a table."""
    parts, own = parts_of(stretch, 5.0), np.array([length])
    return float((parts.true(own) / parts.silent(own))[0])


def forward(parts: list[Unseen]) -> Forward:
    steps, negated = [], []
    for part in parts:
        if part.negated:
            negated.append(part)
        else:
            steps.append(Step(tuple(negated), part))
            negated = []
    return Forward((*steps, Step(tuple(negated))))
