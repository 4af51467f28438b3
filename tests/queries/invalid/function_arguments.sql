CREATE STREAM reads (id LONG, tag STRING, reader STRING, door STRING, price DOUBLE, at TIMESTAMP, seq LONG, p DOUBLE)
ID id KEY tag TIME at ORDER BY seq TYPE reader PROBABILITY p;
CREATE QUERY q ON reads
PATTERN SEQ(SHELF a, EXIT b)
WHERE ABS(a.tag) > 1 AND LOWER(a.tag, 'x') = 'y' AND COALESCE(a.price, a.tag) = 1
WITHIN 1 HOUR;
