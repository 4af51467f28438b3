CREATE STREAM reads (id LONG, tag STRING, reader STRING, door STRING, price DOUBLE, at TIMESTAMP, seq LONG, p DOUBLE)
ID id KEY tag TIME at ORDER BY seq TYPE reader PROBABILITY p;
CREATE QUERY pairs ON reads
PATTERN SEQ(A a, B b) WHERE [tag]
WITHIN 1 HOUR
RETURN b.door AS gate;
CREATE QUERY q ON pairs, reads
PATTERN SEQ(pairs x, EXIT y)
WHERE [tag] AND x.gat = y.door AND x.start_ts < y.at AND x.door = 'd'
WITHIN 1 HOUR;
