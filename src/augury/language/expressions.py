"""Scalar expressions of the syntax tree: frozen, typed, and equal when they mean the same text.

Spans never take part in equality, so a printed and re-read tree equals the first. One tree serves
the checker and all three compilers (Spark SQL, Arrow columns, the kernel's predicate programs).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal as Choice

from augury.errors import NOWHERE, Span


@dataclass(frozen=True, slots=True)
class Node:
    """Anything in the tree: it knows where it stood in the text."""

    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """A constant: NULL, TRUE, FALSE, a number or a string."""

    value: bool | int | float | str | None

    # bool and int compare equal in Python; TRUE and 1 are different texts.
    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Literal)
            and type(self.value) is type(other.value)
            and self.value == other.value
        )

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


Unit = Choice["MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK"]


@dataclass(frozen=True, slots=True)
class Duration(Node):
    """`INTERVAL 5 MINUTES`, or the length in WITHIN, LATENESS and gaps."""

    amount: int | float
    unit: Unit


@dataclass(frozen=True, slots=True)
class TypedLiteral(Node):
    """`TIMESTAMP '2026-01-01 00:00:00'` or `DATE '2026-01-01'`."""

    type: Choice["TIMESTAMP", "DATE"]
    text: str


IndexKind = Choice["number", "each", "previous", "last", "running"]


@dataclass(frozen=True, slots=True)
class Index(Node):
    """Which events of a repetition: b[1] (number), b[i] (each), b[i-1] (previous), LAST(b).

    Within an aggregate, b[..i] (running) is all of them up to b[i].
    """

    kind: IndexKind
    number: int = 0


@dataclass(frozen=True, slots=True)
class Attribute(Node):
    """`x.price`, `b[i-1].price`, `LAST(b).price`, `x.tag[y.tag]`, or bare `price`.

    `component` is None for a bare column: inside a component's own filter, or in GROUP BY.
    `default` is the value for when the component was missed (AYAC's brackets). In `g[i].a.price`
    the index counts the rounds of `group` g; analysis finds the component, and drops the group.
    Of a neighbour, `PREV(b.price, 2)`, analysis makes one that says how many `places` behind it is.
    """

    component: str | None
    name: str
    index: Index | None = None
    default: Expression | None = None
    group: str | None = None
    places: int = 0


@dataclass(frozen=True, slots=True)
class Aggregate(Node):
    """`COUNT(b)`, or `SUM | AVG | MIN | MAX (b.price)`; `attribute` is None for COUNT.

    A running one, `SUM(b[..i].price)`, is over the events up to the i-th. `group` is as in an
    attribute: `SUM(g.b.price)`.
    """

    function: Choice["COUNT", "SUM", "AVG", "MIN", "MAX"]
    component: str
    attribute: str | None = None
    running: bool = False
    group: str | None = None


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """`-x` or `NOT x`."""

    operator: Choice["-", "NOT"]
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """Arithmetic, concatenation and comparison; `<>` is the one spelling of inequality."""

    operator: Choice["+", "-", "*", "/", "%", "||", "=", "<>", "<", "<=", ">", ">="]
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Logic(Node):
    """AND or OR over two or more operands; nested chains of one operator are flattened."""

    operator: Choice["AND", "OR"]
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class IsNull(Node):
    """`x IS NULL`, `x IS NOT NULL`."""

    operand: Expression
    negated: bool = False


@dataclass(frozen=True, slots=True)
class InList(Node):
    """`x IN (1, 2, 3)`."""

    operand: Expression
    items: tuple[Expression, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class InTable(Node):
    """`x.place IN hallway`, `(x.person, x.place) IN office`."""

    operands: tuple[Expression, ...]
    table: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Between(Node):
    """`x BETWEEN low AND high`."""

    operand: Expression
    low: Expression
    high: Expression
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Like(Node):
    """`x LIKE 'a%'`."""

    operand: Expression
    pattern: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Case(Node):
    """`CASE WHEN c THEN v ... ELSE e END` (searched form only)."""

    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression | None = None


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A scalar function: `ABS(x.price)`, `LOWER(x.name)`; the name is upper case."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Cast(Node):
    """`CAST(x.price AS DOUBLE)`."""

    operand: Expression
    type: str


@dataclass(frozen=True, slots=True)
class Equate(Node):
    """`[tag]`: the attribute is equal over all components, negated ones too."""

    attributes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lookup(Node):
    """`(SELECT status FROM workers WHERE id = x.id)`: a table's value as of a match's moment.

    `function` is of `COUNT(*)` (without a column), or of SUM, AVG, MIN, MAX over the column.
    """

    column: str | None
    table: str
    condition: Expression | None = None
    function: Choice["COUNT", "SUM", "AVG", "MIN", "MAX"] | None = None


Expression = (
    Literal
    | Duration
    | TypedLiteral
    | Attribute
    | Aggregate
    | Unary
    | Binary
    | Logic
    | IsNull
    | InList
    | InTable
    | Between
    | Like
    | Case
    | Call
    | Cast
    | Equate
    | Lookup
)
