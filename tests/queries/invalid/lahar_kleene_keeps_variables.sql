CREATE STREAM ticks (person STRING, place STRING, t LONG, p DOUBLE)
KEY person TIME t ALTERNATIVES place PROBABILITY p;
CREATE TABLE hallway (place STRING);
CREATE QUERY q AS ticks(p, l)+<{p, q}>; ticks(p, l);
