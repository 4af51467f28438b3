"""Type and rank queries in Spark SQL: the steps of their join plan over DataFrames.

Nothing of the engine runs here: each step is a projection, a join or an aggregate that Catalyst
plans, so a rank query over large windows is as distributed as any join. `runners.joining` is the
same over arrays, and must give the same probabilities.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as f

from augury.analysis.checked import CheckedQuery
from augury.analysis.classes.joins import Extreme, JoinStep, Product, Projected, Read
from augury.analysis.declarations.catalog import StreamSchema
from augury.evaluation.answers.schemas import spark_schema
from augury.evaluation.probability.lineage_probability import TOLERANCE, probability_schema
from augury.planning.expressions.spark_sql import (
    can_be_pushed,
    quoted,
    string_literal,
    to_spark_sql,
)
from augury.planning.expressions.typed import Apply, Typed, nodes_within, tables_within
from augury.planning.join_program import JoinProgram
from augury.runners.spark.catalyst_rows import MOST_ROWS_IN_A_FILTER, time_in_units

# A window is added to rows as they come; the space keeps it apart from their columns.
WINDOW, CHANCE, WEIGHT = "augury window", "p", "weight"


def suits_spark(program: JoinProgram, tables: Mapping[str, Sequence[Any]]) -> bool:
    """Return whether Spark can tell every condition; if not, shards carry the plan out."""
    conditions = [each for play in program.plays for each in play.filters]
    conditions += [side for sides in program.sides for side in sides]
    return all(_is_reportable(each, tables) for each in conditions)


def tables_of(program: JoinProgram) -> frozenset[str]:
    """Return the relations that the conditions look into, in lower case."""
    conditions = [each for play in program.plays for each in play.filters]
    return frozenset(tables_within(conditions))


def _is_reportable(condition: Typed, tables: Mapping[str, Sequence[Any]]) -> bool:
    nodes = [node for node in nodes_within(condition) if isinstance(node, Apply)]
    asked = [node.detail.lower() for node in nodes if node.operator == "member"]
    small = all(len(tables[name]) <= MOST_ROWS_IN_A_FILTER for name in asked)
    return small and can_be_pushed(condition)


@dataclass(frozen=True)
class SparkJoining:
    """One query over the good rows of its streams; `rows` are by stream name."""

    spark: SparkSession
    program: JoinProgram
    rows: Mapping[str, DataFrame]
    tables: Mapping[str, Sequence[Any]]

    def table(self) -> DataFrame:
        """Return the lazy answer: one row per group and window."""
        query, plan = self.program.query, self.program.plan
        relations = {c.index: self._relation(c.index) for c in query.components}
        found = _Steps(self.program, relations).of(plan.root)
        if not query.group_by:
            found = self._in_every_window(found)
        found = found.withColumn(CHANCE, within_bounds(f.col(CHANCE)))
        return _passing(query, found).select(*self._columns())

    def _columns(self) -> list[Column]:
        query = self.program.query
        head: dict[str, Column] = {"query": f.lit(query.name)}
        for name, node in zip(query.group_names, query.group_by, strict=True):
            head[name] = f.col(self._variable(node))
        head["ts"] = self._moment()
        head["probability"] = f.col(CHANCE)
        head["method"] = f.lit("exact")
        head["error_bound"] = f.lit(0.0)
        kinds = spark_schema(probability_schema(query)).split(", ")
        types = [kind.rpartition(" ")[2] for kind in kinds]
        return [
            value.cast(kind).alias(name)
            for (name, value), kind in zip(head.items(), types, strict=True)
        ]

    def _moment(self) -> Column:
        if self.program.query.within is None:
            return f.lit(None)
        ticks = self.program.query.streams[0].time_is_ticks
        return f.col(WINDOW) if ticks else f.timestamp_micros(f.col(WINDOW))

    def _variable(self, node: Any) -> str:
        own = self.program.query.component_of(node), node.name
        variables = self.program.plan.variables
        return variable_name(next(k for k, v in enumerate(variables) if own in v.members))

    def _in_every_window(self, found: DataFrame) -> DataFrame:
        """Return a row for every window that holds an event; 0 where nothing matches."""
        known = found.withColumnRenamed(CHANCE, "known")
        windows = self._windows
        return _joined(windows, known, "left").select(
            WINDOW, f.coalesce(f.col("known"), f.lit(0.0)).alias(CHANCE)
        )

    @cached_property
    def _windows(self) -> DataFrame:
        if self.program.query.within is None:
            return self.spark.range(1).select(f.lit(0).cast("bigint").alias(WINDOW))
        held = [
            self._in_windows(self.rows[stream.name], stream).select(WINDOW)
            for stream in self.program.query.streams
        ]
        return reduce(lambda one, other: one.unionByName(other), held).distinct()

    def _in_windows(self, rows: DataFrame, stream: StreamSchema) -> DataFrame:
        """Return each row once for every window [k s, k s + W) that holds it."""
        query = self.program.query
        if query.within is None:
            return rows.withColumn(WINDOW, f.lit(0).cast("bigint"))
        length = query.within.length
        step = query.every.length if query.every else length
        at = time_in_units(stream)
        last = f"({at} - pmod({at}, {step}L))"
        first = f"({at} - {length}L - pmod({at} - {length}L, {step}L) + {step}L)"
        # Windows may lie apart: a row between two is in none.
        starts = f"if({first} <= {last}, sequence({first}, {last}, {step}L), array())"
        return rows.withColumn(WINDOW, f.expr(f"explode({starts})"))

    def _relation(self, component: int) -> DataFrame:
        """Return the events that may play a component, with what is joined."""
        program, stream = self.program, self.program.stream(component)
        chance = f.lit(1.0)
        if stream.probability is not None:
            chance = within_bounds(f.col(quoted(stream.probability)))
        rows = self.rows[stream.name].where(self._plays(component)).where(chance > 0.0)
        rows = self._in_windows(rows, stream)
        columns = [f.col(WINDOW), chance.alias(CHANCE)]
        known: list[str] = []
        for number, variable in enumerate(program.plan.variables):
            column = variable.column(component)
            if column is not None:
                columns.append(f.col(quoted(column)).alias(variable_name(number)))
                known += [variable_name(number)] if program.plan.is_shared(variable) else []
        for number in program.ties_of(component):
            side = to_spark_sql(program.side(component, number), self.tables)
            columns.append(f.expr(side).alias(value_name(number)))
            known.append(value_name(number))
        found = rows.select(*columns)
        # NULL equals nothing and is beyond nothing; NaN, which dropna takes too, is the greatest.
        return reduce(lambda left, name: left.where(f.col(name).isNotNull()), known, found)

    def _plays(self, component: int) -> Column:
        play, stream = self.program.play(component), self.program.stream(component)
        passes = f.lit(True)
        if play.type is not None and stream.type is not None:
            passes = f.expr(f"{quoted(stream.type)} = {string_literal(play.type)}")
        for condition in play.filters:
            passes = passes & f.expr(to_spark_sql(condition, self.tables))
        return passes


def within_bounds(p: Column) -> Column:
    """Return a probability that rounding may have moved beyond 0 or 1."""
    return f.least(f.greatest(p, f.lit(0.0)), f.lit(1.0))


def variable_name(number: int) -> str:
    """Return the column of a variable."""
    return f"v{number}"


def value_name(number: int) -> str:
    """Return the column of what an inequality reads of a component."""
    return f"side{number}"


def best_name(number: int) -> str:
    """Return the column of the best value of an inequality's other side."""
    return f"best{number}"


def _passing(query: CheckedQuery, found: DataFrame) -> DataFrame:
    having = query.having
    if having is None:
        return found
    if having.strict:
        return found.where(f.col(CHANCE) > having.threshold + TOLERANCE)
    return found.where(f.col(CHANCE) >= having.threshold - TOLERANCE)


@dataclass(frozen=True)
class _Steps:
    """Carries the steps out over the DataFrames of the components."""

    program: JoinProgram
    relations: Mapping[int, DataFrame]

    def of(self, step: JoinStep) -> DataFrame:
        """Return the rows of a step: its columns are those that are still to be joined."""
        match step:
            case Read(component):
                return self._read(component)
            case Product(parts):
                return reduce(_both, (self.of(part) for part in parts))
            case Projected(variable, part):
                names = [v.name for v in self.program.plan.variables]
                return _some(self.of(part), [variable_name(names.index(variable))])
            case Extreme(component, number, part):
                return self._extreme(component, number, part)

    def _read(self, component: int) -> DataFrame:
        values = [value_name(k) for k in self.program.ties_of(component)]
        return _some(self.relations[component], values)

    def _extreme(self, component: int, number: int, part: JoinStep) -> DataFrame:
        """Return the sum over a component's best value of its probability times the rest's."""
        (other,) = set(self.program.plan.inequalities[number].components) - {component}
        bests = self._bests(component, number)
        met = self._meeting(other, bests.drop(WEIGHT), number)
        inner = replace(self, relations={**self.relations, other: met}).of(part)
        weighed = _joined(inner, bests).withColumn(CHANCE, f.col(CHANCE) * f.col(WEIGHT))
        keep = [n for n in weighed.columns if n not in (CHANCE, WEIGHT, best_name(number))]
        return weighed.groupBy(*keep).agg(f.sum(CHANCE).alias(CHANCE))

    def _bests(self, component: int, number: int) -> DataFrame:
        """Return how likely each value of a component is the one that is easiest to meet."""
        name = best_name(number)
        spent = [value_name(k) for k in self.program.ties_of(component) if k != number]
        own = self.relations[component].withColumnRenamed(value_name(number), name)
        present = _some(own, spent)
        groups = [n for n in present.columns if n not in (name, CHANCE)]
        least = self.program.plan.side(component, number) == "least"
        order = f.col(name).asc() if least else f.col(name).desc()
        before = (
            Window.partitionBy(*groups).orderBy(order).rowsBetween(Window.unboundedPreceding, -1)
        )
        none_before = f.coalesce(f.product(1.0 - f.col(CHANCE)).over(before), f.lit(1.0))
        return present.withColumn(WEIGHT, f.col(CHANCE) * none_before).drop(CHANCE)

    def _meeting(self, other: int, bests: DataFrame, number: int) -> DataFrame:
        """Return the events of the other side, once for each best value that they meet."""
        tie, name = self.program.plan.inequalities[number], value_name(number)
        sides = f.col(name), f.col(best_name(number))
        left, right = sides if tie.left_of == other else sides[::-1]
        met = {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}
        return _joined(self.relations[other], bests).where(met[tie.operator]).drop(name)


def _some(rows: DataFrame, gone: Sequence[str]) -> DataFrame:
    """Return, for each value of the columns that stay, P(at least one row): 1 - prod(1 - p)."""
    keep = [name for name in rows.columns if name not in (CHANCE, *gone)]
    none = f.product(1.0 - f.col(CHANCE))
    return rows.groupBy(*keep).agg((1.0 - none).alias(CHANCE))


def _both(left: DataFrame, right: DataFrame) -> DataFrame:
    """Return the natural join, with the products of the probabilities."""
    joined = _joined(left, right.withColumnRenamed(CHANCE, WEIGHT))
    return joined.withColumn(CHANCE, f.col(CHANCE) * f.col(WEIGHT)).drop(WEIGHT)


def _joined(left: DataFrame, right: DataFrame, how: str = "inner") -> DataFrame:
    """Return the natural join; NULL is a value like others, as it is where rows are grouped."""
    common = [name for name in left.columns if name in right.columns]
    theirs = {name: f"their {name}" for name in common}
    renamed = right.withColumnsRenamed(theirs)
    same = [f.col(quoted(a)).eqNullSafe(f.col(quoted(b))) for a, b in theirs.items()]
    condition = reduce(lambda one, other: one & other, same)
    return left.join(renamed, condition, how).drop(*theirs.values())
