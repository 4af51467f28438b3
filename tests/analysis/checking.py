"""Short ways to check a text in tests: streams to read, and one query or its codes."""

from __future__ import annotations

from augury.analysis.checked import CheckedQuery, Conjunct
from augury.analysis.script import check_text
from augury.language.printer import to_text

READS = """
CREATE STREAM reads (
    id LONG, tag STRING, reader STRING, door STRING, price DOUBLE, at TIMESTAMP, seq LONG, p DOUBLE
)
ID id KEY tag TIME at ORDER BY seq TYPE reader PROBABILITY p;
"""

PLACES = """
CREATE STREAM At (person STRING, place STRING, t LONG, p DOUBLE)
KEY person TIME t ALTERNATIVES place PROBABILITY p;
CREATE TABLE Hallway (place STRING);
CREATE TABLE Person (person STRING);
"""


def query(text: str, streams: str = READS) -> CheckedQuery:
    """Return the last query of a text that must be right."""
    checked = check_text(streams + text)
    assert not checked.has_errors, "\n".join(d.render() for d in checked.diagnostics)
    return checked.queries[-1]


def codes(text: str, streams: str = READS) -> list[str]:
    """Return the codes of a text's findings, in order."""
    return [d.code for d in check_text(streams + text).diagnostics]


def shown(conjunct: Conjunct) -> str:
    """Return a conjunct as text, marked where it was derived or comes after the choice."""
    marks = ("derived " if conjunct.derived else "") + ("after " if conjunct.after else "")
    return marks + to_text(conjunct.expression)
