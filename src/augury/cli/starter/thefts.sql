-- Tags that were read at a shelf and then at the exit, and at no counter in between. `p` is how sure a reader is.
CREATE STREAM reads (tag STRING, reader STRING, at TIMESTAMP, p DOUBLE)
KEY tag TIME at TYPE reader PROBABILITY p
FROM csv 'reads.csv' OPTIONS (header = 'true');

CREATE QUERY theft ON reads
PATTERN SEQ(SHELF x, !COUNTER y, EXIT z)
WHERE [tag]
WITHIN 12 HOURS
HAVING CONFIDENCE >= 0.5
RETURN x.at AS taken, z.at AS gone;
