"""Rows of a log that are equal in all they say have ids of their own in batch, too."""

from __future__ import annotations

from typing import Any

import pyarrow.csv
import pytest

from augury import Session
from fault_tolerance import logins

pytestmark = pytest.mark.spark


def test_a_log_of_seconds_has_as_many_ids_as_matches(spark: Any) -> None:
    if not logins.DATA.exists():
        pytest.skip(f"{logins.DATA.name} is absent")
    log = pyarrow.csv.read_csv(logins.DATA)
    local, batch = Session(engine="local"), Session(spark, shards=3)
    for ag, rows in ((local, log), (batch, spark.createDataFrame(log.to_pandas()))):
        ag.sql(logins.SCRIPT)
        ag.bind("logins", rows)
    found = [row["match_id"] for row in batch.table("guessing").select("match_id").collect()]
    assert len(found) == len(set(found)) == 444
    assert set(found) == set(local.table("guessing").column("match_id").to_pylist())
