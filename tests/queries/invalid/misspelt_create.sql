-- What a misspelt CREATE would have declared is not called unknown: one mistake, one finding.
CRAETE STREAM s (id LONG, who STRING, kind STRING, t LONG) ID id KEY who TIME t TYPE kind;
CRETE TABLE done (who STRING) KEY who;
CREATE QUERY ab ON s PATTERN SEQ(A a, B b) WHERE [who] WITHIN 10;
CREATE STREAM x (id LONG, kind STRING, t LONG) ID id TIME t TYPE kind;
CREATR QUERY xy ON x PATTERN SEQ(A a, B b) WITHIN 10;
CREATE QUERY xz ON x PATTERN SEQ(A a, C c) WHERE a.kind IN done WITHIN 10;
CREATE RULE r ON OUTPUT xy DO INSERT INTO done VALUES ('a');
CREATE FORECAST f ON xy WITHIN 5 EVENTS USING MARKOV 1 LEARN FROM s;
EXPLAIN xy;
