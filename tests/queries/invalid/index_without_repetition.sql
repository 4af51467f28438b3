CREATE STREAM reads (id LONG, tag STRING, reader STRING, door STRING, price DOUBLE, at TIMESTAMP, seq LONG, p DOUBLE)
ID id KEY tag TIME at ORDER BY seq TYPE reader PROBABILITY p;
CREATE QUERY q ON reads
PATTERN SEQ(SHELF a, EXIT+ b, EXIT{2} c)
WHERE a[1].price > 3 AND LAST(a).price > 2 AND b[0].price > 1 AND c[3].price > 1
WITHIN 1 HOUR;
