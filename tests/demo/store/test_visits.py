"""The simulated day is reproducible, plausible, and as uncertain as its readers say."""

from __future__ import annotations

from datetime import timedelta

import pytest

from augury.demo.store.visits import OPENING, Read, simulate


@pytest.fixture(scope="module")
def days() -> list[Read]:
    return [read for seed in range(3) for read in simulate(seed)]


def test_the_same_seed_gives_the_same_day() -> None:
    assert simulate(7, items=200) == simulate(7, items=200)


def test_another_seed_gives_another_day() -> None:
    assert simulate(7, items=200) != simulate(8, items=200)


def test_reads_are_numbered_in_order_of_time() -> None:
    reads = simulate(1, items=500)
    assert [read.id for read in reads] == list(range(1, len(reads) + 1))
    assert [read.at for read in reads] == sorted(read.at for read in reads)


def test_two_reads_of_an_item_never_fall_on_one_moment() -> None:
    reads = simulate(1, items=2000)
    assert len({(read.tag, read.at) for read in reads}) == len(reads)


def test_an_item_is_read_within_the_window_of_the_query(days: list[Read]) -> None:
    assert all(OPENING <= read.at < OPENING + timedelta(hours=12) for read in days)


@pytest.mark.parametrize("reader", ["SHELF", "COUNTER", "EXIT"])
@pytest.mark.parametrize("low", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_a_reader_is_right_as_often_as_it_says(days: list[Read], reader: str, low: float) -> None:
    kept = [read for read in days if read.reader == reader and low <= read.p < low + 0.1]
    said = sum(read.p for read in kept)
    spread = sum(read.p * (1 - read.p) for read in kept) ** 0.5
    assert abs(sum(read.real for read in kept) - said) <= 4 * max(spread, 1.0)


def test_staff_leave_by_their_own_door_and_others_do_not() -> None:
    reads = simulate(1, items=2000)
    doors = {read.door for read in reads if read.reader == "EXIT"}
    assert doors == {"north", "south", "staff"}
    assert all(read.door is None for read in reads if read.reader != "EXIT")


def test_probabilities_are_never_certain(days: list[Read]) -> None:
    assert all(0.0 < read.p < 1.0 for read in days)
