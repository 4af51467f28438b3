"""Worked cases of rules: scripts, rows, and all that must come of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Case:
    """A script over rows, and what comes of it.

    Rows are written with spaces between the values of `columns`. Matches have the events of their
    components, their moment and confidence; reads who asked, when, which table, for whom, and the
    answer; firings the events of their match, their moment, its confidence and how many changes;
    changes their moment, what was done, the rows, and the rule. `error` is when the run stops, and
    why.
    """

    name: str
    script: str
    before: dict[str, list[Row]]
    columns: str
    events: list[str]
    matches: dict[str, list[tuple[dict[str, str], int, float]]]
    reads: list[tuple[str, int, str, str, Any]]
    firings: list[tuple[str, dict[str, str], int, float, int]]
    changes: dict[str, list[tuple[int, str, Row | None, Row | None, str]]]
    after: dict[str, list[Row]]
    error: tuple[int, str] | None = None


CASES = [
    Case(
        name="3.1 Right processing (thesis, Example 3.1)",
        script="""
CREATE STREAM behaviour (
    id LONG, worker STRING, action STRING, room STRING, t LONG, seq LONG, p DOUBLE
) ID id KEY worker TIME t ORDER BY seq TYPE action;
CREATE TABLE worker_status (worker STRING, status STRING) KEY worker;
CREATE QUERY unwashed ON behaviour
PATTERN SEQ(EXIT x, !SANITIZE s, ENTER e)
WHERE [worker] AND x.room <> e.room
  AND 'safe' = (SELECT status FROM worker_status WHERE worker = e.worker)
WITHIN 45
RETURN e.worker AS who, e.room AS room_in;
CREATE QUERY masked ON behaviour
PATTERN SEQ(MASK a, EXIT b)
WHERE [worker] AND 'warning' = (SELECT status FROM worker_status WHERE worker = b.worker)
WITHIN 5
RETURN b.worker AS who;
CREATE RULE warn ON OUTPUT unwashed REFERENCING NEW AS hit FOR EACH EVENT
BEGIN
    UPDATE worker_status SET status = 'warning' WHERE worker = hit.who;
END;
""",
        before={"worker_status": [("w7", "safe")]},
        columns="id action t seq worker room",
        events=[
            "1 MASK 1 1 w7 NULL",
            "2 EXIT 2 2 w7 A",
            "3 ENTER 10 3 w7 B",
            "4 MASK 12 4 w7 B",
            "5 EXIT 15 5 w7 B",
        ],
        matches={
            "unwashed": [({"e": "3", "x": "2"}, 10, 1.0)],
            "masked": [({"a": "4", "b": "5"}, 15, 1.0)],
        },
        reads=[
            ("masked", 2, "worker_status", "w7", "safe"),
            ("unwashed", 10, "worker_status", "w7", "safe"),
            ("masked", 15, "worker_status", "w7", "warning"),
        ],
        firings=[("warn", {"e": "3", "x": "2"}, 10, 1.0, 1)],
        changes={"worker_status": [(10, "UPDATE", ("w7", "safe"), ("w7", "warning"), "warn")]},
        after={"worker_status": [("w7", "warning")]},
    ),
    Case(
        name="N1 Two rules at one moment",
        script="""
CREATE STREAM behaviour (
    id LONG, worker STRING, action STRING, room STRING, t LONG, seq LONG, p DOUBLE
) ID id KEY worker TIME t ORDER BY seq TYPE action;
CREATE TABLE worker_status (worker STRING, status STRING) KEY worker;
CREATE QUERY unwashed ON behaviour
PATTERN SEQ(EXIT x, !SANITIZE s, ENTER e)
WHERE [worker] AND x.room <> e.room
  AND 'safe' = (SELECT status FROM worker_status WHERE worker = e.worker)
WITHIN 45
RETURN e.worker AS who, e.room AS room_in;
CREATE RULE warn ON OUTPUT unwashed REFERENCING NEW AS hit FOR EACH EVENT
BEGIN
    UPDATE worker_status SET status = 'warning' WHERE worker = hit.who;
END;
CREATE RULE escalate ON OUTPUT unwashed REFERENCING NEW AS hit FOR EACH EVENT
WHEN (SELECT status FROM worker_status WHERE worker = hit.who) = 'safe'
BEGIN
    UPDATE worker_status SET status = 'violation' WHERE worker = hit.who;
END;
""",
        before={"worker_status": [("w7", "safe")]},
        columns="id action t seq worker room",
        events=["1 EXIT 2 1 w7 A", "2 ENTER 10 2 w7 B"],
        matches={"unwashed": [({"e": "2", "x": "1"}, 10, 1.0)]},
        reads=[
            ("unwashed", 10, "worker_status", "w7", "safe"),
            ("escalate", 10, "worker_status", "w7", "safe"),
        ],
        firings=[
            ("warn", {"e": "2", "x": "1"}, 10, 1.0, 1),
            ("escalate", {"e": "2", "x": "1"}, 10, 1.0, 1),
        ],
        changes={
            "worker_status": [
                (10, "UPDATE", ("w7", "safe"), ("w7", "warning"), "warn"),
                (10, "UPDATE", ("w7", "warning"), ("w7", "violation"), "escalate"),
            ]
        },
        after={"worker_status": [("w7", "violation")]},
    ),
    Case(
        name="N2 A rule that disables its own query, and one that enables it again",
        script="""
CREATE STREAM behaviour (
    id LONG, worker STRING, action STRING, room STRING, t LONG, seq LONG, p DOUBLE
) ID id KEY worker TIME t ORDER BY seq TYPE action;
CREATE TABLE worker_status (worker STRING, status STRING) KEY worker;
CREATE QUERY unwashed ON behaviour
PATTERN SEQ(EXIT x, !SANITIZE s, ENTER e)
WHERE [worker] AND x.room <> e.room
  AND 'safe' = (SELECT status FROM worker_status WHERE worker = e.worker)
WITHIN 15
RETURN e.worker AS who, e.room AS room_in;
CREATE QUERY cleaned ON behaviour
PATTERN SEQ(SANITIZE a)
WHERE [worker]
WITHIN 45
RETURN a.worker AS who;
CREATE RULE warn ON OUTPUT unwashed REFERENCING NEW AS hit FOR EACH EVENT
BEGIN
    UPDATE worker_status SET status = 'warning' WHERE worker = hit.who;
END;
CREATE RULE calm ON OUTPUT cleaned REFERENCING NEW AS hit FOR EACH EVENT
BEGIN
    UPDATE worker_status SET status = 'safe' WHERE worker = hit.who;
END;
""",
        before={"worker_status": [("w7", "safe")]},
        columns="id action t seq worker room",
        events=[
            "1 EXIT 2 1 w7 A",
            "2 ENTER 10 2 w7 B",
            "3 EXIT 12 3 w7 B",
            "4 ENTER 20 4 w7 C",
            "5 SANITIZE 25 5 w7 NULL",
            "6 EXIT 30 6 w7 C",
            "7 ENTER 40 7 w7 A",
        ],
        matches={
            "unwashed": [({"e": "2", "x": "1"}, 10, 1.0), ({"e": "7", "x": "6"}, 40, 1.0)],
            "cleaned": [({"a": "5"}, 25, 1.0)],
        },
        reads=[
            ("unwashed", 10, "worker_status", "w7", "safe"),
            ("unwashed", 20, "worker_status", "w7", "warning"),
            ("unwashed", 40, "worker_status", "w7", "safe"),
        ],
        firings=[
            ("warn", {"e": "2", "x": "1"}, 10, 1.0, 1),
            ("calm", {"a": "5"}, 25, 1.0, 1),
            ("warn", {"e": "7", "x": "6"}, 40, 1.0, 1),
        ],
        changes={
            "worker_status": [
                (10, "UPDATE", ("w7", "safe"), ("w7", "warning"), "warn"),
                (25, "UPDATE", ("w7", "warning"), ("w7", "safe"), "calm"),
                (40, "UPDATE", ("w7", "safe"), ("w7", "warning"), "warn"),
            ]
        },
        after={"worker_status": [("w7", "warning")]},
    ),
    Case(
        name="N3 Negation at the end: the moment is first + W, after the events of that time",
        script="""
CREATE STREAM behaviour (
    id LONG, worker STRING, action STRING, room STRING, t LONG, seq LONG, p DOUBLE
) ID id KEY worker TIME t ORDER BY seq TYPE action;
CREATE TABLE worker_status (worker STRING, status STRING) KEY worker;
CREATE TABLE alarms (id STRING, worker STRING, at LONG) KEY id;
CREATE QUERY dirty ON behaviour
PATTERN SEQ(ENTER a, !SANITIZE b)
WHERE [worker] AND 'warning' = (SELECT status FROM worker_status WHERE worker = a.worker)
WITHIN 10
RETURN a.worker AS who;
CREATE QUERY masks ON behaviour
PATTERN SEQ(MASK a)
WHERE [worker]
WITHIN 45
RETURN a.worker AS who;
CREATE QUERY gone ON behaviour
PATTERN SEQ(EXIT a)
WHERE [worker] AND 'violation' = (SELECT status FROM worker_status WHERE worker = a.worker)
WITHIN 45
RETURN a.worker AS who;
CREATE RULE violate ON OUTPUT dirty REFERENCING NEW AS hit FOR EACH EVENT
BEGIN
    INSERT INTO alarms (id, worker, at) VALUES ('d', hit.who, hit.end_ts);
    UPDATE worker_status SET status = 'violation' WHERE worker = hit.who;
END;
CREATE RULE warned ON OUTPUT masks REFERENCING NEW AS hit FOR EACH EVENT
BEGIN
    UPDATE worker_status SET status = 'warning' WHERE worker = hit.who;
END;
""",
        before={"worker_status": [("w7", "safe")], "alarms": []},
        columns="id action t seq worker room",
        events=[
            "1 EXIT 4 1 w7 NULL",
            "2 ENTER 5 2 w7 A",
            "3 MASK 15 3 w7 NULL",
            "4 EXIT 16 4 w7 NULL",
        ],
        matches={
            "dirty": [({"a": "2"}, 15, 1.0)],
            "masks": [({"a": "3"}, 15, 1.0)],
            "gone": [({"a": "4"}, 16, 1.0)],
        },
        reads=[
            ("gone", 4, "worker_status", "w7", "safe"),
            ("dirty", 15, "worker_status", "w7", "warning"),
            ("gone", 16, "worker_status", "w7", "violation"),
        ],
        firings=[("warned", {"a": "3"}, 15, 1.0, 1), ("violate", {"a": "2"}, 15, 1.0, 2)],
        changes={
            "worker_status": [
                (15, "UPDATE", ("w7", "safe"), ("w7", "warning"), "warned"),
                (15, "UPDATE", ("w7", "warning"), ("w7", "violation"), "violate"),
            ],
            "alarms": [(15, "INSERT", None, ("d", "w7", 5), "violate")],
        },
        after={"worker_status": [("w7", "violation")], "alarms": [("d", "w7", 5)]},
    ),
    Case(
        name="N4 Tie-breakers: with ORDER BY",
        script="""
CREATE STREAM behaviour (
    id LONG, worker STRING, action STRING, room STRING, t LONG, seq LONG, p DOUBLE
) ID id KEY worker TIME t ORDER BY seq TYPE action;
CREATE TABLE worker_status (worker STRING, status STRING) KEY worker;
CREATE QUERY enters ON behaviour
PATTERN SEQ(ENTER a)
WHERE 'safe' = (SELECT status FROM worker_status WHERE worker = a.worker)
WITHIN 1
RETURN a.worker AS who;
CREATE RULE mark ON OUTPUT enters REFERENCING NEW AS hit FOR EACH EVENT
BEGIN
    UPDATE worker_status SET status = 'busy';
END;
""",
        before={"worker_status": [("w7", "safe"), ("w8", "safe")]},
        columns="id action t seq worker room",
        events=["1 ENTER 5 1 w7 A", "2 ENTER 5 2 w8 B"],
        matches={"enters": [({"a": "1"}, 5, 1.0)]},
        reads=[
            ("enters", 5, "worker_status", "w7", "safe"),
            ("enters", 5, "worker_status", "w8", "busy"),
        ],
        firings=[("mark", {"a": "1"}, 5, 1.0, 2)],
        changes={
            "worker_status": [
                (5, "UPDATE", ("w7", "safe"), ("w7", "busy"), "mark"),
                (5, "UPDATE", ("w8", "safe"), ("w8", "busy"), "mark"),
            ]
        },
        after={"worker_status": [("w7", "busy"), ("w8", "busy")]},
    ),
    Case(
        name="N4b The same without ORDER BY",
        script="""
CREATE STREAM behaviour (
    id LONG, worker STRING, action STRING, room STRING, t LONG, seq LONG, p DOUBLE
) ID id KEY worker TIME t TYPE action;
CREATE TABLE worker_status (worker STRING, status STRING) KEY worker;
CREATE QUERY enters ON behaviour
PATTERN SEQ(ENTER a)
WHERE 'safe' = (SELECT status FROM worker_status WHERE worker = a.worker)
WITHIN 1
RETURN a.worker AS who;
CREATE RULE mark ON OUTPUT enters REFERENCING NEW AS hit FOR EACH EVENT
BEGIN
    UPDATE worker_status SET status = 'busy';
END;
""",
        before={"worker_status": [("w7", "safe"), ("w8", "safe")]},
        columns="id action t worker room",
        events=["1 ENTER 5 w7 A", "2 ENTER 5 w8 B"],
        matches={"enters": [({"a": "1"}, 5, 1.0), ({"a": "2"}, 5, 1.0)]},
        reads=[
            ("enters", 5, "worker_status", "w7", "safe"),
            ("enters", 5, "worker_status", "w8", "safe"),
        ],
        firings=[("mark", {"a": "1"}, 5, 1.0, 2), ("mark", {"a": "2"}, 5, 1.0, 0)],
        changes={
            "worker_status": [
                (5, "UPDATE", ("w7", "safe"), ("w7", "busy"), "mark"),
                (5, "UPDATE", ("w8", "safe"), ("w8", "busy"), "mark"),
            ]
        },
        after={"worker_status": [("w7", "busy"), ("w8", "busy")]},
    ),
    Case(
        name="N5 DELETE, then INSERT of the same key in one firing",
        script="""
CREATE STREAM behaviour (
    id LONG, worker STRING, action STRING, room STRING, t LONG, seq LONG, p DOUBLE
) ID id KEY worker TIME t ORDER BY seq TYPE action;
CREATE TABLE worker_status (worker STRING, status STRING) KEY worker;
CREATE QUERY unwashed ON behaviour
PATTERN SEQ(EXIT x, !SANITIZE s, ENTER e)
WHERE [worker] AND x.room <> e.room
  AND 'safe' = (SELECT status FROM worker_status WHERE worker = e.worker)
WITHIN 45
RETURN e.worker AS who, e.room AS room_in;
CREATE RULE again ON OUTPUT unwashed REFERENCING NEW AS hit FOR EACH EVENT
BEGIN
    DELETE FROM worker_status WHERE worker = hit.who;
    INSERT INTO worker_status (worker, status) VALUES (hit.who, 'new');
END;
""",
        before={"worker_status": [("w7", "safe")]},
        columns="id action t seq worker room",
        events=["1 EXIT 2 1 w7 A", "2 ENTER 10 2 w7 B"],
        matches={"unwashed": [({"e": "2", "x": "1"}, 10, 1.0)]},
        reads=[("unwashed", 10, "worker_status", "w7", "safe")],
        firings=[("again", {"e": "2", "x": "1"}, 10, 1.0, 2)],
        changes={
            "worker_status": [
                (10, "DELETE", ("w7", "safe"), None, "again"),
                (10, "INSERT", None, ("w7", "new"), "again"),
            ]
        },
        after={"worker_status": [("w7", "new")]},
    ),
    Case(
        name="N6 A table without KEY",
        script="""
CREATE STREAM behaviour (
    id LONG, worker STRING, action STRING, room STRING, t LONG, seq LONG, p DOUBLE
) ID id KEY worker TIME t ORDER BY seq TYPE action;
CREATE TABLE visits (worker STRING, room STRING);
CREATE QUERY came ON behaviour
PATTERN SEQ(ENTER a)
WHERE [worker]
WITHIN 45
RETURN a.worker AS who;
CREATE QUERY again ON behaviour
PATTERN SEQ(ENTER e)
WHERE NOT ((SELECT room FROM visits WHERE worker = e.worker) IS NULL)
WITHIN 1
RETURN e.worker AS who;
CREATE RULE note ON OUTPUT came REFERENCING NEW AS hit FOR EACH EVENT
BEGIN
    INSERT INTO visits (worker, room) VALUES (hit.who, 'A');
END;
""",
        before={"visits": [("w8", "A")]},
        columns="id action t seq worker room",
        events=["1 ENTER 5 1 w7 NULL", "2 ENTER 10 2 w7 NULL", "3 ENTER 20 3 w7 NULL"],
        matches={
            "came": [({"a": "1"}, 5, 1.0), ({"a": "2"}, 10, 1.0)],
            "again": [({"e": "2"}, 10, 1.0)],
        },
        reads=[("again", 5, "visits", "w7", None), ("again", 10, "visits", "w7", "A")],
        firings=[("note", {"a": "1"}, 5, 1.0, 1), ("note", {"a": "2"}, 10, 1.0, 1)],
        changes={
            "visits": [
                (5, "INSERT", None, ("w7", "A"), "note"),
                (10, "INSERT", None, ("w7", "A"), "note"),
            ]
        },
        after={"visits": [("w8", "A"), ("w7", "A"), ("w7", "A")]},
        error=(20, "2 rows of visits where one was asked for"),
    ),
    Case(
        name="N7 No row is NULL, and NULL is not true",
        script="""
CREATE STREAM behaviour (
    id LONG, worker STRING, action STRING, room STRING, t LONG, seq LONG, p DOUBLE
) ID id KEY worker TIME t ORDER BY seq TYPE action;
CREATE TABLE worker_status (worker STRING, status STRING) KEY worker;
CREATE QUERY known ON behaviour
PATTERN SEQ(ENTER a)
WHERE [worker] AND 'safe' = (SELECT status FROM worker_status WHERE worker = a.worker)
WITHIN 45
RETURN a.worker AS who;
CREATE QUERY stranger ON behaviour
PATTERN SEQ(ENTER a)
WHERE [worker] AND (SELECT status FROM worker_status WHERE worker = a.worker) IS NULL
WITHIN 45
RETURN a.worker AS who;
CREATE RULE welcome ON OUTPUT stranger REFERENCING NEW AS hit FOR EACH EVENT
BEGIN
    INSERT INTO worker_status (worker, status) VALUES (hit.who, 'safe')
    ON CONFLICT DO UPDATE SET status = 'safe';
END;
""",
        before={"worker_status": [("w7", "safe"), ("w9", None)]},
        columns="id action t seq worker room",
        events=[
            "1 ENTER 5 1 w8 NULL",
            "2 ENTER 6 2 w9 NULL",
            "3 ENTER 7 3 w8 NULL",
            "4 ENTER 8 4 w9 NULL",
        ],
        matches={
            "known": [({"a": "3"}, 7, 1.0), ({"a": "4"}, 8, 1.0)],
            "stranger": [({"a": "1"}, 5, 1.0), ({"a": "2"}, 6, 1.0)],
        },
        reads=[
            ("known", 5, "worker_status", "w8", None),
            ("stranger", 5, "worker_status", "w8", None),
            ("known", 6, "worker_status", "w9", None),
            ("stranger", 6, "worker_status", "w9", None),
            ("known", 7, "worker_status", "w8", "safe"),
            ("stranger", 7, "worker_status", "w8", "safe"),
            ("known", 8, "worker_status", "w9", "safe"),
            ("stranger", 8, "worker_status", "w9", "safe"),
        ],
        firings=[("welcome", {"a": "1"}, 5, 1.0, 1), ("welcome", {"a": "2"}, 6, 1.0, 1)],
        changes={
            "worker_status": [
                (5, "INSERT", None, ("w8", "safe"), "welcome"),
                (6, "UPDATE", ("w9", None), ("w9", "safe"), "welcome"),
            ]
        },
        after={"worker_status": [("w7", "safe"), ("w9", "safe"), ("w8", "safe")]},
    ),
    Case(
        name="N8 WHEN with a subquery, and upsert",
        script="""
CREATE STREAM behaviour (
    id LONG, worker STRING, action STRING, room STRING, t LONG, seq LONG, p DOUBLE
) ID id KEY worker TIME t ORDER BY seq TYPE action;
CREATE TABLE counts (worker STRING, n LONG) KEY worker;
CREATE TABLE worker_status (worker STRING, status STRING) KEY worker;
CREATE QUERY came ON behaviour
PATTERN SEQ(ENTER a)
WHERE [worker]
WITHIN 45
RETURN a.worker AS who;
CREATE RULE counted ON OUTPUT came REFERENCING NEW AS hit FOR EACH EVENT
BEGIN
    INSERT INTO counts (worker, n) VALUES (hit.who, 1) ON CONFLICT DO UPDATE SET n = n + 1;
END;
CREATE RULE third ON OUTPUT came REFERENCING NEW AS hit FOR EACH EVENT
WHEN (SELECT n FROM counts WHERE worker = hit.who) = 2
BEGIN
    UPDATE worker_status SET status = 'warning' WHERE worker = hit.who;
END;
""",
        before={"counts": [], "worker_status": [("w7", "safe")]},
        columns="id action t seq worker room",
        events=[
            "1 ENTER 5 1 w7 NULL",
            "2 ENTER 10 2 w7 NULL",
            "3 ENTER 15 3 w7 NULL",
            "4 ENTER 20 4 w7 NULL",
        ],
        matches={
            "came": [
                ({"a": "1"}, 5, 1.0),
                ({"a": "2"}, 10, 1.0),
                ({"a": "3"}, 15, 1.0),
                ({"a": "4"}, 20, 1.0),
            ]
        },
        reads=[
            ("third", 5, "counts", "w7", None),
            ("third", 10, "counts", "w7", 1),
            ("third", 15, "counts", "w7", 2),
            ("third", 20, "counts", "w7", 3),
        ],
        firings=[
            ("counted", {"a": "1"}, 5, 1.0, 1),
            ("counted", {"a": "2"}, 10, 1.0, 1),
            ("counted", {"a": "3"}, 15, 1.0, 1),
            ("third", {"a": "3"}, 15, 1.0, 1),
            ("counted", {"a": "4"}, 20, 1.0, 1),
        ],
        changes={
            "counts": [
                (5, "INSERT", None, ("w7", 1), "counted"),
                (10, "UPDATE", ("w7", 1), ("w7", 2), "counted"),
                (15, "UPDATE", ("w7", 2), ("w7", 3), "counted"),
                (20, "UPDATE", ("w7", 3), ("w7", 4), "counted"),
            ],
            "worker_status": [(15, "UPDATE", ("w7", "safe"), ("w7", "warning"), "third")],
        },
        after={"counts": [("w7", 4)], "worker_status": [("w7", "warning")]},
    ),
    Case(
        name="N9 Uncertain matches at a threshold",
        script="""
CREATE STREAM behaviour (
    id LONG, worker STRING, action STRING, room STRING, t LONG, seq LONG, p DOUBLE
) ID id KEY worker TIME t ORDER BY seq TYPE action PROBABILITY p;
CREATE TABLE worker_status (worker STRING, status STRING) KEY worker;
CREATE QUERY unwashed ON behaviour
PATTERN SEQ(EXIT x, !SANITIZE s, ENTER e)
WHERE [worker] AND x.room <> e.room
  AND 'safe' = (SELECT status FROM worker_status WHERE worker = e.worker)
WITHIN 45
HAVING CONFIDENCE >= 0.5
RETURN e.worker AS who, e.room AS room_in;
CREATE RULE warn ON OUTPUT unwashed REFERENCING NEW AS hit FOR EACH EVENT
WHEN hit.confidence >= 0.8
BEGIN
    UPDATE worker_status SET status = 'warning' WHERE worker = hit.who;
END;
""",
        before={"worker_status": [("w7", "safe"), ("w8", "safe"), ("w9", "safe")]},
        columns="id action t seq worker room p",
        events=[
            "1 EXIT 2 1 w7 A 0.9",
            "2 ENTER 10 2 w7 B 0.9",
            "3 EXIT 12 3 w8 A 0.9",
            "4 ENTER 20 4 w8 B 0.85",
            "5 EXIT 22 5 w9 A 0.9",
            "6 SANITIZE 25 6 w9 NULL 0.1111111111111111",
            "7 ENTER 30 7 w9 B 1.0",
            "8 EXIT 35 8 w7 B 1.0",
            "9 ENTER 40 9 w7 C 1.0",
        ],
        matches={
            "unwashed": [
                ({"e": "2", "x": "1"}, 10, 0.81),
                ({"e": "4", "x": "3"}, 20, 0.765),
                ({"e": "7", "x": "5"}, 30, 0.8),
            ]
        },
        reads=[
            ("unwashed", 10, "worker_status", "w7", "safe"),
            ("unwashed", 20, "worker_status", "w8", "safe"),
            ("unwashed", 30, "worker_status", "w9", "safe"),
            ("unwashed", 40, "worker_status", "w7", "warning"),
            ("unwashed", 40, "worker_status", "w7", "warning"),
        ],
        firings=[
            ("warn", {"e": "2", "x": "1"}, 10, 0.81, 1),
            ("warn", {"e": "7", "x": "5"}, 30, 0.8, 1),
        ],
        changes={
            "worker_status": [
                (10, "UPDATE", ("w7", "safe"), ("w7", "warning"), "warn"),
                (30, "UPDATE", ("w9", "safe"), ("w9", "warning"), "warn"),
            ]
        },
        after={"worker_status": [("w7", "warning"), ("w8", "safe"), ("w9", "warning")]},
    ),
    Case(
        name="N10 Several matches at one moment",
        script="""
CREATE STREAM behaviour (
    id LONG, worker STRING, action STRING, room STRING, t LONG, seq LONG, p DOUBLE
) ID id KEY worker TIME t ORDER BY seq TYPE action;
CREATE TABLE worker_status (worker STRING, status STRING) KEY worker;
CREATE TABLE counts (worker STRING, n LONG) KEY worker;
CREATE QUERY unwashed ON behaviour
PATTERN SEQ(EXIT x, !SANITIZE s, ENTER e)
WHERE [worker] AND x.room <> e.room
  AND 'safe' = (SELECT status FROM worker_status WHERE worker = e.worker)
WITHIN 45
RETURN e.worker AS who, e.room AS room_in;
CREATE RULE warn ON OUTPUT unwashed REFERENCING NEW AS hit FOR EACH EVENT
BEGIN
    UPDATE worker_status SET status = 'warning' WHERE worker = hit.who;
    INSERT INTO counts (worker, n) VALUES (hit.who, 1) ON CONFLICT DO UPDATE SET n = n + 1;
END;
""",
        before={"worker_status": [("w7", "safe")], "counts": []},
        columns="id action t seq worker room",
        events=["1 EXIT 2 1 w7 A", "2 EXIT 5 2 w7 C", "3 ENTER 10 3 w7 B"],
        matches={"unwashed": [({"e": "3", "x": "1"}, 10, 1.0), ({"e": "3", "x": "2"}, 10, 1.0)]},
        reads=[
            ("unwashed", 10, "worker_status", "w7", "safe"),
            ("unwashed", 10, "worker_status", "w7", "safe"),
        ],
        firings=[
            ("warn", {"e": "3", "x": "1"}, 10, 1.0, 2),
            ("warn", {"e": "3", "x": "2"}, 10, 1.0, 1),
        ],
        changes={
            "worker_status": [(10, "UPDATE", ("w7", "safe"), ("w7", "warning"), "warn")],
            "counts": [
                (10, "INSERT", None, ("w7", 1), "warn"),
                (10, "UPDATE", ("w7", 1), ("w7", 2), "warn"),
            ],
        },
        after={"worker_status": [("w7", "warning")], "counts": [("w7", 2)]},
    ),
    Case(
        name="N11 Two streams at one time",
        script="""
CREATE STREAM doors (
    id LONG, worker STRING, action STRING, room STRING, t LONG, seq LONG, p DOUBLE
) ID id KEY worker TIME t TYPE action;
CREATE STREAM taps (
    id LONG, worker STRING, action STRING, room STRING, t LONG, seq LONG, p DOUBLE
) ID id KEY worker TIME t TYPE action;
CREATE TABLE worker_status (worker STRING, status STRING) KEY worker;
CREATE QUERY entered ON doors
PATTERN SEQ(ENTER a)
WHERE [worker] AND 'safe' = (SELECT status FROM worker_status WHERE worker = a.worker)
WITHIN 45
RETURN a.worker AS who;
CREATE QUERY washed ON taps
PATTERN SEQ(WASH a)
WHERE [worker] AND 'warning' = (SELECT status FROM worker_status WHERE worker = a.worker)
WITHIN 45
RETURN a.worker AS who;
CREATE RULE warn ON OUTPUT entered REFERENCING NEW AS hit FOR EACH EVENT
BEGIN
    UPDATE worker_status SET status = 'warning' WHERE worker = hit.who;
END;
CREATE RULE calm ON OUTPUT washed REFERENCING NEW AS hit FOR EACH EVENT
BEGIN
    UPDATE worker_status SET status = 'safe' WHERE worker = hit.who;
END;
""",
        before={"worker_status": [("w7", "safe")]},
        columns="id action t worker room",
        events=[
            "doors 1 ENTER 10 w7 NULL",
            "taps 2 WASH 10 w7 NULL",
            "taps 3 WASH 20 w7 NULL",
            "doors 4 ENTER 20 w7 NULL",
        ],
        matches={
            "entered": [({"a": "1"}, 10, 1.0), ({"a": "4"}, 20, 1.0)],
            "washed": [({"a": "2"}, 10, 1.0), ({"a": "3"}, 20, 1.0)],
        },
        reads=[
            ("entered", 10, "worker_status", "w7", "safe"),
            ("washed", 10, "worker_status", "w7", "warning"),
            ("entered", 20, "worker_status", "w7", "safe"),
            ("washed", 20, "worker_status", "w7", "warning"),
        ],
        firings=[
            ("warn", {"a": "1"}, 10, 1.0, 1),
            ("calm", {"a": "2"}, 10, 1.0, 1),
            ("warn", {"a": "4"}, 20, 1.0, 1),
            ("calm", {"a": "3"}, 20, 1.0, 1),
        ],
        changes={
            "worker_status": [
                (10, "UPDATE", ("w7", "safe"), ("w7", "warning"), "warn"),
                (10, "UPDATE", ("w7", "warning"), ("w7", "safe"), "calm"),
                (20, "UPDATE", ("w7", "safe"), ("w7", "warning"), "warn"),
                (20, "UPDATE", ("w7", "warning"), ("w7", "safe"), "calm"),
            ]
        },
        after={"worker_status": [("w7", "safe")]},
    ),
    Case(
        name="N12 The store does not choose candidates",
        script="""
CREATE STREAM behaviour (
    id LONG, worker STRING, action STRING, room STRING, t LONG, seq LONG, p DOUBLE
) ID id KEY worker TIME t ORDER BY seq TYPE action;
CREATE TABLE worker_status (worker STRING, status STRING) KEY worker;
CREATE QUERY next_entry ON behaviour
PATTERN SEQ(EXIT x, ENTER e)
WHERE [worker] AND 'safe' = (SELECT status FROM worker_status WHERE worker = e.worker)
USING SKIP TILL NEXT MATCH
WITHIN 45
RETURN e.worker AS who;
CREATE QUERY any_entry ON behaviour
PATTERN SEQ(EXIT a, ENTER b)
WHERE [worker] AND 'safe' = (SELECT status FROM worker_status WHERE worker = b.worker)
WITHIN 45
RETURN b.worker AS who;
CREATE QUERY masks ON behaviour
PATTERN SEQ(MASK a)
WHERE [worker]
WITHIN 45
RETURN a.worker AS who;
CREATE RULE free ON OUTPUT masks REFERENCING NEW AS hit FOR EACH EVENT
BEGIN
    UPDATE worker_status SET status = 'safe' WHERE worker = hit.who;
END;
""",
        before={"worker_status": [("w7", "blocked")]},
        columns="id action t seq worker room",
        events=[
            "1 EXIT 2 1 w7 NULL",
            "2 ENTER 10 2 w7 NULL",
            "3 MASK 15 3 w7 NULL",
            "4 ENTER 20 4 w7 NULL",
        ],
        matches={
            "next_entry": [],
            "any_entry": [({"a": "1", "b": "4"}, 20, 1.0)],
            "masks": [({"a": "3"}, 15, 1.0)],
        },
        reads=[
            ("next_entry", 10, "worker_status", "w7", "blocked"),
            ("any_entry", 10, "worker_status", "w7", "blocked"),
            ("any_entry", 20, "worker_status", "w7", "safe"),
        ],
        firings=[("free", {"a": "3"}, 15, 1.0, 1)],
        changes={"worker_status": [(15, "UPDATE", ("w7", "blocked"), ("w7", "safe"), "free")]},
        after={"worker_status": [("w7", "safe")]},
    ),
    Case(
        name="N13 A query over a query that reads the store",
        script="""
CREATE STREAM behaviour (
    id LONG, worker STRING, action STRING, room STRING, t LONG, seq LONG, p DOUBLE
) ID id KEY worker TIME t ORDER BY seq TYPE action;
CREATE TABLE worker_status (worker STRING, status STRING) KEY worker;
CREATE QUERY unwashed ON behaviour
PATTERN SEQ(EXIT x, !SANITIZE s, ENTER e)
WHERE [worker] AND x.room <> e.room
  AND 'safe' = (SELECT status FROM worker_status WHERE worker = e.worker)
WITHIN 15
RETURN e.worker AS who, e.room AS room_in;
CREATE QUERY cleaned ON behaviour
PATTERN SEQ(SANITIZE a)
WHERE [worker]
WITHIN 45
RETURN a.worker AS who;
CREATE QUERY spree ON unwashed
PATTERN SEQ(unwashed u, unwashed v)
WHERE [who]
WITHIN 100
RETURN v.who AS who;
CREATE RULE warn ON OUTPUT unwashed REFERENCING NEW AS hit FOR EACH EVENT
BEGIN
    UPDATE worker_status SET status = 'warning' WHERE worker = hit.who;
END;
CREATE RULE calm ON OUTPUT cleaned REFERENCING NEW AS hit FOR EACH EVENT
BEGIN
    UPDATE worker_status SET status = 'safe' WHERE worker = hit.who;
END;
""",
        before={"worker_status": [("w7", "safe")]},
        columns="id action t seq worker room",
        events=[
            "1 EXIT 2 1 w7 A",
            "2 ENTER 10 2 w7 B",
            "3 EXIT 12 3 w7 B",
            "4 ENTER 20 4 w7 C",
            "5 SANITIZE 25 5 w7 NULL",
            "6 EXIT 30 6 w7 C",
            "7 ENTER 40 7 w7 A",
        ],
        matches={
            "unwashed": [({"e": "2", "x": "1"}, 10, 1.0), ({"e": "7", "x": "6"}, 40, 1.0)],
            "cleaned": [({"a": "5"}, 25, 1.0)],
            "spree": [({"u": "", "v": ""}, 40, 1.0)],
        },
        reads=[
            ("unwashed", 10, "worker_status", "w7", "safe"),
            ("unwashed", 20, "worker_status", "w7", "warning"),
            ("unwashed", 40, "worker_status", "w7", "safe"),
        ],
        firings=[
            ("warn", {"e": "2", "x": "1"}, 10, 1.0, 1),
            ("calm", {"a": "5"}, 25, 1.0, 1),
            ("warn", {"e": "7", "x": "6"}, 40, 1.0, 1),
        ],
        changes={
            "worker_status": [
                (10, "UPDATE", ("w7", "safe"), ("w7", "warning"), "warn"),
                (25, "UPDATE", ("w7", "warning"), ("w7", "safe"), "calm"),
                (40, "UPDATE", ("w7", "safe"), ("w7", "warning"), "warn"),
            ]
        },
        after={"worker_status": [("w7", "warning")]},
    ),
    Case(
        name="N14 INSERT of a key that is there",
        script="""
CREATE STREAM behaviour (
    id LONG, worker STRING, action STRING, room STRING, t LONG, seq LONG, p DOUBLE
) ID id KEY worker TIME t ORDER BY seq TYPE action;
CREATE TABLE worker_status (worker STRING, status STRING) KEY worker;
CREATE TABLE alarms (id STRING, worker STRING, at LONG) KEY id;
CREATE QUERY came ON behaviour
PATTERN SEQ(ENTER a)
WHERE [worker]
WITHIN 45
RETURN a.worker AS who;
CREATE RULE note ON OUTPUT came REFERENCING NEW AS hit FOR EACH EVENT
BEGIN
    UPDATE worker_status SET status = 'seen' WHERE worker = hit.who;
    INSERT INTO alarms (id, worker, at) VALUES (hit.who, hit.who, hit.end_ts);
END;
""",
        before={"worker_status": [("w7", "safe")], "alarms": []},
        columns="id action t seq worker room",
        events=["1 ENTER 5 1 w7 NULL", "2 ENTER 9 2 w7 NULL"],
        matches={"came": [({"a": "1"}, 5, 1.0)]},
        reads=[],
        firings=[("note", {"a": "1"}, 5, 1.0, 2)],
        changes={
            "worker_status": [(5, "UPDATE", ("w7", "safe"), ("w7", "seen"), "note")],
            "alarms": [(5, "INSERT", None, ("w7", "w7", 5), "note")],
        },
        after={"worker_status": [("w7", "seen")], "alarms": [("w7", "w7", 5)]},
        error=(9, "INSERT INTO alarms: key ('w7',) is there already"),
    ),
]
