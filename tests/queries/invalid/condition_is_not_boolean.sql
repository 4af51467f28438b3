CREATE STREAM reads (id LONG, tag STRING, reader STRING, door STRING, price DOUBLE, at TIMESTAMP, seq LONG, p DOUBLE)
ID id KEY tag TIME at ORDER BY seq TYPE reader PROBABILITY p;
CREATE QUERY q ON reads
PATTERN SEQ(SHELF a, EXIT b)
WHERE a.price AND NOT b.tag AND (a.price + 1 OR b.price > 2)
WITHIN 1 HOUR;
