"""Load what a first answer needs, before anybody waits for it.

Kernels come compiled with the wheel; where those do not fit they are compiled once on a machine
(`augury.kernels.kept`), and then it is better that one process does it than all workers at once.
"""

from __future__ import annotations

import pyarrow as pa

from augury.analysis.script import check_text
from augury.errors import QueryError
from augury.evaluation.evaluator import Evaluator

_SCRIPT = """
CREATE STREAM s (id LONG, tag LONG, kind STRING, t LONG, p DOUBLE)
ID id KEY tag TIME t TYPE kind PROBABILITY p;
CREATE QUERY next ON s PATTERN SEQ(A a, B b) WHERE [tag] USING SKIP TILL NEXT MATCH WITHIN 9;
CREATE QUERY any ON s PATTERN SEQ(A a, B b) WHERE [tag] WITHIN 9;
"""


def warm_up() -> None:
    """Compile the kernels, or load them if they are compiled."""
    checked = check_text(_SCRIPT)
    if any(each.severity == "error" for each in checked.diagnostics):
        raise QueryError(checked.diagnostics)
    queries = {query.name: query for query in checked.queries}
    # What is in doubt is searched, what is certain is not: each has kernels of its own.
    for p in (0.5, 1.0):
        rows = pa.table({"id": [1, 2], "tag": [1, 1], "kind": ["A", "B"], "t": [1, 2], "p": [p, p]})
        runner = Evaluator(checked.catalog, queries, {"s": rows})
        for name in queries:
            runner.table(name)
