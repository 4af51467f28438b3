"""The scene of the readers, step by step: a day, two queries over it, the judgement."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Any

import pyarrow

from augury.demo.engine import rows
from augury.demo.readers import story as page
from augury.demo.readers.visits import Day, Read, simulate
from augury.demo.score_rows import percent, score_facts, score_row
from augury.report.parts import Story
from augury.report.scores import Band, Judged, Score, bands, score
from augury.session import Session

THRESHOLDS = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
STEPS = tuple(k / 100 for k in range(10, 100))


@dataclass(frozen=True, slots=True)
class Answers:
    """Items with the highest confidence of a match, and those that plain matching accuses."""

    best: dict[str, float]
    inferred: frozenset[str]
    plain: frozenset[str]
    script: str
    automaton: str


@dataclass(frozen=True)
class Judgement:
    """The answers against the truth; `inferred` are items whose best match was not heard whole."""

    day: Day
    answers: Answers

    @cached_property
    def items(self) -> list[Judged]:
        return [(best, tag in self.day.stolen) for tag, best in self.answers.best.items()]

    @cached_property
    def plain(self) -> Score:
        """What the reads alone say."""
        certain = [(1.0, tag in self.day.stolen) for tag in self.answers.plain]
        return score(certain, len(self.day.stolen), 1.0)

    def at(self, threshold: float) -> Score:
        """Return precision and recall from a threshold on."""
        return score(self.items, len(self.day.stolen), threshold)

    @cached_property
    def as_precise(self) -> Score:
        """What is found from the lowest threshold on that is as precise as plain matching."""
        needed = self.plain.precision or 0.0
        scores = [self.at(threshold) for threshold in STEPS]
        return next((s for s in scores if (s.precision or 0.0) >= needed), scores[-1])

    @property
    def calibration(self) -> list[Band]:
        return bands(self.items)


class Readers:
    """A store whose readers miss up to a quarter of what passes them."""

    name = "readers"
    only_local = False
    title = "What the readers did not hear"
    lead = (
        "A reader that misses a read loses the theft that it was a part of, and makes a thief of "
        "who paid unheard. Told how often readers miss, and how long shoppers take, augury finds "
        "thefts of which a part was never heard, and says how sure one can be."
    )

    def simulate(self, seed: int) -> Day:
        return simulate(seed)

    def run(self, world: Day, session: Session) -> Answers:
        script = files(__package__).joinpath("readers.sql").read_text(encoding="utf-8")
        session.sql(script, name="readers.sql")
        session.bind("heard", _as_arrow(world.reads))
        found = sorted(rows(session.table("unpaid")), key=lambda row: row["confidence"])
        best = {row["tag"]: row for row in found}
        plain = frozenset(row["tag"] for row in rows(session.table("plain")))
        return Answers(
            {tag: best[tag]["confidence"] for tag in sorted(best)},
            frozenset(tag for tag, row in best.items() if row["n_missed"]),
            plain,
            script,
            session.explain("unpaid", "svg"),
        )

    def judge(self, world: Day, answer: Answers) -> Judgement:
        return Judgement(world, answer)

    def lines(self, world: Day, verdict: Judgement) -> list[str]:
        head = f"  {'accused':<28} {'items':>6} {'right':>6} {'precision':>10} {'recall':>7}"
        marks = [score_row(f"confidence >= {t}", verdict.at(t)) for t in THRESHOLDS]
        return [
            f"{world.items:,} items, {len(world.reads):,} reads, {world.unheard:,} more unheard, "
            f"{len(world.stolen):,} items really stolen",
            "",
            head,
            score_row("by plain matching", verdict.plain),
            *marks,
            "",
            summary(verdict),
        ]

    def figures(self, world: Day, verdict: Judgement) -> dict[str, Any]:
        return {
            "items": world.items,
            "reads": len(world.reads),
            "unheard": world.unheard,
            "stolen": len(world.stolen),
            "plain": _facts(verdict.plain),
            "as_precise": _facts(verdict.as_precise),
            "thresholds": [_facts(verdict.at(t)) for t in THRESHOLDS],
        }

    def story(self, world: Day, answer: Answers, verdict: Judgement) -> Story:
        return page.story(page.Content(
            found=verdict.at,
            thresholds=THRESHOLDS,
            plain=verdict.plain,
            as_precise=verdict.as_precise,
            calibration=verdict.calibration,
            script=answer.script,
            automaton=answer.automaton,
            items=world.items,
            unheard=world.unheard,
            summary=summary(verdict),
        ))  # fmt: skip


def scene() -> Readers:
    """Return the scene."""
    return Readers()


def summary(verdict: Judgement) -> str:
    """Return in a sentence what missed reads cost, and what of it came back."""
    plain, own, stolen = verdict.plain, verdict.as_precise, len(verdict.day.stolen)
    return (
        f"Plain matching finds {plain.right:,} of {stolen:,} thefts, and "
        f"{percent(plain.precision)} of what it accuses is right; "
        f"from confidence {own.threshold:g} on, augury finds {own.right:,}, "
        f"and {percent(own.precision)} is right"
    )


def _as_arrow(reads: Iterable[Read]) -> pyarrow.Table:
    found = [{"id": r.id, "tag": r.tag, "reader": r.reader, "at": r.at} for r in reads]
    at = pyarrow.timestamp("us", "UTC")
    kinds = [("id", pyarrow.int64()), ("tag", pyarrow.string()), ("reader", pyarrow.string())]
    return pyarrow.Table.from_pylist(found, pyarrow.schema([*kinds, ("at", at)]))


def _facts(found: Score) -> dict[str, Any]:
    return {"threshold": found.threshold, **score_facts(found)}
