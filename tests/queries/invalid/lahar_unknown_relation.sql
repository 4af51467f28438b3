CREATE STREAM ticks (person STRING, place STRING, t LONG, p DOUBLE)
KEY person TIME t ALTERNATIVES place PROBABILITY p;
CREATE TABLE hallway (place STRING);
CREATE QUERY q AS ticks('joe', l)+<{}, Halway(l)>; ticks('joe', 'b');
