"""EXPLAIN ANALYZE on Spark: what the stages did, summed over the tasks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from augury import Session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
SCRIPT = """
CREATE STREAM s (id LONG, tag STRING, kind STRING, t LONG, p DOUBLE)
ID id KEY tag TIME t TYPE kind PROBABILITY p;
CREATE QUERY ab ON s PATTERN SEQ(A a, B b) WHERE [tag] WITHIN 10 RETURN a.tag AS tag;
"""


def test_what_stages_did_is_summed_over_the_tasks(spark: SparkSession) -> None:
    ag = Session(spark)
    ag.sql(SCRIPT)
    kinds = "ABC"
    ag.bind(
        "s",
        [{"id": k, "tag": "xy"[k % 2], "kind": kinds[k % 3], "t": k, "p": 0.5} for k in range(30)],
    )
    facts = json.loads(ag.explain("ab", "json", analyze=True))
    assert [each["stage"] for each in facts["measured"]] == facts["stages"]
    # Rows of type C can play nothing, and do not travel.
    assert [each["rows_in"] for each in facts["measured"]] == [20, 20]
    assert facts["measured"][-1]["rows_out"] == ag.table("ab").count()
