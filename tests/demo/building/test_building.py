"""The building: its tables are a model, its truth is its own, and the scene tells both."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from augury.demo.building.judgement import judge
from augury.demo.building.people import Building, visits
from cli.terminal import augury


def test_the_steps_from_every_place_sum_to_1() -> None:
    building = Building()
    for state in building.states:
        total = sum(p for (origin, _), p in building.steps.items() if origin == state)
        assert total == pytest.approx(1.0)


@pytest.mark.parametrize(("room", "seconds"), [("C", 57.0), ("O0N", 147.0)])
def test_a_stay_lasts_about_as_long_as_it_says(room: str, seconds: float) -> None:
    building = Building()
    own = [(f"{room}{k}", "inside") for k in range(4)]
    within = np.array([[building.steps.get((a, b), 0.0) for b in own] for a in own])
    assert np.linalg.solve(np.eye(4) - within, np.ones(4))[0] == pytest.approx(seconds)


def test_an_antenna_hears_its_own_cell_and_half_as_well_the_next() -> None:
    heard = {place: dict(rows) for (place, _), rows in Building(modules=3).heard.items()}
    assert heard["H2"] == {"A1": 0.6}
    assert heard["H3"] == {"A1": 0.3, "A2": 0.3}


def test_a_seed_is_a_world() -> None:
    assert Building().walk(2, 50, 3) == Building().walk(2, 50, 3)
    assert Building().walk(2, 50, 3) != Building().walk(2, 50, 4)


def test_people_are_read_in_the_corridor_only() -> None:
    truth, reads = Building().walk(3, 400, 1)
    assert reads
    assert all(truth[read["person"]][read["t"]].startswith("H") for read in reads)


def test_a_visit_is_two_seconds_outside_and_one_inside() -> None:
    assert visits(["H5", "C0", "H5", "H5", "C1", "C2", "H5", "C0"]) == [4]


def test_what_is_told_is_held_against_the_truth() -> None:
    verdict = judge({"joe": [100]}, {"smoothed": {"joe": [0.0] * 80 + [0.4, 0.0] + [0.3] * 150}})
    found = verdict.scores["smoothed", 0.3]
    assert (found.claimed, found.right, found.found) == (1, 1, 1)


@pytest.mark.slow
def test_the_command_plays_the_scene(tmp_path: Path) -> None:
    out = tmp_path / "building.html"
    shown = augury("demo", "--scene", "building", "--engine", "local", "--out", str(out), "--json")
    figures = json.loads(shown.output)["building"]
    assert figures["visits"] > 0
    assert 0.0 < figures["f1"]["smoothed"]["0.2"] <= 1.0
    text = out.read_text(encoding="utf-8")
    assert "beside the truth" in text
    assert "Who went for coffee?" in text
