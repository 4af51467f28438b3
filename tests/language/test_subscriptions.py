"""P-ToPSS's subscriptions are read into the tree of ordinary queries."""

from __future__ import annotations

import pytest

from augury.errors import Source
from augury.language.parser import parse
from augury.language.printer import to_text

OPENING = "CREATE QUERY q ON logins "


def both(subscription: str, pattern: str) -> None:
    found = [parse(Source("q.sql", OPENING + text)) for text in (subscription, pattern)]
    assert [each.diagnostics for each in found] == [(), ()]
    assert to_text(found[0].statements[0]) == to_text(found[1].statements[0])


@pytest.mark.parametrize(
    ("subscription", "pattern"),
    [
        ("SUBSCRIPTION a; b; c", "PATTERN SEQ(a a, b b, c c)"),
        ("SUBSCRIPTION a, b, c", "PATTERN NEXT(a a, b b, c c)"),
        ("SUBSCRIPTION a, b; c, d", "PATTERN SEQ(NEXT(a a, b b), NEXT(c c, d d))"),
        ("SUBSCRIPTION a; (b | c) & d", "PATTERN SEQ(a a, AND(OR(b b, c c), d d))"),
        (
            "SUBSCRIPTION a; (b \N{LOGICAL OR} (c & d))",
            "PATTERN SEQ(a a, OR(b b, AND(c c, d d)))",
        ),
        ("SUBSCRIPTION a; a; a_1", "PATTERN SEQ(a a_1_, a a_2, a_1 a_1)"),
        (
            "SUBSCRIPTION s1; ((s2; s3@(t(s3) \N{MINUS SIGN} t(s1) < 5)) "
            "\N{LOGICAL OR} (s4, s5)); s6",
            "PATTERN SEQ(s1 s1, OR(SEQ(s2 s2, s3 s3), NEXT(s4 s4, s5 s5)), s6 s6) "
            "WHERE t(s3) - t(s1) < 5",
        ),
        (
            "SUBSCRIPTION s, s WITH s: heat > 30 OR heat < -30",
            "PATTERN NEXT(_ s_1 (heat > 30 OR heat < -30), _ s_2 (heat > 30 OR heat < -30))",
        ),
        (
            "WITHIN 9 SUBSCRIPTION s1; s2@(t(s2) - t(s1) < 5 min)@(t(s2) > t(s1)) "
            "WITH s1, s2: ip = $x & status = 'denied' RETURN *",
            "PATTERN SEQ(_ s1 (status = 'denied'), _ s2 (status = 'denied')) "
            "WHERE t(s2) - t(s1) < 5 min AND t(s2) > t(s1) AND s1.ip = s2.ip WITHIN 9 RETURN *",
        ),
    ],
)
def test_a_subscription_means_a_pattern(subscription: str, pattern: str) -> None:
    both(subscription, pattern)


def test_a_semicolon_before_what_is_no_primitive_ends_a_subscription() -> None:
    text = "SUBSCRIPTION a; b; EXPLAIN q; SUBSCRIPTION (a; b); c; WRITE q TO parquet 'x'"
    parsed = parse(Source("q.sql", text))
    assert parsed.diagnostics == ()
    assert [type(s).__name__ for s in parsed.statements] == [
        "CreateQuery",
        "Explain",
        "CreateQuery",
        "Write",
    ]


def test_its_signs_have_no_meaning_in_other_statements() -> None:
    text = "SUBSCRIPTION a; b; CREATE QUERY q ON s PATTERN SEQ(A a, B b) WHERE a.x = 1 & b.x = 2"
    (finding,) = parse(Source("q.sql", text)).diagnostics
    assert finding.code == "A002"
    assert finding.hint == "write AND"
