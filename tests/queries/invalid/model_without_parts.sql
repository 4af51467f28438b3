CREATE TABLE places (place STRING);
CREATE TABLE steps (place_from STRING, p STRING);
CREATE TABLE heard (reader STRING, p DOUBLE);
CREATE MODEL one HMM (STATES places);
CREATE MODEL two HMM (STATES plces, TRANSITION steps, EMISSION heard);
CREATE MODEL three HMM (STATES places, TRANSITION steps, EMISSION heard, INITIAL nowhere);
CREATE MODEL four HMM LEARN FROM truth ON readings;
