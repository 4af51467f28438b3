"""The plain data that the possible-worlds oracle reads: events, patterns, queries, chains.

Everything is a frozen dataclass without behaviour, so that a test can write a stream and a query
as literals. Expressions are nested tuples; `values.py` evaluates them:

    ("lit", 3)                                   a literal; None is NULL
    ("attr", "x", "price")                       x.price; for a repetition b: every i
    ("attr", "b", "price", "i" | "i-1" | 1 | "last")     b[i], b[i-1], b[1], LAST(b)
    ("default", ("attr", "x", "tag"), e)         x.tag[e]: e where x is absent
    ("count", "b"), ("agg", "SUM", "b", "price")         also AVG, MIN, MAX, COUNT
    ("running", "SUM", "b", "price")             SUM(b[..i].price)
    ("round", "g", ("attr", "b", "price", "i"))  g[i].b.price, of one round of a group
    ("=", e, e), and <> < <= > >= + - * / %, ("neg", e)
    ("and", e, ...), ("or", e, ...), ("not", e), ("is null", e), ("is not null", e)
    ("in", e, [e, ...])                          a list of expressions or of plain values
    ("in table", (e, e), {(v, v), ...})          membership in a relation
    ("select", "MAX", 1, (rows, key), e)         a subquery: of column 1 of the rows for which e is
                                                 true; None: the column itself, of one row. `key`
                                                 are columns. A column of the row is ("column", 0)
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

Expr = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Event:
    """One row: it happened with probability `p`; rows of one `group` exclude each other.

    `tie` is the tie-breaker (None: the stream has none, or it is NULL). `key` is what the event is
    about (the empty tuple: the stream has no KEY). `attrs` are the stream's own columns, its time
    column too where a query reads it; a column that is not there is NULL.
    """

    id: Hashable
    ts: int
    type: str | None = None
    p: float = 1.0
    attrs: Mapping[str, Any] = field(default_factory=dict)
    tie: int | None = None
    key: tuple[Any, ...] = ()
    group: Hashable = None
    stream: str = "s"


@dataclass(frozen=True)
class Comp:
    """A component: `B{minimum,maximum} name`; type None is `_`, maximum None is unbounded.

    `type` may also be a stream or query that the query names in ON. `filter` is the predicate in
    brackets after the component; a repetition ends before an event for which `until` holds.
    """

    name: str
    type: str | None = None
    minimum: int = 1
    maximum: int | None = 1
    filter: Expr | None = None
    until: Expr | None = None


@dataclass(frozen=True)
class Not:
    """`!part`: a component, or a composite of which no instance may lie wholly in the gap.

    `!NEXT B b`, a `neighbour`, says of the gap only what follows directly on the event before it.
    """

    part: Any
    neighbour: bool = False


@dataclass(frozen=True)
class Seq:
    """`SEQ(...)`: the parts in time order."""

    parts: tuple[Any, ...]


@dataclass(frozen=True)
class Next:
    """`NEXT(...)`: the parts in time order, each a neighbour of the one before it."""

    parts: tuple[Any, ...]


@dataclass(frozen=True)
class And:
    """`AND(...)`: all parts, in any order."""

    parts: tuple[Any, ...]


@dataclass(frozen=True)
class Or:
    """`OR(...)`: one of the parts."""

    parts: tuple[Any, ...]


@dataclass(frozen=True)
class Rounds:
    """`(part){minimum,maximum} name`: a group that repeats, round after round."""

    part: Any
    minimum: int
    maximum: int | None
    name: str = "rounds"


@dataclass(frozen=True)
class First:
    """`FIRST(A a)`: `!A, A a`."""

    comp: Comp


@dataclass(frozen=True)
class Last:
    """`LAST(A a)`: `A a, !A`."""

    comp: Comp


@dataclass(frozen=True, eq=False)
class Query:
    """One CREATE QUERY.

    Fields, where the name does not say it:
        where: the conjuncts; `equate`: the attributes in square brackets, `[tag]`.
        strategy: "any", "next", "strict" or "partition".
        within: None, ("time", W) or ("events", n).
        threshold: None or (value, strict); of the confidence, or of the probability.
        returns: RETURN columns, name to expression, or "*".
        correlated: (previous event id, event id) to conditional probability, for CORRELATED BY.
        unlisted_independent: a pair that `correlated` lacks is independent, instead of refused.
        probability: None (matches), "ever" (RETURN PROBABILITY) or "by time".
        group_by: expressions, or names of equated attributes.
        every: the slide of EVERY; None is the window's own length.
        over: how far back a probability by time looks; 1 is that time alone.
        after_match: None, or where AFTER MATCH SKIP goes on: ("past last",), ("next",),
            ("first", "x") or ("last", "x").
    """

    pattern: Any
    name: str = "q"
    streams: tuple[str, ...] = ("s",)
    where: tuple[Expr, ...] = ()
    equate: tuple[str, ...] = ()
    after_where: tuple[Expr, ...] = ()
    strategy: str = "any"
    within: tuple[str, int] | None = None
    threshold: tuple[float, bool] | None = None
    returns: Mapping[str, Expr] | str = field(default_factory=dict)
    correlated: Mapping[tuple[Hashable, Hashable], float] | None = None
    unlisted_independent: bool = False
    probability: str | None = None
    group_by: tuple[Any, ...] = ()
    every: int | None = None
    over: int = 1
    after_match: tuple[str, ...] | None = None


@dataclass(frozen=True, eq=False)
class Markov:
    """`MARKOV moves` of one stream with `ALTERNATIVES columns`.

    `table[key, t, value_from, value_to]` is P(value_to at t + 1 | value_from at t). A value is the
    tuple of the alternative columns, or None for nowhere.
    """

    stream: str
    columns: tuple[str, ...]
    table: Mapping[tuple[Any, int, Any, Any], float]
