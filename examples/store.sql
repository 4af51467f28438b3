-- Shoplifting, seen by RFID readers that sometimes miss a tag.
-- A tag is read at a shelf and then at an exit, and was never read at a counter in between.

CREATE STREAM reads (
    id LONG, tag STRING, reader STRING, door STRING, at TIMESTAMP, seq LONG, p DOUBLE
)
ID id
KEY tag
TIME at ORDER BY seq
TYPE reader
PROBABILITY p
MISS RATE BY reader ('SHELF' 0.10, 'COUNTER' 0.15, 'EXIT' 0.05)
LATENESS 10 SECONDS;

-- What was taken past a customers' exit without being paid for.
CREATE QUERY shoplifting ON reads
PATTERN SEQ(SHELF x, !COUNTER y, EXIT z)
WHERE [tag] AND z.door <> 'staff'
WITHIN 12 HOURS
ALLOW 1 MISSED OF (x)
HAVING CONFIDENCE >= 0.8
RETURN z.tag AS tag, x.at AS taken, z.at AS gone;

-- How long people take: needed to judge reads that were missed.
CREATE GAPS store_gaps ON shoplifting (
    x TO y EXPONENTIAL(20 MINUTES) REACHES 0.9,
    x TO z LOGNORMAL(30 MINUTES, 0.5),
    x BEFORE z EXPONENTIAL(40 MINUTES) REACHES 0.95
);

-- The same tag leaves twice within a week: a query over a query.
CREATE QUERY repeated ON shoplifting
PATTERN SEQ(shoplifting one, shoplifting two)
WHERE [tag]
WITHIN 7 DAYS
HAVING CONFIDENCE >= 0.9
RETURN two.tag AS tag, two.gone - one.gone AS apart;

-- How likely is any theft at all, hour by hour?
CREATE QUERY theft_rate ON reads
PATTERN SEQ(SHELF x, !COUNTER y, EXIT z)
WHERE [tag] AND z.door <> 'staff'
WITHIN 12 HOURS EVERY 1 HOUR
RETURN PROBABILITY;
