CREATE STREAM reads (tag STRING, reader STRING, at TIMESTAMP)
KEY tag TIME at TYPE reader;
CREATE QUERY theft ON reads
PATTERN SEQ(SHELF a, EXIT b)
WITHIN 1 HOUR;
CREATE QUERY back ON reads PATTERN SEQ(EXIT a, SHELF b) WITHIN 1 HOUR;
WRITE theft TO json 'hits';
WRITE back TO csv 'hits/';
WRITE back TO kafka 'alarms' OPTIONS (servers = 'a', servers = 'b');
