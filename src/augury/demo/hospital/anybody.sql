-- The same question, where an event without an owner may be anybody's: whoever was read beside it is accused.
CREATE STREAM seen (id LONG, corridor STRING, person STRING, action STRING, room STRING, at TIMESTAMP)
ID id KEY corridor TIME at TYPE action;

CREATE QUERY contact ON seen
PATTERN SEQ(EXIT x, !SANITIZE s, ENTER e)
WHERE [corridor] AND x.room <> e.room
  AND COALESCE(x.person, e.person) = COALESCE(e.person, x.person)
  AND s.person = COALESCE(e.person, x.person)
WITHIN 45 SECONDS
RETURN COALESCE(e.person, x.person) AS person, e.room AS room;
