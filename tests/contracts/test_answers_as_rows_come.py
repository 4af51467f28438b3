"""Windows, counts and matches over MARKOV streams as rows come: as over all rows at once.

However the rows are cut into batches, and whether the state was stored and loaded in between; where
worlds are sampled, they are the same ones.
"""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from augury import Session
from augury.evaluation.executor import Executor
from augury.evaluation.network import Network
from augury.evaluation.packing import Packer
from augury.evaluation.probability import lineage_probability
from augury.matching.matcher import ALWAYS
from matching.chain_cases import AT, MOVES, ROWS, markovian
from matching.test_correlated import table_of

COLUMNS = "(id STRING, kind STRING, tag STRING, v LONG, t LONG, p DOUBLE)"
S = f"CREATE STREAM s {COLUMNS} ID id TIME t TYPE kind PROBABILITY p;"
LOW = "CREATE QUERY low ON s PATTERN SEQ(A a, B b) WHERE [tag] WITHIN 3 RETURN b.v AS v;"
LINKED = AT.format(markov=" MARKOV moves")
SAMPLED = "APPROXIMATE (0.1, 0.1)"
CASES = {
    "join": (S, "s PATTERN AND(A a, B b) WHERE [tag] WITHIN 4 EVERY 2 GROUP BY tag", "PROBABILITY"),
    "chain": (
        S,
        "s PATTERN SEQ(A a, B b) WHERE [tag] USING SKIP TILL NEXT MATCH WITHIN 5",
        "PROBABILITY",
    ),
    "lineage": (S, "s PATTERN SEQ(A a, B b, !C c) WHERE a.v < b.v WITHIN 3", "PROBABILITY"),
    "slides": (S, "s PATTERN SEQ(A a, B b) WHERE a.v < b.v WITHIN 5 EVERY 2", "PROBABILITY"),
    "sampled": (S, f"s PATTERN SEQ(A a, B b) WHERE a.v < b.v WITHIN 5 {SAMPLED}", "PROBABILITY"),
    "sampled chain": (
        S,
        f"s PATTERN SEQ(A a, B b, A c) WHERE a.tag = c.tag AND b.tag = c.tag WITHIN 6 {SAMPLED}",
        "PROBABILITY",
    ),
    "of matches": (
        S + LOW,
        "low PATTERN AND(low a, low b) WHERE a.v < b.v WITHIN 6 EVERY 3",
        "PROBABILITY",
    ),
    "of matches in a window of events": (
        S + LOW.replace("WITHIN 3", "WITHIN 4 EVENTS"),
        "low PATTERN AND(low a, low b) WHERE a.v < b.v WITHIN 6 EVERY 3",
        "PROBABILITY",
    ),
    "of matches that wait": (
        S + LOW.replace("B b)", "B b, !C c)").replace("WITHIN 3", "WITHIN 6"),
        "low PATTERN low a WHERE a.v < 3 WITHIN 4 EVERY 1",
        "PROBABILITY",
    ),
    "of matches that take all they can": (
        S
        + LOW.replace("B b)", "B+ b)")
        .replace("WITHIN", "USING SKIP TILL NEXT MATCH WITHIN")
        .replace("b.v AS", "COUNT(b) AS"),
        "low PATTERN low a WHERE a.v < 3 WITHIN 4 EVERY 2",
        "PROBABILITY",
    ),
    "of matches taken in turn": (
        S.replace(" PROBABILITY p", "")
        + LOW.replace("WITHIN 3", "AFTER MATCH SKIP TO NEXT EVENT WITHIN 3"),
        "low PATTERN low a WHERE a.v < 3 WITHIN 4 EVERY 2",
        "PROBABILITY",
    ),
    "of matches, sampled": (
        S + LOW,
        f"low PATTERN AND(low a, low b) WHERE a.v < b.v WITHIN 6 {SAMPLED}",
        "PROBABILITY",
    ),
    "by time": (S, "s PATTERN SEQ(A a, B b) WHERE [tag] WITHIN 3", "PROBABILITY BY TIME"),
    "by time, next": (
        S,
        "s PATTERN SEQ(A a, B b, C c) USING SKIP TILL NEXT MATCH WITHIN 4",
        "PROBABILITY BY TIME OVER 2",
    ),
    "count": (S, "s PATTERN SEQ(A a, B b) WITHIN 4", "COUNT"),
    "count by key": (S, "s PATTERN SEQ(A a, B+ b, !C c) WHERE [tag] WITHIN 4", "COUNT"),
    "count of matches": (
        S + LOW,
        "low PATTERN AND(low a, low b) WHERE a.v < b.v WITHIN 6",
        "COUNT",
    ),
    "count of none": (S, "s PATTERN SEQ(A a, B b) WHERE a.v > 100 WITHIN 4", "COUNT"),
    "correlated": (
        "CREATE TABLE links (earlier STRING, later STRING, p DOUBLE);" + S,
        "s PATTERN SEQ(A a, B b) CORRELATED BY links WITHIN 4 OPTIONS (unlisted = 'independent')",
        "*",
    ),
    "paths": (LINKED, "at PATTERN SEQ(at a, at b) WHERE a.place < b.place WITHIN 3", "*"),
    "paths of one": (LINKED, "at PATTERN SEQ(at a, !at n, at b) WHERE [person] WITHIN 2", "COUNT"),
    "windows of paths": (
        LINKED,
        "at PATTERN AND(at a, at b) WHERE a.place < b.place WITHIN 2 EVERY 1",
        "PROBABILITY",
    ),
    "windows of paths, sampled": (
        LINKED,
        f"at PATTERN AND(at a, at b) WHERE a.place < b.place WITHIN 2 EVERY 1 {SAMPLED}",
        "PROBABILITY",
    ),
}
LINKS = table_of({("e1", "e2"): 0.9, ("e3", "e4"): 0.25, ("e2", "e1"): 0.5})
Rows = dict[str, list[dict[str, Any]]]


@pytest.fixture(autouse=True)
def _samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what may be sampled be, however few matches there are."""
    monkeypatch.setattr(lineage_probability, "FEW_MATCHES", 0)


def rows_of(name: str, seed: int) -> Rows:
    rng = random.Random(seed)
    if CASES[name][0] == LINKED:
        world = markovian(rng, 2, 6)
        return {"at": world.rows, "moves": world.moves}
    return {
        "s": [
            {
                "id": f"e{k}",
                "kind": rng.choice("AABBC"),
                "tag": rng.choice("xy"),
                "v": rng.randint(0, 3),
                "t": rng.randint(0, 14),
                "p": rng.choice((0.3, 0.5, 0.9, 1.0)),
            }
            for k in range(14)
        ]
    }


def session(name: str, rows: Rows | None) -> Session:
    script, query, returned = CASES[name]
    ag = Session(engine="local")
    returned = "" if returned == "*" else f"RETURN {returned}"
    body, _, options = query.partition(" OPTIONS")
    ag.sql(f"{script} CREATE QUERY q ON {body} {returned} {options and 'OPTIONS' + options};")
    for stream, own in (rows or {}).items():
        ag.bind(stream, pa.Table.from_pylist(own, {"at": ROWS, "moves": MOVES}.get(stream)))
    if "links" in script:
        ag.bind("links", LINKS)
    return ag


def answer(name: str, rows: list[dict[str, Any]]) -> dict[Any, Any]:
    """Return what is told in the end, by what names a row; of groups, what may be."""
    found: dict[Any, Any] = {}
    by_group = "GROUP BY" in CASES[name][1]
    for row in rows:
        if "match_id" in row:
            found[row["match_id"]] = row["confidence"]
        elif "count" in row:
            key = row.get("tag"), row.get("person")
            found |= {(*key, word): row[word] for word in ("count", "expected")}
        elif row["probability"] > 0.0 or not by_group:
            key = row.get("tag"), row["ts"], row["method"]
            assert key not in found
            found[key] = row["probability"]
    return found


def stepped(name: str, rows: Rows, rng: random.Random) -> list[dict[str, Any]]:
    """Return what an executor tells that gets rows in batches, and is stored and loaded."""
    declared = session(name, None)._declared
    queries = {n: query for n, (query, _) in declared.queries.items()}
    network = Network.of(["q"], queries, declared.catalog)
    bound = {"links": LINKS} if "links" in CASES[name][0] else {}
    network = Network(network.names, network.queries, network.catalog, bound, network.texts)
    executor = Executor(network, stores=True)
    state, found = executor.start(), list[dict[str, Any]]()
    blocks: dict[int, bytes] = {}
    cuts = sorted(rng.sample(range(16), rng.randint(1, 5)))
    low = -1
    for high in [*cuts, None]:
        batch = {}
        for stream, own in rows.items():
            new = [r for r in own if low <= r["t"] and (high is None or r["t"] < high)]
            rng.shuffle(new)
            schema = network.bases[stream]
            table = pa.Table.from_pylist(new, executor_schema(network, stream))
            batch[stream] = Packer(schema, executor.schemas[stream]).travelling(table)
        low = high if high is not None else low
        state, answers = executor.advance(state, batch, ALWAYS if high is None else high)
        found += [row for table in answers.found.values() for row in table.to_pylist()]
        stored = executor.stored(state)
        blocks |= stored.added
        for number in stored.dropped:
            del blocks[number]
        if rng.random() < 0.5:
            state = executor.load(stored.head, blocks)
    return found


def executor_schema(network: Network, stream: str) -> pa.Schema:
    kinds = {"STRING": pa.string(), "LONG": pa.int64(), "DOUBLE": pa.float64()}
    return pa.schema([(c.name, kinds[c.type.value]) for c in network.bases[stream].columns])


def pushed(name: str, rows: Rows, rng: random.Random) -> list[dict[str, Any]]:
    ag, found = session(name, None), list[dict[str, Any]]()
    order = [(r["t"], rng.random(), stream, r) for stream, own in rows.items() for r in own]
    for k, (_, _, stream, row) in enumerate(sorted(order, key=lambda each: each[:2])):
        found += ag.push(stream, [row])
        if k == 7:
            stored, ag = ag.checkpoint(), session(name, None)
            ag.restore(stored)
    return [row for row in [*found, *ag.finish()] if row["query"] == "q"]


@pytest.mark.rotating(3)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seed", range(3))
def test_batches_and_restarts_change_nothing(name: str, seed: int) -> None:
    rows = rows_of(name, seed)
    expected = answer(name, session(name, rows).table("q").to_pylist())
    exactly = pytest.approx(expected, abs=0.0 if "sampled" in name else 1e-9)
    assert answer(name, stepped(name, rows, random.Random(seed))) == exactly
    assert answer(name, pushed(name, rows, random.Random(seed))) == exactly
