-- Lahar's queries in its own spelling, and again in ours.
CREATE STREAM At (person STRING, place STRING, t LONG, p DOUBLE)
KEY person TIME t ALTERNATIVES place PROBABILITY p;
CREATE STREAM Carries (person STRING, object STRING, mode STRING, t LONG, p DOUBLE)
KEY person, object TIME t ALTERNATIVES mode PROBABILITY p;
CREATE STREAM R (value STRING, t LONG, p DOUBLE) KEY value TIME t PROBABILITY p;
CREATE STREAM S (value STRING, t LONG, p DOUBLE) KEY value TIME t PROBABILITY p;
CREATE STREAM T (value STRING, other STRING, t LONG, p DOUBLE) KEY value TIME t PROBABILITY p;
CREATE STREAM Nullary (t LONG, p DOUBLE) TIME t PROBABILITY p;
CREATE TABLE Hallway (place STRING);
CREATE TABLE CRoom (place STRING);
CREATE TABLE Person (person STRING);
CREATE TABLE Office (person STRING, place STRING);

CREATE QUERY filters ON R AS R('a'); R('b');
CREATE QUERY filters_ours ON R PATTERN SEQ(R x, R y)
WHERE x.value = 'a' AND y.value = 'b' USING SKIP TILL NEXT MATCH RETURN PROBABILITY BY TIME;
CREATE QUERY selects ON R AS σ_{y = 'b'}(R('a'); R(y));
CREATE QUERY selects_ours ON R PATTERN SEQ(R x, R y)
WHERE x.value = 'a' AFTER WHERE y.value = 'b' USING SKIP TILL NEXT MATCH RETURN PROBABILITY BY TIME;

CREATE QUERY filters_lately ON R AS R('a'); R('b') RETURN PROBABILITY BY TIME OVER 5;
CREATE QUERY over ON R PATTERN SEQ(R over, R y) WHERE over.value = 'a' AND y.value = 'b'
USING SKIP TILL NEXT MATCH HAVING PROBABILITY >= 0.5 RETURN PROBABILITY BY TIME OVER 5;

CREATE QUERY joe_coffee ON At
At('Joe', '220'); (σ_{CRoom(l)} At('Joe', l)); At('Joe', '220');
CREATE QUERY any_coffee ON At
σ_{Person(p) AND Office(p, l1) AND CRoom(l3)}(At(p, l1); At(p, l2)+<{p}, Hallway(l2)>; At(p, l3));
CREATE QUERY joe_hall ON At
At('Joe', 'a'); At('Joe', l)+⟨∅, Hallway(l)⟩; At('Joe', 'c');
CREATE QUERY joe_hall_ours ON At
PATTERN SEQ(At x, At+ h, At y)
WHERE [person] AND x.person = 'Joe' AND x.place = 'a' AND y.place = 'c' AND h[i].place IN Hallway
USING SKIP TILL NEXT MATCH RETURN PROBABILITY BY TIME;
CREATE QUERY hall ON At
σ_{Person(x)}(At(x, 'a'); At(x, l2)+<{x}, Hallway(l2)>; At(x, 'c'))
GROUP BY person RETURN PROBABILITY BY TIME;
CREATE QUERY hall_ours ON At
PATTERN SEQ(At x, At+ h, At y)
WHERE [person] AND x.person IN Person AND x.place = 'a' AND y.place = 'c' AND h[i].place IN Hallway
USING SKIP TILL NEXT MATCH GROUP BY person RETURN PROBABILITY BY TIME;
CREATE QUERY talk ON Carries, At
SIGMA_{Person(x), y <> 'bag'}(Carries(x, y, z); (Carries(x, y, -))+<{x, y}, >; At(x, u)) RETURN PROBABILITY;
CREATE QUERY disagree ON At AS At(p, l1); At(p, l2); At(q, l3) APPROXIMATE (0.01, 0.05);
CREATE QUERY safe ON R, S, T AS R(x); S(x); T('a', y) RETURN PROBABILITY;
CREATE QUERY h1 ON R, S AS σ[x < y](R(x); S(y)) APPROXIMATE (0.01, 0.05);
CREATE QUERY h2 ON Nullary, S AS Nullary(); S(x)+<{x}, true> APPROXIMATE (0.01, 0.05);
CREATE QUERY h3 ON Nullary, S, T AS Nullary(); S(x); T(x, _) APPROXIMATE (0.01, 0.05);
CREATE QUERY h4 ON Nullary, R, T AS R(x); Nullary(); T(x, _) APPROXIMATE (0.01, 0.05);

At('joe','a'); At('joe', l)+<{l}, Hallway(l)>; At('joe','c')
