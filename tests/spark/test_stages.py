"""Policies, owners, rules and forecasts on Spark say what the local engine says of them."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from augury import DataError, QueryError, Session
from privacy.test_examples import CASES, is_as_printed
from privacy.wards import SHAPE, history, row

pytestmark = pytest.mark.spark
Rows = list[dict[str, Any]]
Tables = dict[str, Rows]


def frame(spark: Any, ag: Session, name: str, rows: Rows) -> Any:
    """Return rows as a DataFrame with the columns of a stream or table."""
    declared = ag._declared.catalog.stream(name) or ag._declared.catalog.table(name)
    assert declared is not None
    names = [column.name for column in declared.columns]
    kinds = {"STRING": pa.string(), "LONG": pa.int64(), "DOUBLE": pa.float64()}
    schema = pa.schema([(c.name, kinds[c.type.value]) for c in declared.columns])
    own = [{key: each.get(key) for key in names} for each in rows]
    return spark.createDataFrame(pa.Table.from_pylist(own, schema))


def batch(spark: Any, script: str, rows: Tables) -> Session:
    """Return a session over bounded rows."""
    ag = Session(spark, shards=2)
    ag.sql(script)
    for name, own in rows.items():
        ag.bind(name, frame(spark, ag, name, own))
    return ag


def local(script: str, rows: Tables) -> Session:
    ag = Session(engine="local")
    ag.sql(script)
    for name, own in rows.items():
        ag.bind(name, own)
    return ag


def streaming(spark: Any, script: str, rows: Tables, stream: str, folder: Path) -> Session:
    """Return a session in which the rows of one stream come in three micro-batches."""
    ag = batch(spark, script, {name: own for name, own in rows.items() if name != stream})
    whole = frame(spark, ag, stream, rows[stream])
    table, third = whole.toArrow(), len(rows[stream]) // 3 + 1
    (folder / stream).mkdir()
    for k in range(3):
        path = folder / stream / f"{k}.parquet"
        pq.write_table(table.slice(k * third, third), path)
        os.utime(path, (1_000_000_000 + k, 1_000_000_000 + k))
    reader = spark.readStream.schema(whole.schema).option("maxFilesPerTrigger", 1)
    ag.bind(stream, reader.parquet(str(folder / stream)))
    return ag


def collected(data: Any, folder: Path) -> Rows:
    """Return all rows of a streaming DataFrame."""
    found: Rows = []
    writer = data.writeStream.trigger(availableNow=True).foreachBatch(
        lambda part, _: found.extend(part.toArrow().to_pylist())
    )
    writer.option("checkpointLocation", str(folder)).start().awaitTermination()
    return found


def ordered(rows: Rows) -> Rows:
    return sorted(rows, key=repr)


def listed(data: Any) -> Rows:
    table = data.toArrow() if hasattr(data, "toArrow") else data
    return ordered(table.to_pylist())


# Policies -----------------------------------------------------------------------------------------

POLICY = """
CREATE STREAM s (id STRING, type STRING, t LONG, p DOUBLE, k STRING, v LONG)
ID id TIME t TYPE type PROBABILITY p;
CREATE STREAM h (id STRING, type STRING, t LONG, p DOUBLE, k STRING, v LONG)
ID id TIME t TYPE type PROBABILITY p;
CREATE QUERY q1 ON s PATTERN SEQ(A a, B b) WHERE [k] WITHIN 6;
CREATE QUERY q2 ON s PATTERN SEQ(A a, !D d, B b, C c) WHERE [k] WITHIN 9;
CREATE QUERY q3 ON s PATTERN SEQ(B a, C c) WITHIN 3 RETURN PROBABILITY;
CREATE QUERY q5 ON s PATTERN AND(A a, B b) WHERE [k] GROUP BY k RETURN PROBABILITY;
CREATE QUERY q6 ON s PATTERN SEQ(A a, B b) WITHIN 4;
CREATE QUERY q4 ON s PATTERN SEQ(B a, C c) USING SKIP TILL NEXT MATCH RETURN PROBABILITY BY TIME;
CREATE QUERY p1 ON s PATTERN SEQ(A a, C b) WHERE [k] WITHIN 6;
CREATE POLICY pol ON s PUBLIC q1 WEIGHT 3, q2 PRIVATE p1 USING HYBRID RATES LEARN FROM h;
CREATE STREAM published AS SUPPRESS s USING pol;
CREATE QUERY over ON published PATTERN SEQ(B a, C c) WHERE [k] WITHIN 5;
"""
LAST = 1000


def guarded_rows() -> Tables:
    rng = random.Random(5)
    rows = [
        row(f"{rng.choice('ABCDX')}{t} k={rng.choice('klm')} p=0.5") | {"id": f"{t:03}"}
        for t in range(1, 60)
    ]
    end = row(f"x{LAST}") | {"id": "end"}
    return {"s": [*rows, end], "h": history("ABCABDABCC", keys="kklkklkkll")}


def test_a_policy_is_in_force_in_batch(spark: Any) -> None:
    rows = guarded_rows()
    here, there = local(POLICY, rows), batch(spark, POLICY, rows)
    for name in ("q1", "q2", "q3", "q4", "q5", "q6", "over", "published"):
        assert listed(there.table(name)) == listed(here.table(name)), name
    assert listed(there.audit("pol")) == listed(here.audit("pol"))
    kept = {each["id"] for each in listed(there.table("published"))}
    assert 0 < len(kept) < len(rows["s"])
    with pytest.raises(QueryError, match="private"):
        there.table("p1")
    # How many rows came is as secret as the rows.
    measured = json.loads(there.explain("q1", "json", analyze=True))["measured"]
    assert [each["stage"] for each in measured] == ["match q1"]
    with pytest.raises(DataError, match="not cut by time"):
        there.analyze(["q6"])


def test_a_policy_is_in_force_in_a_stream(spark: Any, tmp_path: Path) -> None:
    rows = guarded_rows()
    here, there = local(POLICY, rows), streaming(spark, POLICY, rows, "s", tmp_path)
    for name in ("q1", "q4", "published"):
        # The last event lets the others be known; itself it waits for a later one.
        expected = [
            each
            for each in listed(here.table(name))
            if each.get("id") != "end" and each.get("ts") != LAST
        ]
        assert ordered(collected(there.table(name), tmp_path / name)) == expected, name
    audited = ordered(collected(there.audit("pol"), tmp_path / "audit"))
    assert audited == [each for each in listed(here.audit("pol")) if each["event_id"] != "end"]


@pytest.mark.rotating(8)
@pytest.mark.parametrize("name", CASES)
def test_worked_examples_come_out_in_batch_and_in_a_stream(
    spark: Any, tmp_path: Path, name: str
) -> None:
    case, more = CASES[name], ("", "")
    if case.tie:
        more = (", seq LONG", " ORDER BY seq")
    script = SHAPE.format("s", *more) + SHAPE.format("h", *more) + case.script
    # Names that are found in no plan by chance, and an event that lets the last one be known.
    own = [each | {"id": f"secret-{each['id']}"} for each in case.stream]
    rows = {"s": [*own, row(f"z{LAST}") | {"id": "secret-z", "seq": 99}], "h": case.history}
    there = batch(spark, script, rows)
    found = sorted(listed(there.audit("pol")), key=lambda each: (each["ts"], each["event_id"]))
    pairs = zip(
        found[:-1], sorted(case.rows, key=lambda cells: _time_and_id(cells[0])), strict=True
    )
    assert [pair for pair in pairs if not is_as_printed(*pair)] == []
    plan = there.table("q1")._jdf.queryExecution().toString()
    assert "secret-" not in plan
    streamed = streaming(spark, script, rows, "s", tmp_path)
    assert ordered(collected(streamed.audit("pol"), tmp_path / "audit")) == ordered(found[:-1])


def _time_and_id(cell: str) -> tuple[int, str]:
    name = cell.split(maxsplit=1)[0]
    return int(name[1:]), name


# Owners -------------------------------------------------------------------------------------------

WARDS = """
CREATE TABLE staff (unit STRING, person STRING, room STRING);
CREATE STREAM doors (id LONG, unit STRING, person STRING, action STRING, room STRING, t LONG)
ID id TIME t TYPE action;
CREATE MODEL ward MOVES (OBJECTS staff, OWNER person, PLACE room, ENTER 'ENTER', EXIT 'EXIT',
HALL 'H', STEP 1, BY unit);
CREATE STREAM known AS IDENTIFY doors USING ward WITHIN 30 REVISE ANY;
CREATE QUERY again ON known PATTERN SEQ(ENTER a, EXIT b) WHERE [unit] AND [person] WITHIN 9;
"""


def ward_rows() -> Tables:
    """Return three wards in which four people go in and out, and one badge in three is not read."""
    rng, rows = random.Random(8), list[dict[str, Any]]()
    people = [(unit, f"{unit}{k}") for unit in "UVW" for k in range(4)]
    inside: dict[str, str | None] = {person: None for _, person in people}
    for t in range(1, 61):
        unit, person = rng.choice(people)
        room = inside[person]
        action, inside[person] = ("EXIT", None) if room else ("ENTER", rng.choice("RST"))
        read = person if rng.random() < 0.67 else None
        own = {"id": t, "unit": unit, "person": read, "action": action, "t": t}
        rows.append(own | {"room": room or inside[person]})
    rows.append(rows[-1] | {"id": LAST, "t": LAST, "person": "nobody"})
    staff = [{"unit": unit, "person": person, "room": None} for unit, person in people]
    return {"staff": staff, "doors": rows}


def test_owners_are_told_in_batch(spark: Any) -> None:
    rows = ward_rows()
    here, there = local(WARDS, rows), batch(spark, WARDS, rows)
    assert listed(there.table("known")) == listed(here.table("known"))
    assert listed(there.revisions("known")) == listed(here.revisions("known"))
    assert listed(there.table("again")) == listed(here.table("again"))
    assert listed(there.revisions("again")) == listed(here.revisions("again"))
    reasons = [each["reason"] for each in listed(there.rejected("known"))]
    assert reasons == [each["reason"] for each in listed(here.rejected("known"))] != []


REVISED = """
CREATE TABLE rooms (unit STRING, person STRING, n LONG) KEY unit, person;
CREATE RULE soon ON again WHEN new.confidence >= 0.5
DO INSERT INTO rooms VALUES (new.unit, new.person, 1) ON CONFLICT DO UPDATE SET n = n + 1;
CREATE RULE sure ON again AFTER REVISIONS WHEN new.confidence >= 0.5
DO INSERT INTO rooms VALUES (new.unit, new.person, 10) ON CONFLICT DO UPDATE SET n = n + 10;
"""


def test_rules_act_on_revised_matches_in_a_stream(spark: Any, tmp_path: Path) -> None:
    rows, script = ward_rows(), WARDS + REVISED
    here, there = local(script, rows), streaming(spark, script, rows, "doors", tmp_path)
    assert {row["rule"] for rule in ("soon", "sure") for row in listed(here.table(rule))}
    changed = listed(here.changes("rooms"))
    assert ordered(collected(there.changes("rooms"), tmp_path / "changes")) == changed != []


def test_owners_are_told_and_told_again_in_a_stream(spark: Any, tmp_path: Path) -> None:
    rows = ward_rows()
    here, there = local(WARDS, rows), streaming(spark, WARDS, rows, "doors", tmp_path)
    found = ordered(collected(there.revisions("known"), tmp_path / "known"))
    assert found == listed(here.revisions("known"))
    matches = ordered(collected(there.table("again"), tmp_path / "again"))
    assert matches == listed(here.revisions("again")) != []


KEPT = """
CREATE STREAM before (id LONG, unit STRING, person STRING, action STRING, room STRING, t LONG)
ID id TIME t TYPE action;
CREATE STREAM past AS IDENTIFY before USING ward WITHIN 30;
CREATE QUERY hidden ON known PATTERN SEQ(EXIT a, ENTER b) WHERE [unit] AND [person] WITHIN 20;
CREATE POLICY discreet ON known PUBLIC again PRIVATE hidden NEVER USING HYBRID RATES
LEARN FROM past;
CREATE STREAM kept AS SUPPRESS known USING discreet;
CREATE QUERY over ON kept PATTERN SEQ(ENTER a, EXIT b) WHERE [unit] AND [person] WITHIN 9;
"""


def kept_rows() -> Tables:
    rows = ward_rows()
    return {**rows, "before": [each | {"t": each["t"] - LAST} for each in rows["doors"][:30]]}


def test_a_policy_on_owners_is_in_force_in_batch(spark: Any) -> None:
    rows = kept_rows()
    here, there = local(WARDS + KEPT, rows), batch(spark, WARDS + KEPT, rows)
    assert listed(there.audit("discreet")) == listed(here.audit("discreet"))
    for name in ("known", "kept", "again", "over"):
        assert listed(there.revisions(name)) == listed(here.revisions(name)) != [], name
    assert len(listed(there.table("known"))) < len(listed(local(WARDS, ward_rows()).table("known")))
    measured = json.loads(there.explain("again", "json", analyze=True))["measured"]
    assert [each["stage"] for each in measured] == ["match again"]


def test_a_policy_on_owners_is_in_force_in_a_stream(spark: Any, tmp_path: Path) -> None:
    rows, script = kept_rows(), WARDS + KEPT
    here, there = local(script, rows), streaming(spark, script, rows, "doors", tmp_path)
    found = ordered(collected(there.revisions("kept"), tmp_path / "kept"))
    assert found == listed(here.revisions("kept"))
    matches = ordered(collected(there.table("over"), tmp_path / "over"))
    assert matches == listed(here.revisions("over")) != []


# Rules --------------------------------------------------------------------------------------------

BADGES = """
CREATE STREAM behaviour (id LONG, worker STRING, action STRING, room STRING, t LONG)
ID id KEY worker TIME t TYPE action;
CREATE TABLE badge (worker STRING, status STRING) KEY worker;
CREATE TABLE alarms (id STRING, worker STRING, at LONG) KEY id;
CREATE QUERY unwashed ON behaviour PATTERN SEQ(EXIT x, !SANITIZE s, ENTER e)
WHERE [worker] AND 'safe' = (SELECT status FROM badge WHERE worker = e.worker)
WITHIN 9 RETURN e.worker AS who;
CREATE QUERY again ON behaviour PATTERN SEQ(EXIT x, ENTER e)
WHERE [worker] AND 'warning' = (SELECT status FROM badge WHERE worker = e.worker)
WITHIN 5 RETURN e.worker AS who;
CREATE RULE warn ON unwashed DO UPDATE badge SET status = 'warning' WHERE worker = new.who;
CREATE RULE alarm ON again THROTTLE 1 PER 3 BY who
DO INSERT INTO alarms VALUES (new.match_id, new.who, new.end_ts);
"""


def badge_rows() -> Tables:
    rng = random.Random(3)
    rows = [
        {"id": t, "worker": rng.choice("abcde"), "action": action, "room": "R", "t": t}
        for t in range(1, 90)
        for action in [rng.choice(("EXIT", "ENTER", "SANITIZE"))]
    ]
    rows.append({"id": LAST, "worker": "x", "action": "NONE", "room": "R", "t": LAST})
    return {"behaviour": rows, "badge": [{"worker": w, "status": "safe"} for w in "abcde"]}


def test_rules_act_in_batch(spark: Any) -> None:
    rows = badge_rows()
    here, there = local(BADGES, rows), batch(spark, BADGES, rows)
    for name in ("unwashed", "again", "warn", "alarm", "badge", "alarms"):
        assert listed(there.table(name)) == listed(here.table(name)) != [], name
    for name in ("badge", "alarms"):
        assert listed(there.changes(name)) == listed(here.changes(name)) != []
    assert listed(there.rejected("warn")) == []
    assert sum(each["held_back"] for each in listed(there.table("alarm"))) > 0
    assert there.table("warn", ["ts"]).columns == ["ts"]


def test_rules_act_in_a_stream(spark: Any, tmp_path: Path) -> None:
    rows = badge_rows()
    # More than Spark sends to the driver's own worker in one message.
    rows["badge"] += [{"worker": f"w{k}", "status": "safe"} for k in range(100_000)]
    here, there = local(BADGES, rows), streaming(spark, BADGES, rows, "behaviour", tmp_path)
    assert ordered(collected(there.table("alarm"), tmp_path / "a")) == listed(here.table("alarm"))
    found = ordered(collected(there.changes("badge"), tmp_path / "c"))
    assert found == listed(here.changes("badge"))


ROUTES = """
CREATE STREAM behaviour (id LONG, worker STRING, action STRING, room STRING, t LONG)
ID id KEY worker TIME t TYPE action;
CREATE TABLE routes (origin STRING, target STRING, most LONG) KEY origin, target;
CREATE TABLE floors (room STRING, floor LONG) KEY room;
CREATE TABLE visits (worker STRING, n LONG) KEY worker;
CREATE QUERY direct ON behaviour PATTERN SEQ(EXIT x, !SANITIZE s, ENTER e)
WHERE [worker] AND s.t - x.t > (SELECT floor FROM floors WHERE room = e.room)
  AND (SELECT COUNT(*) FROM floors) = 3 WITHIN 20;
CREATE QUERY never ON behaviour PATTERN SEQ(EXIT x, ENTER e)
WHERE [worker] AND (SELECT COUNT(*) FROM floors) = 2 WITHIN 20;
CREATE QUERY slow ON behaviour PATTERN SEQ(EXIT x, ENTER e)
WHERE [worker] AND 1 = (SELECT floor FROM floors WHERE room = e.room)
  AND e.t - x.t > (SELECT most FROM routes WHERE origin = x.room AND target = e.room)
USING SKIP TILL NEXT MATCH WITHIN 20;
CREATE QUERY rounds ON behaviour PATTERN SEQ(EXIT x, ENTER+ e)
WHERE [worker] AND x.t % 5 < (SELECT COUNT(*) FROM floors WHERE floor = 1)
USING PARTITION CONTIGUITY WITHIN 20 RETURN x.worker AS who;
CREATE RULE visit ON rounds DO INSERT INTO visits VALUES (new.who, 1)
ON CONFLICT DO UPDATE SET n = n + 1;
"""


def route_rows() -> Tables:
    rng = random.Random(8)
    rows = [
        {"id": t, "worker": rng.choice("abc"), "action": action, "room": rng.choice("RST"), "t": t}
        for t in range(1, 120)
        for action in [rng.choice(("EXIT", "ENTER", "SANITIZE"))]
    ]
    rows.append({"id": LAST, "worker": "a", "action": "NONE", "room": "R", "t": LAST})
    routes = [
        {"origin": a, "target": b, "most": most}
        for a, b, most in [("R", "S", 2), ("S", "R", 3), ("T", "S", 1), ("S", "S", 4)]
    ]
    floors = [{"room": room, "floor": floor} for room, floor in [("R", 1), ("S", 1), ("T", 2)]]
    return {"behaviour": rows, "routes": routes, "floors": floors}


def test_what_is_looked_up_chooses_and_runs_act_in_batch_and_in_a_stream(
    spark: Any, tmp_path: Path
) -> None:
    rows = route_rows()
    here, there = local(ROUTES, rows), batch(spark, ROUTES, rows)
    for name in ("slow", "direct", "rounds", "visit", "visits"):
        assert listed(there.table(name)) == listed(here.table(name)) != [], name
    assert listed(there.table("never")) == listed(here.table("never")) == []
    coming = streaming(spark, ROUTES, rows, "behaviour", tmp_path)
    for name in ("slow", "direct", "visit"):
        found = ordered(collected(coming.table(name), tmp_path / name))
        assert found == listed(here.table(name)), name


# Forecasts ----------------------------------------------------------------------------------------

LOGINS = """
CREATE STREAM logins (id LONG, ip STRING, kind STRING, t LONG) ID id KEY ip TIME t TYPE kind;
CREATE STREAM history (id LONG, ip STRING, kind STRING, t LONG) ID id KEY ip TIME t TYPE kind;
CREATE QUERY intrusion ON logins PATTERN SEQ(DENIED a, DENIED b, OK c) WHERE [ip] WITHIN 30;
CREATE FORECAST soon ON intrusion WITHIN 4 EVENTS USING MARKOV 1 LEARN FROM history;
CREATE FORECAST ever ON intrusion WITHIN 20 RETURN FORECAST BY TIME;
CREATE QUERY slow ON logins PATTERN SEQ(DENIED a, DENIED+ b, OK c) WHERE [ip] AND c.t > b[1].t + 3
USING SKIP TILL NEXT MATCH WITHIN 30;
CREATE FORECAST drawn ON slow WITHIN 3 EVENTS LEARN FROM history APPROXIMATE (0.2, 0.1);
"""
HEARD = (
    LOGINS
    + """
CREATE TABLE watched (ip STRING, n LONG) KEY ip;
CREATE QUERY likely ON logins PATTERN SEQ(DENIED a, OK c) WHERE [ip] RETURN PROBABILITY BY TIME;
CREATE RULE near ON soon WHEN new.forecast > 0.5
DO INSERT INTO watched VALUES (new.ip, 1) ON CONFLICT DO UPDATE SET n = n + 1;
"""
)
BY_TIME = "CREATE RULE sure ON likely WHEN new.probability > 0.9 DO DELETE FROM watched;"


def login_rows() -> Tables:
    def rows(seed: int, n: int) -> Rows:
        rng = random.Random(seed)
        kinds = ("DENIED", "DENIED", "OK", "OTHER")
        return [
            {"id": t, "ip": rng.choice("abc"), "kind": rng.choice(kinds), "t": t}
            for t in range(1, n)
        ]

    end = {"id": LAST, "ip": "z", "kind": "OTHER", "t": LAST}
    return {"logins": [*rows(1, 50), end], "history": rows(2, 80)}


def test_forecasts_are_made_in_batch(spark: Any) -> None:
    rows = login_rows()
    here, there = local(LOGINS, rows), batch(spark, LOGINS, rows)
    for name in ("soon", "ever", "drawn"):
        assert listed(there.table(name)) == listed(here.table(name)) != [], name


def test_rules_hear_forecasts_and_probabilities_by_time_in_batch(spark: Any) -> None:
    rows = login_rows()
    here, there = local(HEARD + BY_TIME, rows), batch(spark, HEARD + BY_TIME, rows)
    for name in ("near", "sure"):
        assert listed(there.table(name)) == listed(here.table(name)) != [], name
    assert listed(there.changes("watched")) == listed(here.changes("watched"))


def test_rules_hear_forecasts_and_probabilities_by_time_in_a_stream(
    spark: Any, tmp_path: Path
) -> None:
    rows, script = login_rows(), HEARD + BY_TIME
    here, there = local(script, rows), streaming(spark, script, rows, "logins", tmp_path)
    for name in ("near", "sure"):
        expected = [each for each in listed(here.table(name)) if each["ts"] != LAST]
        assert ordered(collected(there.table(name), tmp_path / name)) == expected != [], name


OVER = (
    LOGINS
    + """
CREATE QUERY rising ON soon PATTERN SEQ(soon x, soon y) WHERE y.forecast > x.forecast AND [ip]
WITHIN 4 RETURN x.forecast AS before, y.forecast AS after;
CREATE TABLE places (place STRING);
CREATE TABLE first_place (place STRING, p DOUBLE);
CREATE TABLE walks (place_from STRING, place_to STRING, p DOUBLE);
CREATE TABLE heard (place STRING, kind STRING, p DOUBLE);
CREATE MODEL building HMM
(STATES places, INITIAL first_place, TRANSITION walks, EMISSION heard);
CREATE STREAM now AS FILTER logins USING building;
CREATE QUERY coffee ON now PATTERN SEQ(now a, now b) WHERE a.place = 'A' AND b.place = 'B' AND [ip]
USING SKIP TILL NEXT MATCH WITHIN 9;
CREATE FORECAST there ON coffee WITHIN 5 USING MODEL building;
"""
)


def over_rows() -> Tables:
    both = [("A", "A"), ("A", "B"), ("B", "B"), ("B", "A")]
    kinds = (("DENIED", 0.6), ("OK", 0.3), ("OTHER", 0.2))
    return login_rows() | {
        "places": [{"place": place} for place in "AB"],
        "first_place": [{"place": "A", "p": 0.75}, {"place": "B", "p": 0.25}],
        "walks": [{"place_from": a, "place_to": b, "p": 0.5} for a, b in both],
        "heard": [
            {"place": a, "kind": k, "p": p * (a == "A") + 0.1} for a in "AB" for k, p in kinds
        ],
    }


def test_queries_over_forecasts_and_models_that_go_on_in_batch(spark: Any) -> None:
    rows = over_rows()
    here, there = local(OVER, rows), batch(spark, OVER, rows)
    for name in ("rising", "there"):
        assert listed(there.table(name)) == listed(here.table(name)) != [], name


def test_queries_over_forecasts_and_models_that_go_on_in_a_stream(
    spark: Any, tmp_path: Path
) -> None:
    rows = over_rows()
    here, there = local(OVER, rows), streaming(spark, OVER, rows, "logins", tmp_path)
    for name in ("rising", "there"):
        expected = [each for each in listed(here.table(name)) if each.get("ts", 0) != LAST]
        assert ordered(collected(there.table(name), tmp_path / name)) == expected != [], name


def test_forecasts_are_made_in_a_stream(spark: Any, tmp_path: Path) -> None:
    rows = login_rows()
    here, there = local(LOGINS, rows), streaming(spark, LOGINS, rows, "logins", tmp_path)
    for name in ("soon", "ever", "drawn"):
        expected = [each for each in listed(here.table(name)) if each["ts"] != LAST]
        assert ordered(collected(there.table(name), tmp_path / name)) == expected
