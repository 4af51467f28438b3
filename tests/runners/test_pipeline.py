"""What a pipeline says before Spark is asked for anything."""

from __future__ import annotations

from typing import Any

import pytest

from augury import AuguryError
from augury.analysis.script import check_text
from augury.evaluation.network import Network
from augury.runners.spark.pipeline import Pipeline

SCRIPT = """
CREATE STREAM Reads (tag STRING, kind STRING, t LONG) KEY tag TIME t TYPE kind;
CREATE QUERY Theft ON Reads PATTERN SEQ(A a, B b) WHERE [tag] WITHIN 100;
CREATE QUERY other ON Reads PATTERN SEQ(A a, C c) WHERE [tag] WITHIN 100;
"""


@pytest.mark.parametrize(
    ("kind", "name", "says"),
    [
        ("matchs", "theft", "no kind 'matchs'; they have match, late, rejected, movement; did you"),
        ("Rows", "theft", "no kind 'Rows'; they have match, late, rejected, movement$"),
        ("match", "thefts", "no query 'thefts'; they have Theft; did you mean Theft"),
        ("match", "other", "no query 'other'; they have Theft$"),
        ("rejected", "raeds", "no stream 'raeds'; they have Reads; did you mean Reads"),
        ("late", "theft", "no stream 'theft'; they have Reads$"),
    ],
)
def test_answers_that_a_pipeline_does_not_have_are_refused(kind: str, name: str, says: str) -> None:
    checked = check_text(SCRIPT)
    queries = {query.name.lower(): query for query in checked.queries}
    nothing: Any = None
    pipeline = Pipeline(Network.of(["theft"], queries, checked.catalog), nothing, 1)
    with pytest.raises(AuguryError, match=says):
        pipeline.rows(nothing, kind, name)
