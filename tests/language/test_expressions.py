"""Precedence and every form of a scalar expression."""

from __future__ import annotations

import pytest

from augury.language.expressions import (
    Aggregate,
    Attribute,
    Between,
    Binary,
    Call,
    Case,
    Cast,
    Duration,
    Equate,
    Index,
    InList,
    InTable,
    IsNull,
    Like,
    Literal,
    Logic,
    Lookup,
    TypedLiteral,
    Unary,
)
from language.reading import read_where, refusal

A, B, C = (Attribute(None, name) for name in ("p", "q", "r"))
ONE, TWO = Literal(1), Literal(2)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p OR q AND r", Logic("OR", (A, Logic("AND", (B, C))))),
        ("(p OR q) AND r", Logic("AND", (Logic("OR", (A, B)), C))),
        ("NOT p AND q", Logic("AND", (Unary("NOT", A), B))),
        ("NOT p = q", Unary("NOT", Binary("=", A, B))),
        ("p AND (q AND r)", Logic("AND", (A, B, C))),
        ("(p OR q) OR r", Logic("OR", (A, B, C))),
        ("p + q * r", Binary("+", A, Binary("*", B, C))),
        ("(p + q) * r", Binary("*", Binary("+", A, B), C)),
        ("p - q - r", Binary("-", Binary("-", A, B), C)),
        ("p - (q - r)", Binary("-", A, Binary("-", B, C))),
        ("p % q / r", Binary("/", Binary("%", A, B), C)),
        ("p + q < r * 2", Binary("<", Binary("+", A, B), Binary("*", C, TWO))),
        ("p || q = r", Binary("=", Binary("||", A, B), C)),
        ("-p * q", Binary("*", Unary("-", A), B)),
        ("p * -q", Binary("*", A, Unary("-", B))),
        ("-1 - -2", Binary("-", Literal(-1), Literal(-2))),
        ("-(1)", Literal(-1)),
        ("-(-1)", Unary("-", Literal(-1))),
        ("p BETWEEN 1 AND 2 AND q", Logic("AND", (Between(A, ONE, TWO), B))),
        ("p NOT BETWEEN 1 AND 2 OR q", Logic("OR", (Between(A, ONE, TWO, negated=True), B))),
        ("p = 1 OR q IS NOT NULL", Logic("OR", (Binary("=", A, ONE), IsNull(B, negated=True)))),
    ],
)
def test_operators_bind_as_in_sql(text: str, expected: object) -> None:
    assert read_where(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("NULL", Literal(None)),
        ("true", Literal(True)),
        ("FALSE", Literal(False)),
        ("'it''s'", Literal("it's")),
        ("1.50", Literal(1.5)),
        ("INTERVAL 5 MINUTES", Duration(5, "MINUTE")),
        ("INTERVAL '5' MINUTE", Duration(5, "MINUTE")),
        ("INTERVAL '1.5 h'", Duration(1.5, "HOUR")),
        ("5 ms", Duration(5, "MILLISECOND")),
        ("TIMESTAMP '2026-01-01 00:00:00'", TypedLiteral("TIMESTAMP", "2026-01-01 00:00:00")),
        ("DATE '2026-01-01'", TypedLiteral("DATE", "2026-01-01")),
        ("x.tag", Attribute("x", "tag")),
        ("x.tag[y.tag]", Attribute("x", "tag", None, Attribute("y", "tag"))),
        ("b[1].price", Attribute("b", "price", Index("number", 1))),
        ("b[i].price", Attribute("b", "price", Index("each"))),
        ("b[i - 1].price", Attribute("b", "price", Index("previous"))),
        ("LAST(b).price", Attribute("b", "price", Index("last"))),
        ("first(b).price", Attribute("b", "price", Index("number", 1))),
        ("COUNT(b)", Aggregate("COUNT", "b")),
        ("sum(b.price)", Aggregate("SUM", "b", "price")),
        ("AVG(b[i].price)", Aggregate("AVG", "b", "price")),
        ("abs(p)", Call("ABS", (A,))),
        ("NOW()", Call("NOW", ())),
        ("CAST(p AS decimal(10, 2))", Cast(A, "DECIMAL(10,2)")),
        ("CASE WHEN p THEN 1 ELSE 2 END", Case(((A, ONE),), TWO)),
        ("CASE WHEN p THEN 1 WHEN q THEN 2 END", Case(((A, ONE), (B, TWO)))),
        ("[tag, room]", Equate(("tag", "room"))),
        ("p IN (1, 2)", InList(A, (ONE, TWO))),
        ("p NOT IN (1)", InList(A, (ONE,), negated=True)),
        ("x.place IN hallway", InTable((Attribute("x", "place"),), "hallway")),
        ("(p, q) NOT IN office", InTable((A, B), "office", negated=True)),
        ("p LIKE 'a%'", Like(A, "a%")),
        ("p <> 1", Binary("<>", A, ONE)),
        ("p != 1", Binary("<>", A, ONE)),
        ("p == 1", Binary("=", A, ONE)),
        ("\N{NOT SIGN}p \N{LOGICAL AND} q", Logic("AND", (Unary("NOT", A), B))),
        (
            "(SELECT status FROM t WHERE id = x.id)",
            Lookup("status", "t", Binary("=", Attribute(None, "id"), Attribute("x", "id"))),
        ),
    ],
)
def test_every_form_of_an_expression_is_read(text: str, expected: object) -> None:
    assert read_where(text) == expected


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("b[j].x = 1", "A009"),
        ("b[0].x = 1", "A009"),
        ("b[i-2].x = 1", "A009"),
        ("COUNT(b.x) > 1", "A009"),
        ("COUNT(*) > 1", "A009"),
        ("MAX(a.x, b.x) > 1", "A009"),
        ("SUM(b.x + 1) > 1", "A009"),
        ("a.at < INTERVAL '5 fortnights'", "A009"),
        ("a.x < b.x < 3", "A001"),
        ("a.x = ", "A001"),
    ],
)
def test_malformed_parts_of_an_expression_are_refused(text: str, code: str) -> None:
    assert refusal(f"PATTERN SEQ(A a, B+ b) WHERE {text}").code == code


def test_a_node_spans_its_own_text() -> None:
    text = "a.x + 1 > (b.y - 2)"
    where = read_where(text)
    offset = where.span.start
    right = where.right
    assert text[: where.span.end - offset] == text
    assert text[right.span.start - offset : right.span.end - offset] == "b.y - 2"
