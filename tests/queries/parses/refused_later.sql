-- Forms that are read, and that the analysis refuses: other types of columns.
CREATE STREAM clicks (visitor LONG, at TIMESTAMP, price DECIMAL(10, 2)) KEY visitor TIME at;
CREATE TABLE prices (price DECIMAL(10, 2));
CREATE QUERY dear ON clicks PATTERN SEQ(a, b) WHERE [visitor] AND a.price < b.price WITHIN 1 HOUR;
