"""The scene, step by step: a day and a night, policies of growing weight, and what is left."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from augury.demo.discretion import story as page
from augury.demo.discretion.acts import Half, Rows, simulate
from augury.report.parts import Story
from augury.session import Session

World = tuple[Half, Half]
NEVER = math.inf
WEIGHTS = (0.0, 3.0, 10.0, 20.0, 30.0, 100.0, NEVER)
PUBLIC = {"cleaned": 5.0, "washed": 20.0}
QUERIES = """
CREATE STREAM ward (id STRING, act STRING, worker STRING, at TIMESTAMP) ID id TIME at TYPE act;
CREATE STREAM before (id STRING, act STRING, worker STRING, at TIMESTAMP) ID id TIME at TYPE act;
CREATE QUERY cleaned ON ward PATTERN SEQ(EXIT a, SANITIZE b) WHERE [worker] WITHIN 2 MINUTES;
CREATE QUERY washed ON ward PATTERN SEQ(WASH a, OFFICE b) WHERE [worker] WITHIN 2 MINUTES;
CREATE QUERY therapy ON ward PATTERN SEQ(EXIT a, OFFICE b) WHERE [worker] WITHIN 5 MINUTES;
"""
POLICY = """
CREATE POLICY discreet ON ward
PUBLIC cleaned WEIGHT 5, washed WEIGHT 20
PRIVATE therapy {cost}
USING HYBRID LEARN FROM before;
"""


@dataclass(frozen=True)
class Outcome:
    """What a policy does to one half: matches that are left, and the acts that went, by id."""

    half: str
    weight: float
    left: Mapping[str, int]
    gone: frozenset[str] = field(default_factory=frozenset)


@dataclass(frozen=True)
class Judgement:
    """All outcomes, beside what the raw acts would have shown."""

    raw: Mapping[str, Mapping[str, int]]
    outcomes: tuple[Outcome, ...]

    def kept(self, outcome: Outcome) -> float:
        """Return the share of public worth that is left."""
        raw = self.raw[outcome.half]
        whole = sum(weight * raw[name] for name, weight in PUBLIC.items())
        own = sum(weight * outcome.left[name] for name, weight in PUBLIC.items())
        return own / whole if whole else 1.0

    def shown(self, outcome: Outcome) -> float:
        """Return the share of private matches that can be put together."""
        raw = self.raw[outcome.half]["therapy"]
        return outcome.left["therapy"] / raw if raw else 0.0


class Discretion:
    """A ward that publishes its hygiene, and not its patients."""

    name = "discretion"
    only_local = True
    title = "What may a ward publish?"
    lead = (
        "That hands are cleaned may be known; who is seen by a psychiatrist may not. Put together, "
        "what is published says both. A policy withholds the acts without which that cannot be "
        "done, and as little else as it can. This chapter is for the owner of the acts only."
    )

    def simulate(self, seed: int) -> World:
        return simulate(seed)

    def run(self, world: World, session: Session) -> tuple[Outcome, ...]:
        # Many small policies, for their owner: in this process, whatever the engine.
        del session
        return tuple(outcome(half, weight) for half in world for weight in WEIGHTS)

    def judge(self, world: World, answer: tuple[Outcome, ...]) -> Judgement:
        return Judgement({half.name: counted(half.acts) for half in world}, answer)

    def lines(self, world: World, verdict: Judgement) -> list[str]:
        found = [
            f"  {'half':<6} {'weight':>7} {'public kept':>12} {'private left':>13} {'gone':>5}"
        ]
        for each in verdict.outcomes:
            left, raw = each.left["therapy"], verdict.raw[each.half]["therapy"]
            found.append(
                f"  {each.half:<6} {shown_weight(each.weight):>7} {verdict.kept(each):>12.1%} "
                f"{f'{left} of {raw}':>13} {len(each.gone):>5}"
            )
        return found

    def figures(self, world: World, verdict: Judgement) -> dict[str, Any]:
        return {
            half.name: [
                {
                    "weight": shown_weight(each.weight),
                    "public_kept": verdict.kept(each),
                    "private_left": each.left["therapy"],
                    "suppressed": len(each.gone),
                }
                for each in verdict.outcomes
                if each.half == half.name
            ]
            for half in world
        }

    def story(self, world: World, answer: tuple[Outcome, ...], verdict: Judgement) -> Story:
        return page.story(page.Content(
            script=QUERIES.strip() + "\n" + POLICY.format(cost="NEVER").rstrip(),
            weights=[shown_weight(weight) for weight in WEIGHTS],
            trade={
                half.name: [
                    (verdict.kept(each), verdict.shown(each))
                    for each in answer
                    if each.half == half.name
                ]
                for half in world
            },
            acts={
                half.name: [(act, act["id"] in _never(answer, half)) for act in half.acts]
                for half in world
            },
            private={half.name: verdict.raw[half.name]["therapy"] for half in world},
        ))  # fmt: skip


def scene() -> Discretion:
    """Return the scene."""
    return Discretion()


def outcome(half: Half, weight: float) -> Outcome:
    """Return what a policy with a private weight does to the acts of a half."""
    ag = Session(engine="local")
    ag.sql(QUERIES + POLICY.format(cost=shown_cost(weight)))
    ag.bind("before", half.history)
    ag.bind("ward", half.acts)
    gone = {each["event_id"] for each in ag.audit("discreet").to_pylist() if not each["kept"]}
    kept = [act for act in half.acts if act["id"] not in gone]
    return Outcome(half.name, weight, counted(kept), frozenset(gone))


def counted(acts: Rows) -> dict[str, int]:
    """Return the matches of each query over some acts, for whoever has them all."""
    ag = Session(engine="local")
    ag.sql(QUERIES)
    ag.bind("ward", acts)
    return {name: ag.table(name).num_rows for name in (*PUBLIC, "therapy")}


def shown_weight(weight: float) -> str:
    """Return a weight as the report writes it."""
    return "NEVER" if weight == NEVER else f"{weight:g}"


def shown_cost(weight: float) -> str:
    """Return a weight as the language writes it."""
    return "NEVER" if weight == NEVER else f"WEIGHT {weight:g}"


def _never(answer: tuple[Outcome, ...], half: Half) -> frozenset[str]:
    """Return the acts of a half that are withheld under NEVER."""
    return next(o.gone for o in answer if o.half == half.name and o.weight == NEVER)
