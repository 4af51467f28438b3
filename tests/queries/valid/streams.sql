-- Streams and tables: every clause of CREATE STREAM and CREATE TABLE.
CREATE STREAM reads (
    id LONG, tag STRING, reader STRING, door STRING, at TIMESTAMP, seq LONG, p DOUBLE
)
ID id                            -- names an event in results and lineage; optional, default a hash of the row
KEY tag                          -- what the events are about; one or more columns; omitted = one global stream
TIME at ORDER BY seq             -- event time (TIMESTAMP, or a LONG tick), and the tie-breaker
TYPE reader                      -- the column whose value names the event type; optional
PROBABILITY p                    -- P(this event happened); optional, default 1
MISS RATE BY reader ('A' 0.10, 'B' 0.25)     -- or: MISS RATE 0.15
LATENESS 10 SECONDS              -- how late an event may come in a streaming run; default 0
FROM parquet 'reads/';           -- or csv, json, kafka OPTIONS (...); omitted = bound from Python

CREATE STREAM at (person STRING, place STRING, t LONG, p DOUBLE)
KEY person TIME t
ALTERNATIVES place PROBABILITY p -- rows that share the ID exclude each other
MARKOV moves;                    -- optional: a CPT stream

CREATE STREAM moves (person STRING, t LONG, place_from STRING, place_to STRING, p DOUBLE)
KEY person TIME t PROBABILITY p;

CREATE TABLE hallway (place STRING) FROM csv 'hallway.csv';     -- a relation

CREATE STREAM clicks (visitor LONG, site STRING, page STRING, at TIMESTAMP, price DOUBLE)
KEY visitor, site
TIME at
MISS RATE 0.15
LATENESS 2 min
FROM kafka OPTIONS (kafka.bootstrap.servers = 'localhost:9092', subscribe = 'clicks',
                    'startingOffsets' = 'earliest', maxOffsetsPerTrigger = 10000, failOnDataLoss = FALSE);

CREATE STREAM ticks (symbol STRING, at LONG, price DOUBLE)
KEY (symbol) TIME at LATENESS 5
FROM json 'ticks.json' OPTIONS (wholetext = FALSE);
