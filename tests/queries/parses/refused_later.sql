-- Forms that are read, and that the analysis refuses: subqueries, other types of columns.
CREATE STREAM estream (ts TIMESTAMP, `HCW-ID` LONG, workerID LONG, behavior STRING, location STRING)
KEY `HCW-ID` TIME ts TYPE behavior;
CREATE TABLE workerStatus (workerID LONG, status STRING);

CREATE QUERY Q2 ON estream
PATTERN SEQ(EXIT, !SANITIZE, ENTER)
WHERE [HCW-ID] AND
EXIT.location != ENTER.location AND
'safe'=(SELECT status FROM workerStatus
        WHERE workerID=ENTER.`HCW-ID`)
WITHIN 45 sec
RETURN ENTER.`HCW-ID`, ENTER.location;

CREATE STREAM clicks (visitor LONG, at TIMESTAMP, price DECIMAL(10, 2)) KEY visitor TIME at;
