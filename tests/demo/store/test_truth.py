"""The judgement equals an independent count, and the confidences keep their promise."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import combinations
from math import prod

import pytest

from augury.demo.store.truth import THRESHOLDS, Day
from augury.demo.store.visits import Read
from demo.conftest import Played


def reads_of(*steps: tuple[str, bool], door: str = "north") -> Day:
    start = datetime(2026, 1, 1, 9, tzinfo=UTC)
    return Day(
        tuple(
            Read(k, "t", reader, door if reader == "EXIT" else None, start + timedelta(k), 0.5, yes)
            for k, (reader, yes) in enumerate(steps)
        )
    )


@pytest.mark.parametrize(
    ("steps", "stolen"),
    [
        ([("SHELF", True), ("EXIT", True)], True),
        ([("SHELF", False), ("EXIT", True)], False),
        ([("SHELF", True), ("EXIT", False)], False),
        ([("SHELF", True), ("COUNTER", True), ("EXIT", True)], False),
        ([("SHELF", True), ("COUNTER", False), ("EXIT", True)], True),
        ([("COUNTER", True), ("SHELF", True), ("EXIT", True)], True),
        ([("SHELF", True), ("COUNTER", True), ("SHELF", True), ("EXIT", True)], True),
        ([("SHELF", True), ("COUNTER", True), ("SHELF", False), ("EXIT", True)], False),
        ([("SHELF", True), ("EXIT", False), ("COUNTER", True), ("EXIT", True)], False),
    ],
)
def test_a_theft_is_a_shelf_and_a_door_without_a_counter_between(
    steps: list[tuple[str, bool]], stolen: bool
) -> None:
    assert bool(reads_of(*steps).stolen) is stolen


def test_what_leaves_by_the_staff_door_is_not_stolen() -> None:
    assert not reads_of(("SHELF", True), ("EXIT", True), door="staff").stolen


def by_hand(day: Day) -> dict[tuple[int, int], tuple[float, bool]]:
    """Return every pair of reads that the query could match: its confidence and its truth."""
    found = {}
    for reads in day.by_tag.values():
        for x, z in combinations(reads, 2):
            if x.reader == "SHELF" and z.reader == "EXIT" and z.door != "staff":
                counters = [y for y in reads if y.reader == "COUNTER" and x.at < y.at < z.at]
                confidence = x.p * z.p * prod(1 - y.p for y in counters)
                real = x.real and z.real and not any(y.real for y in counters)
                found[x.id, z.id] = confidence, real
    return found


def test_the_matches_are_those_that_a_count_by_hand_finds(played: Played) -> None:
    day, answers, _ = played
    wanted = {pair: facts for pair, facts in by_hand(day).items() if facts[0] >= 0.1}
    found = {(m.taken.id, m.gone.id): m for m in answers.matches}
    assert set(found) == set(wanted)
    for pair, (confidence, real) in wanted.items():
        assert found[pair].confidence == pytest.approx(confidence, abs=1e-12)
        assert found[pair].real is real


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_precision_and_recall_equal_a_count_by_hand(played: Played, threshold: float) -> None:
    day, _, verdict = played
    pairs = by_hand(day)
    stolen = {day.by_id[x].tag for (x, _), (_, real) in pairs.items() if real}
    accused = {day.by_id[x].tag for (x, _), (c, _) in pairs.items() if c >= threshold}
    assert day.stolen == stolen
    assert verdict.at(threshold).precision == len(accused & stolen) / len(accused)
    assert verdict.at(threshold).recall == len(accused & stolen) / len(stolen)


def test_items_accused_without_probabilities_equal_a_count_by_hand(played: Played) -> None:
    day, answers, _ = played
    every, likely = set(), set()
    for tag, reads in day.by_tag.items():
        for accused, kept in ((every, reads), (likely, [r for r in reads if r.p >= 0.5])):
            for x, z in combinations(kept, 2):
                between = [y for y in kept if y.reader == "COUNTER" and x.at < y.at < z.at]
                fits = x.reader == "SHELF" and z.reader == "EXIT" and z.door != "staff"
                if fits and not between:
                    accused.add(tag)
    assert answers.every_read == every
    assert answers.likely_reads == likely


def test_of_matches_with_a_confidence_that_share_is_real(played: Played) -> None:
    _, _, verdict = played
    assert len(verdict.calibration) == 9
    for band in verdict.calibration:
        spread = (band.mean * (1 - band.mean) / band.count) ** 0.5
        assert abs(band.share - band.mean) <= 4 * spread
