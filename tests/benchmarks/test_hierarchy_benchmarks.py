"""The benchmarks of hierarchies compare what they say they compare."""

from __future__ import annotations

import pytest

from hierarchy import caviar, plain, windows


@pytest.mark.parametrize("early", [False, True])
def test_plain_python_and_augury_find_the_same_matches(early: bool) -> None:
    task = windows.Task(1, 1500, 8, threshold=0.05)
    table = windows.events(2500, 8)
    found = windows.measured(table, task)["found"]
    assert found.num_rows > 10
    sequence = plain.PlainSequence(windows.TYPES, 1500, 0.05, task.most, early)
    windows.refuse_difference(found, sequence.matches(windows.rows_of(table)))


def test_a_difference_stops_the_benchmark() -> None:
    found = windows.measured(windows.events(2500, 8), windows.Task(1, 1500, 8, threshold=0.05))
    with pytest.raises(SystemExit, match="different matches"):
        windows.refuse_difference(found["found"], [])


def test_a_video_has_no_say_in_its_own_threshold() -> None:
    right, wrong, other = ("v1", "a", "b", 0), ("v1", "a", "b", 1000), ("v2", "a", "b", 0)
    scores = {right: 0.15, wrong: 0.05, other: 0.04}
    # v1 wants a threshold above 0.05, which v2 has to live with; v2 is content with the lowest.
    chosen = caviar.by_held_out_video(scores, list(scores), {right, other})
    assert chosen == {right, wrong}


def test_quality_is_precision_recall_and_their_harmonic_mean() -> None:
    places = [("v", "a", "b", start) for start in range(4)]
    found = caviar.quality(set(places[:2]), set(places[1:]))
    assert found == (0.5, pytest.approx(1 / 3), pytest.approx(0.4))


def test_probabilities_beat_what_keeps_the_events_above_one_half() -> None:
    if not caviar.DATA.exists():
        pytest.skip("the recordings are not here: ../shared/data")
    query, events = "meeting_in_one_frame", caviar.tracked("smooth-noise")
    events = events[events.video.isin(["01-Walk1", "20-Meet_WalkTogether2"])]
    places = caviar.judged(events)
    true = caviar.true_windows(places, "interacting")
    assert len(true) > 10
    likely = caviar.quality(caviar.above(caviar.asked(events, query), 0.05, places), true)
    kept = caviar.asked(caviar.crisp(events), query)
    assert likely.f1 > caviar.quality(caviar.above(kept, 0.5, places), true).f1
