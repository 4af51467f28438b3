-- The active rules of the thesis, and the forms of rules.
CREATE STREAM estream (ts TIMESTAMP, `HCW-ID` LONG, workerID LONG, behavior STRING, location STRING)
KEY `HCW-ID` TIME ts TYPE behavior;
CREATE TABLE workerStatus (workerID LONG, status STRING) KEY workerID;

CREATE QUERY Q2 ON estream
PATTERN SEQ(EXIT, !SANITIZE, ENTER)
WHERE [HCW-ID] AND
EXIT.location != ENTER.location AND
'safe'=(SELECT status FROM workerStatus
        WHERE workerID=ENTER.`HCW-ID`)
WITHIN 45 sec
RETURN ENTER.`HCW-ID`, ENTER.location;

CREATE RULE R1 ON OUTPUT Q2 REFERENCING NEW AS newEvent FOR EACH EVENT
BEGIN UPDATE workerStatus SET status = 'warning' WHERE workerID = newEvent.`HCW-ID` END;

CREATE STORE ward AT 'postgresql://ward:${WARD_PASSWORD}@localhost/ward';
CREATE TABLE counts (worker LONG, n LONG) KEY worker STORE ward;
CREATE TABLE beliefs (worker LONG, status STRING) KEY worker UNCERTAIN;

CREATE OR REPLACE RULE counted ON Q2
WHEN (SELECT COUNT(*) FROM counts WHERE worker = new.`HCW-ID`) < 3 ON ERROR REJECT
DO INSERT INTO counts (worker, n) VALUES (new.`HCW-ID`, 1), (0, 1)
   ON CONFLICT DO UPDATE SET n = n + excluded.n;
