-- DPCEP's queries in its own spelling, and the examples that are built on them.
CREATE STREAM events (id LONG, kind STRING, location STRING, type STRING, vehicle LONG, at TIMESTAMP, p DOUBLE)
ID id TIME at TYPE kind PROBABILITY p;
CREATE TABLE moves (event LONG, previous LONG, p DOUBLE);

EVENT AND (O o,(SEQ(A a, B b, D d)))
WHERE a.vehicle = b.vehicle ∧ b.vehicle = d.vehicle ∧ o.vehicle = d.vehicle
WITHIN 12 hours
HAVING CONF(*) > 0.8.;

EVENT AND(O, X)
WHERE O.location = X.location
WITHIN 12 hours.;

EVENT AND(O, X)
WHERE O.location = X.location
WITHIN 12 hours;
GROUP BY O.type.;

CREATE QUERY in_sequence ON events PATTERN SEQ(A, B, D);
CREATE QUERY likely ON events PATTERN SEQ(A a, B b, D d) HAVING CONFIDENCE >= 0.3;
CREATE QUERY correlated ON events PATTERN SEQ(A a, B b, D d) CORRELATED BY moves;
CREATE QUERY next_match ON events PATTERN SEQ(A a, B b, D d) USING SKIP TILL NEXT MATCH;
CREATE QUERY without ON events PATTERN SEQ(A a, !C c, D d);
CREATE QUERY at_least_one ON events PATTERN SEQ(A, B, D) RETURN PROBABILITY;
CREATE QUERY both ON events PATTERN AND(O o, X x) WHERE o.location = x.location RETURN PROBABILITY;
CREATE QUERY ranked ON events PATTERN AND(O o, X x) WHERE o.location = x.location
GROUP BY o.type RETURN PROBABILITY;
CREATE QUERY followed ON events PATTERN SEQ(A, B);
CREATE QUERY not_followed ON events, followed PATTERN SEQ(X, !followed, Y) WITHIN 12 HOURS;
CREATE QUERY then_followed ON events, followed PATTERN SEQ(X, followed) USING SKIP TILL NEXT MATCH;
CREATE QUERY run ON events PATTERN SEQ(A, B+ b, C c) USING SKIP TILL NEXT MATCH WITHIN 1 day;
CREATE QUERY two_runs ON events PATTERN SEQ(B+ b, B+ c) WITHIN 1 day;
CREATE QUERY choice ON events PATTERN SEQ(A, OR(B b, C c), D) USING SKIP TILL NEXT MATCH;
CREATE QUERY two_events ON events PATTERN SEQ(A, B) WITHIN 2 EVENTS;
CREATE QUERY latest ON events PATTERN SEQ(LAST(A a), B) WITHIN 1 day;
CREATE QUERY run_then_one ON events PATTERN SEQ(A, B+ b, B c) USING SKIP TILL NEXT MATCH WITHIN 1 day;
CREATE QUERY strict_run ON events PATTERN SEQ(A, B+ b) USING STRICT WITHIN 1 day;
CREATE QUERY led ON events PATTERN SEQ(A, C) WITHIN 1 day;
CREATE QUERY sharing ON followed, led PATTERN AND(followed, led) WITHIN 1 day;
