"""Recent ids: known as long as they must be, forgotten not much later."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from augury.sources.recent import Generation, RecentIds, word_of

ids = st.integers(-(2**63), 2**63 - 1) | st.text(max_size=5)


@given(st.lists(ids, unique=True, max_size=300), ids)
def test_what_was_added_is_known_and_nothing_else(added: list[int | str], other: int | str) -> None:
    recent = RecentIds(memory=10)
    for each in added:
        recent.add(each, 5)
    assert all(each in recent for each in added)
    assert (other in recent) == (other in added)


@given(st.integers(0, 60))
def test_an_id_is_known_for_the_time_and_at_most_a_third_longer(later: int) -> None:
    recent = RecentIds(memory=30)
    for time in range(later + 1):
        recent.add(time, time)
    known = [time for time in range(later + 1) if time in recent]
    assert len(known) >= min(31, later + 1)
    assert len(known) <= 30 * 4 / 3 + 5


def test_no_word_marks_a_free_place() -> None:
    assert word_of(0) != 0
    generation = Generation(0)
    assert not generation.has(word_of(0))
    generation.add(word_of(0))
    assert generation.has(word_of(0))


def test_a_word_is_added_once() -> None:
    generation = Generation(0)
    for _ in range(100):
        generation.add(7)
    assert generation.count == 1
    assert generation.words() == [7]
