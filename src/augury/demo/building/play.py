"""The scene of the building, step by step: people, the question, the judgement, what is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from augury.demo.building import story as page
from augury.demo.building.coffee import coffee, script
from augury.demo.building.judgement import THRESHOLDS, Scores, Verdict, judge
from augury.demo.building.people import Building, Rows, visits
from augury.demo.engine import rows
from augury.report.parts import Story
from augury.session import Session

PEOPLE, SECONDS = 6, 900
STREAMS = {
    "filtered": "FILTER reads USING building PRUNE 0.001",
    "mle": "MLE reads USING building",
    "smoothed": "SMOOTH reads USING building PRUNE 0.001",
    "map": "MAP reads USING building",
}
BLOCKS = " \N{LOWER ONE EIGHTH BLOCK}\N{LOWER ONE QUARTER BLOCK}\N{LOWER THREE EIGHTHS BLOCK}"
BLOCKS += "\N{LOWER HALF BLOCK}\N{LOWER FIVE EIGHTHS BLOCK}\N{LOWER THREE QUARTERS BLOCK}"
BLOCKS += "\N{LOWER SEVEN EIGHTHS BLOCK}\N{FULL BLOCK}"
WIDTH = 60  # how many letters the terminal's chart has


@dataclass(frozen=True, slots=True)
class Walk:
    """Where everybody was, second by second, and what the antennas read."""

    truth: Mapping[str, list[str]]
    reads: Rows


@dataclass(frozen=True, slots=True)
class Answers:
    """P(into the coffee room) by approach, person and second; and the script that asked."""

    chances: Mapping[str, Mapping[str, list[float]]]
    script: str


class BuildingScene:
    """A building with a corridor, offices and a coffee room, over a quarter of an hour."""

    name = "building"
    only_local = False
    title = "Who went for coffee?"
    lead = (
        "People carry tags. Antennas in the corridor hear some of them; offices and the coffee "
        "room have none. One query asks who went in for coffee, and when, and says how sure one "
        "can be."
    )

    def simulate(self, seed: int) -> Walk:
        return Walk(*Building().walk(PEOPLE, SECONDS, seed))

    def run(self, world: Walk, session: Session) -> Answers:
        asked = script() + "".join(
            f"CREATE STREAM {name} AS {how};\n{coffee(name)}" for name, how in STREAMS.items()
        )
        session.sql(asked, name="building.sql")
        for name, table in Building().tables().items():
            session.bind(name, table)
        session.bind("reads", world.reads)
        chances = {
            name: _by_person(rows(session.table(f"coffee_{name}")), world) for name in STREAMS
        }
        return Answers(chances, asked)

    def judge(self, world: Walk, answer: Answers) -> Verdict:
        there = {person: visits(path) for person, path in world.truth.items()}
        return judge(there, answer.chances)

    def lines(self, world: Walk, verdict: Verdict) -> list[str]:
        person = verdict.busiest
        return [
            f"{len(world.truth)} people, {SECONDS} seconds, {len(world.reads):,} readings, "
            f"{verdict.visits} visits to the coffee room",
            "",
            f"{person}, {SECONDS // WIDTH} seconds a letter: how likely, and what was true",
            *(f"  {name:<9}|{_bars(verdict.chances[name][person])}|" for name in STREAMS),
            f"  {'truth':<9}|{_marks(verdict.there[person])}|",
            "",
            "Against the truth, within 30 seconds",
            f"  {'told when':<26} {'precision':>10} {'recall':>7} {'F1':>6}",
            *(_row(f"{n} above {t}", verdict.scores[n, t]) for n, t in verdict.shown),
        ]

    def figures(self, world: Walk, verdict: Verdict) -> dict[str, Any]:
        return {
            "people": len(world.truth),
            "readings": len(world.reads),
            "visits": verdict.visits,
            "f1": {
                name: {str(t): round(verdict.scores[name, t].f1, 4) for t in THRESHOLDS}
                for name in STREAMS
            },
        }

    def story(self, world: Walk, answer: Answers, verdict: Verdict) -> Story:
        facts = page.Facts(len(world.truth), SECONDS, len(world.reads), answer.script)
        return page.story(facts, verdict)


def scene() -> BuildingScene:
    """Return the scene."""
    return BuildingScene()


def _by_person(found: list[dict[str, Any]], world: Walk) -> dict[str, list[float]]:
    chances = {person: [0.0] * len(path) for person, path in world.truth.items()}
    for row in found:
        chances[row["person"]][row["ts"]] = row["probability"]
    return chances


def _bars(chances: list[float]) -> str:
    """Return a line of bars: the likeliest second of each stretch."""
    size = len(chances) // WIDTH
    most = [max(chances[at : at + size]) for at in range(0, size * WIDTH, size)]
    return "".join(BLOCKS[min(8, round(p * 8))] for p in most)


def _marks(there: list[int]) -> str:
    size = SECONDS // WIDTH
    hit = {t // size for t in there}
    return "".join("x" if k in hit else " " for k in range(WIDTH))


def _row(name: str, score: Scores) -> str:
    return f"  {name:<26} {score.precision:>10.1%} {score.recall:>7.1%} {score.f1:>6.2f}"
