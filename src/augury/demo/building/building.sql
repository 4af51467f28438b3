-- Where people are, from antennas that miss tags and hear those of their neighbours.
CREATE TABLE places (place STRING, heading STRING);
CREATE TABLE start (place STRING, heading STRING, p DOUBLE);
CREATE TABLE steps (
    place_from STRING, heading_from STRING, place_to STRING, heading_to STRING, p DOUBLE
);
CREATE TABLE heard (place STRING, heading STRING, reader STRING, p DOUBLE);
CREATE TABLE coffee_room (place STRING);
CREATE MODEL building HMM (STATES places, INITIAL start, TRANSITION steps, EMISSION heard);
CREATE STREAM reads (person STRING, reader STRING, t LONG) KEY person TIME t TYPE reader;
