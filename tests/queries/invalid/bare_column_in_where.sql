CREATE STREAM reads (id LONG, tag STRING, reader STRING, door STRING, price DOUBLE, at TIMESTAMP, seq LONG, p DOUBLE)
ID id KEY tag TIME at ORDER BY seq TYPE reader PROBABILITY p;
CREATE QUERY q ON reads
PATTERN SEQ(SHELF a, EXIT b)
WHERE price > 3 AND staff = 'x' AND a = 'y'
WITHIN 1 HOUR;
