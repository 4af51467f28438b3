"""The ward: the truth is counted by hand, the chain is what its stages say, and finds more."""

from __future__ import annotations

from datetime import timedelta

import pytest

from augury import Session
from augury.demo.hospital.by_unread import AUGURY, DROPPED
from augury.demo.hospital.pipelines import Violation, opened, truth, violations_of
from augury.demo.hospital.play import Hospital, Judgement
from augury.demo.hospital.ward import Act, Care, Ward, simulate
from augury.report.page import Frame, page
from augury.report.scores import f1

pytestmark = pytest.mark.filterwarnings("ignore:.*stream known", "ignore:.*without KEY")
SMALL = Care(corridors=2, workers=6, hours=0.6)


@pytest.fixture(scope="module")
def judged() -> tuple[Ward, Judgement]:
    scene, ward = Hospital(), simulate(3, SMALL)
    return ward, scene.judge(ward, scene.run(ward, Session(engine="local")))


def by_hand(acts: list[Act]) -> set[Violation]:
    """Who came from one room into another within 45 seconds, and no dispenser in between."""
    found = set()
    for left in (act for act in acts if act.action == "EXIT"):
        own = [act for act in acts if act.person == left.person and act.at > left.at]
        for came in (act for act in own if act.action == "ENTER" and act.room != left.room):
            between = [act.action for act in own if act.at < came.at]
            if came.at - left.at <= timedelta(seconds=45) and "SANITIZE" not in between:
                found.add(((str(left.id), str(came.id)), left.person))
    return found


def test_the_truth_is_what_is_counted_by_hand() -> None:
    ward = simulate(1, SMALL)
    assert set(truth(ward)) == by_hand(ward.true)


def test_with_every_badge_read_the_chain_says_what_is_so() -> None:
    ward = simulate(2, Care(corridors=2, workers=6, hours=0.6, unread=0.0, lost=0.0, mistaken=0.0))
    ag = opened(ward)
    assert violations_of(ag) == dict.fromkeys(by_hand(ward.true), 1.0)


def test_the_chain_finds_more_than_simpler_ways(judged: tuple[Ward, Judgement]) -> None:
    _, verdict = judged
    assert all(f1(verdict.best) >= f1(other) for other in verdict.others.values())


def test_the_more_badges_go_unread_the_more_augury_finds_that_others_do_not(
    judged: tuple[Ward, Judgement],
) -> None:
    _, verdict = judged
    few, *_, many = verdict.answers.by_unread
    assert f1(few.scores[AUGURY]) > f1(many.scores[AUGURY]) > f1(many.scores[DROPPED])


def test_no_private_match_can_be_put_together_of_what_is_published() -> None:
    ward = simulate(3, SMALL)
    ag = opened(ward)
    published = ag.table("published").to_pylist()
    washes = [row for row in published if row["action"] == "WASH" and row["p"] > 0.0]
    assert washes
    for first in washes:
        for second in washes:
            later = second["at"] - first["at"]
            same = first["person"] == second["person"] and first["id"] != second["id"]
            assert not (same and timedelta(0) < later <= timedelta(minutes=20))


def test_a_report_tells_of_the_ward(judged: tuple[Ward, Judgement]) -> None:
    ward, verdict = judged
    scene = Hospital()
    frame = Frame(scene.title, scene.lead, "the local engine", "augury demo")
    html = page(frame, scene.story(ward, verdict.answers, verdict))
    assert scene.lines(ward, verdict)[-1] in html
    assert "Who was where: known" in html
    assert "With worse badge readers" in html
    assert f"The first of {len(verdict.answers.chain.alarms):,}." in html
    assert scene.figures(ward, verdict)["violations"] == len(verdict.true)
