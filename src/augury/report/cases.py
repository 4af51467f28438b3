"""The most telling matches, event by event, with the product that makes their confidence."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from augury.errors import AuguryError
from augury.report.charts.timeline import Mark, Span, Timeline
from augury.report.gathered import Answer, Row
from augury.report.parts import Section
from augury.report.sections import shown
from augury.why.explanation import Event, Why

# The surest, the most doubtful, and the least sure: so many of each.
EACH = 2


def cases(ag: Any, answer: Answer) -> Section | None:
    """Return some matches with their stories; None where there is none to tell."""
    cards = "".join(_card(ag, answer, row) for row in telling(answer.rows))
    if not cards:
        return None
    return Section(
        "Match by match",
        "The surest matches, those most in doubt, and the least sure. Each mark is an event, sized "
        "by how likely it happened; hollow ones may have been there, and speak against the match.",
        f"<div class='cases'>{cards}</div>",
    )


def telling(rows: Sequence[Row]) -> list[Row]:
    """Return the surest, the most doubtful and the least sure of matches, each once."""
    by_confidence = sorted(rows, key=lambda row: (-row["confidence"], row["match_id"]))
    by_doubt = sorted(rows, key=lambda row: (abs(row["confidence"] - 0.5), row["match_id"]))
    found: dict[str, Row] = {}
    for part in (by_confidence, by_doubt, by_confidence[::-1]):
        new = [row for row in part if row["match_id"] not in found][:EACH]
        found |= {row["match_id"]: row for row in new}
    return list(found.values())


def _card(ag: Any, answer: Answer, row: Row) -> str:
    try:
        why = ag.why(row["match_id"], answer.name)
    except AuguryError:
        return ""
    key = ", ".join(shown(row[name]) for name in answer.keys) or shown(row["end_ts"])
    own = ("query", "match_id", "revision", "start_ts", "end_ts", "confidence", "n_missed")
    outputs = [name for name in row if name not in (*own, "events", *answer.keys)]
    values = "".join(f"<p>{escape(name)}: {escape(shown(row[name]))}</p>" for name in outputs[:4])
    conditions = "".join(
        f"<p><code>{escape(text)}</code> {escape(how)}</p>" for text, how in why.conditions[:6]
    )
    return (
        f'<article class="case"><header><h3>{escape(key)}</h3>'
        f'<span class="pill">{row["confidence"]:.3f}</span></header>'
        f"{_timeline(why, row)}{values}{conditions}"
        f'<p class="sum">{escape(_formula(why))}</p></article>'
    )


def _formula(why: Why) -> str:
    if not why.factors and why.confidence == 1:
        return "every event is certain, so the match is"
    return why.formula.replace("*", "\N{MULTIPLICATION SIGN}").replace("1 - ", "1 \N{MINUS SIGN} ")


def _timeline(why: Why, row: Row) -> str:
    against = [factor.event for factor in why.factors if not factor.happened]
    events = [*why.events, *against]
    if not events:
        return ""
    lanes = list(dict.fromkeys(event.component for event in events))
    marks = [_mark(event, lanes, is_there=k < len(why.events)) for k, event in enumerate(events)]
    own = sorted(marks[: len(why.events)], key=lambda mark: mark.at)
    spans = []
    if own:
        tip = f"confidence {row['confidence']:.3f}"
        spans.append(Span(own[0], own[-1], row["confidence"], True, tip))
    return Timeline(lanes, marks, spans).drawn(f"events of match {row['match_id']}")


def _mark(event: Event, lanes: Sequence[str], *, is_there: bool) -> Mark:
    chance = 1.0 if event.probability is None else event.probability
    values = "" if event.row is None else ", ".join(
        f"{name} {shown(value)}" for name, value in event.row.items() if value is not None
    )  # fmt: skip
    tip = f"{event.component} at {shown(event.ts)}, probability {chance:g}; {values}"
    return Mark(event.ts, lanes.index(event.component), chance, is_there, tip)
