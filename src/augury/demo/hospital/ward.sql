-- Who is on the ward, and what the readers at doors and dispensers tell. A person is NULL where no badge was read.
CREATE TABLE staff (corridor STRING, person STRING, room STRING);
CREATE TABLE contagious (room STRING);
CREATE STREAM doors (id LONG, corridor STRING, person STRING, action STRING, room STRING, at TIMESTAMP)
ID id TIME at TYPE action;

-- Who it may have been: everybody is in one place of a corridor, and goes through its hall.
CREATE MODEL ward MOVES (OBJECTS staff, OWNER person, PLACE room, ENTER 'ENTER', EXIT 'EXIT', HALL 'H', BY corridor);
CREATE STREAM known AS IDENTIFY doors USING ward WITHIN 5 MINUTES REVISE ANY;

-- From one patient to another with unclean hands; and in a contagious room without a mask.
CREATE QUERY contact ON known
PATTERN SEQ(EXIT x, !SANITIZE s, ENTER e)
WHERE [corridor] AND [person] AND x.room <> e.room WITHIN 45 SECONDS
RETURN e.person AS person, e.room AS room;

CREATE QUERY unmasked ON known
PATTERN SEQ(ENTER e, !MASK m, EXIT x)
WHERE [corridor] AND [person] AND e.room = x.room AND e.room IN contagious
USING SKIP TILL NEXT MATCH WITHIN 60 SECONDS
RETURN x.person AS person, x.room AS room;

-- The badge: green (no row), yellow after the first contact, red after the next one, green again with clean hands.
-- Its KEY begins with the corridor, as all that is asked does: corridors can go to different machines.
CREATE TABLE badges (corridor STRING, person STRING, state STRING) KEY corridor, person;
CREATE TABLE alarms (id STRING, person STRING, room STRING, at TIMESTAMP) KEY id;
CREATE QUERY cleaned ON known PATTERN SANITIZE s WITHIN 1 SECOND RETURN s.person AS person;

CREATE QUERY again ON known
PATTERN SEQ(EXIT x, !SANITIZE s, ENTER e)
WHERE [corridor] AND [person] AND x.room <> e.room
  AND (SELECT state FROM badges WHERE corridor = e.corridor AND person = e.person) IN ('warning', 'violation')
WITHIN 45 SECONDS
RETURN e.person AS person, e.room AS room;

CREATE RULE safe ON cleaned WHEN new.confidence >= 0.5
DO DELETE FROM badges WHERE corridor = new.corridor AND person = new.person;
CREATE RULE warn ON contact WHEN new.confidence >= 0.8
DO INSERT INTO badges VALUES (new.corridor, new.person, 'warning') ON CONFLICT DO NOTHING;
CREATE RULE alarm ON again WHEN new.confidence >= 0.8
BEGIN
    INSERT INTO badges VALUES (new.corridor, new.person, 'violation') ON CONFLICT DO UPDATE;
    INSERT INTO alarms VALUES (new.match_id, new.person, new.room, new.end_ts);
END;
CREATE RULE mask ON unmasked AFTER REVISIONS WHEN new.confidence >= 0.8
BEGIN
    INSERT INTO badges VALUES (new.corridor, new.person, 'violation') ON CONFLICT DO UPDATE;
    INSERT INTO alarms VALUES (new.match_id, new.person, new.room, new.end_ts);
END;

-- What is published: washing is shown, but not who washes again and again, nor who washes after the psychiatrist.
CREATE QUERY washed ON known PATTERN SEQ(WASH w, EXIT x) WHERE [corridor] AND [person] AND w.room = x.room WITHIN 1 MINUTE;
CREATE QUERY scrubs ON known PATTERN SEQ(WASH v, WASH w) WHERE [corridor] AND [person] WITHIN 20 MINUTES;
CREATE QUERY therapy ON known PATTERN SEQ(EXIT x, WASH w) WHERE [corridor] AND [person] AND x.room = 'R6' WITHIN 15 MINUTES;
CREATE POLICY discreet ON known PUBLIC washed WEIGHT 2 PRIVATE scrubs, therapy USING GREEDY;
CREATE STREAM published AS SUPPRESS known USING discreet;

-- Who may do it next: of badges that were read alone, since a forecast cannot follow every world of owners. They come from
-- a place of their own: where the doors come from, nobody but the policy reads.
CREATE STREAM seen (id LONG, corridor STRING, person STRING, action STRING, room STRING, at TIMESTAMP)
ID id KEY corridor, person TIME at TYPE action;
CREATE QUERY near ON seen
PATTERN SEQ(EXIT x, !SANITIZE s, ENTER e)
WHERE [corridor] AND [person] AND x.room <> e.room WITHIN 45 SECONDS;
CREATE FORECAST soon ON near WITHIN 2 EVENTS LEARN ONLINE;
