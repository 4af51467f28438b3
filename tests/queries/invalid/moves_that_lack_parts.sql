CREATE TABLE staff (person STRING, room STRING);
CREATE TABLE passages (a LONG, b STRING);
CREATE MODEL bare MOVES (STEP 1 SECOND);
CREATE MODEL halfway MOVES (OBJECTS staff, OWNER person, PLACE room, ENTER 'ENTER', HALL 'H');
CREATE MODEL both MOVES (
    OBJECTS staff, OWNER person, PLACE room, ENTER 'ENTER', EXIT 'EXIT', DOORS passages (a, b)
);
CREATE MODEL twice MOVES (
    OBJECTS staff, OWNER person, PLACE room, ENTER 'GO', EXIT 'GO', HALL 7, FROM_PLACE origin, STEP 0 SECONDS
);
CREATE MODEL lost MOVES (
    OBJECTS staf, OWNER person, PLACE room, ENTER 'ENTER', EXIT 'EXIT', HALL 'H'
);
CREATE MODEL unknown MOVES (
    OBJECTS staff, OWNER worker, PLACE roam, ENTER 'ENTER', EXIT 'EXIT', HALL 'H', BY unit
);
CREATE MODEL preferred MOVES (
    OBJECTS staff, OWNER person, PLACE room, ENTER 'ENTER', EXIT 'EXIT', HALL 'H', PREFER staff (person, room, w)
);
