CREATE STREAM reads (id LONG, tag STRING, reader STRING, door STRING, price DOUBLE, at TIMESTAMP, seq LONG, p DOUBLE)
ID id KEY tag TIME at ORDER BY seq TYPE reader PROBABILITY p;
CREATE QUERY q ON raeds
PATTERN SEQ(A a, B b)
WHERE a.anything = b.whatever WITHIN 1 HOUR;
