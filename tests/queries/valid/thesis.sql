-- The thesis's queries, with backquotes where a name with a hyphen could be a subtraction.
CREATE STREAM estream (ts TIMESTAMP, `HCW-ID` LONG, workerID LONG, behavior STRING, location STRING)
KEY `HCW-ID` TIME ts TYPE behavior;
CREATE STREAM event-history (OID LONG, Room# STRING, ts TIMESTAMP, behavior STRING)
TIME ts TYPE behavior;
CREATE TABLE workerStatus (workerID LONG, status STRING);

CREATE QUERY Q1 ON estream
PATTERN SEQ(EXIT, !SANITIZE, ENTER)
WHERE EXIT.workerID = SANITIZE.workerID AND
      EXIT.workerID = ENTER.workerID AND
      EXIT.location != ENTER.location
WITHIN 45 sec
RETURN ENTER.`HCW-ID`, ENTER.location;

CREATE QUERY Q2 ON estream
PATTERN SEQ(EXIT, !SANITIZE, ENTER)
WHERE [HCW-ID] AND
EXIT.location != ENTER.location AND
(ENTER.`HCW-ID`, 'safe') IN workerStatus
WITHIN 45 sec
RETURN ENTER.`HCW-ID`, ENTER.location;

CREATE QUERY Q3
PATTERN SEQ(Enter x, Exit y) ON event-history
WHERE skip_till_next_match(x, y) {
    x.OID = y.OID    AND
    x.Room# = y.Room#    }
WITHIN 1 hour;
