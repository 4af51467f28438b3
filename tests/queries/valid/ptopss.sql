-- P-ToPSS's spelling: primitives, what they ask, and when.
CREATE STREAM logins (id LONG, ip STRING, status STRING, at TIMESTAMP) ID id KEY ip TIME at ORDER BY id;

CREATE QUERY intrusion ON logins
SUBSCRIPTION s1; s2; s3@(t(s3) - t(s1) < 5 min); s4
WITH s1, s2, s3: ip = $x AND status = 'denied', s4: ip = $x AND status = 'success'
WITHIN 1 HOUR;

CREATE QUERY compromise ON logins
SUBSCRIPTION s1; ((s2; s3@(t(s3) − t(s1) < 5 min)) ∨ (s4, s5)); s6
WITH s1, s2, s3: ip = $x ∧ status = 'denied', s4: status = 'success' & ip = $x,
  s5: ip = $x AND status = 'passwd', s6: ip = $x AND status = 'logoff'
WITHIN 1 HOUR;

CREATE QUERY mixed ON logins
SUBSCRIPTION s1; ((s2, s3) & (s4, s5)); s6; (s7 | s8)
WITH s1, s2, s3, s4, s5, s6, s7, s8: status = 'denied'
WITHIN 1 HOUR;
