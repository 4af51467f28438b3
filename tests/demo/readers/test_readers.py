"""Readers that miss reads: the truth is counted by hand, and more thefts are found."""

from __future__ import annotations

import re

import pytest

from augury import Session
from augury.demo.readers.play import Judgement, Readers
from augury.demo.readers.visits import MISSED, Day, simulate
from augury.report.page import Frame, page


@pytest.fixture(scope="module")
def judged() -> Judgement:
    scene, day = Readers(), simulate(3, items=3000)
    return scene.judge(day, scene.run(day, Session(engine="local")))


def accused_by_reads(day: Day) -> set[str]:
    """Return the items with a shelf, a later door, and no counter between, as heard."""
    found = set()
    for tag, reads in day.by_tag.items():
        at = {read.reader: read.at for read in reads}
        if not {"SHELF", "EXIT"} <= set(at) or at["SHELF"] >= at["EXIT"]:
            continue
        if "COUNTER" not in at or not at["SHELF"] < at["COUNTER"] < at["EXIT"]:
            found.add(tag)
    return found


def test_readers_miss_as_often_as_they_are_said_to() -> None:
    day = simulate(1, items=3000)
    heard = sum(read.reader == "SHELF" for read in day.reads)
    assert heard / 3000 == pytest.approx(1 - MISSED["SHELF"], abs=0.03)


def test_plain_matching_accuses_whom_the_reads_accuse(judged: Judgement) -> None:
    assert judged.answers.plain == accused_by_reads(judged.day)


def test_thefts_come_back_without_more_false_alarms(judged: Judgement) -> None:
    plain, own = judged.plain, judged.as_precise
    assert own.precision is not None
    assert plain.precision is not None
    assert own.precision >= plain.precision
    assert own.right - plain.right > 0.15 * plain.relevant
    assert judged.answers.inferred


def test_confidences_are_true(judged: Judgement) -> None:
    off = [abs(each.mean - each.share) * each.count for each in judged.calibration]
    assert sum(off) / len(judged.items) < 0.05


def test_the_chapter_shows_the_figures_and_leaves_the_slider_alone(judged: Judgement) -> None:
    scene = Readers()
    own = scene.story(judged.day, judged.answers, judged)
    frame = Frame("t", "l", "m", "c")
    whole = page(frame, own, [(frame, own)])
    assert whole.count(f"<b>{judged.as_precise.right:,}</b>") == 2
    assert not re.search("<circle[^>]*data-cut", whole)
    assert "stroke-dasharray" in judged.answers.automaton
