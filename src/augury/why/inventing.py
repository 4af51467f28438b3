"""Events that are not there: rows that may play a component of a match that lacks it.

Where conditions say what a value must be, it is taken from them; the rest is copied from rows that
are there. These are proposals: which of them do is found out by asking the engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import islice, product
from typing import Any

from augury.analysis.declarations.catalog import DataType, StreamSchema
from augury.language import expressions as ex

Row = dict[str, Any]
# By lower-case component: the rows of its events, in order.
Taken = Mapping[str, Sequence[Row]]

_UNITS = {
    "MILLISECOND": timedelta(milliseconds=1),
    "SECOND": timedelta(seconds=1),
    "MINUTE": timedelta(minutes=1),
    "HOUR": timedelta(hours=1),
    "DAY": timedelta(days=1),
    "WEEK": timedelta(weeks=1),
}
MOST_WISHES = 12


class _UnknownError(Exception):
    """A value cannot be told from the events that are there."""


@dataclass(frozen=True)
class Known:
    """What conditions may be about: the events taken so far, and the rows of tables."""

    taken: Taken
    tables: Mapping[str, list[tuple[Any, ...]]]

    def row_of(self, node: ex.Attribute, own: str) -> Row:
        """Return the row that an attribute reads, unless it is that of the event in question."""
        name = (node.component or own).lower()
        rows = self.taken.get(name, ())
        if not rows:
            raise _UnknownError
        kind, number = (node.index.kind, node.index.number) if node.index else ("last", 0)
        if name == own and kind not in ("previous", "number"):
            raise _UnknownError
        if kind == "number":
            if not 0 < number <= len(rows):
                raise _UnknownError
            return rows[number - 1]
        return rows[-1]


def wishes(condition: ex.Expression, own: str, known: Known) -> list[Row]:
    """Return what a condition may want of the event of a component: values by column."""
    try:
        return _wishes(condition, own.lower(), known)[:MOST_WISHES]
    except (_UnknownError, TypeError, OverflowError, ZeroDivisionError, ValueError):
        return []


def _wishes(node: ex.Expression, own: str, known: Known) -> list[Row]:  # noqa: PLR0911 - a form each
    match node:
        case ex.Logic(operator="AND"):
            return _all_of([wishes(each, own, known) for each in node.operands])
        case ex.Logic():
            return [wish for each in node.operands for wish in wishes(each, own, known)]
        case ex.Binary(operator="=" | "<>" | "<" | "<=" | ">" | ">="):
            return _compared(node, own, known)
        case ex.Between(negated=False):
            low = ex.Binary(">=", node.operand, node.low)
            return _wishes(low, own, known)
        case ex.InList(negated=False):
            each_equal = [ex.Binary("=", node.operand, item) for item in node.items]
            return [wish for each in each_equal for wish in wishes(each, own, known)]
        case ex.InTable(negated=False):
            return _in_table(node, own, known)
        case ex.Like(negated=False, pattern=ex.Literal(value=str(text))):
            return _solved(node.operand, text.replace("%", "").replace("_", "x"), own, known)
        case ex.IsNull():
            return [] if node.negated else _solved(node.operand, None, own, known)
        case ex.Unary(operator="NOT", operand=ex.Binary() as inner) if inner.operator in _OPPOSITE:
            return _wishes(
                ex.Binary(_OPPOSITE[inner.operator], inner.left, inner.right), own, known
            )
        case ex.Attribute():
            return _solved(node, True, own, known)
    return []


_OPPOSITE: dict[str, Any] = {
    "=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">",
}  # fmt: skip
_MIRRORED: dict[str, Any] = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


def _compared(node: ex.Binary, own: str, known: Known) -> list[Row]:
    found = []
    for side, other, operator in (
        (node.left, node.right, node.operator),
        (node.right, node.left, _MIRRORED.get(node.operator, node.operator)),
    ):
        try:
            bound = _value(other, own, known)
        except _UnknownError:
            continue
        for value in _satisfying(operator, bound):
            found += _solved(side, value, own, known)
    # What is copied from another row is mostly another value already.
    return [{}, *found] if node.operator == "<>" and found else found


def _satisfying(operator: str, bound: Any) -> list[Any]:
    """Return values that compare so with a bound, the nearest first."""
    if operator in ("=", "<=", ">="):
        return [bound]
    if isinstance(bound, bool):
        return [not bound]
    if isinstance(bound, str):
        return {"<>": [f"other than {bound}"], ">": [bound + "x"]}.get(operator, [""])
    steps: list[Any] = [1, 0.5]
    if isinstance(bound, float):
        steps = [1.0, 1e-3]
    if isinstance(bound, timedelta | datetime):
        steps = [timedelta(seconds=1), timedelta(microseconds=1)]
    elif isinstance(bound, date):
        steps = [timedelta(days=1)]
    sign = -1 if operator == "<" else 1
    return [bound + sign * step for step in steps]


def _solved(side: ex.Expression, value: Any, own: str, known: Known) -> list[Row]:
    """Return what makes one side of a comparison that value."""
    match side:
        case ex.Attribute() if (side.component or own).lower() == own and _is_new(side):
            return [{side.name.lower(): value}]
        case ex.Attribute(default=None):
            return []
        case ex.Unary(operator="-"):
            return _solved(side.operand, -value, own, known)
        case ex.Binary(operator="+" | "-" | "*" | "/"):
            return _solved_sum(side, value, own, known)
    return []


def _is_new(node: ex.Attribute) -> bool:
    return node.index is None or node.index.kind in ("each", "last")


def _solved_sum(side: ex.Binary, value: Any, own: str, known: Known) -> list[Row]:
    found = []
    for mine, other, is_left in ((side.left, side.right, True), (side.right, side.left, False)):
        try:
            rest = _value(other, own, known)
        except _UnknownError:
            continue
        target = _undone(side.operator, value, rest, is_left)
        found += _solved(mine, target, own, known)
    return found


def _undone(operator: str, value: Any, rest: Any, is_left: bool) -> Any:
    """Return what a side must be for an operation to have that value."""
    if operator == "+":
        return value - rest
    if operator == "*":
        return value / rest
    if operator == "-":
        return value + rest if is_left else rest - value
    return value * rest if is_left else rest / value


def _in_table(node: ex.InTable, own: str, known: Known) -> list[Row]:
    found = []
    for row in known.tables.get(node.table.lower(), [])[:MOST_WISHES]:
        parts = [
            wishes(ex.Binary("=", operand, ex.Literal(value)), own, known) or [{}]
            for operand, value in zip(node.operands, row, strict=False)
        ]
        found += _all_of(parts)
    return found


def _all_of(parts: Sequence[list[Row]]) -> list[Row]:
    ways = product(*(part for part in parts if part))
    return [{k: v for each in way for k, v in each.items()} for way in islice(ways, MOST_WISHES)]


def _value(node: ex.Expression, own: str, known: Known) -> Any:  # noqa: PLR0911 - a form each
    """Return the value of an expression over the events that are there."""
    match node:
        case ex.Literal():
            return node.value
        case ex.Duration():
            return node.amount * _UNITS[node.unit]
        case ex.TypedLiteral(type="DATE"):
            return date.fromisoformat(node.text)
        case ex.TypedLiteral():
            return datetime.fromisoformat(node.text).astimezone()
        case ex.Attribute():
            row = known.row_of(node, own)
            names = {name.lower(): name for name in row}
            return row[names[node.name.lower()]]
        case ex.Unary(operator="-"):
            return -_value(node.operand, own, known)
        case ex.Binary(operator="+" | "-" | "*" | "/"):
            left, right = (_value(each, own, known) for each in (node.left, node.right))
            return {
                "+": lambda: left + right,
                "-": lambda: left - right,
                "*": lambda: left * right,
                "/": lambda: left / right,
            }[node.operator]()
    raise _UnknownError


# Times --------------------------------------------------------------------------------------------


def times_between(
    before: Any, after: Any, length: Any, ticks: bool, others: Iterable[Any]
) -> list[Any]:
    """Return times for an event between two others, of which either may be None.

    `length` is that of the window, None where there is none; `others` are further times to be near.
    """
    steps: list[Any] = [1] if ticks else [timedelta(seconds=1), timedelta(microseconds=1)]
    found: list[Any] = []
    if before is not None and after is not None and after > before:
        middle = before + (after - before) // 2
        found += [before + step for step in steps] + [middle]
        found += [after - step for step in reversed(steps)]
        found = [at for at in found if before < at < after]
    elif before is not None:
        found += [before + step for step in steps]
    elif after is not None:
        found += [after - step for step in steps]
    for at in others:
        found += [at + step for step in steps] + [at - step for step in steps] + [at]
    if length is not None:
        found += [at for near in (before,) if near is not None for at in (near + length,)]
        found += [at for near in (after,) if near is not None for at in (near - length,)]
    return list(dict.fromkeys(found))


# Rows ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NewEvent:
    """A new event: of which stream and type, after what rows it is modelled, what it must have."""

    stream: StreamSchema
    type: str | None
    models: Sequence[Row]
    given: Mapping[str, Any]
    number: int


def proposals(
    new: NewEvent, times: Sequence[Any], wished: Sequence[Sequence[Row]]
) -> Iterator[Row]:
    """Yield rows for an event, the likeliest first; `wished` has the wishes of each condition."""
    stream = new.stream
    time = (stream.time or "").lower()
    combined = _all_of([list(each) for each in wished]) or [{}]
    models = [*new.models, {}]
    for wish in [*combined, {}]:
        own_times = [wish[time]] if time in wish else []
        for model in models:
            for at in [*own_times, *times]:
                row = _row(new, model, at)
                yield row | {
                    c.name: fitted(wish[c.name.lower()], c.type)
                    for c in stream.columns
                    if c.name.lower() in wish and c.name.lower() != time
                }


def _row(new: NewEvent, model: Row, at: Any) -> Row:
    stream = new.stream
    row = {column.name: model.get(column.name) for column in stream.columns}
    given = {name.lower(): value for name, value in new.given.items()}
    row |= {c.name: given[c.name.lower()] for c in stream.columns if c.name.lower() in given}
    for name, value in (
        (stream.time, at),
        (stream.type, new.type or row.get(stream.type or "")),
        (stream.probability, 1.0),
    ):
        if name is not None:
            row[name] = value
    if stream.id is not None:
        row[stream.id] = _new_id(stream, new.number)
    return row


def _new_id(stream: StreamSchema, number: int) -> Any:
    column = stream.column(stream.id or "")
    is_number = column is not None and column.type is not DataType.STRING
    return number if is_number else f"new-{number}"


def fitted(value: Any, kind: DataType) -> Any:
    """Return a value as a column of that type takes it; None where it cannot."""
    if kind is DataType.LONG and isinstance(value, float):
        return int(value) if value.is_integer() else None
    if kind is DataType.LONG and isinstance(value, int) and abs(value) >= 2**63:
        return None
    if kind is DataType.DOUBLE and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if kind is DataType.STRING and value is not None:
        return str(value)
    return value
