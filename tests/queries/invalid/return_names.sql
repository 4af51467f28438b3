CREATE STREAM reads (id LONG, tag STRING, reader STRING, door STRING, price DOUBLE, at TIMESTAMP, seq LONG, p DOUBLE)
ID id KEY tag TIME at ORDER BY seq TYPE reader PROBABILITY p;
CREATE QUERY q ON reads
PATTERN SEQ(SHELF a, EXIT b)
WHERE [tag]
WITHIN 1 HOUR
RETURN a.door AS gate, b.door AS Gate, a.at AS start_ts, a.door AS tag;
