-- Every form of a scalar expression.
CREATE STREAM s (id LONG, name STRING, at TIMESTAMP, price DOUBLE, volume LONG, open BOOLEAN)
ID id TIME at;
CREATE TABLE worker_status (status STRING, id LONG);

CREATE QUERY arithmetic ON s PATTERN SEQ(s a, s b)
WHERE a.price + b.price * 2 - -3 > a.volume / 4 % 5 AND -(a.price - b.price) < 1.5e3 AND a.name || 'x' = 'yx';
CREATE QUERY logic ON s PATTERN SEQ(s a, s b)
WHERE NOT a.open AND (a.price = 1 OR b.price <> 2 AND b.open) OR a.name IS NULL AND b.name IS NOT NULL;
CREATE QUERY ranges ON s PATTERN SEQ(s a, s b)
WHERE a.price BETWEEN 1 AND b.price + 1 AND a.price NOT BETWEEN -5 AND -1
  AND a.name IN ('x', 'it''s') AND b.name NOT IN ('z') AND a.name LIKE 'a%' AND b.name NOT LIKE '%b';
CREATE QUERY functions ON s PATTERN SEQ(s a, s b)
WHERE ABS(a.price) > 1 AND LOWER(a.name) = 'x' AND CAST(a.volume AS DOUBLE) > b.price
  AND CASE WHEN a.price > 1 THEN 'high' WHEN a.price > 0 THEN 'low' ELSE 'none' END = b.name
  AND CASE WHEN a.open THEN TRUE END;
CREATE QUERY instants ON s PATTERN SEQ(s a, s b)
WHERE b.at - a.at < INTERVAL 5 MINUTES AND a.at > TIMESTAMP '2026-01-01 00:00:00' AND a.at < DATE '2027-01-01'
  AND b.at < a.at + INTERVAL '5' MINUTE AND b.at < a.at + INTERVAL '2 hours' AND b.at < a.at + INTERVAL 1.5 h;
CREATE QUERY status ON s PATTERN SEQ(s a, s b)
WHERE ('safe', b.id) IN worker_status AND a.id[b.id] = b.id[a.id];
