CREATE STREAM reads (tag STRING, reader STRING, at TIMESTAMP)
KEY tag TIME at TYPE reader;
CREATE QUERY theft ON reads
PATTERN SEQ(SHELF a, EXIT b)
WITHIN 1 HOUR;
WRITE theft TO parquet 'one/' OPTIONS (revisions = 'lag');
WRITE theft TO parquet 'two/' OPTIONS (revisions = true, retract = 'tombstone');
WRITE theft TO console OPTIONS (revisions = 'latest');
WRITE theft TO kafka 'one' OPTIONS (servers = 'a', retract = 'never');
WRITE theft TO kafka 'two' OPTIONS (servers = 'a', revisions = 'log', retract = 'tombstone');
