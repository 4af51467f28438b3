"""What rules hear that are no matches: rows of forecasts, and of queries for PROBABILITY BY TIME.

No table tests them and nothing is made of them; a row acts at its moment. Of a forecast over one
stream that is the order of the event it is told after; events of several streams are read together,
and a probability is of all events of its time, so these are known after them.
"""

from __future__ import annotations

from collections.abc import Mapping

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import Catalog, DataType, StreamSchema
from augury.analysis.declarations.rules import by_time_schema, forecast_schema
from augury.planning.acting.columns import HIDDEN
from augury.planning.acting.moments import Candidates, Rows

# The column of a forecast's rows that has the tie-breaker of the event they are told after.
ORDER = f"{HIDDEN}order"


def forecast_rows(name: str, catalog: Catalog, queries: Mapping[str, CheckedQuery]) -> Candidates:
    """Return how the rows of a forecast are heard."""
    schema, statement = catalog.forecast_streams[name], catalog.forecasts[name]
    query = queries[statement.query.lower()]
    numbers = {stream: k for k, stream in enumerate(catalog.streams)}
    alone = numbers.get(query.streams[0].name.lower()) if len(query.streams) == 1 else None
    schema = forecast_schema(schema)
    once = not statement.by_time
    rows = Rows(schema, alone, once=once, is_forecast=True)
    return Candidates(query, _types(schema), {}, {}, rows=rows)


def rows_by_time(query: CheckedQuery) -> Candidates:
    """Return how the rows of a query for PROBABILITY BY TIME are heard."""
    schema = by_time_schema(query)
    return Candidates(query, _types(schema), {}, {}, rows=Rows(schema))


def _types(schema: StreamSchema) -> dict[str, DataType]:
    return {column.name: column.type for column in schema.columns}
