"""The scene, step by step: a week of logins, forecasts of break-ins, and what came of alarms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from augury.demo.logins import story as page
from augury.demo.logins.world import Rows, World, simulate
from augury.report.parts import Story
from augury.session import Session

if TYPE_CHECKING:
    from augury.evaluation.learning.forecast_scores import ForecastScore

ALARM, AHEAD = 0.5, 10
SCRIPT = f"""
CREATE STREAM logins (id LONG, ip STRING, status STRING, at TIMESTAMP)
ID id KEY ip TIME at TYPE status;
CREATE STREAM last_week (id LONG, ip STRING, status STRING, at TIMESTAMP)
ID id KEY ip TIME at TYPE status;
CREATE QUERY break_in ON logins
PATTERN SEQ(DENIED a, DENIED b, DENIED c, SUCCESS d)
WHERE [ip] USING PARTITION CONTIGUITY WITHIN 1 DAY;
CREATE FORECAST soon ON break_in WITHIN {AHEAD} EVENTS
USING MARKOV 3 LEARN FROM last_week ARRIVALS STEADY RETURN FORECAST BY TIME;
"""


@dataclass(frozen=True)
class Answer:
    """What the session answers: forecasts by address, when break-ins were, and how good it was."""

    forecasts: dict[str, list[tuple[datetime, float]]]
    break_ins: dict[str, list[datetime]]
    score: ForecastScore


@dataclass(frozen=True)
class Verdict:
    """Minutes of warning before each break-in (None: none), and how many alarms were false."""

    warnings: tuple[float | None, ...]
    alarms: int
    false: int

    @property
    def warned(self) -> list[float]:
        """The minutes of warning where there was one, sorted."""
        return sorted(minutes for minutes in self.warnings if minutes is not None)

    @property
    def median(self) -> float:
        """The warning in the middle."""
        return self.warned[len(self.warned) // 2] if self.warned else 0.0


class Logins:
    """An alarm before the break-in."""

    name = "logins"
    only_local = True
    title = "Will they get in?"
    lead = (
        "Passwords are tried until one fits. A query tells of a break-in when it has happened; a "
        "forecast tells, after every login, how likely it will happen within the next ten."
    )

    def simulate(self, seed: int) -> World:
        return simulate(seed)

    def run(self, world: World, session: Session) -> Answer:
        # How good forecasts were is asked in this process, whatever the engine.
        del session
        ag = Session(engine="local")
        ag.sql(SCRIPT)
        ag.bind("last_week", world.history)
        score = ag.score("soon", world.logins)
        ag.bind("logins", world.logins)
        forecasts: dict[str, list[tuple[datetime, float]]] = {}
        for row in ag.table("soon").to_pylist():
            forecasts.setdefault(row["ip"], []).append((row["ts"], row["forecast"]))
        break_ins: dict[str, list[datetime]] = {}
        for row in ag.table("break_in").to_pylist():
            break_ins.setdefault(row["ip"], []).append(row["end_ts"])
        return Answer(forecasts, break_ins, score)

    def judge(self, world: World, answer: Answer) -> Verdict:
        warnings: list[float | None] = []
        alarms = false = 0
        for ip, rows in answer.forecasts.items():
            ends = set(answer.break_ins.get(ip, ()))
            for begin, end in _episodes(rows):
                alarms += 1
                ahead = {at for at, _ in rows[begin + 1 : max(end + 2, begin + 1 + AHEAD)]}
                false += not ends & ahead
            warnings += [_warning(rows, at) for at in sorted(ends)]
        return Verdict(tuple(warnings), alarms, false)

    def lines(self, world: World, verdict: Verdict) -> list[str]:
        seen, all_of_them = len(verdict.warned), len(verdict.warnings)
        return [
            f"  {seen} of {all_of_them} break-ins were forecast, half of them {verdict.median:.1f} "
            "minutes ahead or more",
            f"  {verdict.false} of {verdict.alarms} alarms were false",
        ]

    def figures(self, world: World, verdict: Verdict) -> dict[str, Any]:
        return {
            "break_ins": len(verdict.warnings),
            "warned": len(verdict.warned),
            "median_minutes": verdict.median,
            "alarms": verdict.alarms,
            "false_alarms": verdict.false,
        }

    def story(self, world: World, answer: Answer, verdict: Verdict) -> Story:
        return page.story(
            page.Content(
                script=SCRIPT.strip(),
                warnings=verdict.warned,
                break_ins=len(verdict.warnings),
                alarms=verdict.alarms,
                false=verdict.false,
                bins=[(b.claimed, b.happened, b.count) for b in answer.score.reliability],
                skill=answer.score.skill,
                traced=_traced(answer, world.logins),
            )
        )


def scene() -> Logins:
    """Return the scene."""
    return Logins()


def _episodes(rows: list[tuple[datetime, float]]) -> Iterator[tuple[int, int]]:
    """Yield first and last place of each run of rows that give alarm."""
    begin = None
    for place, (_, forecast) in enumerate([*rows, (rows[-1][0], 0.0)]):
        if forecast > ALARM and begin is None:
            begin = place
        elif forecast <= ALARM and begin is not None:
            yield begin, place - 1
            begin = None


def _warning(rows: list[tuple[datetime, float]], at: datetime) -> float | None:
    """Return how many minutes before a break-in the alarm began that it ended."""
    last = next(k for k, (ts, _) in enumerate(rows) if ts == at)
    first = last
    while first and rows[first - 1][1] > ALARM:
        first -= 1
    return (at - rows[first][0]).total_seconds() / 60 if first < last else None


def _traced(answer: Answer, logins: Rows) -> page.Trace:
    """Return the address with the longest warning: its logins around the break-in."""
    ip, at = max(
        ((ip, at) for ip, own in answer.break_ins.items() for at in own),
        key=lambda each: _warning(answer.forecasts[each[0]], each[1]) or 0.0,
    )
    rows = answer.forecasts[ip]
    last = next(k for k, (ts, _) in enumerate(rows) if ts == at)
    status = {row["at"]: row["status"] for row in logins if row["ip"] == ip}
    return [
        ((ts - at).total_seconds() / 60, forecast, status[ts])
        for ts, forecast in rows[max(0, last - 15) : last + 4]
    ]
