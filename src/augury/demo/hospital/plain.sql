-- The same question of events whose owners are taken for known.
CREATE STREAM seen (id LONG, corridor STRING, person STRING, action STRING, room STRING, at TIMESTAMP)
ID id KEY corridor, person TIME at TYPE action;

CREATE QUERY contact ON seen
PATTERN SEQ(EXIT x, !SANITIZE s, ENTER e)
WHERE [corridor] AND [person] AND x.room <> e.room WITHIN 45 SECONDS
RETURN e.person AS person, e.room AS room;
