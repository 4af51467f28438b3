"""The collector of diagnostics: rules report here and never raise.

A message says what is wrong and with what value; the hint, next to the caret, says what to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from augury.errors import Diagnostic, Source, Span
from augury.language.expressions import Node


@dataclass(slots=True)
class Findings:
    """Every finding about one script, in the order in which the rules made them.

    `notes` are warnings that say how a right query is understood: only EXPLAIN shows them.
    """

    source: Source
    found: list[Diagnostic] = field(default_factory=list)
    notes: list[Diagnostic] = field(default_factory=list)
    error_count: int = 0

    def error(self, code: str, message: str, span: Span, hint: str = "") -> None:
        self.error_count += 1
        self.found.append(Diagnostic(code, message, span, self.source, hint))

    def warning(self, code: str, message: str, span: Span, hint: str) -> None:
        self.found.append(Diagnostic(code, message, span, self.source, hint, "warning"))

    def note(self, code: str, message: str, span: Span, hint: str = "") -> None:
        self.notes.append(Diagnostic(code, message, span, self.source, hint, "warning"))

    def drop_warnings_since(self, count: int) -> None:
        """Forget the warnings after the first `count` findings; errors come first."""
        self.found[count:] = [d for d in self.found[count:] if d.severity == "error"]

    def text_of(self, node: Node) -> str:
        """Return the node as it was written, on one line."""
        return " ".join(self.source.text[node.span.start : node.span.end].split())


def in_text_order(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return the findings by where they point."""
    return tuple(sorted(diagnostics, key=lambda d: (d.span.start, d.span.end)))


def suggest(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return `did you mean ...?` for the nearest known name, or `otherwise`."""
    by_lower = {k.lower(): k for k in known}
    near = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    return f"did you mean {by_lower[near[0]]}?" if near else otherwise


def counted(number: int, noun: str) -> str:
    """Return `1 column`, `2 columns`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listing(names: Sequence[str], last: str = "and") -> str:
    """Join names for a sentence.

    >>> listing(["x", "y", "z"])
    'x, y and z'
    """
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {last} {names[-1]}"
