-- Traffic watched by cameras that are not always sure of what they saw.

CREATE STREAM overspeed (vehicle STRING, kind STRING, location STRING, at TIMESTAMP, p DOUBLE)
KEY vehicle TIME at PROBABILITY p;

CREATE STREAM accident (location STRING, at TIMESTAMP, p DOUBLE)
TIME at PROBABILITY p;

CREATE STREAM passing (vehicle STRING, gate STRING, at TIMESTAMP, p DOUBLE)
KEY vehicle TIME at TYPE gate PROBABILITY p;

-- A vehicle that was too fast somewhere and passed gates A, B and D, in any interleaving.
CREATE QUERY suspect ON overspeed, passing
PATTERN AND(overspeed o, SEQ(A a, B b, D d))
WHERE [vehicle] AND o.location = 'LA'
WITHIN 12 HOURS
HAVING CONFIDENCE > 0.8
RETURN o.vehicle AS vehicle, o.at AS too_fast, d.at AS left_at;

-- How likely is an accident where someone was too fast, for each kind of vehicle?
CREATE QUERY overspeed_accident ON overspeed, accident
PATTERN AND(overspeed o, accident x)
WHERE o.location = x.location
WITHIN 12 HOURS EVERY 1 HOUR
GROUP BY o.kind
RETURN PROBABILITY;
