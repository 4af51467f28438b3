-- AYAC's shoplifting event as printed, with its bracketed defaults.
CREATE STREAM receptors (id STRING, receptor STRING, at TIMESTAMP)
KEY id TIME at MISS RATE 0.1;

SEQUENCE (x,!y,z)
WHERE (x.receptor['A'] = 'A') AND
      (y.receptor['B'] = 'B') AND
      (z.receptor['C'] = 'C') AND
      (x.id[y.id] = y.id[x.id]) AND
      (y.id[z.id] = z.id[y.id])
WITHIN 12 hours
THRESHOLD 0.80;

CREATE QUERY shoplifting ON receptors
SEQUENCE (x,!y,z) WHERE (x.receptor['A'] = 'A') AND
(y.receptor['B'] = 'B') AND (z.receptor['C'] = 'C') AND (x.id[y.id] = y.id[x.id]) AND (y.id[z.id] = z.id[y.id]) WITHIN 12 hours THRESHOLD 0.80;

CREATE GAPS gaps ON shoplifting (
    x TO y GAMMA(10 MINUTES, 2),
    x TO z UNIFORM(1 MINUTE, 2 HOURS),
    x BEFORE z EMPIRICAL(1 MINUTE, 5 MINUTES, 12 MINUTES) REACHES 0.8);

CREATE QUERY absent_before ON receptors PATTERN SEQ(x, !n, y, z)
WHERE [id] AND n.receptor['N'] = 'N' WITHIN 12 hours ALLOW 2 MISSED OF (x, y);
CREATE QUERY absent_after ON receptors PATTERN SEQ(x, y, !n, z)
WHERE [id] AND n.receptor['N'] = 'N' WITHIN 12 hours ALLOW ALL MISSED SCORING AYAC;
