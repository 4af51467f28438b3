CREATE STREAM ticks (person STRING, place STRING, t LONG, p DOUBLE)
KEY person TIME t ALTERNATIVES place PROBABILITY p;
CREATE TABLE hallway (place STRING);
ticks('joe'); ticks('joe', l, 3);
