"""Bounds on what the rest of a path can score change how long a search takes, and nothing else."""

from __future__ import annotations

import pytest

from augury.matching import find
from matching.as_text import Refused, engine_answers
from matching.random_cases import CONSTRUCTS, random_case

STRATEGIES = ("any", "next", "strict", "partition")


def answers(construct, strategy, seed):
    try:
        return engine_answers(random_case(construct, strategy, seed))
    except Refused:
        return None


def with_bounds_after(monkeypatch, work, construct, strategy):
    monkeypatch.setattr(find, "WORK_BEFORE_BOUNDS", work)
    return [answers(construct, strategy, seed) for seed in range(12)]


@pytest.mark.rotating(3)
@pytest.mark.parametrize("construct", sorted(CONSTRUCTS))
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_bounds_change_no_answer(monkeypatch, construct, strategy):
    without = with_bounds_after(monkeypatch, 2**62, construct, strategy)
    assert with_bounds_after(monkeypatch, 0, construct, strategy) == without
    assert with_bounds_after(monkeypatch, 3, construct, strategy) == without


@pytest.mark.rotating(3)
@pytest.mark.parametrize("construct", sorted(CONSTRUCTS))
def test_an_outlook_changes_no_answer(monkeypatch, construct):
    without = with_bounds_after(monkeypatch, 2**62, construct, "any")
    monkeypatch.setattr(find, "PASSES_BEFORE_OUTLOOK", 0)
    assert with_bounds_after(monkeypatch, 2**62, construct, "any") == without
    assert with_bounds_after(monkeypatch, 3, construct, "any") == without
