CREATE STREAM s (id LONG, kind STRING, t LONG) ID id TIME t TYPE kind;
CREATE QUERY many ON s PATTERN SEQ(A a, B+ b) WITHIN 9;
CREATE QUERY plain ON s PATTERN SEQ(A a, B b) WITHIN 9;
WRITE many_without_b TO parquet 'lost/';
WRITE plain_without_c TO parquet 'others/';
EXPLAIN plain_without_b;
