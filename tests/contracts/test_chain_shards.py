"""Probabilities that are carried are those of all rows at once: any shards, any cut into batches.

Rows of groups with probability 0 are left out where rows have no end, so they are left out here.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury import Session
from augury.errors import StateError
from augury.evaluation.encoding import declaration_of
from augury.evaluation.executor import shard_for
from augury.evaluation.network import Network
from augury.evaluation.probability.chain_shard import ChainShard
from augury.evaluation.sharding import Sharding, sharding_of
from augury.evaluation.stream_rows import EVENT_ID
from augury.matching.matcher import ALWAYS
from augury.planning.streamable import why_not_streamable
from augury.sources.rows import REASON, conform

SCRIPT = """
CREATE TABLE places (place STRING);
CREATE TABLE start (place STRING, p DOUBLE);
CREATE TABLE steps (place_from STRING, place_to STRING, p DOUBLE);
CREATE TABLE heard (place STRING, reader STRING, p DOUBLE);
CREATE TABLE rooms (place STRING);
CREATE MODEL building HMM (STATES places, INITIAL start, TRANSITION steps, EMISSION heard);
CREATE STREAM reads (tag STRING, reader STRING, t LONG) KEY tag TIME t TYPE reader LATENESS 2;
CREATE STREAM now AS FILTER reads USING building;
CREATE STREAM soon AS SMOOTH reads USING building LAG 2;
CREATE STREAM exact AS FILTER reads USING building CORRELATED;
CREATE STREAM close AS SMOOTH reads USING building LAG 2 CORRELATED;
CREATE STREAM likely AS MLE reads USING building;
CREATE TABLE cells (place STRING, x_from DOUBLE, y_from DOUBLE, x_to DOUBLE, y_to DOUBLE);
CREATE TABLE antennas (reader STRING, x DOUBLE, y DOUBLE, reach DOUBLE, p DOUBLE);
CREATE MODEL storey POSITIONS (CELLS cells, ANTENNAS antennas, SPEED 1.0, REST 0.2);
CREATE STREAM guessed AS PARTICLES (50) reads USING storey;
CREATE STREAM s (id LONG, tag STRING, kind STRING, t LONG, p DOUBLE)
ID id KEY tag TIME t TYPE kind PROBABILITY p LATENESS 2;
CREATE STREAM at (tag STRING, place STRING, t LONG, p DOUBLE)
KEY tag TIME t ALTERNATIVES place PROBABILITY p LATENESS 2;
CREATE STREAM lies (tag STRING, place STRING, t LONG, p DOUBLE)
KEY tag TIME t ALTERNATIVES place PROBABILITY p MARKOV moves LATENESS 2;
CREATE STREAM moves (tag STRING, t LONG, place_from STRING, place_to STRING, p DOUBLE)
KEY tag TIME t PROBABILITY p LATENESS 2;
"""
TO_THE_ROOM = (
    "PATTERN SEQ({0} a, {0} b) WHERE [tag] AND a.place = 'hall' AFTER WHERE b.place IN rooms"
    " USING SKIP TILL NEXT MATCH"
)
QUERIES = {
    "anyone": "ON s PATTERN SEQ(A a, B b) WHERE [tag] USING SKIP TILL NEXT MATCH",
    "each": "ON s PATTERN SEQ(A a, !C c, B b) WHERE [tag] GROUP BY tag",
    "certain": "ON s PATTERN SEQ(A a, B+ b, C c) USING SKIP TILL NEXT MATCH",
    "strictly": "ON s PATTERN SEQ(A a, B b) WHERE [tag] USING PARTITION CONTIGUITY GROUP BY tag",
    "alternatives": f"ON at {TO_THE_ROOM.format('at')} GROUP BY tag",
    "both": "ON s, at PATTERN SEQ(A a, at b) WHERE [tag] AND b.place = 'hall'",
    "markovian": f"ON lies {TO_THE_ROOM.format('lies')} GROUP BY tag",
    "somebody": f"ON lies {TO_THE_ROOM.format('lies')}",
    "filtered": f"ON now {TO_THE_ROOM.format('now')} GROUP BY tag",
    "lagged": f"ON soon {TO_THE_ROOM.format('soon')} GROUP BY tag",
    "exactly": f"ON exact {TO_THE_ROOM.format('exact')} GROUP BY tag",
    "decidedly": f"ON likely {TO_THE_ROOM.format('likely')} GROUP BY tag",
    "guessing": f"ON guessed {TO_THE_ROOM.format('guessed')} GROUP BY tag",
    "closely": f"ON close {TO_THE_ROOM.format('close')} GROUP BY tag",
}
LOOKING_BACK = {f"{name}_lately": rest for name, rest in QUERIES.items()}
CORNERS = ("x_from", "y_from", "x_to", "y_to")
TABLES: dict[str, list[dict[str, Any]]] = {
    "cells": [
        {"place": "hall", **dict(zip(CORNERS, (0.0, 0.0, 4.0, 2.0), strict=True))},
        {"place": "room", **dict(zip(CORNERS, (4.0, 0.0, 6.0, 2.0), strict=True))},
    ],
    "antennas": [
        {"reader": "A", "x": 1.0, "y": 1.0, "reach": 2.0, "p": 0.7},
        {"reader": "B", "x": 5.0, "y": 1.0, "reach": 1.5, "p": 0.7},
    ],
    "places": [{"place": "hall"}, {"place": "room"}],
    "rooms": [{"place": "room"}],
    "start": [{"place": "hall", "p": 0.7}, {"place": "room", "p": 0.3}],
    "steps": [
        {"place_from": "hall", "place_to": "hall", "p": 0.5},
        {"place_from": "hall", "place_to": "room", "p": 0.5},
        {"place_from": "room", "place_to": "room", "p": 0.75},
        {"place_from": "room", "place_to": "hall", "p": 0.25},
    ],
    "heard": [
        {"place": "hall", "reader": "A", "p": 0.6},
        {"place": "room", "reader": "A", "p": 0.1},
        {"place": "room", "reader": "B", "p": 0.3},
    ],
}
Rows = list[dict[str, Any]]


def session(data: dict[str, Rows]) -> Session:
    ag = Session(engine="local")
    ag.sql(SCRIPT)
    for name, rest in QUERIES.items():
        ag.sql(f"CREATE QUERY {name} {rest} RETURN PROBABILITY BY TIME;")
    for name, rest in LOOKING_BACK.items():
        ag.sql(f"CREATE QUERY {name} {rest} RETURN PROBABILITY BY TIME OVER 3;")
    for name, rows in {**TABLES, **data}.items():
        ag.bind(name, rows)
    return ag


def random_rows(seed: int, length: int = 8) -> dict[str, Rows]:
    """Return rows of all streams about three tags."""
    rng = random.Random(seed)
    found: dict[str, Rows] = {"reads": [], "s": [], "at": [], "lies": [], "moves": []}
    for tag in "xyz":
        for t in range(1, length + 1):
            found["reads"] += [
                {"tag": tag, "reader": r, "t": t} for r in "ABZ" if rng.random() < 0.3
            ]
            if rng.random() < 0.8:
                kind, p = rng.choice("ABC"), rng.choice((1.0, 0.5, 0.25))
                found["s"].append({"tag": tag, "kind": kind, "t": t, "p": p})
            if rng.random() < 0.8:
                p = rng.random()
                found["at"].append({"tag": tag, "place": "hall", "t": t, "p": p})
                found["at"].append({"tag": tag, "place": "room", "t": t, "p": (1 - p) / 2})
        for name, rows in markovian(rng, tag, length).items():
            found[name] += rows
    order = sorted(range(len(found["s"])), key=lambda k: found["s"][k]["t"])
    found["s"] = [found["s"][k] | {"id": n} for n, k in enumerate(order)]
    return found


def markovian(rng: random.Random, tag: str, length: int) -> dict[str, Rows]:
    """Return an object's marginals and tables; now and then it is nowhere for a while."""
    values = ("hall", "room", None)
    mass = {"hall": 0.6, "room": 0.3, None: 0.1}
    lies: Rows = []
    moves: Rows = []
    for t in range(1, length + 1):
        lies += [{"tag": tag, "place": v, "t": t, "p": p} for v, p in mass.items() if v is not None]
        if rng.random() < 0.2:
            mass = {"hall": 0.0, "room": 0.0, None: 1.0}
            continue
        ahead = dict.fromkeys(values, 0.0)
        for origin in values:
            drawn = [rng.random() for _ in values]
            for target, share in zip(values, drawn, strict=True):
                p = share / sum(drawn)
                ahead[target] += mass[origin] * p
                row = {"tag": tag, "t": t, "place_from": origin, "place_to": target, "p": p}
                moves.append(row)
        mass = ahead
    last = lies[-1]["t"]
    return {"lies": lies, "moves": [row for row in moves if row["t"] < last]}


def network_of(ag: Session, name: str) -> Network:
    queries = {key: query for key, (query, _) in ag._declared.queries.items()}
    network = Network.of([name], queries, ag._declared.catalog)
    tables = {each: ag._bound.rows[each] for each in network.tables_read}
    return Network(network.names, network.queries, network.catalog, tables, network.texts)


def carried(network: Network, data: dict[str, Rows], size: int, shards: int) -> Rows:
    """Return what shards report whose state is stored after every batch."""
    shard = shard_for(network)
    assert isinstance(shard, ChainShard)
    sharding = sharding_of(network, bounded=False)
    found: Rows = []
    for number in range(shards if sharding.kind == "key" else 1):
        state = shard.dump(shard.start())
        for start in range(0, 9, size):
            batch = {
                name: travelling_rows(shard, name, rows)
                for name in network.bases
                if (rows := due(data[name], range(start, start + size), (number, shards), sharding))
            }
            after, answers = shard.advance(shard.load(state), batch, start + size - 1)
            state = shard.dump(after)
            found += [row for table in answers.found.values() for row in table.to_pylist()]
        _, answers = shard.finish(shard.load(state))
        found += [row for table in answers.found.values() for row in table.to_pylist()]
    return found


def due(rows: Rows, times: range, part: tuple[int, int], sharding: Sharding) -> Rows:
    """Return the rows of a shard that come in a span of time."""
    number, shards = part
    return [
        row
        for row in rows
        if row["t"] in times
        and (sharding.kind == "single" or "xyz".index(row["tag"]) % shards == number)
    ]


def travelling_rows(shard: ChainShard, name: str, rows: Rows) -> pa.Table:
    table = conform(pa.Table.from_pylist(rows), declaration_of(shard.network.bases[name]))
    if EVENT_ID in shard.schemas[name].names:
        table = table.append_column(EVENT_ID, pa.array(["-"] * len(rows), pa.string()))
    return table


def comparable(rows: Rows) -> dict[tuple[Any, ...], float]:
    grouped = rows and "tag" in rows[0]
    found = {(row.get("tag"), row["ts"]): row["probability"] for row in rows}
    assert len(found) == len(rows)
    return {key: p for key, p in found.items() if not grouped or p > 0.0}


def expected_rows(ag: Session, name: str, data: dict[str, Rows]) -> dict[tuple[Any, ...], float]:
    """Return what all rows at once give; of a group that looks back, where its tag has rows."""
    found = comparable(ag.table(name).to_pylist())
    if name not in LOOKING_BACK or "GROUP BY tag" not in LOOKING_BACK[name]:
        return found
    streams = [stream.name for stream in ag._declared.queries[name][0].streams]
    told = {place for each in streams for place in places_told(data, each)}
    return {place: p for place, p in found.items() if place in told}


def places_told(data: dict[str, Rows], stream: str) -> set[tuple[str, int]]:
    """Return the tags and times that a stream tells of: of readings, from the first to the last."""
    if stream in data:
        return {(row["tag"], row["t"]) for row in data[stream]}
    known: dict[str, list[int]] = {}
    for row in data["reads"]:
        if row["reader"] != "Z":
            known.setdefault(row["tag"], []).append(row["t"])
    return {(tag, t) for tag, own in known.items() for t in range(min(own), max(own) + 1)}


@given(
    name=st.sampled_from((*QUERIES, *LOOKING_BACK)),
    seed=st.integers(0, 10**6),
    size=st.integers(1, 13),
    shards=st.sampled_from((1, 3)),
)
def test_batches_and_shards_change_nothing(name: str, seed: int, size: int, shards: int) -> None:
    data = random_rows(seed)
    ag = session(data)
    expected = expected_rows(ag, name, data)
    found = comparable(carried(network_of(ag, name), data, size, shards))
    assert found.keys() == expected.keys()
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", [*QUERIES, *LOOKING_BACK])
def test_state_is_constant_over_a_tenfold_longer_stream(name: str) -> None:
    sizes = []
    for length in (40, 400):
        data = random_rows(5, length)
        network = network_of(session(data), name)
        shard = ChainShard(network)
        state = shard.start()
        batch = {base: travelling_rows(shard, base, data[base]) for base in network.bases}
        state, _ = shard.advance(state, batch, length + 1)
        sizes.append(len(shard.dump(state)))
    assert sizes[1] < 1.2 * sizes[0]


def test_readings_that_no_model_takes_are_put_aside() -> None:
    ag = session(random_rows(1))
    network = network_of(ag, "filtered")
    shard = ChainShard(network)
    rows = [{"tag": "x", "reader": r, "t": t} for t, r in enumerate("AZB")]
    batch = {"reads": travelling_rows(shard, "reads", rows)}
    _, answers = shard.advance(shard.start(), batch, ALWAYS)
    (told,) = answers.rejected["reads"].to_pylist()
    assert (told["t"], told[REASON]) == (1, "sensor 'Z' is not in model building")


def test_state_of_another_query_is_refused() -> None:
    ag = session(random_rows(1))
    one, other = (ChainShard(network_of(ag, name)) for name in ("anyone", "each"))
    with pytest.raises(StateError, match="belongs to other declarations"):
        other.load(one.dump(one.start()))


@pytest.mark.parametrize("beside", ["s", "soon"])
def test_what_is_known_at_different_times_is_not_carried_in_one_chain(beside: str) -> None:
    """A silence is told when it is over: steps of a chain would come after later ones."""
    ag = session(random_rows(1))
    text = f"CREATE QUERY q ON now, {beside} PATTERN SEQ({beside} a, now b) WHERE [tag]"
    ag.sql(f"{text} USING SKIP TILL NEXT MATCH GROUP BY tag RETURN PROBABILITY BY TIME;")
    query = ag._declared.queries["q"][0]
    assert "beside others" in (why_not_streamable(query, ag._declared.catalog) or "")


@pytest.mark.rotating(2)
@pytest.mark.parametrize("size", [pytest.param(3, marks=pytest.mark.slow), 7])
def test_pushed_rows_get_the_same_probabilities(size: int) -> None:
    data = random_rows(7)
    expected = session(data)
    ag = session({})
    arrivals = sorted(
        ((row["t"], name, row) for name, rows in data.items() for row in rows),
        key=lambda each: each[:2],
    )
    found: Rows = []
    for k, (_, name, row) in enumerate(arrivals):
        found += ag.push(name, row)
        if k % size == 0:
            stored, ag = ag.checkpoint(), session({})
            ag.restore(stored)
    found += ag.finish()
    for name in (*QUERIES, *LOOKING_BACK):
        own = comparable([row for row in found if row["query"] == name])
        assert own == pytest.approx(expected_rows(expected, name, data), abs=1e-9)
    told = {row["reason"] for row in ag.rejected("reads").to_pylist()}
    nobody = "no particle explains the readings of this step; more particles may"
    unknown = {f"sensor 'Z' is not in model {model}" for model in ("building", "storey")}
    assert unknown <= told <= {*unknown, nobody}


@pytest.mark.parametrize("name", ["filtered", "exactly"])
@pytest.mark.parametrize("over", ["", "OVER 2 SECONDS", "OVER 2.5 SECONDS"])
def test_a_step_of_readings_has_its_turn_when_it_is_complete(name: str, over: str) -> None:
    script = SCRIPT.replace(
        "t LONG) KEY tag TIME t TYPE reader", "t TIMESTAMP) KEY tag TIME t TYPE reader"
    )
    text = f"CREATE QUERY q {QUERIES[name]} RETURN PROBABILITY BY TIME {over};"
    moments = [datetime(2024, 1, 1, 0, 0, 10, k, UTC) for k in (200_000, 700_000)]
    moments += [datetime(2024, 1, 1, 0, 0, second, 100_000, UTC) for second in (12, 13)]
    rows = [
        {"tag": "x", "reader": reader, "t": at} for reader, at in zip("AABA", moments, strict=True)
    ]
    here, live = Session(engine="local"), Session(engine="local")
    for ag in (here, live):
        ag.sql(script.replace("TYPE reader LATENESS 2;", "TYPE reader;") + text)
        for table, own in TABLES.items():
            ag.bind(table, own)
    here.bind("reads", rows)
    found = [row for each in rows for row in live.push("reads", each)] + live.finish()
    wanted = [row for row in here.table("q").to_pylist() if row["probability"] > 0.0]
    assert wanted
    assert [row["ts"] for row in found] == [row["ts"] for row in wanted]
    assert [row["probability"] for row in found] == pytest.approx(
        [row["probability"] for row in wanted], abs=1e-9
    )


def test_what_the_data_could_bring_is_counted_before_they_come() -> None:
    columns = "(k STRING, y STRING, t LONG, p DOUBLE)"
    stream = f"CREATE STREAM r {columns} KEY k TIME t TYPE y PROBABILITY p;"
    asked = "PATTERN SEQ(A a, B b, C c, D d) WHERE [k] USING SKIP TILL NEXT MATCH"
    for over, most in ((511, None), (512, 511)):
        ag = Session(engine="local")
        ag.sql(f"{stream} CREATE QUERY q ON r {asked} RETURN PROBABILITY BY TIME OVER {over};")
        reason = why_not_streamable(ag._declared.queries["q"][0], ag._declared.catalog)
        assert (reason is None) == (most is None)
        assert most is None or f"of which at most {most} are carried" in str(reason)
