"""A run takes its share of the slow cases; runs together take all."""

from __future__ import annotations

import pytest

from rotation import left_out

SHOWN = """
import pytest

@pytest.mark.parametrize("n", range(7))
@pytest.mark.rotating(3)
def test_many(n): ...

@pytest.mark.rotating(2, 0)
def test_first(): ...

@pytest.mark.rotating(2, 1)
def test_second(): ...

def test_always(): ...
"""


@pytest.fixture
def items(pytester: pytest.Pytester) -> list[pytest.Item]:
    pytester.makeini("[pytest]\nmarkers = rotating: of this run")
    return pytester.getitems(SHOWN)


def test_three_runs_take_every_case_once(items: list[pytest.Item]) -> None:
    runs = [{item.name for item in items} - names(left_out(items, n)) for n in range(3)]
    many = [{name for name in run if name.startswith("test_many")} for run in runs]
    assert sorted(name for run in many for name in run) == [f"test_many[{n}]" for n in range(7)]
    assert all(2 <= len(run) <= 3 for run in many)


@pytest.mark.parametrize(("number", "own"), [(6, "test_first"), (7, "test_second")])
def test_turns_of_a_subject_alternate(items: list[pytest.Item], number: int, own: str) -> None:
    taken = {item.name for item in items} - names(left_out(items, number))
    assert {"test_always", own} <= taken
    assert len({"test_first", "test_second"} & taken) == 1


def names(items: list[pytest.Item]) -> set[str]:
    return {item.name for item in items}
