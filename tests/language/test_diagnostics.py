"""What is wrong, where the carets stand, and what was likely meant."""

from __future__ import annotations

import pytest

from augury.language.codes import TITLES
from language.reading import marked, read, refusal, refusals


@pytest.mark.parametrize(
    ("text", "under", "hint"),
    [
        ("CREAT STREAM x (a LONG)", "CREAT", "did you mean CREATE?"),
        ("CREATE STREEM x (a LONG)", "STREEM", "did you mean STREAM?"),
        ("CREATE QUERY q ON s PATERN SEQ(A a)", "PATERN", "did you mean PATTERN?"),
        ("CREATE QUERY q ON s PATTERN SEQ(A a) WERE a.x = 1", "WERE", "did you mean WHERE?"),
        ("CREATE QUERY q ON s PATTERN SEQ(A a) WITHN 5", "WITHN", "did you mean WITHIN?"),
        ("PATTERN SEQ(A a) WITHIN 12 HOUSR", "HOUSR", "did you mean HOURS?"),
        ("PATTERN SEQ(A a) USING SKIP TIL NEXT MATCH", "TIL", "did you mean TILL?"),
        ("PATTERN SEQ(A a) HAVING CONFIDENSE > 0.5", "CONFIDENSE", "did you mean CONFIDENCE?"),
        ("PATTERN SEQ(A a) WHERE a.x IS NUL", "NUL", "did you mean NULL?"),
        ("CREATE GAPS g ON q (x TO y EXPONENTAL(5))", "EXPONENTAL", "did you mean EXPONENTIAL?"),
        ("EXPLAIN q FORMAT jsno", "jsno", "did you mean JSON?"),
        ("SEQUNCE (x, !y, z)", "SEQUNCE", "did you mean SEQUENCE?"),
        ("SEQ(A a, B b)", "SEQ", "write PATTERN SEQ(...)"),
        (
            "PATTERN SEQ(A a, NOT B b)",
            "b",
            "in a pattern, write ! in front of what must not happen",
        ),
        (
            "PATTERN SEQ(A a) WHERE a.x = 1 OR skip-till-any-match",
            "skip-till-any-match",
            "a strategy stands first in WHERE, or in USING",
        ),
        (
            "PATTERN SEQ(A a) RETURN PROBABILITY BY TIME OVER 3 TICKS",
            "TICKS",
            "where TIME is a LONG, a bare number counts ticks",
        ),
        (
            "PATTERN SEQ(A a) OVER 3 RETURN PROBABILITY BY TIME",
            "OVER",
            "OVER ends a RETURN: RETURN PROBABILITY BY TIME OVER ...",
        ),
    ],
)
def test_a_likely_mistake_is_marked_and_the_way_out_named(text: str, under: str, hint: str) -> None:
    found = refusal(text)
    assert (marked(found), found.hint) == (under, hint)


@pytest.mark.parametrize(
    ("text", "under", "expected"),
    [
        ("CREATE", "", "STREAM"),
        ("CREATE STREAM (a LONG)", "(", "a name"),
        ("CREATE STREAM s (a LONG", "", '")" or ","'),
        ("CREATE QUERY q ON s PATTERN SEQ(A a B b)", "B", '")"'),
        ("PATTERN SEQ(A a,)", ")", "a pattern"),
        ("PATTERN SEQ(A a) WHERE", "", "an expression"),
        ("PATTERN SEQ(A a) WHERE a.x >", "", "an expression"),
        ("PATTERN SEQ(A a) WHERE a.x = 1 b.y = 2", "b", "an operator"),
        ("PATTERN SEQ(A a) WITHIN soon", "soon", "a number"),
        ("PATTERN SEQ(A a) HAVING CONFIDENCE < 0.5", "<", '">" or ">="'),
        ("EXPLAIN", "", "a name"),
    ],
)
def test_a_syntax_error_says_what_was_expected(text: str, under: str, expected: str) -> None:
    found = refusal(text)
    assert found.code == "A001"
    assert marked(found) == under
    assert expected in found.message


def test_no_terminal_of_the_grammar_is_ever_named() -> None:
    broken = [
        "CREATE",
        "EXPLAIN q (",
        "PATTERN SEQ(",
        "PATTERN SEQ(A a) WHERE (",
        "CREATE STREAM s (",
    ]
    messages = " ".join(refusal(text).message for text in broken)
    assert not {"LPAR", "RPAR", "DECIMAL", "NAME", "$END"} & set(messages.replace(",", " ").split())


def test_one_broken_statement_does_not_hide_the_others() -> None:
    parsed = read(
        "CREATE STREAM a (x LONG TIME x;\n"
        "CREATE STREAM b (x LONG) TIME x;\n"
        "CREATE QUERY c ON b PATTERN SEQ(b y WITHIN 5;\n"
        "EXPLAIN d FORMAT;\n"
    )
    assert [diagnostic.line for diagnostic in parsed.diagnostics] == [1, 3, 4]
    assert [statement.name for statement in parsed.statements] == ["b"]
    assert parsed.unread == ("a", "c")


def test_a_forgotten_semicolon_is_told_and_both_statements_are_read() -> None:
    parsed = read("CREATE STREAM a (x LONG)\nCREATE STREAM b (x LONG);")
    (found,) = parsed.diagnostics
    assert (found.line, found.hint) == (2, "write ; before it")
    assert [statement.name for statement in parsed.statements] == ["a", "b"]


def test_a_clause_given_twice_is_refused_and_the_first_stands() -> None:
    parsed = read("PATTERN SEQ(A a) WITHIN 5 WITHIN 6")
    (found,) = parsed.diagnostics
    assert (found.code, found.message, marked(found)) == ("A005", "WITHIN is given twice", "WITHIN")
    assert parsed.statements[0].within.length == 5


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN SEQ(A a) HAVING CONFIDENCE > 0.5 THRESHOLD 0.8",
        "PATTERN SEQ(A a) WHERE skip-till-next-match USING STRICT",
        "CREATE STREAM s (a LONG) KEY a TIME a KEY a",
        "CREATE QUERY q ON s PATTERN SEQ(A a) ON t",
        "PATTERN SEQ(A a) PATTERN SEQ(B b)",
    ],
)
def test_two_clauses_that_say_one_thing_are_refused(text: str) -> None:
    assert refusal(text).code == "A005"


def test_a_query_without_a_pattern_is_incomplete() -> None:
    found = refusal("CREATE QUERY q ON s WITHIN 5")
    assert (found.code, found.message) == ("A006", "query q has no pattern")


@pytest.mark.parametrize(
    ("text", "under"),
    [
        ("R(x); (S(x); T(x))", "(S(x); T(x))"),
        ("(R(x); S(x))+<{x}>", "(R(x); S(x))+<{x}>"),
        ("PATTERN SEQ(A a, B{5,2} b)", "{5,2}"),
        ("PATTERN SEQ(A a, B{0} b)", "{0}"),
    ],
)
def test_malformed_parts_are_refused_where_they_stand(text: str, under: str) -> None:
    found = refusal(text)
    assert found.code == "A009"
    assert marked(found) in under


def test_findings_come_in_the_order_of_the_text() -> None:
    found = refusals('EXPLAIN \'a;\nEXPLAIN;\nPATTERN SEQ(A a) WITHIN 1 WITHIN 2;\nEXPLAIN "x"')
    assert [diagnostic.line for diagnostic in found] == sorted(
        diagnostic.line for diagnostic in found
    )


def test_a_finding_is_rendered_with_a_caret_and_a_hint() -> None:
    found = refusal("CREATE QUERY q ON s\nPATTERN SEQ(A a)\nWERE a.x = 1;")
    assert found.render() == (
        "error[A001]: WERE is not expected here; "
        "expected another clause or the end of the statement\n"
        "  test.sql:3:1\n"
        "  3 | WERE a.x = 1;\n"
        "    | ^^^^ did you mean WHERE?"
    )


def test_codes_are_nine_and_each_has_a_title() -> None:
    assert list(TITLES) == [f"A00{number}" for number in range(1, 10)]
    assert all(title and not title.endswith(".") for title in TITLES.values())
