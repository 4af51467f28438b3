"""Particles find what a fine grid, summed over exactly, finds; and their tables hold together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.errors import DataError, ModelError
from augury.inference.floor import Floor, Plan, Ways, build_floor
from augury.inference.particles import MOST_POSITIONS, filtered, smoothed
from augury.inference.readings import Readings, arrange
from inference import grid

N = 4000
# Three deviations of a share of N draws, and what the squares of the grid are too coarse for.
NEAR = 3 * 0.5 / np.sqrt(N) + 0.01
CELLS: list[Any] = [
    (("left",), (0.0, 0.0, grid.WALL_AT, grid.HEIGHT)),
    (("right",), (grid.WALL_AT, 0.0, grid.WIDTH, grid.HEIGHT)),
]
WALL = (grid.WALL_AT, grid.DOOR, grid.WALL_AT, grid.HEIGHT)
ANTENNAS = [("AB"[k], row) for k, row in enumerate(grid.ANTENNAS)]


def floor(**changes: Any) -> Floor:
    plan = {"cells": CELLS, "walls": [WALL], "antennas": ANTENNAS} | changes
    return build_floor("floor", Plan(**plan), Ways(grid.SPEED, grid.REST))


def readings(of: Floor, *keys: np.ndarray) -> Readings:
    rows = [
        ((f"tag{g}",), t, "AB"[a], None)
        for g, reads in enumerate(keys)
        for t, a in np.argwhere(reads).tolist()
    ]
    return arrange(of, rows, 1)


def drawn(seed: int, length: int = 7) -> np.ndarray:
    reads = np.random.default_rng(seed).random((length, 2)) < (0.4, 0.2)
    reads[[0, -1]] = [[True, False], [False, True]]
    # Where both read at once, nobody can be.
    reads[reads.all(axis=1), 1] = False
    return reads


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_particles_agree_with_a_fine_grid(seed: int) -> None:
    reads, own = drawn(seed), floor()
    told = readings(own, reads)
    past, everything, pairs = grid.rooms(reads)
    assert filtered(own, told, N, seed).marginal == pytest.approx(past, abs=NEAR)
    belief = smoothed(own, told, N, seed)
    assert belief.marginal == pytest.approx(everything, abs=NEAR)
    joint = belief.marginal[:-1, :, np.newaxis] * belief.tables[0]
    assert joint == pytest.approx(pairs, abs=NEAR)


@given(seed=st.integers(0, 10**6))
def test_tables_and_marginals_agree(seed: int) -> None:
    own = floor()
    told = readings(own, drawn(seed), drawn(seed + 1, 5))
    belief = smoothed(own, told, 50, seed)
    for start, table in zip(told.first[:-1], belief.tables, strict=True):
        marginal = belief.marginal[start : start + len(table) + 1]
        ahead = np.einsum("tk,tkj->tj", marginal[:-1], table)
        assert ahead == pytest.approx(marginal[1:], abs=1e-12)
        assert marginal.sum(axis=1) == pytest.approx(1.0)


@pytest.mark.parametrize("infer", [filtered, smoothed])
def test_a_seed_is_an_answer_and_other_keys_do_not_change_it(infer: Any) -> None:
    own, reads = floor(), drawn(1)
    alone = infer(own, readings(own, reads), 200, 7).marginal
    beside = infer(own, readings(own, reads, drawn(2)), 200, 7).marginal
    assert (beside[: len(reads)] == alone).all()
    assert (infer(own, readings(own, reads), 200, 8).marginal != alone).any()


def test_nobody_walks_through_a_wall() -> None:
    closed = floor(
        walls=[(grid.WALL_AT, 0.0, grid.WALL_AT, grid.HEIGHT)],
        initial={("left",): 1.0, ("right",): 0.0},
    )
    reads = np.array([[True, False], [False, False], [False, False], [True, False]])
    belief = filtered(closed, readings(closed, reads), 500, 1)
    assert (belief.marginal[:, 1] == 0.0).all()


def test_a_reading_that_no_particle_explains_says_nothing() -> None:
    own = floor()
    reads = np.array([[True, False], [True, True], [True, False]])
    belief = smoothed(own, readings(own, reads), 300, 1)
    assert belief.impossible.tolist() == [False, True, False]
    assert belief.marginal.sum(axis=1) == pytest.approx(1.0)


def test_an_antenna_reads_as_its_best_row_within_reach() -> None:
    own = floor(antennas=[("A", (1.0, 1.0, 0.5, 0.9)), ("A", (1.0, 1.0, 2.0, 0.2))])
    at = np.array([[1.0, 1.4], [1.0, 1.6], [3.5, 1.0]])
    assert own.likelihood(np.array([1]), at).tolist() == [0.9, 0.2, 0.0]
    assert own.likelihood(np.array([0]), at) == pytest.approx([0.1, 0.8, 1.0])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cells": []}, "has no cells"),
        ({"antennas": []}, "has no antennas"),
        ({"cells": [(("left",), (1.0, 0.0, 1.0, 2.0))]}, "x_from < x_to"),
        ({"cells": [(("left",), (None, 0.0, 1.0, 2.0))]}, "a cell lacks a number"),
        ({"cells": [*CELLS, (("in",), (1.0, 0.5, 3.0, 1.0))]}, "'left' and 'in' overlap"),
        ({"walls": [(1.0, 0.0, None, 2.0)]}, "a wall lacks a number"),
        ({"antennas": [("A", (1.0, 1.0, 0.0, 0.5))]}, "no reach"),
        ({"antennas": [("A", (1.0, 1.0, 1.0, 1.5))]}, "1.5 is not a probability"),
        ({"initial": {("left",): 0.5}}, "sum to 0.5"),
        ({"initial": {("attic",): 1.0}}, "'attic', which is no cell"),
    ],
)
def test_a_floor_that_makes_no_sense_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        floor(**changes)


def test_paths_that_would_not_fit_in_memory_are_refused() -> None:
    own = floor()
    with pytest.raises(DataError, match="take fewer particles, or cut the stream"):
        smoothed(own, readings(own, drawn(1)), MOST_POSITIONS, 1)
