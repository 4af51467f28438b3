"""Programs on the kernel's machine give what plain Python gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.analysis.checked import Conjunct
from augury.errors import QueryError
from augury.kernels.search import opcodes as op
from augury.kernels.search.predicates import evaluate
from augury.language.expressions import (
    Aggregate,
    Attribute,
    Binary,
    Call,
    Expression,
    Index,
    Literal,
)
from augury.planning.expressions.arrow import evaluate_column
from augury.planning.expressions.link import link
from augury.planning.expressions.lower import Scope
from augury.planning.expressions.program import ProgramSet, Slot, compile_programs
from planning.columns import numbers_of, table_of, word
from planning.plain import Plain
from planning.queries import component, query, seq
from planning.scalars import EVENTS, TABLE, B, expressions, rows, two_events

ANSWERS = {True: 1, False: 0, None: -1}


def compiled(expression: Expression) -> ProgramSet:
    return compile_programs(Scope(two_events()), [Conjunct(expression, (0, 1))])


def run(programs: ProgramSet, events: list[dict[str, Any]]) -> int:
    """Evaluate program 0 where component k holds event k."""
    columns = [evaluate_column(c.expression, table_of(events)) for c in programs.columns]
    codes = dictionary(programs, columns)
    predicates = link(programs, codes, {"known": TABLE})
    slots = programs.programs[0].slots
    held = [numbers_of(columns[s.column])[s.component] for s in slots]
    words = [
        word(programs.columns[s.column].type, v, codes) for s, v in zip(slots, held, strict=True)
    ]
    nulls = np.array([v is None for v in held], np.bool_)
    return int(evaluate(predicates, 0, np.array(words, np.int64), nulls))


def dictionary(programs: ProgramSet, columns: list[pa.Array]) -> dict[str, int]:
    found = set(programs.strings) | {v for row in TABLE for v in row if isinstance(v, str)}
    for column in columns:
        found |= {v for v in column.to_pylist() if isinstance(v, str)}
    return {text: code for code, text in enumerate(sorted(found))}


@given(expressions(B, ("x", "y"), text=False), rows(), rows())
def test_a_program_answers_as_plain_python_does(
    expression: Expression, x: dict[str, Any], y: dict[str, Any]
) -> None:
    events = {"x": x, "y": y}
    plain = Plain(lambda node: events[node.component][node.name], {"known": TABLE})
    assert run(compiled(expression), [x, y]) == ANSWERS[plain(expression)]


@given(expressions(B, ("x",)), rows())
def test_string_functions_of_one_event_are_computed_beforehand(
    expression: Expression, x: dict[str, Any]
) -> None:
    plain = Plain(lambda node: x[node.name], {"known": TABLE})
    assert run(compiled(expression), [x, x]) == ANSWERS[plain(expression)]


def test_a_string_function_over_two_events_is_refused() -> None:
    joined = Binary("||", Attribute("x", "s1"), Attribute("y", "s1"))
    with pytest.raises(QueryError, match="strings of one event"):
        compiled(Binary("=", joined, Literal("ab")))


def test_lower_of_two_events_shares_one_column() -> None:
    programs = compiled(
        Binary("=", Call("LOWER", (Attribute("x", "s1"),)), Call("LOWER", (Attribute("y", "s1"),)))
    )
    assert len(programs.columns) == 1
    assert programs.programs[0].slots == (Slot(0, op.EACH, 0), Slot(1, op.EACH, 0))
    assert not programs.orders_strings


def test_ordering_strings_asks_for_ordered_codes() -> None:
    assert compiled(Binary("<", Attribute("x", "s1"), Attribute("y", "s1"))).orders_strings


def repetition(expression: Expression) -> ProgramSet:
    parts = (component(0, "a"), component(1, "b", maximum=None))
    scope = Scope(query(seq(0, 1), parts, streams=(EVENTS,)))
    return compile_programs(scope, [Conjunct(expression, (0, 1))])


def at(kind: Any, number: int = 0) -> Attribute:
    return Attribute("b", "l1", Index(kind, number))


@pytest.mark.parametrize(
    ("expression", "first"),
    [
        (Binary(">", Attribute("b", "l1"), Attribute("a", "l1")), 1),
        (Binary(">", at("each"), Literal(1)), 1),
        (Binary(">", at("each"), at("previous")), 2),
        (Binary(">", at("each"), at("number", 1)), 2),
        (Binary(">", at("each"), at("number", 3)), 1),
    ],
)
def test_a_conjunct_ranges_over_every_item_of_a_repetition(
    expression: Expression, first: int
) -> None:
    assert repetition(expression).programs[0].each == ((1, first, 0, 0),)


def test_a_fixed_item_is_not_ranged_over() -> None:
    program = repetition(Binary("<", at("number", 1), at("last"))).programs[0]
    assert program.each == ()
    assert program.slots == (Slot(1, op.NUMBER, 0, 1), Slot(1, op.LAST, 0))


def test_aggregates_are_slots_and_only_count_may_be_of_nothing() -> None:
    total = Binary(">", Aggregate("SUM", "b", "d1"), Literal(1.5))
    count = Binary("=", Aggregate("COUNT", "b"), Literal(0))
    assert repetition(total).programs[0].slots == (Slot(1, op.SUM, 0),)
    assert repetition(total).programs[0].needs == (1,)
    assert repetition(count).programs[0].slots == (Slot(1, op.COUNT),)
    assert repetition(count).programs[0].needs == ()


def defaulted(held: int) -> int:
    test = Binary("=", Attribute("x", "l1", default=Attribute("y", "l1")), Literal(5))
    programs = compiled(test)
    values = {op.EACH: 0, op.COUNT: held}
    slots = programs.programs[0].slots
    words = [5 if s.component == 1 else values[s.kind] for s in slots]
    nulls = np.array([s.kind == op.EACH and s.component == 0 for s in slots])
    return int(evaluate(link(programs), 0, np.array(words, np.int64), nulls))


def test_a_default_takes_the_place_of_an_absent_component_only() -> None:
    assert defaulted(held=0) == 1
    assert defaulted(held=1) == -1


def test_a_default_frees_the_conjunct_from_needing_the_component() -> None:
    test = Binary("=", Attribute("x", "l1", default=Attribute("y", "l1")), Literal(5))
    assert compiled(test).programs[0].needs == (1,)


def test_an_expression_that_is_too_deep_is_refused() -> None:
    deep: Expression = Attribute("x", "l1")
    for _ in range(op.STACK_DEPTH + 1):
        deep = Binary("+", Literal(1), deep)
    with pytest.raises(QueryError, match="nested too deeply"):
        compiled(Binary(">", deep, Literal(0)))


@given(st.data())
def test_every_program_has_its_answer_alone_on_the_stack(data: st.DataObject) -> None:
    expression = data.draw(expressions(B, ("x", "y"), text=False))
    assert compiled(expression).programs[0].depth >= 1
