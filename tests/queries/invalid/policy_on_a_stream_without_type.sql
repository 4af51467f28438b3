CREATE STREAM places (person STRING, place STRING, t LONG) KEY person TIME t;
CREATE QUERY there ON places PATTERN SEQ(places a, places b) WITHIN 5;
CREATE POLICY discreet ON places PRIVATE there USING GREEDY;
CREATE STREAM kept AS SUPPRESS places USING other;
