"""Expressions over Arrow columns give what plain Python gives, row by row."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.analysis.catalog import DataType
from augury.errors import DataError
from augury.language.expressions import Attribute, Binary, Call, Expression, Literal
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
