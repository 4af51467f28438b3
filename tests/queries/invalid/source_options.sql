CREATE STREAM c (a LONG, at TIMESTAMP) TIME at
FROM csv 'c/' OPTIONS (header = 'sometimes', mode = 'FAILFAST', sep = ';', timestampNTZFormat = 'dd/MM/yyyy');
CREATE STREAM j (a LONG, at TIMESTAMP) TIME at
FROM json 'j/' OPTIONS (MultiLine = 'maybe', encoding = 'UTF-16', maxFilePerTrigger = 10, of.another.kind = 1);
CREATE STREAM k (a LONG, at TIMESTAMP) TIME at
FROM kafka 'k' OPTIONS (server = 'host:9092', maxOffsetPerTrigger = 10, kafka.bootstrap.server = 'host:9092');
CREATE STREAM good (a LONG, at TIMESTAMP) TIME at
FROM csv 'g/' OPTIONS (header = true, Mode = 'permissive', enforceSchema = 'false', multiLine = true);
CREATE STREAM real (a LONG, at TIMESTAMP) TIME at
FROM csv 'r/' OPTIONS (header = false, timestampFormat = 'dd/MM/yyyy', encoding = 'UTF-16');
CREATE STREAM listed (a LONG, at TIMESTAMP) TIME at
FROM json 'l/' OPTIONS (multiLine = true, dateFormat = 'dd/MM/yyyy', encoding = 'UTF-16');
CREATE TABLE t (a LONG)
FROM csv 't/' OPTIONS (enforceSchema = 'true');
