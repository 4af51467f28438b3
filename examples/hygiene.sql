-- Hand hygiene in a hospital: badge readers at doors and sanitizers.

CREATE STREAM behaviour (
    worker STRING, action STRING, room STRING, at TIMESTAMP, seq LONG, p DOUBLE
)
KEY worker
TIME at ORDER BY seq
TYPE action
PROBABILITY p;

-- From one patient's room to another's without cleaning hands.
CREATE QUERY violation ON behaviour
PATTERN SEQ(EXIT x, !SANITIZE s, ENTER e)
WHERE [worker] AND x.room <> e.room
WITHIN 45 SECONDS
HAVING CONFIDENCE >= 0.7
RETURN e.worker AS worker, x.room AS from_room, e.room AS to_room;

-- Entered and left again, and no mask was put on in all that time.
CREATE QUERY unmasked ON behaviour
PATTERN SEQ(ENTER e, !MASK m, EXIT x)
WHERE [worker] AND e.room = x.room
USING SKIP TILL NEXT MATCH
WITHIN 1 HOUR
RETURN x.worker AS worker, x.room AS room, x.at - e.at AS stay;

-- A worker who goes on after the first violation.
CREATE QUERY spree ON violation
PATTERN SEQ(violation+ v)
WHERE [worker] AND COUNT(v) >= 3
USING SKIP TILL NEXT MATCH
WITHIN 1 HOUR
RETURN LAST(v).worker AS worker, COUNT(v) AS violations;

-- The badge turns yellow at the first violation, and green again when hands are cleaned; who enters with a yellow
-- badge is an alarm.
CREATE TABLE badges (worker STRING, colour STRING) KEY worker;
CREATE TABLE alarms (id STRING, worker STRING, at TIMESTAMP) KEY id;

CREATE QUERY cleaned ON behaviour PATTERN SEQ(SANITIZE c) WHERE [worker] WITHIN 1 SECOND;

CREATE QUERY warned ON behaviour
PATTERN SEQ(ENTER e)
WHERE [worker] AND 'yellow' = (SELECT colour FROM badges WHERE worker = e.worker)
WITHIN 1 SECOND;

CREATE RULE turn_yellow ON violation WHEN new.confidence >= 0.8
DO INSERT INTO badges VALUES (new.worker, 'yellow') ON CONFLICT DO UPDATE;

CREATE RULE turn_green ON cleaned DO UPDATE badges SET colour = 'green' WHERE worker = new.worker;

CREATE RULE alarm ON warned DO INSERT INTO alarms VALUES (new.match_id, new.worker, new.end_ts);
