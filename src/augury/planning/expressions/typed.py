"""Typed expressions: what all three compilers read.

Lowering makes every coercion an explicit `cast`, writes BETWEEN, `<>` and `>` with fewer operators,
turns literals into machine values, and resolves components to their numbers. Five node kinds are
left, and `OPERATORS` lists every operator that an `Apply` may have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from augury.analysis.declarations.catalog import DataType
from augury.language.expressions import IndexKind

# In place of a component: the match as a whole, and the event that a row of the answer is about; in
# a subquery the row of its table, and what its reader gives it, by number; and the event with which
# a run is known to have ended.
OF_MATCH, OF_EVENT, OF_ROW, OF_READER, OF_END = -1, -2, -3, -4, -5
# What is asked of that event: its time, and whether the run could have gone on at all.
THE_END, END_TIME, END_OPEN = "\0end", "\0end time", "\0end open"
MATCH_NUMBER = "match_number"
# The column of every event that has the number of its stream; users cannot write such names.
STREAM_OF = "\0stream"
# What is asked beside the columns of rows; None is how many there are.
OF_NO_ROW = (None, STREAM_OF, END_TIME, END_OPEN)

Value = bool | int | float | str | None

# Every operator of an `Apply`. "member" is membership in the table named by `detail`; "like" has
# its pattern there, "round" its digits; "lookup" is a subquery, of what is in `asked`. The operands
# of "case" are condition, value, condition, value, ..., otherwise; of "in_list" the value, then the
# items.
OPERATORS = frozenset(
    {
        *("add", "subtract", "multiply", "divide", "modulo", "negate"),
        *("equal", "less", "less_equal", "and", "or", "not", "is_null", "in_list", "member"),
        "lookup",
        *("case", "coalesce", "least", "greatest", "cast"),
        *("abs", "floor", "ceil", "round", "sqrt", "exp", "ln", "power"),
        *("lower", "upper", "trim", "length", "substring", "concat", "like"),
    }
)


@dataclass(frozen=True, slots=True)
class Constant:
    """A machine value: timestamps in microseconds, dates in days, intervals in microseconds."""

    type: DataType
    value: Value


@dataclass(frozen=True, slots=True)
class Input:
    """A column of the event, or of one of the events, that a component holds.

    `kind` "each" is the only event of a plain component, or the current one of a repetition.
    `default` takes its place where the component was missed. Inputs of one `group` are of one round
    of it.
    """

    type: DataType
    component: int
    column: str
    kind: IndexKind = "each"
    number: int = 0
    default: Typed | None = None
    group: str | None = None


@dataclass(frozen=True, slots=True)
class Aggregated:
    """COUNT of a component's events, or SUM, AVG, MIN or MAX of `column`; NULLs are left out.

    A `running` one is over the events up to the current one.
    """

    type: DataType
    function: Literal["COUNT", "SUM", "AVG", "MIN", "MAX"]
    component: int
    column: str | None = None
    running: bool = False
    group: str | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """What a subquery asks of a table that stays as it is: a column, or a function of the rows.

    `columns` are those of the table, `key` the places of its KEY among them. In `condition` the row
    is OF_ROW, and the operands of the subquery are OF_READER, by their numbers.
    """

    table: str
    columns: tuple[str, ...]
    key: tuple[int, ...]
    column: str | None
    function: Literal["COUNT", "SUM", "AVG", "MIN", "MAX"] | None
    condition: Typed | None = None


@dataclass(frozen=True, slots=True)
class Apply:
    """An operator over operands; booleans are three-valued."""

    type: DataType
    operator: str
    operands: tuple[Typed, ...]
    detail: str = ""
    asked: Asked | None = None


Typed = Constant | Input | Aggregated | Apply


def nodes_within(expression: Typed) -> Iterator[Typed]:
    """Yield the expression and everything below it, parents first."""
    yield expression
    if isinstance(expression, Apply):
        for operand in expression.operands:
            yield from nodes_within(operand)
    elif isinstance(expression, Input) and expression.default is not None:
        yield from nodes_within(expression.default)


def inputs_within(expression: Typed) -> tuple[Input, ...]:
    """Return every column read, each once, in the order met."""
    found = (node for node in nodes_within(expression) if isinstance(node, Input))
    return tuple(dict.fromkeys(found))


def with_operands(expression: Apply, change: Callable[[Typed], Typed]) -> Apply:
    """Return the node with each operand changed."""
    operands = tuple(change(operand) for operand in expression.operands)
    return replace(expression, operands=operands)


def tables_within(expressions: Iterable[Typed]) -> dict[str, None]:
    """Return the tables that expressions look into, in lower case, in the order met."""
    found: dict[str, None] = {}
    for node in (each for expression in expressions for each in nodes_within(expression)):
        if isinstance(node, Apply) and node.operator == "member":
            found[node.detail.lower()] = None
        elif isinstance(node, Apply) and node.asked is not None:
            found[node.asked.table.lower()] = None
            if node.asked.condition is not None:
                found |= tables_within([node.asked.condition])
    return found


def without_defaults(expression: Typed) -> Typed:
    """Return what the expression is for events that were read: no default takes their place."""
    if isinstance(expression, Input) and expression.default is not None:
        return replace(expression, default=None)
    if isinstance(expression, Apply):
        return with_operands(expression, without_defaults)
    return expression
