"""Beliefs that are carried from batch to batch are those of all readings at once."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.inference.following import Follower
from augury.inference.model import build
from augury.inference.readings import arrange
from augury.inference.smoothing import UNEXPLAINED, Belief, filtered, lagged
from inference.test_smoothing import random_case

Steps = dict[tuple[Any, int], np.ndarray]


def by_step(belief: Belief) -> Steps:
    readings = belief.readings
    own = np.repeat(np.arange(len(readings.keys)), np.diff(readings.first))
    return {
        (readings.keys[c], int(t)): row
        for c, t, row in zip(own, readings.time, belief.marginal, strict=True)
    }


@given(seed=st.integers(0, 10**6), lag=st.integers(0, 3), size=st.integers(1, 5))
def test_following_readings_is_inference_over_all_of_them(seed: int, lag: int, size: int) -> None:
    case = random_case(seed)
    rows = sorted(case.rows, key=lambda row: row[1])
    model = case.model
    whole = arrange(model, rows, 1)
    expected = by_step(lagged(model, whole, lag) if lag else filtered(model, whole))
    follower = Follower(model, 1, lag)
    state, found = follower.start(), Steps()
    for start in range(0, 12, size):
        batch = [row for row in rows if start <= row[1] < start + size]
        random.Random(seed).shuffle(batch)
        state, belief = follower.advance(state, batch)
        assert not set(found) & set(by_step(belief))
        found |= by_step(belief)
        state = type(state).load(state.keys, state.dump())
    _, belief = follower.finish(state)
    found |= by_step(belief)
    assert found.keys() == expected.keys()
    for step, row in expected.items():
        assert found[step] == pytest.approx(row, abs=1e-12)


def test_readings_that_cannot_be_are_put_aside_where_they_come() -> None:
    moves = {(("a",), ("a",)): 1.0, (("b",), ("b",)): 1.0}
    emission = {(("a",), "A", None): 0.5, (("b",), "B", None): 0.5}
    model = build("m", [("a",), ("b",)], None, moves, emission)
    follower = Follower(model, 1)
    state, first = follower.advance(follower.start(), [("x", 1, "A", None), ("x", 1, "Z", None)])
    _, later = follower.advance(state, [("x", 2, "B", None), ("y", 3, "B", None)])
    assert first.readings.rejected == {1: "sensor 'Z' is not in model m"}
    assert later.readings.rejected == {0: UNEXPLAINED}
    assert by_step(later)["x", 2] == pytest.approx([1.0, 0.0])


def test_state_is_constant_over_a_tenfold_longer_stream() -> None:
    moves = {((a,), (b,)): 0.5 for a in "ab" for b in "ab"}
    model = build("m", [("a",), ("b",)], None, moves, {(("a",), "A", None): 0.5})
    follower = Follower(model, 1, lag=4)
    sizes = []
    for n in (50, 500):
        state, _ = follower.advance(follower.start(), [("x", t, "A", None) for t in range(n)])
        sizes.append(len(state.dump()))
    assert sizes[0] == sizes[1]
