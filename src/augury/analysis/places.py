"""Where in the text a word of a statement stands, for carets.

The syntax tree keeps names of clauses as plain strings. A finding about one of them points at its
word, found again inside the clause (or the statement) that holds it.
"""

from __future__ import annotations

import re

from augury.errors import Source, Span
from augury.language.tree import CreateQuery

_SKIPPED = re.compile(r"--[^\n]*|'(?:[^']|'')*'|/\*.*?\*/", re.DOTALL)


def clause(statement: CreateQuery, keyword: str) -> Span:
    """Return the span of a clause, or of the pattern where it was not written."""
    found = (span for key, span in statement.places if key == keyword)
    return next(found, statement.pattern.span)


def word(source: Source, within: Span, name: str, after: str = "") -> Span:
    """Return the span of `name` inside `within`, after the keyword `after`; else `within`."""
    start = within.start
    if after:
        found = _find(source, within, r"\b" + re.sub(" ", r"\\s+", after) + r"\b", start)
        start = found.end if found else start
    pattern = rf"(?<![\w]){re.escape(name)}(?![\w])"
    return _find(source, within, pattern, start) or within


def _find(source: Source, within: Span, pattern: str, start: int) -> Span | None:
    text = source.text[start : within.end]
    visible = _SKIPPED.sub(lambda m: " " * len(m.group()), text)
    found = re.search(pattern, visible, re.IGNORECASE)
    return Span(start + found.start(), start + found.end()) if found else None
