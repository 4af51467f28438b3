CREATE TABLE known_places (place STRING);
CREATE TABLE walks (place_from STRING, place_to STRING, p DOUBLE);
CREATE TABLE heard (place STRING, reader STRING, p DOUBLE);
CREATE MODEL building HMM (STATES known_places, TRANSITION walks, EMISSION heard);
CREATE STREAM readings (tag STRING, reader STRING, t LONG) KEY tag TIME t TYPE reader;
CREATE STREAM now AS FILTER readings USING building;
CREATE QUERY there ON now PATTERN SEQ(now a, now b) WHERE [tag] WITHIN 5;
CREATE POLICY discreet ON now PRIVATE there USING GREEDY;
