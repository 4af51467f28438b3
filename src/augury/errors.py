"""The whole error tree, and the diagnostics that a query error carries.

Four things can be wrong: the query, the numbers of a model, the stream, or stored state. Each has
one class under `AuguryError`. A query is judged as a whole: every finding is a `Diagnostic` with a
stable code and a place, and one `QueryError` carries them all.

This module imports nothing of augury, so that every layer may raise from it.
"""

from __future__ import annotations

import sys
import warnings
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of character offsets in a source text."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        """Return the span from the start of this one to the end of `other`."""
        return Span(self.start, max(self.end, other.end))


NOWHERE = Span(0, 0)


@dataclass(frozen=True)
class Source:
    """A named text, able to say which line and column an offset is on."""

    name: str
    text: str
    _starts: list[int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        starts = [0]
        starts.extend(i + 1 for i, char in enumerate(self.text) if char == "\n")
        object.__setattr__(self, "_starts", starts)

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Return the 1-based line and column of `offset`."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def line_text(self, line: int) -> str:
        """Return the text of the 1-based `line`, without its line break."""
        start = self._starts[line - 1]
        end = self._starts[line] - 1 if line < len(self._starts) else len(self.text)
        return self.text[start:end].rstrip("\r")


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding about a script: what is wrong, where, and what to do.

    `code` is stable and explained in docs/errors.md. `hint` stands next to the caret.
    """

    code: str
    message: str
    span: Span
    source: Source
    hint: str = ""
    severity: Severity = "error"

    @property
    def line(self) -> int:
        return self.source.line_and_column(self.span.start)[0]

    @property
    def column(self) -> int:
        return self.source.line_and_column(self.span.start)[1]

    def render(self) -> str:
        """Return the finding as people read it: message, place, line, caret and hint."""
        line, column = self.source.line_and_column(self.span.start)
        text, start, width = _excerpt(
            self.source.line_text(line), column - 1, self.span.end - self.span.start
        )
        number = str(line)
        margin = " " * len(number)
        lead = "".join("\t" if char == "\t" else " " for char in text[:start])
        caret = "^" * width + (f" {self.hint}" if self.hint else "")
        return (
            f"{self.severity}[{self.code}]: {self.message}\n"
            f"  {self.source.name}:{line}:{column}\n"
            f"  {number} | {text}\n"
            f"  {margin} | {lead}{caret}"
        )

    def as_dict(self) -> dict[str, object]:
        """Return the finding as plain values, for `--json`."""
        line, column = self.source.line_and_column(self.span.start)
        return {
            "severity": self.severity,
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
            "file": self.source.name,
            "line": line,
            "column": column,
            "length": max(1, self.span.end - self.span.start),
        }


LONGEST_LINE = 200
_BEFORE_CARET = 80


def _excerpt(text: str, start: int, width: int) -> tuple[str, int, int]:
    """Return a line cut to a readable length around its caret, and the caret's start and width."""
    if len(text) > LONGEST_LINE:
        cut = max(0, start - _BEFORE_CARET)
        left = "..." if cut else ""
        right = "..." if len(text) > cut + LONGEST_LINE else ""
        text, start = left + text[cut : cut + LONGEST_LINE] + right, start - cut + len(left)
    return text, start, max(1, min(width, len(text) - start))


class AuguryError(Exception):
    """The root of all errors that augury raises on purpose."""


class UnreadableError(AuguryError):
    """A script cannot be read as text: the file is not there, or holds something else."""


class QueryError(AuguryError):
    """The script is wrong; `diagnostics` holds every finding, in the order of the text."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n\n".join(d.render() for d in self.diagnostics))


class ModelError(AuguryError):
    """The numbers of a model are wrong: a probability, a table, a gap or a rate."""


class DataError(AuguryError):
    """The stream or a table does not fit what was declared for it."""


class StateError(AuguryError):
    """Stored state is missing, of another query, or of a version that cannot be read."""


class StoreError(AuguryError):
    """A store does not answer, does not fit what was declared, or is written by somebody else."""


class RowsWarning(UserWarning):
    """Rows or files were put aside, and answers do not know of them."""


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line from which augury was called, however deep in it this is."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("augury."):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
