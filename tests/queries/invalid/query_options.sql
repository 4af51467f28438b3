CREATE STREAM reads (id LONG, tag STRING, reader STRING, door STRING, price DOUBLE, at TIMESTAMP, seq LONG, p DOUBLE)
ID id KEY tag TIME at ORDER BY seq TYPE reader PROBABILITY p;
CREATE QUERY q ON reads PATTERN SEQ(A a, B b) WITHIN 1 HOUR
OPTIONS (partitions = 8, Partitions = 9, movment = 'key', seed = 7);
