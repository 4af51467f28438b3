CREATE STREAM reads (id LONG, tag STRING, reader STRING, door STRING, price DOUBLE, at TIMESTAMP, seq LONG, p DOUBLE)
ID id KEY tag TIME at ORDER BY seq TYPE reader PROBABILITY p;
CREATE QUERY q ON reads
PATTERN SEQ(SHELF a, EXIT b)
WHERE a.at + b.at > 3 AND b.at - a.at < 300 AND a.tag * 2 = 4 AND -a.tag = 'x'
WITHIN 1 HOUR;
