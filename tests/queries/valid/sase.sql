-- SASE's spelling: the strategy is the first conjunct of WHERE, repetitions carry brackets.
CREATE STREAM stock (id LONG, ts LONG, symbol LONG, price LONG, volume LONG, type STRING)
ID id KEY symbol TIME ts ORDER BY id TYPE type;

CREATE QUERY Q1 ON stock
PATTERN SEQ(stock+ a, stock b)
WHERE partition-contiguity
AND [symbol]
AND a[1].price % 500 = 0
AND a[i].price > a[i-1].price
AND b.volume < 150
WITHIN 500;

CREATE QUERY Q2 ON stock
PATTERN SEQ(stock1 a, stock2 b, stock3 c)
WHERE skip-till-next-match
AND [price]
WITHIN 10000;

CREATE QUERY te50 ON stock
PATTERN SEQ(stock1 a, stock2 b, stock3 c)
WHERE skip-till-any-match
AND [price]
AND [volume]
WITHIN 10000;

CREATE QUERY te100 ON stock
PATTERN SEQ(stock1 a, stock2 b, stock3 c)
WHERE skip-till-any-match
AND [price]
AND [volume]
WITHIN 10000;

CREATE QUERY ds500 ON stock
PATTERN SEQ(stock1 a, stock2 b, stock3 c)
WHERE skip-till-any-match
AND [price]
WITHIN 10000;

CREATE QUERY ds1000 ON stock
PATTERN SEQ(stock1 a, stock2 b, stock3 c)
WHERE skip-till-any-match
AND [price]
WITHIN 10000;

CREATE QUERY ds10000 ON stock
PATTERN SEQ(stock1 a, stock2 b, stock3 c)
WHERE skip-till-any-match
AND [price]
WITHIN 10000;

CREATE QUERY tw10k ON stock
PATTERN SEQ(stock1 a, stock2 b, stock3 c)
WHERE skip-till-any-match
AND [price]
WITHIN 10000;

CREATE QUERY tw40k ON stock
PATTERN SEQ(stock1 a, stock2 b, stock3 c)
WHERE skip-till-any-match
AND [price]
WITHIN 40000;

CREATE QUERY tw60k ON stock
PATTERN SEQ(stock1 a, stock2 b, stock3 c)
WHERE skip-till-any-match
AND [price]
WITHIN 60000;

CREATE QUERY tw100k ON stock
PATTERN SEQ(stock1 a, stock2 b, stock3 c)
WHERE skip-till-any-match
AND [price]
WITHIN 100000;

CREATE QUERY `s2-p1` ON stock
PATTERN SEQ(stock+ a[], stock b)
WHERE partition-contiguity
AND [symbol]
AND a[1].price % 500 = 0
AND b.volume < 150
WITHIN 500;

CREATE QUERY `s3-p1` ON stock
PATTERN SEQ(stock+ a[], stock b)
WHERE skip-till-next-match
AND [symbol]
AND a[1].price % 500 = 0
AND b.volume < 150
WITHIN 500;

CREATE QUERY `s3-p2` ON stock
PATTERN SEQ(stock+ a[], stock b)
WHERE skip-till-next-match
AND [symbol]
AND a[1].price % 500 = 0
AND a[i].price > a[i-1].price
AND b.volume < 150
WITHIN 500;

CREATE QUERY strict ON stock
PATTERN SEQ(stock1 a, stock2 b)
WHERE strict-contiguity
WITHIN 10;

PATTERN SEQ(stock1 a, stock2 b)
WHERE skip_till_any_match(a, b) { a.price = b.price }
WITHIN 10;
