-- Who got coffee? Positions in a building are inferred from readings, so each is a distribution
-- over places, and a person's place at one step depends on the place at the step before.

CREATE STREAM moves (person STRING, t LONG, place_from STRING, place_to STRING, p DOUBLE)
KEY person TIME t
PROBABILITY p;

CREATE STREAM at (person STRING, place STRING, t LONG, p DOUBLE)
KEY person
TIME t
ALTERNATIVES place PROBABILITY p
MARKOV moves;

CREATE TABLE coffee_room (place STRING);
CREATE TABLE hallway (place STRING);
CREATE TABLE office (person STRING, place STRING);

-- Joe left room 220, was next seen in a coffee room, and came back.
CREATE QUERY joe_coffee ON at
PATTERN SEQ(at o, at c, at b)
WHERE o.person = 'Joe' AND c.person = 'Joe' AND b.person = 'Joe'
  AND o.place = '220' AND c.place IN coffee_room AND b.place = '220'
USING SKIP TILL NEXT MATCH
RETURN PROBABILITY BY TIME;

-- Anyone went from their own office through hallways only to a coffee room.
CREATE QUERY any_coffee ON at
PATTERN SEQ(at o, at+ h, at c)
WHERE [person] AND (o.person, o.place) IN office AND c.place IN coffee_room
AFTER WHERE h.place IN hallway
USING SKIP TILL NEXT MATCH
RETURN PROBABILITY BY TIME;

-- The same walk in Lahar's own spelling: from a, through hallways, to c.
CREATE QUERY joe_hall ON at
AS At('Joe', 'a'); At('Joe', l)+<{}, hallway(l)>; At('Joe', 'c')
RETURN PROBABILITY BY TIME;
