"""Conditions over several events, for forecasts that follow partial matches one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from augury.analysis.declarations.catalog import DataType
from augury.errors import DataError
from augury.evaluation.encoding import Tables
from augury.forecast.past import Condition
from augury.planning.expressions.arrow import inside
from augury.planning.expressions.scalar import scalar
from augury.planning.expressions.typed import Aggregated, Apply, Input, Typed
from augury.planning.forecast_plan import ForecastPlan

Seen = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Looks:
    """The conditions, and the columns that they look at."""

    conditions: tuple[Condition, ...]
    columns: tuple[tuple[str, DataType], ...]

    def at(self, table: pa.Table) -> Seen:
        """Return what conditions look at of each row; nothing where there are none."""
        if not self.conditions:
            return []
        known = set(table.column_names)
        columns = [
            inside(table.column(name), kind).to_pylist()
            if name in known
            else [None] * table.num_rows
            for name, kind in self.columns
        ]
        return list(zip(*columns, strict=True))


def looks_of(plan: ForecastPlan, tables: Tables) -> Looks:
    """Return the conditions of a forecast as functions of what components have."""
    inputs = [each for own in plan.conditions for each in _inputs(own.expression)]
    columns = tuple(dict.fromkeys((each.column, each.type) for each in inputs))
    place = {name: k for k, (name, _) in enumerate(columns)}

    def read(node: Input | Aggregated) -> Callable[[Any], Any]:
        if isinstance(node, Aggregated):
            raise DataError(f"{node.function} needs a whole match, not what is bound so far")
        component, k = node.component, place[node.column]
        return lambda rows: rows[component][k]

    made = tuple(
        Condition(own.components, scalar(own.expression, tables, read)) for own in plan.conditions
    )
    return Looks(made, columns)


def _inputs(expression: Typed) -> Iterator[Input]:
    if isinstance(expression, Input):
        yield expression
    elif isinstance(expression, Apply):
        for operand in expression.operands:
            yield from _inputs(operand)
