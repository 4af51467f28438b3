-- Every form of a pattern, and the predicates over repetitions.
CREATE STREAM stock (id LONG, symbol STRING, kind STRING, at LONG, price DOUBLE, volume LONG, p DOUBLE)
ID id KEY symbol TIME at TYPE kind PROBABILITY p;
CREATE TABLE watched (symbol STRING, kind STRING);
CREATE TABLE listed (symbol STRING);

CREATE QUERY adjacent ON stock PATTERN NEXT(A a, B b);
CREATE QUERY nested ON stock PATTERN SEQ(A a, AND(B b, SEQ(C c, D d)), OR(E e, F f)) WITHIN 100;
CREATE QUERY either ON stock PATTERN SEQ(A a, ANY(B b, C c));
CREATE QUERY wildcard ON stock PATTERN SEQ(_ x, !_ y, _ z) WHERE y.price > 10;
CREATE QUERY types ON stock PATTERN SEQ(A, !B, C) WHERE A.price < C.price;
CREATE QUERY absent_pair ON stock PATTERN SEQ(A a, !SEQ(B b, C c), D d) WITHIN 100;
CREATE QUERY leading ON stock PATTERN SEQ(!A a, B b) WITHIN 50;
CREATE QUERY trailing ON stock PATTERN SEQ(A a, !B b) WITHIN 50;
CREATE QUERY plus ON stock PATTERN SEQ(A a, B+ b, C c)
WHERE b[1].price > a.price AND b[i].price > b[i-1].price AND LAST(b).price < c.price
  AND COUNT(b) > 2 AND SUM(b.volume) < 1000 AND AVG(b.price) >= 5 AND MIN(b.price) > 1 AND MAX(b.price) < 99
WITHIN 500;
CREATE QUERY star ON stock PATTERN SEQ(A a, B* b, C c) WHERE COUNT(b) = 0 WITHIN 500;
CREATE QUERY maybe ON stock PATTERN SEQ(A a, B? b, C c);
CREATE QUERY bounded ON stock PATTERN SEQ(A a, B{2,5} b, C{3} c, D{2,} d, E e) WITHIN 100;
CREATE QUERY first_and_last ON stock PATTERN SEQ(FIRST(A a), LAST(B b), C c) WITHIN 10;
CREATE QUERY members ON stock PATTERN SEQ(A a, B b)
WHERE a.symbol IN listed AND (b.symbol, b.kind) IN watched AND (a.symbol, a.kind) NOT IN watched;
CREATE QUERY times ON stock PATTERN SEQ(A a, B b) WHERE b.at - a.at < 5 WITHIN 20 EVENTS;
CREATE QUERY limits ON stock PATTERN SEQ(A a, B b) USING STRICT MATCH LIMIT 1000 RETURN *;
CREATE QUERY neighbours ON stock PATTERN SEQ(A a, B b) USING PARTITION CONTIGUITY RETURN COUNT;
CREATE QUERY partial ON stock PATTERN SEQ(A a, B b, C c)
ALLOW 2 MISSED OF (a, c) MISS RATE (b 0.2, c 0.1) SCORING AYAC WITHIN 10 HAVING CONFIDENCE > 0.5;
CREATE QUERY sampled ON stock PATTERN SEQ(A a, B b)
RETURN PROBABILITY APPROXIMATE (0.01, 0.05) OPTIONS (partitions = 7);
CREATE QUERY likely ON stock PATTERN SEQ(A a, B b) WITHIN 10 HAVING PROBABILITY >= 0.5 RETURN PROBABILITY;
CREATE QUERY soft ON stock PATTERN SEQ(A first, B next, C count, D last, E events, F type)
WHERE first.at < next.at AND count.price > 1 AND last.volume = events.volume AND type.kind = 'x' WITHIN 9;

CREATE QUERY denied_neighbour ON stock PATTERN SEQ(A a, !NEXT B b, C+ c UNTIL (c.price > 3), D d) WITHIN 10;
CREATE QUERY group_that_repeats ON stock
PATTERN SEQ((SEQ(A a, B b))+ g, (OR(C c, D d)){,3}, (E e)? h)
WHERE g[i].a.price < g[i].b.price AND g[i].a.price > g[i-1].b.price AND SUM(g.b.volume) < 9 AND SUM(b[..i].price) < LAST(g).b.price AND COUNT(g) > 1
WITHIN 10;
