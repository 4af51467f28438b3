"""A chain over wards is cut by ward, if its tables are: else Spark settles all in one place."""

from __future__ import annotations

from dataclasses import replace

from augury import Session
from augury.demo.hospital.pipelines import script
from augury.evaluation.asked import Asked
from augury.evaluation.network import Network
from augury.evaluation.sharding import Sharding, sharding_of
from augury.evaluation.stages.act import ActStage
from augury.planning.acting.world import acting_of


def cut(text: str) -> list[Sharding]:
    """Return how the rules of a script are cut on Spark, in batch and in a stream."""
    ag = Session(engine="local")
    ag.sql(text)
    catalog, queries = ag._declared.catalog, ag._declared.checked_queries
    found = acting_of(catalog, queries).searched
    network = Network.of(list(found), {**queries, **found}, catalog)
    network = network.only(found, (Asked("firings", "alarm"),))
    network = replace(network, act=ActStage.of(catalog, queries, {}))
    return [sharding_of(network, bounded=True), sharding_of(network, bounded=False)]


def test_the_hospital_is_cut_by_corridor() -> None:
    for found in cut(script("ward.sql")):
        assert (found.kind, found.columns) == ("key", (("doors", ("corridor",)),))


def test_a_table_whose_key_does_not_name_the_ward_keeps_all_together() -> None:
    text = script("ward.sql").replace(
        "KEY corridor, person;\nCREATE TABLE alarms", "KEY person;\nCREATE TABLE alarms"
    )
    assert text != script("ward.sql")
    assert {found.kind for found in cut(text)} == {"single"}
