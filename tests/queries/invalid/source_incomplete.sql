CREATE STREAM s (a LONG, at TIMESTAMP) TIME at
FROM csv;
CREATE STREAM k (a LONG, at TIMESTAMP) TIME at
FROM kafka OPTIONS (kafka.bootstrap.servers = 'host:9092');
CREATE TABLE t (a LONG)
FROM kafka OPTIONS (subscribe = 'a', Subscribe = 'b');
