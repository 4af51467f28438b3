CREATE TABLE done (who STRING) KEY who;
CREATE TABLE staff (person STRING, room STRING);
CREATE STREAM s (id LONG, who STRING, kind STRING, t LONG) ID id KEY who TIME t TYPE kind;
CREATE STREAM doors (id LONG, person STRING, action STRING, room STRING, t LONG)
ID id TIME t TYPE action;
CREATE QUERY ab ON s PATTERN SEQ(A a, B b) WHERE [who] WITHIN 10;
CREATE FORECAST f ON ab WITHIN 5 EVENTS USING MARKOV 1 LEARN FROM s;
CREATE RULE r ON OUTPUT ab DO INSERT INTO done VALUES (new.who);
CREATE MODEL ward MOVES (OBJECTS staff, OWNER person, PLACE room, ENTER 'IN', EXIT 'OUT', HALL 'H');
-- A query is needed, and each of these is something else.
EXPLAIN r;
EXPLAIN done;
WRITE f TO json 'x';
CREATE GAPS g ON s (a TO b EXPONENTIAL(3));
CREATE FORECAST of_a_rule ON r WITHIN 5 EVENTS USING MARKOV 1 LEARN FROM s;
CREATE RULE on_a_table ON OUTPUT done DO INSERT INTO done VALUES ('a');
CREATE RULE on_what_comes ON OUTPUT later DO INSERT INTO done VALUES ('a');
CREATE POLICY of_other_things ON s PUBLIC f PRIVATE doors USING GREEDY;
-- A stream, a table, a model, a store.
CREATE QUERY over_a_model ON ward PATTERN SEQ(A a, B b) WITHIN 3;
CREATE QUERY among_matches ON s PATTERN SEQ(A a, B b) WHERE a.who IN ab WITHIN 3;
CREATE STREAM owned AS IDENTIFY doors USING staff WITHIN 3 REVISE ANY;
CREATE MODEL nowhere MOVES (OBJECTS s, OWNER person, PLACE room, ENTER 'IN', EXIT 'OUT', HALL 'H');
CREATE POLICY before_a_query ON ab PUBLIC ab PRIVATE ab USING GREEDY;
CREATE TABLE kept (who STRING) KEY who STORE done;
CREATE QUERY later ON s PATTERN SEQ(A a, B b) WITHIN 3;
EXPLAIN later;
