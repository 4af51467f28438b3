"""When a missed component probably happened: by integration over the model, at any length."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from augury.gaps.families import Gap
from augury.gaps.likely import Likely, likely_times
from augury.gaps.stretch import Backward, Ends, Forward, Step, Unseen
from oracles import missed as oracle

LAWS = st.one_of(
    st.floats(0.01, 100).map(lambda m: (Gap("EXPONENTIAL", (m,)), oracle.exponential(m))),
    st.tuples(st.floats(0.1, 10), st.sampled_from((1, 2, 4, 30))).map(
        lambda p: (Gap("GAMMA", (p[0], float(p[1]))), oracle.erlang(*p))
    ),
    st.tuples(st.floats(0.1, 10), st.sampled_from((0.05, 0.5, 1.0, 2.0))).map(
        lambda p: (Gap("LOGNORMAL", p), oracle.lognormal(*p))
    ),
    st.tuples(st.floats(0.1, 10), st.floats(0.1, 2)).map(
        lambda p: (Gap("UNIFORM", (p[0], p[0] + p[1])), oracle.uniform(p[0], p[0] + p[1]))
    ),
)
WINDOW = 1e9
# Lengths as shares of what the gaps take on average: far shorter, and far longer.
SHARES = st.sampled_from((0.3, 0.8, 1.0, 1.3, 2.0, 5.0, 30.0, 1e3, 1e5))


def interval(likely: Likely, length: float) -> tuple[float, float]:
    low, high = (np.interp(length, likely.lengths, share) for share in (likely.low, likely.high))
    return float(low * length), float(high * length)


def pieces(own: oracle.Law, gap: Gap, length: float) -> tuple[list[float], list[float]]:
    """Return ends of pieces of a length, close where the gap probably is, and their chances."""
    low, high = gap.parameters if gap.family == "UNIFORM" else (0.0, 4.0 * gap.parameters[0])
    close = [np.geomspace(1e-7 * high, max(length, high), 500), np.linspace(low, high, 1000)]
    ends = np.unique(np.clip(np.concatenate([[0.0], *close]), 0.0, length)).tolist()
    return ends, np.diff([own.cdf(end) for end in ends]).tolist()


def typical(*gaps: Gap) -> float:
    return sum(gap.parameters[0] for gap in gaps)


def forward(*gaps: Gap) -> Forward:
    steps = [Step((), Unseen(k, gap, 0.1)) for k, gap in enumerate(gaps)]
    return Forward((*steps, Step()))


def check(share_before: Callable[[float], float], low: float, high: float) -> None:
    """Check that a twentieth lies before the interval and after it, to two percent of it."""
    near = 0.02 * (high - low)
    for end, expected in ((low, 0.05), (high, 0.95)):
        assert share_before(end - near) <= expected + 0.005
        assert share_before(end + near) >= expected - 0.005


@given(drawn=LAWS, share=SHARES)
def test_one_missed_component_lies_in_the_middle_nine_tenths(drawn, share: float) -> None:
    gap, law = drawn
    length = typical(gap) * share
    assume(law.cdf(length) > 1e-4)
    (likely,) = likely_times(forward(gap), WINDOW)
    low, high = interval(likely, length)
    check(lambda end: law.cdf(min(end, length)) / law.cdf(length), low, high)
    (back,) = likely_times(Backward(Unseen(0, gap, 0.1)), WINDOW)
    assert interval(back, length) == pytest.approx((length - high, length - low), rel=1e-6)


@given(one=LAWS, two=LAWS, share=SHARES)
def test_of_two_missed_components_each_leaves_time_to_the_other(one, two, share: float) -> None:
    (gap, law), (then, after) = one, two
    length = typical(gap, then) * share
    ends, chances = pieces(law, gap, length)
    times = [(one + two) / 2.0 for one, two in pairwise(ends)]
    both = [p * after.cdf(length - t) for t, p in zip(times, chances, strict=True)]
    whole = sum(both)
    # What seldom comes about is told more roughly.
    assume(whole > 5e-2)
    first, second = (interval(own, length) for own in likely_times(forward(gap, then), WINDOW))
    shares = np.cumsum([0.0, *both]) / whole
    check(lambda end: float(np.interp(end, ends, shares)), *first)
    check(lambda end: sum(_ended(times, chances, after, end)) / whole, *second)


def _ended(
    times: list[float], chances: list[float], after: oracle.Law, end: float
) -> Iterator[float]:
    """Yield the chances that the first gap takes each of the times, and both end by then."""
    for t, p in zip(times, chances, strict=True):
        if t < end:
            yield p * after.cdf(end - t)


def test_what_is_missed_at_both_ends_shares_what_the_window_leaves() -> None:
    gap, then = Gap("EXPONENTIAL", (2.0,)), Gap("GAMMA", (3.0, 2.0))
    between = likely_times(forward(gap, then), WINDOW)
    ends = Ends(Backward(Unseen(0, gap, 0.1)), forward(then))
    first, last = likely_times(ends, WINDOW)
    low, high = interval(between[0], 4.0)
    assert interval(first, 4.0) == pytest.approx((4.0 - high, 4.0 - low))
    swapped = likely_times(forward(then, gap), WINDOW)
    assert interval(last, 4.0) == pytest.approx(interval(swapped[0], 4.0))


def test_an_empirical_gap_ends_at_its_lengths() -> None:
    (likely,) = likely_times(forward(Gap("EMPIRICAL", (2.0, 5.0, 9.0))), WINDOW)
    assert interval(likely, 4.0) == pytest.approx((2.0, 2.0), rel=1e-5)
    assert interval(likely, 6.0) == pytest.approx((2.0, 5.0), rel=1e-5)
    assert interval(likely, 1e5) == pytest.approx((2.0, 9.0), rel=0.01)


def test_a_gap_beyond_the_window_has_no_likely_time_but_a_share() -> None:
    (likely,) = likely_times(forward(Gap("UNIFORM", (10.0, 11.0))), 5.0)
    assert interval(likely, 5.0) == (0.0, 5.0)
