"""Positions on a floor plan in the language: AS PARTICLES, filtered and SMOOTHED."""

from __future__ import annotations

from typing import Any

import pytest

from augury import AuguryError, QueryError, Session
from runners.bound import bound

FLOOR = """
CREATE TABLE rooms (room STRING, x_from DOUBLE, y_from DOUBLE, x_to DOUBLE, y_to DOUBLE);
CREATE TABLE walls (x_from DOUBLE, y_from DOUBLE, x_to DOUBLE, y_to DOUBLE);
CREATE TABLE antennas (reader STRING, x DOUBLE, y DOUBLE, reach DOUBLE, p DOUBLE);
CREATE MODEL floor POSITIONS (
    CELLS rooms, WALLS walls, ANTENNAS antennas, SPEED 1.0, REST 0.2);
CREATE STREAM reads (tag STRING, reader STRING, t LONG) KEY tag TIME t TYPE reader;
"""
ENTERED = """
CREATE QUERY entered ON at PATTERN SEQ(at h, at r) WHERE [tag] AND h.room = 'hall'
AFTER WHERE r.room = 'office' USING SKIP TILL NEXT MATCH GROUP BY tag RETURN PROBABILITY BY TIME;
"""
NAMES = ("x_from", "y_from", "x_to", "y_to")
TABLES: dict[str, list[dict[str, Any]]] = {
    "rooms": [
        {"room": "hall", **dict(zip(NAMES, (0.0, 0.0, 6.0, 1.5), strict=True))},
        {"room": "office", **dict(zip(NAMES, (0.0, 1.5, 3.0, 4.0), strict=True))},
        {"room": "coffee", **dict(zip(NAMES, (3.0, 1.5, 6.0, 4.0), strict=True))},
    ],
    "walls": [dict(zip(NAMES, (3.0, 1.5, 3.0, 4.0), strict=True))],
    "antennas": [
        {"reader": "A", "x": 1.5, "y": 0.75, "reach": 0.75, "p": 0.8},
        {"reader": "B", "x": 4.5, "y": 0.75, "reach": 0.75, "p": 0.8},
    ],
}
# Past both antennas, silent for a while, and back.
READS = [{"tag": "joe", "reader": r, "t": t} for t, r in enumerate("A.B....BA") if r != "."]


def session(statement: str, reads: Any = READS, **tables: Any) -> Session:
    return bound(FLOOR + statement, {**TABLES, "reads": reads, **tables})


def rooms(ag: Session) -> dict[tuple[int, str], float]:
    ag.sql("CREATE QUERY each_at ON at PATTERN _ x RETURN x.t AS t, x.room AS room;")
    rows = ag.table("each_at").to_pylist()
    return {(row["t"], row["room"]): row["confidence"] for row in rows}


def test_particles_tell_the_rooms_given_the_past() -> None:
    found = rooms(session("CREATE STREAM at AS PARTICLES (500) reads USING floor;"))
    assert found[2, "hall"] == pytest.approx(1.0)
    assert found[5, "coffee"] > found.get((5, "office"), 0.0)
    for t in range(9):
        assert sum(p for (at, _), p in found.items() if at == t) == pytest.approx(1.0)


def test_smoothed_particles_are_a_markovian_stream() -> None:
    ag = session("CREATE STREAM at AS PARTICLES (500) reads USING floor SMOOTHED;" + ENTERED)
    assert ag.streams[-2:] == ("at", "at_moves")
    found = {row["ts"]: row["probability"] for row in ag.table("entered").to_pylist()}
    assert set(found) == set(range(9))
    assert found[0] == 0.0
    assert 0.0 < max(found.values()) < 1.0


def test_the_same_statement_gives_the_same_answer() -> None:
    text = "CREATE STREAM at AS PARTICLES (200) reads USING floor SMOOTHED;" + ENTERED
    assert session(text).table("entered").equals(session(text).table("entered"))


def test_readings_that_no_particle_explains_are_put_aside_with_their_reason() -> None:
    reads = [*READS, {"tag": "joe", "reader": "B", "t": 0}, {"tag": "joe", "reader": "Z", "t": 1}]
    ag = session("CREATE STREAM at AS PARTICLES (2000) reads USING floor;", reads)
    rooms(ag)
    reasons = ag.rejected("at").column("reason").to_pylist()
    nobody = "no particle explains the readings of this step; more particles may"
    assert sorted(reasons) == [nobody, nobody, "sensor 'Z' is not in model floor"]


def test_a_floor_that_makes_no_sense_is_an_error() -> None:
    ag = session(
        "CREATE STREAM at AS PARTICLES (100) reads USING floor;",
        antennas=[{**TABLES["antennas"][0], "reach": None}],
    )
    with pytest.raises(AuguryError, match="model floor: an antenna lacks a number"):
        rooms(ag)


def test_as_it_happens_paths_are_left_out_and_particles_are_followed() -> None:
    text = "CREATE STREAM at AS PARTICLES (100) reads USING floor;" + ENTERED
    ag = session(text, [])
    found = [row for read in READS for row in ag.push("reads", read)] + ag.finish()
    wanted = session(text).table("entered").to_pylist()
    assert [(r["ts"], r["probability"]) for r in found] == [
        (r["ts"], r["probability"]) for r in wanted if r["probability"] > 0.0
    ]
    ag = session("CREATE STREAM at AS PARTICLES (100) reads USING floor SMOOTHED;" + ENTERED)
    with pytest.raises(QueryError, match="stream at, which needs all readings"):
        ag.push("reads", READS[0])
