"""The scene of the hospital, step by step: two hours of a ward, the whole chain, the judgement."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from augury.demo.hospital import story as page
from augury.demo.hospital.by_unread import Share, by_unread
from augury.demo.hospital.pipelines import (
    Chain,
    Violation,
    anybody,
    chain,
    most_likely,
    opened,
    read_only,
    script,
    truth,
)
from augury.demo.hospital.ward import Ward, simulate
from augury.demo.score_rows import percent, score_facts, score_row
from augury.report.charts.lanes import Lanes
from augury.report.parts import Story
from augury.report.people import lanes_of
from augury.report.scores import Band, Judged, Score, bands, f1, score
from augury.session import Session

# Of the first column in the terminal.
WIDTH = 32
THRESHOLDS = (0.2, 0.4, 0.6, 0.8, 0.95)
STEPS = tuple(k / 20 for k in range(1, 20))


@dataclass(frozen=True)
class Answers:
    """What the chain says, and what simpler pipelines say."""

    chain: Chain
    others: dict[str, dict[Violation, float]]
    by_unread: list[Share]
    lanes: Lanes | None


@dataclass(frozen=True)
class Judgement:
    """The answers against what really happened."""

    answers: Answers
    true: frozenset[Violation]

    @cached_property
    def judged(self) -> list[Judged]:
        found = self.answers.chain.violations.items()
        return [(confidence, each in self.true) for each, confidence in found]

    def at(self, threshold: float) -> Score:
        """Return precision and recall of the chain from a threshold on."""
        return score(self.judged, len(self.true), threshold)

    @cached_property
    def best(self) -> Score:
        """What is found from the threshold on with the best F1."""
        return max((self.at(threshold) for threshold in STEPS), key=f1)

    @cached_property
    def others(self) -> dict[str, Score]:
        """What simpler pipelines find, by name."""
        return {
            name: score([(1.0, each in self.true) for each in found], len(self.true), 1.0)
            for name, found in self.answers.others.items()
        }

    @property
    def calibration(self) -> list[Band]:
        return bands(self.judged, 5)


class Hospital:
    """A ward whose badge readers do not read every badge."""

    name = "hospital"
    only_local = True
    title = "Whose hands were clean?"
    lead = (
        "On a hospital ward one badge in ten is not read. augury says who it may have been, asks "
        "who went from one patient to the next with unclean hands, turns badges yellow and red "
        "when it is sure enough, and publishes nothing of what is private: identify, suppress, "
        "match and act, in one script."
    )

    def simulate(self, seed: int) -> Ward:
        return simulate(seed)

    def run(self, world: Ward, session: Session) -> Answers:
        # What is asked for is little and of many kinds; on Spark each would be a job of its own.
        del session
        own = opened(world)
        others = {
            "only the badges that were read": read_only(world),
            "an unread badge is anybody's": anybody(world),
            "the likeliest owner of each": most_likely(world, own),
        }
        found = chain(world, own)
        return Answers(found, others, by_unread(world.care), lanes_of(own, "known"))

    def judge(self, world: Ward, answer: Answers) -> Judgement:
        return Judgement(answer, frozenset(truth(world)))

    def lines(self, world: Ward, verdict: Judgement) -> list[str]:
        head = f"  {'accused':<{WIDTH}} {'found':>6} {'right':>6} {'precision':>10} {'recall':>7}"
        marks = [score_row(f"confidence >= {t}", verdict.at(t), WIDTH) for t in THRESHOLDS]
        found = verdict.answers.chain
        return [
            f"{len(world.true):,} events of {len(world.staff)} people, {world.unread:,} badges "
            f"unread, {len(verdict.true):,} violations really",
            f"{len(found.alarms):,} alarms, {found.suppressed:,} events suppressed, and "
            f"{found.tellings:,} tellings of {len(found.violations):,} matches",
            "",
            head,
            *(score_row(name, own, WIDTH) for name, own in verdict.others.items()),
            *marks,
            "",
            summary(verdict),
        ]

    def figures(self, world: Ward, verdict: Judgement) -> dict[str, Any]:
        return {
            "events": len(world.true),
            "unread": world.unread,
            "violations": len(verdict.true),
            "alarms": len(verdict.answers.chain.alarms),
            "suppressed": verdict.answers.chain.suppressed,
            "best": _facts(verdict.best),
            "others": {name: _facts(own) for name, own in verdict.others.items()},
            "thresholds": [_facts(verdict.at(t)) for t in THRESHOLDS],
        }

    def story(self, world: Ward, answer: Answers, verdict: Judgement) -> Story:
        return page.story(page.Content(
            found=verdict.at,
            best=verdict.best,
            others=verdict.others,
            calibration=verdict.calibration,
            by_unread=answer.by_unread,
            lanes=answer.lanes,
            script=script("ward.sql"),
            alarms=answer.chain.alarms,
            suppressed=answer.chain.suppressed,
            unread=world.unread,
            events=len(world.told),
            summary=summary(verdict),
        ))  # fmt: skip


def scene() -> Hospital:
    """Return the scene."""
    return Hospital()


def summary(verdict: Judgement) -> str:
    """Return in a sentence what unread badges cost, and what of it came back."""
    best, (name, other) = verdict.best, max(verdict.others.items(), key=lambda each: f1(each[1]))
    return (
        f"From confidence {best.threshold:g} on, augury finds {best.right:,} of "
        f"{best.relevant:,} violations, and {percent(best.precision)} of what it accuses is "
        f"right; the best of the others ({name}) finds {other.right:,}, of which "
        f"{percent(other.precision)} is right"
    )


def _facts(found: Score) -> dict[str, Any]:
    return {"threshold": found.threshold, **score_facts(found), "f1": f1(found)}
