"""Diagnostics as people read them."""

from __future__ import annotations

from augury.errors import Diagnostic, QueryError, Source, Span


def found(text: str, start: int, end: int, hint: str = "") -> Diagnostic:
    return Diagnostic("X001", "something is wrong", Span(start, end), Source("a.sql", text), hint)


def test_the_caret_stands_under_the_words_it_means() -> None:
    assert found("CREATE\nSTRAEM x", 7, 13, "did you mean STREAM?").render() == (
        "error[X001]: something is wrong\n"
        "  a.sql:2:1\n"
        "  2 | STRAEM x\n"
        "    | ^^^^^^ did you mean STREAM?"
    )


def test_a_tab_before_the_caret_stays_a_tab() -> None:
    assert found("\tx", 1, 2).render().endswith("| \tx\n    | \t^")


def test_a_finding_at_the_end_of_the_text_has_one_caret() -> None:
    assert found("ab", 2, 2).render().endswith("  1 | ab\n    |   ^")


def test_a_finding_over_several_lines_is_underlined_on_its_first() -> None:
    assert found("ab\ncd", 1, 5).render().endswith("  1 | ab\n    |  ^")


def test_a_huge_line_is_cut_around_its_caret() -> None:
    text = "a" * 50_000 + "BAD" + "c" * 50_000
    line, caret = found(text, 50_000, 50_003).render().split("\n")[2:]
    assert len(line) < 220
    assert line[caret.index("^") : caret.rindex("^") + 1] == "BAD"
    assert ":1:50001" in found(text, 50_000, 50_003).render()


def test_a_query_error_renders_every_finding() -> None:
    error = QueryError([found("ab", 0, 1), found("ab", 1, 2)])
    assert str(error).count("error[X001]") == 2
