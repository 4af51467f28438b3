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
