CREATE STREAM reads (id LONG, tag STRING, reader STRING, door STRING, price DOUBLE, at TIMESTAMP, seq LONG, p DOUBLE)
ID id KEY tag TIME at ORDER BY seq TYPE reader PROBABILITY p MISS RATE 0.1;
CREATE TABLE badges (tag STRING, colour STRING, n LONG) KEY tag;
CREATE QUERY wrong ON reads
PATTERN SEQ(SHELF a (a.price > (SELECT n FROM badges)), !COUNTER c, EXIT+ b)
WHERE 'red' = (SELECT colour FROM badges WHERE tag = c.tag)
  AND 'red' = (SELECT colour FROM badges WHERE tag = b.tag)
  AND 1 = (SELECT n FROM badges WHERE n = SUM(b.price))
  AND 1 = (SELECT m FROM badges) AND 1 < (SELECT SUM(colour) FROM badges)
  AND 1 = (SELECT n FROM badge) AND 1 = (SELECT n FROM badges WHERE n = (SELECT n FROM badges))
WITHIN 1 HOUR
RETURN (SELECT COUNT(*) FROM badges) AS n;
CREATE QUERY missed ON reads
PATTERN SEQ(SHELF a, EXIT b)
WHERE [tag] AND 'red' = (SELECT colour FROM badges WHERE tag = a.tag)
WITHIN 1 HOUR ALLOW 1 MISSED;
CREATE QUERY fine ON reads
PATTERN SEQ(SHELF a, !EXIT b)
WHERE [tag] AND 'red' = (SELECT colour FROM badges WHERE tag = a.tag)
WITHIN 10 EVENTS;
CREATE STORE ward AT 'sqlite:///ward.db';
CREATE TABLE kept (tag STRING, colour STRING) KEY tag STORE ward;
CREATE QUERY lost ON reads
PATTERN SEQ(SHELF a, !EXIT b)
WHERE [tag] AND 'red' = (SELECT colour FROM kept WHERE tag = a.tag)
WITHIN 10 EVENTS;
