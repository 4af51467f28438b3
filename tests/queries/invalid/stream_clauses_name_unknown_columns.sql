CREATE STREAM reads (id LONG, tag STRING, reader STRING, at TIMESTAMP, seq LONG, p DOUBLE)
ID ident
KEY (tag, doors)
TIME att
ORDER BY sec
TYPE raeder
PROBABILITY pp
MISS RATE BY readr ('A' 0.1);
