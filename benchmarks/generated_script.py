"""A script with any number of queries, of the kinds that people write."""

from __future__ import annotations

_STREAM = """\
CREATE STREAM reads (
    id LONG, tag STRING, reader STRING, door STRING, price DOUBLE, at TIMESTAMP, seq LONG, p DOUBLE
) ID id KEY tag TIME at ORDER BY seq TYPE reader PROBABILITY p
MISS RATE BY reader ('SHELF' 0.10, 'COUNTER' 0.25);
CREATE TABLE staff (tag STRING);
"""

_KINDS = (
    """\
CREATE QUERY theft_{n} ON reads
PATTERN SEQ(SHELF x, !COUNTER y, EXIT z)
WHERE [tag] AND z.door <> 'door {n}' AND x.tag NOT IN staff
WITHIN 12 HOURS
HAVING CONFIDENCE >= 0.8
RETURN z.tag AS tag, x.at AS taken, z.at AS gone;
""",
    """\
CREATE QUERY rise_{n} ON reads
PATTERN SEQ(SHELF a, SHELF+ b, EXIT c)
WHERE [tag] AND b[i].price > b[i-1].price AND c.price < LAST(b).price AND COUNT(b) > {few}
USING SKIP TILL NEXT MATCH
WITHIN {hours} HOURS
RETURN a.tag AS tag, AVG(b.price) AS average;
""",
    """\
CREATE QUERY either_{n} ON reads
PATTERN SEQ(OR(SHELF a, BASKET b), AND(COUNTER c, DESK d), EXIT e)
WHERE [tag] AND (c.price > {n} OR d.price BETWEEN 1 AND {n})
WITHIN {hours} HOURS
RETURN e.tag AS tag, ABS(c.price - d.price) AS difference;
""",
    """\
CREATE QUERY likely_{n} ON reads
PATTERN SEQ(SHELF x, EXIT z)
WHERE [tag] AND x.price > {n}
USING SKIP TILL NEXT MATCH
GROUP BY tag
RETURN PROBABILITY BY TIME;
""",
)


def script_of(queries: int) -> str:
    """Return a right script with so many queries."""
    texts = (
        _KINDS[n % len(_KINDS)].format(n=n, few=n % 5, hours=1 + n % 24) for n in range(queries)
    )
    return _STREAM + "".join(texts)
