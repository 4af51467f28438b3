"""Every cell of ours in the comparison with other languages is run, or refused as it says."""

from __future__ import annotations

import re

import pytest

from augury import QueryError, Session
from docs.markdown import read

PAGE = read("docs/coming-from.md")
STREAM = """
CREATE STREAM s (id LONG, kind STRING, tag STRING, price LONG, t LONG, p DOUBLE)
ID id KEY tag TIME t TYPE kind PROBABILITY p;
"""
KINDS = "ABBBCABC"
# What counts matches, or looks beside them, needs events that are certain.
CERTAIN = STREAM.replace(" PROBABILITY p", "")


def cells() -> list[str]:
    lines = [line for line in PAGE.splitlines() if line.startswith("| ")]
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines]
    assert all(len(row) == 5 for row in rows)
    return [row[4].strip() for row in rows[1:]]


CELLS = cells()


def asked(cell: str) -> str:
    found = re.match(r"(?:refused: )?`([^`]+)`", cell)
    assert found, cell
    return found.group(1)


def answered(query: str, stream: str = STREAM) -> int:
    ag = Session(engine="local")
    ag.sql(f"{stream} CREATE QUERY q ON s {query};")
    rows = [
        {"id": k, "kind": kind, "tag": "x", "price": k, "t": k, "p": 0.9}
        for k, kind in enumerate(KINDS)
    ]
    ag.bind("s", rows)
    return int(ag.table("q").num_rows)


@pytest.mark.parametrize("cell", [c for c in CELLS if not c.startswith("refused")])
def test_what_is_written_is_answered(cell: str) -> None:
    query = asked(cell)
    needs_certain = re.search(r"MATCH_NUMBER|(PREV|NEXT)\(\w+\.", query)
    assert answered(query, CERTAIN if needs_certain else STREAM) > 0


@pytest.mark.parametrize("cell", [c for c in CELLS if c.startswith("refused")])
def test_what_is_refused_is_refused(cell: str) -> None:
    with pytest.raises(QueryError):
        answered(asked(cell))
    instead = re.search(r": `([^`]+)`$", cell)
    assert instead
    assert answered(instead.group(1)) > 0


def test_there_is_something_of_both() -> None:
    assert len(CELLS) > 25
    assert 0 < sum(cell.startswith("refused") for cell in CELLS) < 8
