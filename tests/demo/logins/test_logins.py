"""Logins under attack: alarms come before break-ins, and the chapter shows what came of them."""

from __future__ import annotations

from augury import Session
from augury.demo.logins import play
from augury.demo.logins.world import simulate
from augury.report.page import Frame, page


def by_hand(statuses: list[str]) -> int:
    runs = zip(statuses, statuses[1:], statuses[2:], statuses[3:], strict=False)
    return sum(run == ("DENIED", "DENIED", "DENIED", "SUCCESS") for run in runs)


def test_break_ins_are_forecast_before_they_come() -> None:
    scene, world = play.scene(), simulate(5, addresses=20)
    answer = scene.run(world, Session(engine="local"))
    verdict = scene.judge(world, answer)
    counted = sum(
        by_hand([row["status"] for row in world.logins if row["ip"] == ip])
        for ip in {row["ip"] for row in world.logins}
    )
    assert scene.figures(world, verdict)["break_ins"] == counted > 5
    assert len(verdict.warned) > 0.6 * counted
    assert all(minutes > 0 for minutes in verdict.warned)
    assert 0 <= verdict.false < verdict.alarms
    assert answer.score.skill > 0.1
    assert len(scene.lines(world, verdict)) == 2
    drawn = page(Frame("t", "l", "m", "c"), scene.story(world, answer, verdict))
    assert "reliability of forecasts" in drawn
