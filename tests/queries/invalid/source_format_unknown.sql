CREATE STREAM s (a LONG, at TIMESTAMP)
TIME at
FROM parqet 'reads/';
