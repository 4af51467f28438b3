"""Precision, recall and calibration of answers whose truth is known."""

from __future__ import annotations

import pytest

from augury.report.scores import band, bands, score

JUDGED = [(0.9, True), (0.8, True), (0.8, False), (0.5, False), (0.2, True)]


@pytest.mark.parametrize(
    ("threshold", "precision", "recall"),
    [(0.9, 1.0, 0.25), (0.8, 2 / 3, 0.5), (0.5, 0.5, 0.5), (0.1, 0.6, 0.75)],
)
def test_precision_is_of_the_accused_and_recall_of_the_wanted(
    threshold: float, precision: float, recall: float
) -> None:
    found = score(JUDGED, relevant=4, threshold=threshold)
    assert (found.precision, found.recall) == (precision, recall)


def test_nobody_accused_has_no_precision_and_nothing_wanted_no_recall() -> None:
    assert score(JUDGED, relevant=4, threshold=0.95).precision is None
    assert score([], relevant=0, threshold=0.5).recall is None


def test_every_answer_lies_in_one_band() -> None:
    judged = [(k / 20, k % 2 == 0) for k in range(21)]
    assert sum(each.count for each in bands(judged)) == 21
    assert sum(each.right for each in bands(judged)) == 11


def test_an_empty_band_is_none() -> None:
    assert band(JUDGED, 0.3, 0.4) is None


def test_the_interval_of_a_share_is_wilsons() -> None:
    found = band([(0.5, k < 5) for k in range(10)], 0.5, 0.6)
    assert found is not None
    assert found.interval == pytest.approx((0.236593, 0.763407), abs=1e-6)
