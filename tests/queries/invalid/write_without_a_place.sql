CREATE STREAM reads (tag STRING, reader STRING, at TIMESTAMP)
KEY tag TIME at TYPE reader;
CREATE QUERY theft ON reads
PATTERN SEQ(SHELF a, EXIT b)
WITHIN 1 HOUR;
WRITE theft TO parquet;
WRITE theft TO kafka OPTIONS (servers = 'localhost:9092');
WRITE theft TO console 'here';
