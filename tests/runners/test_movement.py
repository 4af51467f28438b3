"""Queries over the same streams are priced together: moved events serve all of them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from augury import Session
from augury.evaluation.network import Network
from augury.evaluation.sharding import sharding_of
from augury.planning.distribution.layout import Sketch
from augury.runners.spark.movement import Movements, row_sizes

STREAM = "(id LONG, kind STRING, v LONG, t LONG, p DOUBLE) ID id TIME t TYPE kind PROBABILITY p;"
EVERY_OTHER = Sketch.of(np.arange(1000), np.arange(1000) % 2 == 0)


def movements(options: dict[str, str], sketch: Sketch = EVERY_OTHER) -> Movements:
    ag = Session(engine="local")
    ag.sql(f"CREATE STREAM a {STREAM} CREATE STREAM b {STREAM}")
    for name, rest in options.items():
        ag.sql(f"CREATE QUERY {name} ON a, b PATTERN SEQ(A x, B y) WITHIN 5 {rest};")
    queries = {name: query for name, (query, _) in ag._declared.queries.items()}
    network = Network.of(list(options), queries, ag._declared.catalog)
    known = {name: {"a": sketch, "b": sketch} for name in options}
    return Movements(network, 4, True, known)


def ways(found: Movements) -> dict[str, str]:
    shardings = found.shardings()
    return {name: each.moving.movement for name, each in shardings.items() if each.moving}


def test_one_query_moves_results_and_three_share_events() -> None:
    assert ways(movements({"q1": ""})) == {"q1": "results"}
    three = movements({"q1": "", "q2": "", "q3": ""})
    assert set(ways(three).values()) == {"events"}
    assert three.grouped(["q1", "q2", "q3"], "events") == [["q1", "q2", "q3"]]
    assert three.grouped(["q1", "q2", "q3"], "results") == [["q1"], ["q2"], ["q3"]]


def test_queries_that_share_events_are_cut_alike() -> None:
    asked = {
        "q1": "OPTIONS (movement = 'events')",
        "q2": "OPTIONS (movement = 'events', partitions = 9)",
    }
    (sharding,) = set(movements(asked).shardings().values())
    assert sharding.moving is not None
    assert sharding.moving.parts == 9


def test_options_rule_for_their_own_query() -> None:
    found = movements({"q1": "OPTIONS (movement = 'results')", "q2": "", "q3": "", "q4": ""})
    assert ways(found) == {"q1": "results", "q2": "events", "q3": "events", "q4": "events"}


def test_without_a_count_results_are_moved() -> None:
    found = movements({"q1": "", "q2": "", "q3": ""})
    unknown = Movements(found.network, 4, True, {})
    assert set(ways(unknown).values()) == {"results"}


def test_a_row_has_the_bytes_of_the_columns_that_travel() -> None:
    found = movements({"q1": ""})
    text = Sketch(1, 1, text=(("kind", 3.0),))
    size = row_sizes(found.network, {"a": text, "b": text})["a"]
    # id, t and p have eight bytes each; kind three and where it starts; v does not travel.
    assert size.row == pytest.approx(24 + 3 + 4)
    assert size.blob > 100


LOWER = "CREATE QUERY low ON s PATTERN SEQ(A x, B y) WITHIN 5;"
VARIOUS = {
    "plain": "CREATE QUERY q ON s PATTERN SEQ(A x, B y) WITHIN 5;",
    "alternatives": "CREATE QUERY q ON m PATTERN SEQ(_ x, _ y) WITHIN 5;",
    "correlated": "CREATE QUERY q ON s PATTERN SEQ(A x, B y) WITHIN 5 CORRELATED BY pairs;",
    "lower": f"{LOWER} CREATE QUERY q ON s, low PATTERN SEQ(A x, low y) WITHIN 5;",
    "count": "CREATE QUERY q ON s PATTERN SEQ(A x, B y) WITHIN 5 RETURN COUNT;",
}


@pytest.mark.parametrize("name", VARIOUS)
def test_explain_tells_of_movement_where_rows_are_cut_by_time(name: str) -> None:
    ag = Session(engine="local")
    ag.sql(
        f"CREATE STREAM s {STREAM} CREATE TABLE pairs (first LONG, second LONG, p DOUBLE);"
        "CREATE STREAM m (k LONG, place STRING, t LONG, p DOUBLE) "
        "KEY k TIME t PROBABILITY p ALTERNATIVES (place);"
    )
    ag.sql(VARIOUS[name])
    queries = {name: query for name, (query, _) in ag._declared.queries.items()}
    network = Network.of(["q"], queries, ag._declared.catalog)
    is_cut = sharding_of(network, bounded=True, parts=4).kind == "time"
    told = json.loads(ag.explain("q", "json"))["movement"]
    assert is_cut == (name == "plain")
    assert (told is not None) == is_cut
