-- What readers heard: every read is right, many are missing.
CREATE STREAM heard (
    id LONG, tag STRING, reader STRING, at TIMESTAMP
)
ID id KEY tag TIME at TYPE reader
MISS RATE BY reader (
    'SHELF' 0.25, 'COUNTER' 0.08, 'EXIT' 0.15
);

-- Taken from a shelf, carried out, and at no counter
-- in between; the shelf may have missed it.
CREATE QUERY unpaid ON heard
PATTERN SEQ(SHELF x, !COUNTER y, EXIT z)
WHERE [tag]
WITHIN 3 HOURS
ALLOW 1 MISSED OF (x)
HAVING CONFIDENCE >= 0.1;

-- How shoppers behave, as the store has learned it.
CREATE GAPS habits ON unpaid (
    x TO y LOGNORMAL(8 MINUTES, 0.5) REACHES 0.93,
    x BEFORE z GAMMA(25 MINUTES, 3)
);

-- The same question, put to the reads alone.
CREATE QUERY plain ON heard
PATTERN SEQ(SHELF x, !COUNTER y, EXIT z)
WHERE [tag]
WITHIN 3 HOURS;
