CREATE STREAM c (a LONG, at TIMESTAMP) TIME at
FROM csv 'c/' OPTIONS (header = false, mode = 'FAILFAST', sep = ';', timestampFormat = 'dd/MM/yyyy');
CREATE STREAM j (a LONG, at TIMESTAMP) TIME at
FROM json 'j/' OPTIONS (MultiLine = 'TRUE', maxFilePerTrigger = 10, of.another.kind = 1);
CREATE STREAM k (a LONG, at TIMESTAMP) TIME at
FROM kafka 'k' OPTIONS (server = 'host:9092', maxOffsetPerTrigger = 10, kafka.bootstrap.server = 'host:9092');
CREATE STREAM good (a LONG, at TIMESTAMP) TIME at
FROM csv 'g/' OPTIONS (header = true, Mode = 'permissive', enforceSchema = 'false', multiLine = true);
CREATE TABLE t (a LONG)
FROM csv 't/' OPTIONS (header = 'false');
