"""The ward that publishes: what is left is counted by hand, and shrinks as private weights grow."""

from __future__ import annotations

from datetime import timedelta

import pytest

from augury import Session
from augury.demo.discretion import play
from augury.demo.discretion.acts import Half, simulate
from augury.report.page import Frame, page


@pytest.fixture(scope="module")
def halves() -> tuple[Half, Half]:
    return simulate(3, hours=1.0)


def by_hand(half: Half, gone: frozenset[str], first: str, last: str, minutes: int) -> int:
    acts = [act for act in half.acts if act["id"] not in gone]
    return sum(
        one["act"] == first
        and other["act"] == last
        and one["worker"] == other["worker"]
        and timedelta(0) < other["at"] - one["at"] <= timedelta(minutes=minutes)
        for one in acts
        for other in acts
    )


def test_what_is_left_is_what_is_counted_by_hand(halves: tuple[Half, Half]) -> None:
    for half in halves:
        for weight in (3.0, play.NEVER):
            found = play.outcome(half, weight)
            assert found.left["therapy"] == by_hand(half, found.gone, "EXIT", "OFFICE", 5)
            assert found.left["cleaned"] == by_hand(half, found.gone, "EXIT", "SANITIZE", 2)
            assert found.left["therapy"] == 0 or weight != play.NEVER


def test_the_chapter_shows_the_trade_and_what_was_withheld(
    halves: tuple[Half, Half], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(play, "WEIGHTS", (0.0, 3.0, play.NEVER))
    scene = play.scene()
    verdict = scene.judge(halves, answer := scene.run(halves, Session(engine="local")))
    for half in halves:
        own = [each for each in answer if each.half == half.name]
        assert [verdict.shown(own[0]), verdict.shown(own[-1])] == [1.0, 0.0]
        assert verdict.kept(own[0]) == 1.0 > verdict.kept(own[-1])
        assert scene.figures(halves, verdict)[half.name][-1]["private_left"] == 0
    assert len(scene.lines(halves, verdict)) == 7
    drawn = page(Frame("t", "l", "m", "c"), scene.story(halves, answer, verdict))
    assert drawn.count("withheld") > 3
