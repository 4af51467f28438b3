"""Expressions over one row give what plain Python gives."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.analysis.declarations.catalog import DataType
from augury.errors import DataError
from augury.language.expressions import Attribute, InTable
from augury.planning.expressions.lower import Scope, lower
from augury.planning.expressions.scalar import scalar
from augury.planning.expressions.typed import Aggregated
from planning.columns import bare
from planning.plain import Plain
from planning.scalars import TABLE, B, D, G, I, L, S, T, expressions, rows, two_events
from planning.test_arrow import same

KINDS = [B, L, D, S, T, G, I]


@pytest.mark.parametrize("kind", KINDS, ids=[k.value for k in KINDS])
@given(data=st.data())
def test_a_closure_gives_what_plain_python_gives(kind: DataType, data: st.DataObject) -> None:
    expression = data.draw(expressions(kind, ("x",)))
    row = data.draw(rows())
    closure = scalar(lower(expression, Scope(two_events())), {"known": TABLE})
    wanted = Plain(lambda node: row[node.name], {"known": TABLE})(expression)
    assert same(closure({name: bare(value) for name, value in row.items()}), bare(wanted))


def test_a_table_without_rows_is_an_error_of_the_data() -> None:
    member = InTable((Attribute("x", "l1"),), "unbound", False)
    with pytest.raises(DataError, match="bind it"):
        scalar(lower(member, Scope(two_events())), {})


def test_an_aggregate_is_no_value_of_one_event() -> None:
    with pytest.raises(DataError, match="whole match"):
        scalar(Aggregated(L, "COUNT", 0), {})
