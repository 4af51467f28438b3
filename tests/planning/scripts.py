"""Checked queries from text, for tests that start where a user does."""

from __future__ import annotations

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import Catalog
from augury.analysis.script import check_text
from augury.planning.physical import PhysicalPlan, plan_query

READS = """
CREATE STREAM reads (
    id LONG, tag STRING, reader STRING, door STRING, price DOUBLE, at TIMESTAMP, seq LONG, p DOUBLE
)
ID id KEY tag TIME at ORDER BY seq TYPE reader PROBABILITY p
MISS RATE BY reader ('SHELF' 0.1, 'COUNTER' 0.15, 'EXIT' 0.05);
CREATE TABLE doors (door STRING);
"""


def checked(text: str) -> tuple[CheckedQuery, Catalog]:
    """Return the last query of a script over `reads`, and the catalog."""
    found = check_text(READS + text)
    assert not found.has_errors, [d.render() for d in found.diagnostics]
    return found.queries[-1], found.catalog


def planned(text: str) -> PhysicalPlan:
    """Return the plan of the last query of a script over `reads`."""
    return plan_query(*checked(text))


def query(pattern: str, rest: str = "WITHIN 1 HOUR") -> str:
    """Return a query over `reads` as text."""
    return f"CREATE QUERY q ON reads PATTERN {pattern} {rest};"
