"""Shortcuts for tests that read text."""

from __future__ import annotations

from augury.errors import Diagnostic, Source
from augury.language.expressions import Expression
from augury.language.parser import Parsed, parse
from augury.language.tree import CreateQuery, Pattern, Statement


def read(text: str) -> Parsed:
    return parse(Source("test.sql", text))


def read_one(text: str) -> Statement:
    parsed = read(text)
    assert parsed.diagnostics == (), parsed.diagnostics[0].render()
    assert len(parsed.statements) == 1
    return parsed.statements[0]


def read_query(text: str) -> CreateQuery:
    statement = read_one(text)
    assert isinstance(statement, CreateQuery)
    return statement


def read_where(text: str) -> Expression:
    where = read_query(f"PATTERN SEQ(A a, B b) WHERE {text}").where
    assert where is not None
    return where


def read_pattern(text: str) -> Pattern:
    return read_query(f"PATTERN {text}").pattern


def refusals(text: str) -> list[Diagnostic]:
    return list(read(text).diagnostics)


def refusal(text: str) -> Diagnostic:
    (only,) = refusals(text)
    return only


def marked(diagnostic: Diagnostic) -> str:
    """Return the text that the carets stand under."""
    return diagnostic.source.text[diagnostic.span.start : diagnostic.span.end]
