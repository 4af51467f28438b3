"""Random cases as pushes: the rows of a case in an order that LATENESS allows, and the answers."""

from __future__ import annotations

import random
from typing import Any

from augury import Session
from matching.as_text import Case, bindings, script, session_of

LATENESS = 2
Push = tuple[str, dict[str, Any]]


def batch_answers(case: Case) -> list[dict[str, Any]]:
    """Return what a bounded run gives for every query of a case."""
    ag = session_of(case)
    return [row for query in case.queries for row in ag.table(query.name).to_pylist()]


def live_session(case: Case) -> Session:
    """Return a session where the streams of a case allow LATENESS, with its tables bound."""
    ag = Session(engine="local")
    text = script(case)
    for end in ("PROBABILITY p;", "TYPE kind;"):
        text = text.replace(end, f"{end[:-1]} LATENESS {LATENESS};")
    ag.sql(text)
    streams = {name.lower() for name in case.streams}
    for name, table in bindings(case).items():
        if name not in streams:
            ag.bind(name, table)
    return ag


def arrivals(case: Case, seed: int) -> list[Push]:
    """Return the rows of a case in a random order in which none is late."""
    rng = random.Random(seed)
    tables = bindings(case)
    rows = [(stream, row) for stream in case.streams for row in tables[stream.lower()].to_pylist()]
    delayed = [(row["t"] + rng.random() * LATENESS * 0.99, stream, row) for stream, row in rows]
    return [(stream, row) for _, stream, row in sorted(delayed, key=lambda each: each[0])]


def pushed(ag: Session, pushes: list[Push]) -> list[dict[str, Any]]:
    """Push rows one at a time; return what came back."""
    return [match for stream, row in pushes for match in ag.push(stream, row)]


def comparable(answers: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return answers by id, rounded, with the events of ties in one order."""
    found = {}
    for answer in answers:
        events = sorted(
            answer["events"],
            key=lambda e: (e["ts"] is None, e["ts"] or 0, e["component"], e["event_id"] or ""),
        )
        events = [event | {"probability": round(event["probability"], 9)} for event in events]
        plain = {
            name: round(value, 9) if isinstance(value, float) else value
            for name, value in answer.items()
        }
        assert answer["match_id"] not in found, "a match was reported twice"
        found[answer["match_id"]] = plain | {"events": events}
    return found
