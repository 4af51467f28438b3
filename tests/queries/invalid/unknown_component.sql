CREATE STREAM reads (id LONG, tag STRING, reader STRING, door STRING, price DOUBLE, at TIMESTAMP, seq LONG, p DOUBLE)
ID id KEY tag TIME at ORDER BY seq TYPE reader PROBABILITY p;
CREATE QUERY q ON reads
PATTERN SEQ(SHELF shelf, EXIT exit)
WHERE shelf.tag = exit.tag AND shlf.price > 3 AND w.tag = exit.tag
WITHIN 1 HOUR;
