"""Diagnostics as a terminal shows them: coloured where there is one, plain otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import click

from augury.errors import Diagnostic

_COLOURS = {"error": "red", "warning": "yellow"}


def show(diagnostics: Iterable[Diagnostic], *, err: bool = False) -> None:
    """Print each finding, with a blank line after it."""
    for diagnostic in diagnostics:
        click.echo(coloured(diagnostic) + "\n", err=err)


def coloured(diagnostic: Diagnostic) -> str:
    """Return the rendered finding with terminal colours; `click.echo` strips them elsewhere."""
    head, place, line, caret = printable(diagnostic.render()).split("\n", 3)
    colour = _COLOURS[diagnostic.severity]
    label, _, message = head.partition(": ")
    margin, bar, pointed = caret.partition("| ")
    return "\n".join(
        (
            click.style(label, fg=colour, bold=True) + click.style(f": {message}", bold=True),
            click.style(place, dim=True),
            line,
            margin + bar + click.style(pointed, fg=colour),
        )
    )


def printable(text: str) -> str:
    r"""Return the text with control characters made visible, for a script may hold any.

    >>> printable("a\x1b[31mb\tc\n")
    'a\ufffd[31mb\tc\n'
    """
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)


def counted(diagnostics: Iterable[Diagnostic]) -> str:
    """Return how many errors and warnings there are, in words.

    >>> counted([])
    'no errors'
    """
    counts = Counter(d.severity for d in diagnostics)
    errors = number(counts["error"], "error") if counts["error"] else "no errors"
    warnings = number(counts["warning"], "warning")
    return f"{errors}, {warnings}" if counts["warning"] else errors


_PLURALS = {"query": "queries", "match": "matches"}


def number(count: int, noun: str) -> str:
    """Return a count with its noun.

    >>> number(1, "query"), number(2, "query"), number(0, "stream")
    ('1 query', '2 queries', '0 streams')
    """
    return f"{count} {noun if count == 1 else _PLURALS.get(noun, noun + 's')}"
