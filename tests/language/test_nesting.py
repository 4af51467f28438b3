"""How deep a script may go."""

from __future__ import annotations

from augury.errors import Source
from augury.language.parser import parse


def test_brackets_beyond_number_are_refused_before_they_are_read() -> None:
    (found,) = parse(Source("t", "(" * 100_000)).diagnostics
    assert (found.code, found.column) == ("A007", 1001)
