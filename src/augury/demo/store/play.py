"""The scene of the store, step by step: a day, the queries over it, the judgement, what is told."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import pyarrow

from augury.demo.engine import rows
from augury.demo.score_rows import score_facts, score_row
from augury.demo.store import story as page
from augury.demo.store.truth import (
    HEADLINE,
    THRESHOLDS,
    Answers,
    Day,
    Found,
    Judgement,
    found_match,
    judge,
)
from augury.demo.store.visits import Read, simulate
from augury.report.parts import Story
from augury.session import Session

SHOWN = 8  # alarms that the terminal lists


class Store:
    """A store with readers at shelves, counters and doors, over one business day."""

    name = "store"
    only_local = False
    title = "Who walked out without paying?"
    lead = (
        "A store tags its goods. Readers at shelves, counters and doors hear the tags, and are "
        "never quite sure. One query finds what was taken, carried out and never paid for, and "
        "says how sure one can be."
    )

    def simulate(self, seed: int) -> Day:
        return Day(tuple(simulate(seed)))

    def run(self, world: Day, session: Session) -> Answers:
        script = files(__package__).joinpath("store.sql").read_text(encoding="utf-8")
        session.sql(script, name="store.sql")
        reads = _as_arrow(world.reads)
        for stream in ("reads", "believed"):
            session.bind(stream, reads)
        found = [found_match(world, row) for row in rows(session.table("shoplifting"))]
        found.sort(key=lambda match: (-match.confidence, match.taken.id, match.gone.id))
        every, likely = (
            frozenset(row["tag"] for row in rows(session.table(query)))
            for query in ("every_read", "likely_reads")
        )
        return Answers(tuple(found), every, likely, script, session.explain("shoplifting", "svg"))

    def judge(self, world: Day, answer: Answers) -> Judgement:
        return judge(world, answer)

    def lines(self, world: Day, verdict: Judgement) -> list[str]:
        return [*_facts(world), "", *_alarms(verdict), "", *_table(verdict), "", _truth(verdict)]

    def figures(self, world: Day, verdict: Judgement) -> dict[str, Any]:
        about = verdict.about_headline
        return {
            "items": len(world.by_tag),
            "reads": len(world.reads),
            "ghosts": world.ghosts,
            "stolen": len(world.stolen),
            "matches": len(verdict.matches),
            "thresholds": [score_facts(verdict.at(t)) | {"threshold": t} for t in THRESHOLDS],
            "every_read": score_facts(verdict.believed(verdict.answers.every_read)),
            "likely_reads": score_facts(verdict.believed(verdict.answers.likely_reads)),
            "about_0.8": about and {"mean": about.mean, "count": about.count, "real": about.right},
            "calibration": [
                {"mean": each.mean, "count": each.count, "real": each.right}
                for each in verdict.calibration
            ],
        }

    def story(self, world: Day, answer: Answers, verdict: Judgement) -> Story:
        return page.story(world, answer, verdict)


def scene() -> Store:
    """Return the scene."""
    return Store()


def _as_arrow(reads: tuple[Read, ...]) -> pyarrow.Table:
    # Without `real`: what is true is not for the engine to see.
    columns = {
        name: [getattr(read, name) for read in reads]
        for name in ("id", "tag", "reader", "door", "at", "p")
    }
    columns["at"] = pyarrow.array(columns["at"], pyarrow.timestamp("us", "UTC"))
    return pyarrow.table(columns)


def _facts(day: Day) -> list[str]:
    return [
        f"{len(day.by_tag):,} items, {len(day.reads):,} reads ({day.ghosts:,} of them ghosts), "
        f"{len(day.stolen):,} items really stolen"
    ]


def _alarms(verdict: Judgement) -> list[str]:
    kept = [m for m in verdict.best.values() if m.confidence >= HEADLINE]
    shown = [_alarm(match, match.tag in verdict.day.stolen) for match in kept[:SHOWN]]
    more = f"  and {len(kept) - SHOWN:,} more, in the report"
    return [
        f"Found with confidence {HEADLINE} or more: {len(kept):,} items",
        f"  {'item':<8} {'taken':<6} {'gone':<6} {'door':<6} confidence  truth",
        *shown,
        *([more] if len(kept) > SHOWN else []),
    ]


def _alarm(match: Found, stolen: bool) -> str:
    times = f"{match.taken.at:%H:%M}  {match.gone.at:%H:%M}"
    truth = "stolen" if stolen else "not stolen"
    return f"  {match.tag:<8} {times}  {match.gone.door:<6} {match.confidence:>10.3f}  {truth}"


def _table(verdict: Judgement) -> list[str]:
    head = f"  {'accused when':<28} {'items':>6} {'right':>6} {'precision':>10} {'recall':>7}"
    believed = (
        ("every read is believed", verdict.answers.every_read),
        ("reads of 0.5 or more are", verdict.answers.likely_reads),
    )
    return [
        "Against the truth",
        head,
        *(score_row(f"confidence >= {t}", verdict.at(t)) for t in THRESHOLDS),
        *(score_row(f"{name}", verdict.believed(accused)) for name, accused in believed),
    ]


def _truth(verdict: Judgement) -> str:
    about = verdict.about_headline
    if about is None:
        return f"Calibration: no match has a confidence about {HEADLINE}"
    return (
        f"Calibration: of {about.count:,} matches with confidence about {HEADLINE} "
        f"(mean {about.mean:.2f}), {about.right:,} are real: {about.share:.0%}"
    )
