"""Random typed expressions, and rows with every awkward value, to hold the compilers together."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from hypothesis import strategies as st

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import Column, DataType, StreamSchema
from augury.language.expressions import (
    Attribute,
    Between,
    Binary,
    Call,
    Case,
    Cast,
    Duration,
    Expression,
    InList,
    InTable,
    IsNull,
    Like,
    Literal,
    Logic,
    Unary,
)
from planning.plain import Days, Moment
from planning.queries import component, query, seq

B, L, D, S = DataType.BOOLEAN, DataType.LONG, DataType.DOUBLE, DataType.STRING
T, G, I = DataType.TIMESTAMP, DataType.DATE, DataType.INTERVAL  # noqa: E741

COLUMNS = {"b1": B, "l1": L, "l2": L, "d1": D, "d2": D, "s1": S, "s2": S, "t1": T, "t2": T, "g1": G}
EVENTS = StreamSchema("reads", tuple(Column(n, t) for n, t in COLUMNS.items()), time="t1")
TABLE: list[tuple[Any, ...]] = [(1, "a"), (2**53, "B"), (None, "a"), (3, None), (0, "é")]


def two_events() -> CheckedQuery:
    """Return SEQ(x, y) over events that have every type of attribute."""
    return query(seq(0, 1), (component(0, "x"), component(1, "y")), streams=(EVENTS,))


longs = st.one_of(
    st.sampled_from([0, 1, -1, 2, 3, 7, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), 2**62, 10**12]),
    st.integers(-10, 10),
    st.integers(-(2**63), 2**63 - 1),
)
doubles = st.one_of(
    st.sampled_from(
        [0.0, -0.0, 1.0, -1.5, math.nan, math.inf, -math.inf, 2.0**53, 2.0**63, 1e-320]
    ),
    st.integers(-10, 10).map(float),
    st.floats(),
)
strings = st.text("aB%_\\é☃😀 1", max_size=4) | st.sampled_from(["true", " 12 ", "-1.5e3", "x\n"])
moments = st.integers(-2 * 10**15, 4 * 10**15).map(Moment) | st.sampled_from(
    [Moment(0), Moment(-1)]
)
days = st.integers(-20_000, 40_000).map(Days)
VALUES: dict[DataType, st.SearchStrategy[Any]] = {
    B: st.booleans(),
    L: longs,
    D: doubles,
    S: strings,
    T: moments,
    G: days,
}


def rows() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({n: st.none() | VALUES[t] for n, t in COLUMNS.items()})


@cache
def expressions(
    kind: DataType, components: tuple[str, ...], depth: int = 3, *, text: bool = True
) -> st.SearchStrategy[Expression]:
    """Return expressions of a type; without `text`, string functions stay out."""
    return _Maker(components, text).of(kind, depth)


class _Maker:
    def __init__(self, components: tuple[str, ...], text: bool) -> None:
        self.components, self.text = components, text

        self.made: dict[tuple[DataType, int], st.SearchStrategy[Expression]] = {}

    def of(self, kind: DataType, depth: int) -> st.SearchStrategy[Expression]:
        # Made once each: hypothesis walks every strategy that it can reach.
        if (kind, depth) not in self.made:
            leaf = self.leaf(kind)
            self.made[kind, depth] = (
                leaf if depth == 0 else leaf | st.one_of(self.inner(kind, depth - 1))
            )
        return self.made[kind, depth]

    def leaf(self, kind: DataType) -> st.SearchStrategy[Expression]:
        if kind is I:
            return st.builds(
                Duration, st.integers(-1000, 1000), st.sampled_from(["SECOND", "HOUR"])
            )
        names = [n for n, t in COLUMNS.items() if t is kind]
        attribute = st.builds(Attribute, st.sampled_from(self.components), st.sampled_from(names))
        if kind in (T, G):
            return attribute
        finite = VALUES[kind].filter(lambda v: not isinstance(v, float) or math.isfinite(v))
        return attribute | attribute | finite.map(constant)

    def inner(self, kind: DataType, depth: int) -> list[st.SearchStrategy[Expression]]:
        same = self.of(kind, depth)
        truth = self.of(B, depth)
        shared: list[st.SearchStrategy[Expression]] = [
            st.builds(
                Case, st.tuples(st.tuples(truth, same)), same | st.just(Literal(None)) | st.none()
            ),
            st.builds(Call, st.just("COALESCE"), st.tuples(same, same)),
            st.builds(Call, st.sampled_from(["LEAST", "GREATEST"]), st.tuples(same, same, same)),
        ]
        own = {B: self.truths, L: self.wholes, D: self.reals, S: self.texts}.get(kind, self.times)
        return [*own(kind, depth), *(shared if kind is not B else shared[:2])]

    def truths(self, kind: DataType, depth: int) -> list[st.SearchStrategy[Expression]]:
        truth = self.of(B, depth)
        operators = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
        pairs = [(k, k) for k in (L, D, S, T, G, I)] + [(L, D), (D, L), (G, T), (T, G)]
        return [
            *(st.builds(Binary, operators, self.of(a, depth), self.of(b, depth)) for a, b in pairs),
            st.builds(
                Logic,
                st.sampled_from(["AND", "OR"]),
                st.lists(truth, min_size=2, max_size=3).map(tuple),
            ),
            truth.map(lambda e: Unary("NOT", e)),
            st.sampled_from([L, D, S]).flatmap(
                lambda k: st.builds(IsNull, self.of(k, depth), st.booleans())
            ),
            st.sampled_from([L, D, S]).flatmap(
                lambda k: st.builds(
                    InList,
                    self.of(k, depth),
                    st.lists(self.leaf(k), min_size=1, max_size=3).map(tuple),
                    st.booleans(),
                )
            ),
            st.builds(Between, self.of(D, depth), self.of(L, depth), self.of(D, depth)),
            st.builds(
                InTable,
                st.tuples(self.of(L, depth), self.of(S, depth)),
                st.just("known"),
                st.booleans(),
            ),
            st.builds(Cast, self.of(L, depth) | self.of(D, depth), st.just("BOOLEAN")),
            *self.truths_of_text(depth),
        ]

    def truths_of_text(self, depth: int) -> list[st.SearchStrategy[Expression]]:
        if not self.text:
            return []
        patterns = st.sampled_from(["a%", "%é%", "_", "\\%%", "", "%", "a\\_B", "%\\\\"])
        return [
            st.builds(Like, self.of(S, depth), patterns, st.booleans()),
            st.builds(Cast, self.of(S, depth), st.just("BOOLEAN")),
        ]

    def wholes(self, kind: DataType, depth: int) -> list[st.SearchStrategy[Expression]]:
        whole, real = self.of(L, depth), self.of(D, depth)
        found: list[st.SearchStrategy[Expression]] = [
            st.builds(Binary, st.sampled_from(["+", "-", "*", "%"]), whole, whole),
            whole.filter(lambda e: not isinstance(e, Literal)).map(lambda e: Unary("-", e)),
            st.builds(Call, st.sampled_from(["FLOOR", "CEIL"]), st.tuples(real)),
            whole.map(lambda e: Call("ABS", (e,))),
            st.builds(Cast, real | self.of(B, depth), st.just("LONG")),
            st.builds(Call, st.just("NULLIF"), st.tuples(whole, whole)),
        ]
        if self.text:
            found.append(self.of(S, depth).map(lambda e: Call("LENGTH", (e,))))
            found.append(self.of(S, depth).map(lambda e: Cast(e, "LONG")))
        return found

    def reals(self, kind: DataType, depth: int) -> list[st.SearchStrategy[Expression]]:
        whole, real = self.of(L, depth), self.of(D, depth)
        found: list[st.SearchStrategy[Expression]] = [
            st.builds(Binary, st.sampled_from(["+", "-", "*", "/", "%"]), real, real | whole),
            st.builds(Binary, st.just("/"), whole, whole),
            real.filter(lambda e: not isinstance(e, Literal)).map(lambda e: Unary("-", e)),
            real.map(lambda e: Call("ABS", (e,))),
            real.map(lambda e: Call("SQRT", (e,))),
            st.builds(Cast, whole | self.of(B, depth), st.just("DOUBLE")),
        ]
        if self.text:
            found.append(self.of(S, depth).map(lambda e: Cast(e, "DOUBLE")))
        return found

    def texts(self, kind: DataType, depth: int) -> list[st.SearchStrategy[Expression]]:
        if not self.text:
            return []
        text = self.of(S, depth)
        places = st.integers(-5, 5).map(constant)
        return [
            st.builds(Call, st.sampled_from(["LOWER", "UPPER", "TRIM"]), st.tuples(text)),
            st.builds(Binary, st.just("||"), text, text),
            st.builds(Call, st.just("SUBSTRING"), st.tuples(text, places, places)),
            st.builds(Call, st.just("SUBSTRING"), st.tuples(text, places)),
            st.builds(
                Cast, self.of(L, depth) | self.of(B, depth) | self.of(G, depth), st.just("STRING")
            ),
        ]

    def times(self, kind: DataType, depth: int) -> list[st.SearchStrategy[Expression]]:
        moment, span = self.of(T, depth), self.of(I, depth)
        if kind is T:
            return [
                st.builds(Binary, st.sampled_from(["+", "-"]), moment, self.leaf(I)),
                st.builds(Cast, self.leaf(G), st.just("TIMESTAMP")),
            ]
        if kind is G:
            return [st.builds(Cast, moment, st.just("DATE"))]
        return [
            st.builds(Binary, st.just("-"), moment, moment | self.leaf(G)),
            st.builds(Binary, st.sampled_from(["+", "-"]), span, span),
            st.builds(Binary, st.just("*"), span, self.of(L, depth) | self.of(D, depth)),
            st.builds(Binary, st.just("/"), span, self.of(L, depth) | self.of(D, depth)),
            span.map(lambda e: Unary("-", e)),
        ]


def constant(value: Any) -> Expression:
    """Return a value as the parser would give it: minus is an operator."""
    if isinstance(value, int | float) and not isinstance(value, bool) and value < 0:
        return Unary("-", Literal(-value))
    return Literal(value)
