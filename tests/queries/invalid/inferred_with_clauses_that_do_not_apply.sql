CREATE TABLE places (place STRING);
CREATE TABLE steps (place_from STRING, place_to STRING, p DOUBLE);
CREATE TABLE heard (place STRING, reader STRING, p DOUBLE);
CREATE MODEL building HMM (STATES places, TRANSITION steps, EMISSION heard);
CREATE STREAM reads (tag STRING, reader STRING, t LONG) KEY tag TIME t TYPE reader;
CREATE STREAM a AS FILTER reads USING building LAG 3;
CREATE STREAM b AS SMOOTH reads USING building PRUNE 2;
CREATE STREAM c AS VITERBI reads USING building PRUNE 0.1;
