CREATE STREAM ticks (person STRING, place STRING, t LONG, p DOUBLE)
KEY person TIME t ALTERNATIVES place PROBABILITY p;
CREATE TABLE hallway (place STRING);
ticks(p, 'a'); ticks(q, 'b'); ticks(p, 'c');
