-- Each read, with how likely the tag was really there.
CREATE STREAM reads (
    id LONG, tag STRING, reader STRING, door STRING,
    at TIMESTAMP, p DOUBLE
)
ID id KEY tag TIME at TYPE reader PROBABILITY p;

-- Taken from a shelf, carried out of a customers' door,
-- and never at a counter in between.
CREATE QUERY shoplifting ON reads
PATTERN SEQ(SHELF x, !COUNTER y, EXIT z)
WHERE [tag] AND z.door <> 'staff'
WITHIN 12 HOURS
HAVING CONFIDENCE >= 0.1
RETURN z.tag AS item, x.at AS taken, z.at AS gone;

-- The same reads without their probabilities, as engines that know no doubt take them.
CREATE STREAM believed (
    id LONG, tag STRING, reader STRING, door STRING,
    at TIMESTAMP, p DOUBLE
)
ID id KEY tag TIME at TYPE reader;

-- Every read is believed.
CREATE QUERY every_read ON believed
PATTERN SEQ(SHELF x, !COUNTER y, EXIT z)
WHERE [tag] AND z.door <> 'staff'
WITHIN 12 HOURS;

-- Reads that are more likely than not are believed, others are dropped.
CREATE QUERY likely_reads ON believed
PATTERN SEQ(SHELF x, !COUNTER y, EXIT z)
WHERE [tag] AND z.door <> 'staff' AND x.p >= 0.5 AND y.p >= 0.5 AND z.p >= 0.5
WITHIN 12 HOURS;
