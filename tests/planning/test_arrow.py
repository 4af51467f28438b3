"""Expressions over Arrow columns give what plain Python gives, row by row."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.analysis.declarations.catalog import DataType
from augury.errors import DataError
from augury.language.expressions import Attribute, Binary, Call, Cast, Expression, Literal
from augury.planning.expressions.arrow import evaluate_column
from augury.planning.expressions.lower import Scope, lower
from planning.columns import bare, numbers_of, table_of
from planning.plain import Plain
from planning.scalars import TABLE, B, D, G, I, L, S, T, expressions, rows, two_events

KINDS = [B, L, D, S, T, G, I]


def same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    return one == other and type(one) is type(other)


@pytest.mark.parametrize("kind", KINDS, ids=[k.value for k in KINDS])
@given(data=st.data())
def test_a_column_holds_what_plain_python_gives(kind: DataType, data: st.DataObject) -> None:
    expression = data.draw(expressions(kind, ("x",)))
    events = data.draw(st.lists(rows(), min_size=1, max_size=4))
    typed = lower(expression, Scope(two_events()))
    column = evaluate_column(typed, table_of(events), {"known": TABLE})
    wanted = [
        bare(Plain(lambda node, row=row: row[node.name], {"known": TABLE})(expression))
        for row in events
    ]
    found = numbers_of(column)
    assert len(found) == len(wanted)
    assert all(same(a, b) for a, b in zip(found, wanted, strict=True)), (found, wanted)


def over(expression: Expression, table: pa.Table) -> list[Any]:
    return evaluate_column(lower(expression, Scope(two_events())), table).to_pylist()


def test_chunked_and_narrow_columns_are_read_as_declared() -> None:
    table = pa.table(
        {"l1": pa.chunked_array([pa.array([1], pa.int32()), pa.array([2], pa.int32())])}
    )
    assert over(Binary("+", Attribute("x", "l1"), Literal(1)), table) == [2, 3]


def test_dictionary_columns_are_read_as_strings() -> None:
    table = pa.table({"s1": pa.array(["B", None]).dictionary_encode()})
    assert over(Call("LOWER", (Attribute("x", "s1"),)), table) == ["b", None]


def test_nanosecond_timestamps_are_cut_to_microseconds() -> None:
    table = pa.table({"t1": pa.array([1999], pa.timestamp("ns"))})
    assert over(Binary("=", Attribute("x", "t1"), Attribute("x", "t1")), table) == [True]


def test_rounding_goes_half_up_in_decimal() -> None:
    table = pa.table({"d1": [2.5, -2.5, 1.005, 0.125, math.inf]})
    assert over(Call("ROUND", (Attribute("x", "d1"),)), table) == [3.0, -3.0, 1.0, 0.0, math.inf]
    assert over(Call("ROUND", (Attribute("x", "d1"), Literal(2))), table) == [
        2.5,
        -2.5,
        1.01,
        0.13,
        math.inf,
    ]


def test_powers_follow_java() -> None:
    table = pa.table({"d1": [1.0, -1.0, 2.0, 2.0], "d2": [math.nan, math.inf, 3.0, None]})
    found = over(Call("POWER", (Attribute("x", "d1"), Attribute("x", "d2"))), table)
    assert [str(v) for v in found] == ["nan", "nan", "8.0", "None"]


def test_logarithms_of_nothing_positive_are_null() -> None:
    table = pa.table({"d1": [1.0, 0.0, -1.0]})
    assert over(Call("LN", (Attribute("x", "d1"),)), table) == [0.0, None, None]


def test_a_column_that_the_events_lack_is_an_error_of_the_data() -> None:
    with pytest.raises(DataError, match="no column l1"):
        over(Attribute("x", "l1"), pa.table({"other": [1]}))


@pytest.mark.parametrize(
    ("column", "values", "kind", "wanted"),
    [
        ("d1", [1.0, -0.0, 0.001, 1e7, 1.5e-5, 123456.789], "STRING",
         ["1.0", "-0.0", "0.001", "1.0E7", "1.5E-5", "123456.789"]),
        ("d1", [math.nan, math.inf, -math.inf], "STRING", ["NaN", "Infinity", "-Infinity"]),
        ("s1", ["2026-01-31", " 1969-12-31 ", "2026-02-30", "26-1-1"], "DATE",
         [20484, -1, None, None]),
        ("s1", ["1970-01-01 00:00:01.5", "1970-01-02", "1970-01-01T00:01", "x", "1970-01-01 25:00"],
         "TIMESTAMP", [1_500_000, 86_400_000_000, 60_000_000, None, None]),
    ],
)  # fmt: skip
def test_casts_of_text_are_the_same_on_every_machine(
    column: str, values: list[Any], kind: str, wanted: list[Any]
) -> None:
    typed = lower(Cast(Attribute("x", column), kind), Scope(two_events()))
    assert numbers_of(evaluate_column(typed, pa.table({column: values}))) == wanted


def test_a_time_is_written_in_utc_without_trailing_zeros() -> None:
    moments = pa.array([0, 1_500_000, -1], pa.timestamp("us", tz="UTC"))
    assert over(Cast(Attribute("x", "t1"), "STRING"), pa.table({"t1": moments})) == [
        "1970-01-01 00:00:00",
        "1970-01-01 00:00:01.5",
        "1969-12-31 23:59:59.999999",
    ]
