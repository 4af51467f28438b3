CREATE STREAM reads (id LONG, tag STRING, reader STRING, door STRING, price DOUBLE, at TIMESTAMP, seq LONG, p DOUBLE)
ID id KEY tag TIME at ORDER BY seq TYPE reader PROBABILITY p;
CREATE QUERY q ON reads
PATTERN SEQ(SHELF+ a, !COUNTER y, EXIT b)
WITHIN 1 HOUR
RETURN a.door, y.tag, a[i].tag, LAST(a).tag, door, b.dooor;
