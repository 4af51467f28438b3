"""Spark SQL text: its spelling without a JVM, and its meaning against plain Python with one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from augury.analysis.declarations.catalog import DataType
from augury.language.expressions import Attribute, Binary, Expression, InTable, Like, Literal, Unary
from augury.planning.expressions.lower import Scope, lower
from augury.planning.expressions.spark_sql import constant_sql, quoted, to_spark_sql
from planning.columns import bare, table_of
from planning.plain import Plain
from planning.scalars import TABLE, B, D, G, I, L, S, T, expressions, rows, two_events

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def sql(expression: Expression, **fields: Any) -> str:
    return to_spark_sql(lower(expression, Scope(two_events())), **fields)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (Binary("+", Attribute("x", "l1"), Literal(1)), "try_add(`l1`, 1L)"),
        (Binary("/", Attribute("x", "l1"), Literal(0)), "try_divide(CAST(`l1` AS DOUBLE), 0.0D)"),
        (Binary("<>", Attribute("x", "s1"), Literal("it's")), "(NOT (`s1` = 'it\\'s'))"),
        (Binary("=", Attribute("x", "s1"), Literal("a\\b")), "(`s1` = 'a\\\\b')"),
        (
            Binary("-", Attribute("x", "t1"), Attribute("x", "t2")),
            "try_subtract(unix_micros(`t1`), unix_micros(`t2`))",
        ),
        (Unary("-", Literal(2**63)), "CAST('-9223372036854775808' AS BIGINT)"),
        (Like(Attribute("x", "s1"), "a\\b%"), "(`s1` LIKE 'ab%')"),
        (Binary("<", Attribute("x", "d1"), Literal(5)), "(`d1` < 5.0D)"),
    ],
)
def test_nothing_that_spark_could_throw_on_is_written(expression: Expression, text: str) -> None:
    assert sql(expression) == text


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (Binary(">", Attribute("x", "d1"), Literal(5)), "(5.0D < {})"),
        (Binary("<>", Attribute("x", "d1"), Literal(5)), "(NOT ({} = 5.0D))"),
        (Unary("NOT", Binary("<=", Attribute("x", "d1"), Literal(5))), "(NOT ({} <= 5.0D))"),
    ],
)
def test_what_nan_passes_is_kept_from_the_statistics_of_files(
    expression: Expression, text: str
) -> None:
    assert sql(expression) == text.format("nanvl(`d1`, CAST('NaN' AS DOUBLE))")


def test_names_are_quoted_whatever_they_hold() -> None:
    assert quoted("HCW-ID`") == "`HCW-ID```"


def test_infinity_has_a_spelling() -> None:
    assert constant_sql(D, -math.inf) == "CAST('-inf' AS DOUBLE)"


def test_a_table_without_rows_at_hand_is_a_subquery() -> None:
    member = InTable((Attribute("x", "s1"),), "hallway")
    assert sql(member) == "(`s1` IN (SELECT * FROM `hallway`))"
    assert sql(member, tables={"hallway": [("a",), (None,)]}) == (
        "((`s1` = 'a') OR (`s1` = CAST(NULL AS STRING)))"
    )
    assert sql(member, tables={"hallway": []}) == "false"


KINDS = [B, L, D, S, T, G, I]
VALUES = {
    T: "unix_micros({})",
    G: "CAST(unix_date({}) AS BIGINT)",
}


def same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    return one == other and type(one) is type(other)


# One query of Spark holds many expressions, because each query costs about a second.
@pytest.mark.spark
@settings(max_examples=3, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_spark_answers_as_plain_python_does(spark: SparkSession, data: st.DataObject) -> None:
    kinds = KINDS * 6
    made = [data.draw(expressions(kind, ("x",), 2)) for kind in kinds]
    events = data.draw(st.lists(rows(), min_size=4, max_size=4))
    texts = [
        VALUES.get(kind, "{}").format(sql(e, tables={"known": TABLE})) + f" AS v{n}"
        for n, (e, kind) in enumerate(zip(made, kinds, strict=True))
    ]
    found = spark.createDataFrame(table_of(events)).selectExpr(*texts).collect()
    for row, event in zip(found, events, strict=True):
        plain = Plain(lambda node, event=event: event[node.name], {"known": TABLE})
        for n, expression in enumerate(made):
            wanted = bare(plain(expression))
            assert same(row[n], wanted), (texts[n], row[n], wanted, event)


def test_every_type_has_a_null() -> None:
    assert constant_sql(DataType.INTERVAL, None) == "CAST(NULL AS BIGINT)"
