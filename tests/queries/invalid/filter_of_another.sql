CREATE STREAM reads (id LONG, tag STRING, reader STRING, door STRING, price DOUBLE, at TIMESTAMP, seq LONG, p DOUBLE)
ID id KEY tag TIME at ORDER BY seq TYPE reader PROBABILITY p;
CREATE QUERY q ON reads PATTERN SEQ(A a, B b (a.price > 3)) WITHIN 1 HOUR;
