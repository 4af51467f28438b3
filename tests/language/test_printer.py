"""Reading what is printed gives an equal tree."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given

from augury.language.expressions import Expression
from augury.language.printer import script_text, to_text
from augury.language.tree import Pattern, Statement
from language.mutation import PARSES, VALID
from language.reading import read, read_one, read_pattern, read_where
from language.trees import expressions, patterns, statements


@given(statements)
def test_a_printed_statement_reads_as_itself(statement: Statement) -> None:
    assert read_one(to_text(statement)) == statement


@given(expressions)
def test_a_printed_expression_reads_as_itself(expression: Expression) -> None:
    assert read_where(to_text(expression)) == expression


@given(patterns)
def test_a_printed_pattern_reads_as_itself(pattern: Pattern) -> None:
    assert read_pattern(to_text(pattern)) == pattern


@pytest.mark.parametrize("path", [*VALID, *PARSES], ids=lambda path: path.stem)
def test_valid_scripts_print_back_to_equal_trees(path: Path) -> None:
    first = read(path.read_text(encoding="utf-8"))
    assert first.diagnostics == ()
    assert read(script_text(first.statements)).statements == first.statements


@pytest.mark.parametrize("path", [*VALID, *PARSES], ids=lambda path: path.stem)
def test_printing_twice_changes_nothing(path: Path) -> None:
    once = script_text(read(path.read_text(encoding="utf-8")).statements)
    assert script_text(read(once).statements) == once


@pytest.mark.parametrize(
    "text",
    [
        "a.x = 1 AND (b.x = 2 OR b.y = 3)",
        "a.x - (b.x - 1) > -(-2)",
        "NOT (a.x = 1 AND b.x = 2) AND NOT a.y = 1",
        "(a.x = 1) = (b.x = 1)",
        "(a.x, a.y) IN office AND a.x NOT IN (1, -2)",
        "b.at - a.at < INTERVAL 5 MINUTES",
        "a.x[b.x] = b[i-1].y AND LAST(b).y > b[1].y",
        "[tag] AND a.`HCW-ID` = 'it''s'",
    ],
)
def test_canonical_text_has_only_the_parentheses_it_needs(text: str) -> None:
    assert to_text(read_where(text)) == text


def test_a_stream_is_printed_in_the_order_of_the_reference() -> None:
    text = (
        "CREATE STREAM reads (id LONG, at TIMESTAMP, seq LONG, p DOUBLE)\n"
        "ID id\nKEY id\nTIME at ORDER BY seq\nPROBABILITY p\nMISS RATE 0.15\n"
        "LATENESS 1 MINUTE\nFROM parquet 'reads/';"
    )
    assert to_text(read_one(text)) == text
