"""Conditions over several events, for forecasts that follow partial matches one by one."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from augury.analysis.declarations.catalog import DataType
from augury.errors import DataError
from augury.evaluation.encoding import Tables
from augury.forecast.past import Condition, Items
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
    repeats = {c.index for c in plan.forecast.query.components if c.repeats}

    def read(node: Input | Aggregated) -> Callable[[Any], Any]:
        if isinstance(node, Aggregated):
            raise DataError(f"{node.function} needs a whole match, not what is bound so far")
        component, k = node.component, place[node.column]
        if component not in repeats:
            return lambda at: at[0][component][0][k]
        if node.kind == "number":
            return lambda at: _item(at[0][component], node.number - 1, k)
        back = 1 if node.kind == "previous" else 0
        return lambda at: _item(at[0][component], at[1] - back, k)

    made = tuple(
        Condition(
            own.components,
            _over_items(scalar(own.expression, tables, read), own.expression, repeats),
        )
        for own in plan.conditions
    )
    return Looks(made, columns)


def _item(items: Sequence[tuple[Any, ...]], number: int, column: int) -> Any:
    """Return a value of one item of a repetition; NULL where there is no such item."""
    return items[number][column] if 0 <= number < len(items) else None


def _over_items(
    holds: Callable[[Any], Any], expression: Typed, repeats: Container[int]
) -> Callable[[Items], bool]:
    """Return whether a condition holds for every item b[i] that it ranges over."""
    named = [each for each in _inputs(expression) if each.component in repeats]
    ranged = next((each.component for each in named if each.kind != "number"), None)
    if ranged is None:
        return lambda rows: holds((rows, 0)) is True
    kinds = {(each.kind, each.number) for each in named if each.component == ranged}
    later = any(kind == "previous" or (kind == "number" and n == 1) for kind, n in kinds)
    first = int(later)
    return lambda rows: all(holds((rows, at)) is True for at in range(first, len(rows[ranged])))


def _inputs(expression: Typed) -> Iterator[Input]:
    if isinstance(expression, Input):
        yield expression
    elif isinstance(expression, Apply):
        for operand in expression.operands:
            yield from _inputs(operand)
