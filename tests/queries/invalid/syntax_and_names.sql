CREATE STREAM reads (id LONG, tag STRING, at TIMESTAMP) KEY tag TIME at;
CREATE QUERY first ON reads WITHIN 1 HOUR;
CREATE QUERY second ON reads PATTERN SEQ(reads a, reads b) WHERE a.tg = b.tag WITHIN 1 HOUR;
CREATE QUERY third ON first PATTERN SEQ(first a, first b) WITHIN 1 HOUR;
EXPLAIN first;
EXPLAIN secnd;
