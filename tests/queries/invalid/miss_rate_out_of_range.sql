CREATE STREAM s (reader STRING, at TIMESTAMP)
TIME at TYPE reader
MISS RATE BY reader ('A' 1.0, 'B' 0.2, 'C' 1.5);
