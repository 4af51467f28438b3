CREATE STREAM logins (ip STRING, status STRING, at LONG) TIME at;
CREATE QUERY q1 ON logins SUBSCRIPTION s1; s2 WITH s1: status = 'denied' AND ip = $x;
CREATE QUERY q2 ON logins SUBSCRIPTION s, s; s@(t(s) - t(s2) < 5) WITH s: status = 'denied';
CREATE QUERY q3 ON logins SUBSCRIPTION s1; s2 WITH s1: ip = $x, s2: ip <> $x;
CREATE QUERY q4 ON logins SUBSCRIPTION s1; s2 WITH s1, s2: status = 'denied', s2: ip = 'a', s3: ip = 'b';
CREATE QUERY q5 ON logins SUBSCRIPTION s1; s2@ WITH s1, s2: status = 'denied';
CREATE QUERY q6 ON logins SUBSCRIPTION s1; s2 WITH s1, s2: state = 'denied' WHERE s1.ip = s2.ip;
CREATE QUERY q7 ON logins SUBSCRIPTION s1; s2@(t(s2) - t(s1) < INTERVAL 5 MINUTES) WITH s1, s2: status = 'denied';
CREATE QUERY q8 ON logins PATTERN SEQ(_ a, _ b) WHERE t(b) - t(c) < 5 AND a.status = $x;
