CREATE STREAM reads (id LONG, tag STRNG, at TIMESTAMP, p LONG)
KEY tags TIME at PROBABILITY p;
CREATE STREAM exits (id LONG, tag STRING, door STRING, at TIMESTAMP)
KEY tag TIME at;
CREATE QUERY broken_stream ON reads
PATTERN SEQ(A a, B b) WHERE a.anything = 3 WITHIN 1 HOUR;
CREATE QUERY several ON exits
PATTERN SEQ(exits a, exits+ b)
WHERE a.dor = 'x' AND b.tag > 3 AND [colour] AND c.tag = a.tag
WITHIN 5
HAVING PROBABILITY >= 2;
CREATE QUERY fine ON exits
PATTERN SEQ(exits a, exits b) WHERE [tag] WITHIN 1 HOUR
RETURN b.door AS door;
CREATE QUERY on_broken ON several
PATTERN SEQ(several s, several t) WHERE s.what = t.what WITHIN 1 HOUR;
CREATE QUERY on_fine ON fine
PATTERN SEQ(fine f, fine g) WHERE f.dor = g.door AND [tag] WITHIN 1 HOUR;
