CREATE STREAM s (id LONG, tag STRING, kind STRING, t LONG, price DOUBLE) ID id KEY tag TIME t TYPE kind;
CREATE QUERY passing ON s PATTERN SEQ(A a, B+ b UNTIL (b.price > 3)) WITHIN 9;
CREATE QUERY lazily ON s PATTERN SEQ(A a, B+? b) WITHIN 9;
