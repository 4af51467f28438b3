"""Explanations: why a match was found; why none was, and the changes that let one through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal

Row = dict[str, Any]
Stopped = Literal[
    "threshold",
    "window",
    "condition",
    "negation",
    "selection",
    "skip",
    "component",
    "rejected",
    "late",
]


@dataclass(frozen=True)
class Event:
    """An event of a match, or of the part of one that is there."""

    component: str
    event_id: str
    ts: Any
    probability: float | None
    row: Row | None

    def line(self) -> str:
        chance = "" if self.probability in (None, 1.0) else f"  {self.probability:g}"
        return f"{self.component}  {self.event_id}  {shown(self.ts)}{chance}"


@dataclass(frozen=True)
class Change:
    """The least that lets a match through, and what stops it without.

    `query` is the statement as it would have to be, None where the rows alone change: those in
    `added` would have to be there, those in `removed` would not. `confidence` is that of the match
    that appears then.
    """

    stopped_by: tuple[Stopped, ...]
    reasons: tuple[str, ...]
    says: tuple[str, ...]
    query: str | None
    added: Mapping[str, Sequence[Row]]
    removed: Mapping[str, Sequence[Row]]
    confidence: float
    reached: tuple[Event, ...]
    missing: tuple[str, ...]

    @property
    def text(self) -> str:
        return "; ".join(self.says)


@dataclass(frozen=True)
class WhyNot:
    """Why a query has no match: the nearest miss first, and other single changes that would do.

    `found` are the ids of matches where there are some after all; `looked_at` says of how many rows
    this is known; `unknown` what could not be tried, because it would have been too much.
    """

    query: str
    key: Mapping[str, Any]
    around: Any
    found: tuple[str, ...]
    changes: tuple[Change, ...]
    looked_at: int
    unknown: tuple[str, ...] = ()

    @property
    def change(self) -> Change | None:
        """The smallest change that lets a match through; None where none is needed or known."""
        return self.changes[0] if self.changes else None

    def as_dict(self) -> dict[str, Any]:
        """Return the findings as plain values, for `--json`."""
        return asdict(self)

    def __str__(self) -> str:
        return "\n".join(_lines(self))


def _lines(answer: WhyNot) -> list[str]:
    of = "".join(f", {name} = {shown(value)}" for name, value in answer.key.items())
    near = "" if answer.around is None else f", around {shown(answer.around)}"
    if answer.found:
        which = answer.found[0] if len(answer.found) == 1 else f"{answer.found[0]} and others"
        return [f"{answer.query}{of}{near}: there is a match, {which}"]
    lines = [f"{answer.query}{of}{near}: no match among {answer.looked_at:,} rows"]
    if answer.change is None:
        lines.append("no change was found that would give one")
        return [*lines, *(f"not tried: {each}" for each in answer.unknown)]
    nearest = answer.change
    if nearest.reached:
        lines += ["", "the nearest miss", *(f"  {event.line()}" for event in nearest.reached)]
    if nearest.missing:
        lines += [f"  nothing for {', '.join(nearest.missing)}"]
    lines += ["", "stopped by", *(f"  {reason}" for reason in nearest.reasons)]
    lines += ["", "there would be a match", *(f"  {says}" for says in nearest.says)]
    lines += [f"  with confidence {nearest.confidence:.6g}"]
    if len(answer.changes) > 1:
        lines += ["", "or, each by itself", *(f"  {each.text}" for each in answer.changes[1:])]
    return [*lines, *(f"not tried: {each}" for each in answer.unknown)]


@dataclass(frozen=True)
class Factor:
    """One factor of a confidence: an event that happened, or one that did not.

    `influence` is the confidence if the event certainly happened less that if it certainly did not:
    so much a change of 1 in its probability would change it.
    """

    event: Event
    happened: bool
    value: float
    influence: float


@dataclass(frozen=True)
class Why:
    """Why a match was found: events, conditions that held, and how its confidence comes about.

    `rest` is what the factors leave of the confidence: what is known of reads that were missed, of
    owners, and of events that hang together; 1 where it is their product. `most` is the factor
    whose event would change the confidence most, and `surest` what it would be then.
    """

    query: str
    match_id: str
    confidence: float
    events: tuple[Event, ...]
    n_missed: int
    conditions: tuple[tuple[str, str], ...]
    factors: tuple[Factor, ...]
    rest: float
    most: Factor | None
    surest: float | None

    @property
    def formula(self) -> str:
        """The confidence as a product, with numbers."""
        parts = [_factor_text(each) for each in self.factors]
        if abs(self.rest - 1) > 1e-9:
            parts.append(f"{self.rest:.6g}")
        return f"{' * '.join(parts) or '1'} = {self.confidence:.6g}"

    def as_dict(self) -> dict[str, Any]:
        """Return the reasons as plain values, for `--json`."""
        return asdict(self) | {"formula": self.formula}

    def __str__(self) -> str:
        lines = [f"{self.query}: match {self.match_id}", ""]
        lines += ["events", *(f"  {event.line()}" for event in self.events)]
        if self.n_missed:
            lines += [f"  and {self.n_missed} that were not read"]
        if self.conditions:
            lines += ["", "conditions that held"]
            lines += [f"  {text}" + (f"   {how}" if how else "") for text, how in self.conditions]
        lines += ["", f"confidence  {self.formula}"]
        not_there = [f for f in self.factors if not f.happened]
        lines += [f"  not: {f.event.line()}" for f in not_there]
        if abs(self.rest - 1) > 1e-9:
            lines += [f"  {self.rest:.6g}: {REST}"]
        if self.most is not None:
            event = self.most.event
            how = "certain" if self.most.happened else "out of the way"
            lines += ["", f"most would change if {event.event_id} were {how}: {self.surest:.6g}"]
        return "\n".join(lines)


def _factor_text(factor: Factor) -> str:
    if factor.happened:
        return f"{factor.event.probability:g}"
    chance = factor.event.probability or 0.0
    return f"(1 - {chance:g})" if abs(factor.value - 1 + chance) < 1e-9 else f"{factor.value:.6g}"


REST = "what is known of events that were not read, or that hang together"


def shown(value: Any) -> str:
    """Return a value for people."""
    if isinstance(value, datetime):
        return value.isoformat(sep=" ").removesuffix("+00:00")
    return str(value)
