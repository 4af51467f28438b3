-- The queries of the language reference.
CREATE STREAM reads (
    id LONG, tag STRING, reader STRING, door STRING, at TIMESTAMP, seq LONG, p DOUBLE
)
ID id KEY tag TIME at ORDER BY seq TYPE reader PROBABILITY p
MISS RATE BY reader ('SHELF' 0.10, 'COUNTER' 0.25, 'EXIT' 0.05);

CREATE QUERY shoplifting ON reads
PATTERN SEQ(SHELF x, !COUNTER y, EXIT z)
WHERE [tag] AND z.door <> 'staff'
USING SKIP TILL ANY MATCH        -- the default; or SKIP TILL NEXT MATCH, STRICT, PARTITION CONTIGUITY
WITHIN 12 HOURS                  -- or: 100 EVENTS; a bare number of ticks where TIME is a LONG
ALLOW 1 MISSED                   -- how many positive components may be missed reads; default 0
HAVING CONFIDENCE >= 0.8         -- strict > also; CONF(*) and THRESHOLD 0.8 are accepted spellings
RETURN z.tag AS tag, x.at AS taken, z.at AS gone;

CREATE GAPS store_gaps ON shoplifting LEARN FROM history;

CREATE STREAM history (
    id LONG, tag STRING, reader STRING, door STRING, at TIMESTAMP, seq LONG, p DOUBLE
)
ID id KEY tag TIME at ORDER BY seq TYPE reader PROBABILITY p;

CREATE GAPS given_gaps ON shoplifting (
    x TO y EXPONENTIAL(20 MINUTES) REACHES 0.9,
    x TO z LOGNORMAL(30 MINUTES, 0.5),
    x BEFORE z EXPONENTIAL(40 MINUTES) REACHES 0.95);

CREATE STREAM at (person STRING, place STRING, t LONG, p DOUBLE)
KEY person TIME t ALTERNATIVES place PROBABILITY p;
CREATE TABLE coffee_room (place STRING);

CREATE QUERY coffee ON at
PATTERN SEQ(at o, at c, at b)
WHERE [person] AND o.place = '220' AND c.place IN coffee_room AND b.place = '220'
USING SKIP TILL NEXT MATCH
RETURN PROBABILITY BY TIME;

CREATE STREAM o (id LONG, type STRING, location STRING, at TIMESTAMP, p DOUBLE)
ID id TIME at PROBABILITY p;
CREATE STREAM x (id LONG, location STRING, at TIMESTAMP, p DOUBLE)
ID id TIME at PROBABILITY p;

CREATE QUERY overspeed_accident ON o, x
PATTERN AND(o, x)
WHERE o.location = x.location
WITHIN 12 HOURS EVERY 1 HOUR
GROUP BY o.type
RETURN PROBABILITY;

CREATE QUERY filtered ON at
PATTERN SEQ(at a, at c (c.place = 'b'))
WHERE a.place = 'a'
USING SKIP TILL NEXT MATCH
RETURN PROBABILITY BY TIME;

CREATE QUERY chosen ON at
PATTERN SEQ(at a, at c)
WHERE a.place = 'a'
AFTER WHERE c.place = 'b'
USING SKIP TILL NEXT MATCH
RETURN PROBABILITY BY TIME;

EXPLAIN shoplifting;
EXPLAIN shoplifting FORMAT svg;
EXPLAIN coffee FORMAT json;
EXPLAIN coffee FORMAT mermaid;

WRITE shoplifting TO parquet 'hits/';
WRITE shoplifting TO console;
WRITE shoplifting TO kafka 'alarms' OPTIONS (servers = 'localhost:9092', kafka.compression.type = 'lz4');
