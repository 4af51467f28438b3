"""EXPLAIN: how a query will be evaluated, and why; as text, JSON, a picture or Mermaid.

Everything shown is read off the physical plan, so what is printed is what will run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import Catalog
from augury.analysis.settled import dynamic_tables
from augury.planning.acting.whom import active_conjuncts
from augury.planning.distribution.movement import Priced
from augury.planning.explain.json import explain_as_json
from augury.planning.explain.measured import Measures, with_measures
from augury.planning.explain.mermaid import explain_as_mermaid
from augury.planning.explain.svg import explain_as_svg
from augury.planning.explain.text import explain_as_text
from augury.planning.physical import PhysicalPlan, plan_query

Format = Literal["text", "json", "svg", "mermaid"]

_WRITERS: dict[str, Callable[[PhysicalPlan, Catalog | None, Priced | None], str]] = {
    "text": explain_as_text,
    "json": explain_as_json,
    "svg": explain_as_svg,
    "mermaid": explain_as_mermaid,
}


def explain(
    query: CheckedQuery,
    format: Format = "text",  # noqa: A002 - the language's own word
    catalog: Catalog | None = None,
    priced: Priced | None = None,
    measures: Measures | None = None,
) -> str:
    """Return the explanation of a checked query.

    With a catalog, table columns are typed and the network of queries is followed to its streams.
    `priced` are the ways to move its rows, where the streams were analysed. `measures` are what its
    stages did in a run.
    """
    if catalog is not None:
        # Active conjuncts take no part in the search, whatever table they read.
        active = active_conjuncts(query, dynamic_tables(catalog))
        others = tuple(each for each in query.conjuncts if each not in active)
        query = replace(query, conjuncts=others, lookups=active)
    shown = _WRITERS[format](plan_query(query, catalog), catalog, priced)
    return shown if measures is None else with_measures(shown, format, measures)
