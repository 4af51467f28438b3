CREATE STREAM reads (id LONG, tag STRING, reader STRING, door STRING, price DOUBLE, at TIMESTAMP, seq LONG, p DOUBLE)
ID id KEY tag TIME at ORDER BY seq TYPE reader PROBABILITY p MISS RATE 0.1;
CREATE TABLE badges (tag STRING, colour STRING, n LONG) KEY tag;
CREATE STORE ward AT 'ward.db';
CREATE STORE clinic AT 'sqlite:///clinic.db';
CREATE TABLE rooms (room STRING, free BOOLEAN) KEY rom STORE cinic;
CREATE TABLE beds (bed STRING, free BOOLEAN) KEY bed, BED STORE clinic UNCERTAIN;
CREATE TABLE staff (name STRING, room STRING) KEY name STORE clinic;
CREATE TABLE notes (tag STRING, text STRING);
CREATE QUERY left_shop ON reads PATTERN SEQ(SHELF a, EXIT b) WHERE [tag] WITHIN 1 HOUR RETURN a.door AS door;
CREATE QUERY counted ON reads PATTERN SEQ(SHELF a, EXIT b) WITHIN 1 HOUR RETURN COUNT;
CREATE QUERY timed ON reads PATTERN SEQ(SHELF a, EXIT b) WHERE [tag] WITHIN 1 HOUR RETURN a.at AS ts;
CREATE QUERY open_end ON reads PATTERN SEQ(SHELF a, !EXIT b) WHERE [tag] WITHIN 5 EVENTS;
CREATE RULE r1 ON gone DO DELETE FROM badges;
CREATE RULE r2 ON counted DO DELETE FROM badges;
CREATE RULE r3 ON timed DO DELETE FROM badges;
CREATE RULE r4 ON open_end DO DELETE FROM badges;
CREATE RULE r5 ON left_shop REFERENCING NEW AS hit
WHEN hit.dor = 'staff' AND new.door = 'x' AND colour = 'red'
BEGIN
    UPDATE badges SET tag = 'none', n = 'one', n = 2, m = 3 WHERE hit.confidence;
    INSERT INTO badges (colour) VALUES ('red');
    INSERT INTO badges VALUES (hit.tag, 'red');
    INSERT INTO badges VALUES (tag, 'red', 1) ON CONFLICT DO UPDATE SET colour = exluded.colour;
    INSERT INTO notes VALUES (hit.tag, 'seen') ON CONFLICT DO NOTHING;
    DELETE FROM badgers WHERE COUNT(tag) = 1;
    DELETE FROM badges WHERE n = (SELECT n FROM badges);
END;
CREATE RULE r6 ON left_shop BEGIN DELETE FROM staff; DELETE FROM notes; END;
CREATE RULE r7 ON left_shop DO DELETE FROM notes;
CREATE RULE r7 ON left_shop DO DELETE FROM notes;
CREATE OR REPLACE RULE r7 ON left_shop DO DELETE FROM notes;
CREATE RULE r8 ON left_shop IF new.door = 'x' AND BEGIN DELETE FROM notes END;
