"""What a run that is killed has to find: queries of every kind of state, rows, the right answer.

Rows come shuffled, but never later than LATENESS. A stream has no end, so rows of a type that no
pattern uses, far in the future, move the watermark on and bring the last matches out.
"""

from __future__ import annotations

import random
from typing import Any

from augury import Session

SCRIPT = """
CREATE STREAM reads (id LONG, tag STRING, kind STRING, at LONG, p DOUBLE)
ID id KEY tag TIME at TYPE kind PROBABILITY p LATENESS 6;
CREATE QUERY pair ON reads PATTERN SEQ(A a, !C c, B b) WHERE [tag] WITHIN 12;
CREATE QUERY quiet ON reads PATTERN SEQ(A a, !B b) WHERE [tag] WITHIN 9;
CREATE QUERY runs ON reads PATTERN SEQ(A a, B+ b, C c) WHERE [tag]
USING SKIP TILL NEXT MATCH WITHIN 15;
CREATE QUERY follows ON pair PATTERN SEQ(pair x, pair y) WHERE [tag] WITHIN 40;
CREATE QUERY anyone ON reads PATTERN SEQ(D d, D e) WHERE d.tag <> e.tag WITHIN 4;
"""
QUERIES = ("pair", "quiet", "runs", "follows", "anyone")
LATENESS = 6
FAR = 1_000_000

Row = dict[str, Any]
Facts = list[tuple[str, str, float]]


def arriving(rng: random.Random, n: int) -> list[Row]:
    """Return rows in the order of their arrival."""
    rows = [
        {
            "id": k,
            "tag": rng.choice("uvwxyz"),
            "kind": rng.choice("AABBBCDE"),
            "at": 100 + k // 2,
            "p": rng.choice([1.0, 0.9, 0.5, 0.25]),
        }
        for k in range(n)
    ]
    return sorted(rows, key=lambda row: row["at"] + rng.uniform(0, LATENESS - 1))


def end_mark(number: int) -> Row:
    """Return a row that no pattern uses; each is later than the one before."""
    return {"id": -number, "tag": "u", "kind": "END", "at": FAR * number, "p": 1.0}


def expected(rows: list[Row]) -> Facts:
    """Return what the local engine finds, with its match ids and confidences."""
    ag = Session(engine="local")
    ag.sql(SCRIPT)
    ag.bind("reads", rows)
    return sorted(fact for name in QUERIES for fact in facts(name, ag.table(name)))


def facts(query: str, table: Any) -> Facts:
    """Return query, match id and confidence of each row."""
    ids, confidences = (table.column(name).to_pylist() for name in ("match_id", "confidence"))
    return [(query, one, round(other, 12)) for one, other in zip(ids, confidences, strict=True)]
