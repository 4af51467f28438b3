"""Whatever way rows are moved, and wherever time is cut, the matches are those of all worlds."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from augury import Session
from augury.evaluation.network import Network
from augury.evaluation.sharding import sharding_of
from augury.planning.distribution.layout import MOVEMENTS, Layout, Movement, Moving
from contracts.live_cases import comparable
from contracts.movement_cases import FLAT, moved, over_streams
from contracts.test_shards import network_of
from matching.as_text import bindings, session_of
from oracles.worlds import network as all_worlds

STRATEGIES = ("any", "next", "strict", "partition")
CASES = st.tuples(
    st.sampled_from(FLAT),
    st.sampled_from(STRATEGIES),
    st.integers(0, 10**9),
    st.integers(1, 3),
)


def cut_by_time(network: Network) -> Moving:
    """Return how a network is cut by time; a random case may be cut by a key, or not at all."""
    sharding = sharding_of(network, bounded=True)
    assume(sharding.kind == "time")
    assert sharding.moving is not None
    return sharding.moving


@given(
    case=CASES,
    movement=st.sampled_from(MOVEMENTS),
    cuts=st.sets(st.integers(-2, 25), max_size=6),
    threshold=st.sampled_from((None, 0.1, 0.3)),
)
def test_any_cut_and_either_plan_give_the_matches_of_all_worlds(
    case: tuple[str, str, int, int], movement: Movement, cuts: set[int], threshold: float | None
) -> None:
    made = over_streams(*case)
    if threshold is not None:
        queries = [replace(each, threshold=(threshold, False)) for each in made.queries]
        made = replace(made, queries=tuple(queries))
    (query,) = made.queries
    network = network_of(made)
    moving = replace(cut_by_time(network), movement=movement)
    names = list(network.bases)
    places = tuple(names[k % len(names)] for k in range(len(cuts) + 1))
    found, _ = moved(network, bindings(made), moving, Layout(tuple(sorted(cuts)), places))
    wanted = session_of(made).table(query.name).to_pylist()
    assert comparable(found) == comparable(wanted)
    worlds = all_worlds(made.queries, made.events)[query.name]
    assert sorted(round(row["confidence"], 9) for row in found) == sorted(
        round(p, 9) for p in worlds.values()
    )


@given(case=CASES, movement=st.sampled_from(MOVEMENTS), parts=st.integers(1, 5))
def test_the_layout_that_sketches_give_changes_nothing(
    case: tuple[str, str, int, int], movement: Movement, parts: int
) -> None:
    made = over_streams(*case)
    network = network_of(made).only([made.queries[-1].name])
    moving = replace(cut_by_time(network), movement=movement, parts=parts, least=0)
    found, _ = moved(network, bindings(made), moving)
    wanted = session_of(made).table(made.queries[-1].name).to_pylist()
    assert comparable(found) == comparable(wanted)


# EXAMPLES 1.2 ------------------------------------------------------------------------------------

STREAM = ["a1", "c2", "b3", "a4", "d5", "b6", "d7", "a8", "b9", "c10", "a11", "d12", "b13", "d14"]
CHANCES = (0.6, 0.7, 0.5, 0.9, 0.8, 0.6, 0.8, 0.7, 0.5, 0.9, 0.6, 0.8, 0.6, 0.7)


def example() -> tuple[Session, Network, dict[str, pa.Table]]:
    ag = Session(engine="local")
    ag.sql(
        "CREATE STREAM s (kind STRING, t LONG, p DOUBLE) TIME t TYPE kind PROBABILITY p;"
        "CREATE QUERY abd ON s PATTERN SEQ(A a, B b, D d) WITHIN 20;"
    )
    rows = [
        {"kind": name[0].upper(), "t": int(name[1:]), "p": p}
        for name, p in zip(STREAM, CHANCES, strict=True)
    ]
    table = pa.Table.from_pylist(rows)
    ag.bind("s", table)
    queries = {name: query for name, (query, _) in ag._declared.queries.items()}
    return ag, Network.of(["abd"], queries, ag._declared.catalog), {"s": table}


def test_two_ranges_cut_after_seven_give_the_same_twenty_matches() -> None:
    ag, network, tables = example()
    moving = Moving("results", 20, 0, 2)
    found, movement = moved(network, tables, moving, Layout((8,), ("s", "s")))
    assert len(found) == 20
    assert comparable(found) == comparable(ag.table("abd").to_pylist())
    local = [row for row in found if row["start_ts"] > 7 or row["end_ts"] <= 7]
    crossing = [row for row in found if row["start_ts"] <= 7 < row["end_ts"]]
    assert (len(local), len(crossing)) == (8, 12)
    # The two c enter no queue; the six others up to the cut are needed on both sides of it.
    by_kind = {
        row["kind"]: row["rows"]
        for row in movement.group_by("kind")
        .aggregate([("rows", "sum")])
        .rename_columns(["kind", "rows"])
        .to_pylist()
    }
    assert by_kind == {"rows": 12, "copy": 6}


@pytest.mark.parametrize("movement", MOVEMENTS)
def test_nothing_moves_where_there_is_one_place(movement: Movement) -> None:
    _, network, tables = example()
    _, told = moved(network, tables, Moving(movement, 20, 0, 3))
    assert not any("moved" in kind for kind in told.column("kind").to_pylist())
