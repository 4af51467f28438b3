"""Four streams at four places, and two ways to bring together what a query needs of them.

The streams begin and end at different times: their eight end points cut time into seven fragments.
Moving events brings the minority of each fragment to the place of its majority. Moving temporal
results brings what can enter a queue, and nothing else, to one place. Both find the same matches.

    python examples/spark/movement.py
"""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa

from augury import Session

STREAM = """
CREATE STREAM {name} (id LONG, kind STRING, t LONG, p DOUBLE)
ID id TIME t TYPE kind PROBABILITY p;
"""
QUERY = """
CREATE QUERY {name} ON north, east, south, west
PATTERN SEQ(A a, B b, C c) WITHIN 12 HAVING CONFIDENCE >= 0.2 {options};
"""
# From when to when each stream lasts, and how many rows it has.
SPANS = {
    "north": (0, 520, 260),
    "east": (100, 660, 420),
    "south": (240, 840, 180),
    "west": (400, 1000, 500),
}
PLANS = {"events": "OPTIONS (movement = 'events')", "results": "OPTIONS (movement = 'results')"}


def script() -> str:
    """Return four streams, and one query in three ways: as it comes, and with either plan."""
    streams = [STREAM.format(name=name) for name in SPANS]
    queries = [QUERY.format(name="abc", options="")]
    queries += [QUERY.format(name=f"by_{n}", options=options) for n, options in PLANS.items()]
    return "\n".join([*streams, *queries])


def rows(name: str) -> list[dict[str, Any]]:
    """Return the rows of a stream; three of eight kinds take part in the query."""
    rng = random.Random(name)
    start, end, n = SPANS[name]
    times = sorted([start, end, *(rng.randint(start, end) for _ in range(n - 2))])
    first = 1000 * list(SPANS).index(name)
    return [
        {"id": first + k, "kind": rng.choice("ABCDEFGH"), "t": t, "p": rng.choice((0.9, 0.6, 0.15))}
        for k, t in enumerate(times)
    ]


def session(*args: Any, **options: Any) -> Session:
    """Return a session with the streams and their rows."""
    ag = Session(*args, **options)
    ag.sql(script())
    for name in SPANS:
        ag.bind(name, rows(name))
    return ag


def facts(found: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return matches so that they can be compared: their events and confidence."""
    return sorted(
        (*(event["event_id"] for event in row["events"]), round(row["confidence"], 9))
        for row in found
    )


def on_spark(ag: Session) -> dict[str, tuple[list[tuple[Any, ...]], int, int]]:
    """Return, by plan, the matches, and the rows and bytes that left the place of their stream."""
    pipeline = ag.pipeline([f"by_{plan}" for plan in PLANS], tells_movement=True)
    tables: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for answer in pipeline.answers.collect():
        table = pa.ipc.open_stream(bytes(answer.payload)).read_all()
        tables.setdefault((answer.kind, answer.name), []).extend(table.to_pylist())
    found = {}
    for plan in PLANS:
        told = [r for r in tables["movement", f"by_{plan}"] if r["kind"].startswith("moved")]
        moved, size = sum(row["rows"] for row in told), sum(row["bytes"] for row in told)
        found[plan] = facts(tables["match", f"by_{plan}"]), moved, size
    return found


def main() -> None:
    """Print what the planner expects, and what was moved."""
    there, here = session(), session(engine="local")
    there.analyze(["abc"])
    explained = there.explain("abc")
    print(explained[explained.index("Movement") : explained.index("\n\nState")])
    wanted = facts(here.table("abc").to_pylist())
    for plan, (found, moved, size) in on_spark(there).items():
        same = "the same" if found == wanted else "OTHER"
        print(f"  {plan}: moved {moved:,} rows in {size:,} bytes; {len(found)} matches, {same}")


if __name__ == "__main__":
    main()
