"""Every event has its own id, and every match, on every way that rows can take.

Logs have seconds: rows without an ID may be equal in all they say. Then their number among equal
rows tells them apart, wherever rows are packed, cut and evaluated.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury import Session
from augury.evaluation.executor import Executor
from augury.evaluation.network import Network
from augury.evaluation.packing import SHARD, Packer
from augury.evaluation.sharding import sharding_of
from augury.planning.distribution.layout import Layout
from augury.runners.local import threads
from augury.runners.spark.tasks import Blob, blobs_of
from contracts.live_cases import LATENESS, comparable
from contracts.movement_cases import moved
from contracts.test_shards import streamed

Row = dict[str, Any]
LOGINS = Path(__file__).resolve().parents[3] / "shared" / "data" / "logins.csv"
GUESSING = """
CREATE STREAM logins (ts TIMESTAMP, event STRING, user STRING, ip STRING) TIME ts TYPE event;
CREATE QUERY guessing ON logins PATTERN SEQ(FAIL{5} f) WHERE [ip]
USING SKIP TILL NEXT MATCH WITHIN 60 SECONDS;
"""
READS = f"""
CREATE STREAM reads (tag STRING, kind STRING, t LONG, v DOUBLE) TIME t TYPE kind
LATENESS {LATENESS};
CREATE QUERY keyed ON reads PATTERN SEQ(A a, B+ b) WHERE [tag] WITHIN 3;
CREATE QUERY timed ON reads PATTERN SEQ(A a, B b) WITHIN 3;
CREATE QUERY ordered ON reads PATTERN SEQ(A a, B b) WHERE a.tag <= b.tag WITHIN 3;
"""
QUERIES = ("keyed", "timed", "ordered")
SCHEMA = pa.schema(
    [("tag", pa.string()), ("kind", pa.string()), ("t", pa.int64()), ("v", pa.float64())]
)


def reads(n: int, seed: int) -> pa.Table:
    """Return rows in the order of time, of which many are equal, and some nearly are."""
    rng = random.Random(seed)
    values = (0.0, -0.0, 1.5, None, float("nan"))
    rows = [
        {
            "tag": rng.choice(("x", "", None)),
            "kind": rng.choice("AB"),
            "t": rng.randrange(1 + n // 4),
            "v": rng.choice(values),
        }
        for _ in range(n)
    ]
    return pa.Table.from_pylist(sorted(rows, key=lambda row: row["t"]), SCHEMA)


def session(script: str) -> Session:
    ag = Session(engine="local")
    ag.sql(script)
    return ag


def bound(script: str, query: str, **tables: Any) -> list[Row]:
    ag = session(script)
    for name, rows in tables.items():
        ag.bind(name, rows)
    found: list[Row] = ag.table(query).to_pylist()
    return found


def network_of(name: str) -> Network:
    ag = session(READS)
    queries = {each: query for each, (query, _) in ag._declared.queries.items()}
    return Network.of([name], queries, ag._declared.catalog)


def delayed(rows: pa.Table, seed: int) -> list[Row]:
    """Return rows in an order that LATENESS allows."""
    rng = random.Random(seed)
    listed: list[Row] = rows.to_pylist()
    return sorted(listed, key=lambda row: row["t"] + rng.random() * LATENESS * 0.99)


def event_ids(matches: list[Row]) -> list[str]:
    return [event["event_id"] for match in matches for event in match["events"]]


# The ways of a row --------------------------------------------------------------------------------


@given(seed=st.integers(0, 2**20), n=st.integers(0, 30))
def test_equal_rows_are_events_of_their_own(seed: int, n: int) -> None:
    rows = reads(n, seed)
    script = READS + "CREATE QUERY one ON reads PATTERN SEQ(_ x) WITHIN 3;"
    found = bound(script, "one", reads=rows)
    assert len(found) == n
    assert len(set(event_ids(found))) == n
    assert len({match["match_id"] for match in found}) == n


@given(seed=st.integers(0, 2**20), n=st.integers(0, 20), query=st.sampled_from(QUERIES))
def test_the_order_of_arrival_and_a_restart_change_no_id(seed: int, n: int, query: str) -> None:
    rows = reads(n, seed)
    wanted = comparable(bound(READS, query, reads=rows))
    shuffled = rows.take(pa.array(random.Random(seed).sample(range(n), n), pa.int64()))
    assert comparable(bound(READS, query, reads=shuffled)) == wanted
    pushed, found = delayed(rows, seed), list[Row]()
    live = session(READS)
    for k, row in enumerate(pushed):
        found += live.push("reads", [row])
        if k % 3 == 0:
            stored = live.checkpoint()
            live = session(READS)
            live.restore(stored)
    found = [row for row in found + live.finish() if row["query"] == query]
    assert comparable(found) == wanted


@given(seed=st.integers(0, 2**20), n=st.integers(0, 20), query=st.sampled_from(QUERIES))
def test_rows_that_are_packed_apart_get_their_numbers_where_they_meet(
    seed: int, n: int, query: str
) -> None:
    rows, network = reads(n, seed), network_of(query)
    wanted = comparable(bound(READS, query, reads=rows))
    found = streamed(network, one_to_a_blob(network, rows), 1 + seed % 4, seed)
    assert comparable(found) == wanted


def one_to_a_blob(network: Network, rows: pa.Table) -> list[Blob]:
    (stream,) = network.bases.values()
    packer = Packer(stream, Executor(network).schemas["reads"])
    numbered = rows.append_column(SHARD, pa.array([0] * rows.num_rows, pa.int64()))
    parts = [numbered.slice(k, 1).to_batches() for k in range(rows.num_rows)]
    return [blob for part in parts for blob in blobs_of(packer(part))]


@given(
    seed=st.integers(0, 2**20),
    n=st.integers(1, 20),
    query=st.sampled_from(("timed", "ordered")),
    cuts=st.sets(st.integers(0, 6), max_size=3),
)
def test_ranges_of_time_change_no_id(seed: int, n: int, query: str, cuts: set[int]) -> None:
    rows, network = reads(n, seed), network_of(query)
    moving = sharding_of(network, bounded=True).moving
    assert moving is not None
    layout = Layout(tuple(sorted(cuts)), ("reads",) * (len(cuts) + 1))
    found, _ = moved(network, {"reads": rows}, moving, layout)
    assert comparable(found) == comparable(bound(READS, query, reads=rows))


@given(seed=st.integers(0, 2**20), n=st.integers(1, 60), query=st.sampled_from(QUERIES))
def test_threads_change_no_id(seed: int, n: int, query: str) -> None:
    rows = reads(n, seed)
    with pytest.MonkeyPatch.context() as patched:
        for name, value in (("FEW", 5), ("ROWS", 7), ("LEAST_PART", 3), ("MOST_TWICE", 1000)):
            patched.setattr(threads, name, value)
        found = threads.InThreads(network_of(query), 3).answer(rows).to_pylist()
    assert comparable(found) == comparable(bound(READS, query, reads=rows))


def test_a_log_of_seconds_has_as_many_ids_as_matches() -> None:
    if not LOGINS.exists():
        pytest.skip(f"{LOGINS.name} is absent")
    log = pyarrow.csv.read_csv(LOGINS)
    found = bound(GUESSING, "guessing", logins=log)
    assert len(found) == len({match["match_id"] for match in found}) == 444
    live = session(GUESSING)
    pushed = live.push("logins", log.to_pylist()) + live.finish()
    assert comparable(pushed) == comparable(found)


# Streams, alternatives ----------------------------------------------------------------------------

SAME = [{"id": k, "tag": "x", "t": k, "p": 0.5} for k in range(3)]


def two_streams(identity: str) -> str:
    columns = f"(id LONG, tag STRING, t LONG, p DOUBLE) {identity} TIME t PROBABILITY p"
    return f"""
        CREATE STREAM s {columns};
        CREATE STREAM u {columns};
        CREATE QUERY q ON s, u PATTERN SEQ(_ x, _ y) WITHIN 9;"""


@pytest.mark.parametrize("identity", ["", "ID id", "ID tag", "ID id ALTERNATIVES tag"])
def test_equal_rows_of_two_streams_are_not_one_event(identity: str) -> None:
    rows = SAME[:1] if identity == "ID tag" else SAME
    script = two_streams(identity).replace("SEQ(_ x, _ y)", "AND(_ x, _ y)")
    found = bound(script, "q", s=rows, u=rows)
    assert len(found) == len(rows) * 2 * (len(rows) * 2 - 1)
    assert len({match["match_id"] for match in found}) == len(found)
    live = session(script)
    pushed = [match for row in rows for name in "su" for match in live.push(name, [row])]
    assert comparable(pushed + live.finish()) == comparable(found)


def test_an_event_without_id_is_named_after_its_stream() -> None:
    script = two_streams("") + "CREATE QUERY one ON s, u PATTERN SEQ(_ x) WITHIN 9;"
    assert len(set(event_ids(bound(script, "one", s=SAME, u=SAME)))) == 6


ALTERNATIVES = """
CREATE STREAM s (id LONG, place STRING, t LONG, p DOUBLE) ID id TIME t
ALTERNATIVES place PROBABILITY p;
CREATE QUERY q ON s PATTERN SEQ(_ x) WITHIN 9;
"""


def test_alternatives_have_the_declared_id_and_matches_of_their_own() -> None:
    rows = [
        {"id": 7, "place": "a", "t": 1, "p": 0.25},
        {"id": 7, "place": "b", "t": 1, "p": 0.25},
        {"id": 7, "place": None, "t": 1, "p": 0.25},
        {"id": 7, "place": "a", "t": 2, "p": 0.25},
        {"id": 8, "place": "a", "t": 2, "p": 0.5},
    ]
    found = bound(ALTERNATIVES, "q", s=rows)
    assert sorted(event_ids(found)) == ["7", "7", "7", "7", "8"]
    assert len({match["match_id"] for match in found}) == 5
    live = session(ALTERNATIVES)
    assert comparable(live.push("s", rows) + live.finish()) == comparable(found)


def test_how_likely_an_alternative_is_does_not_name_it() -> None:
    row = {"id": 7, "place": "a", "t": 1}
    once, again = (bound(ALTERNATIVES, "q", s=[row | {"p": p}]) for p in (0.25, 0.5))
    assert once[0]["match_id"] == again[0]["match_id"]
