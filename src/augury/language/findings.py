"""Where the phases of reading put what they find wrong, so that none stops at the first."""

from __future__ import annotations

from dataclasses import dataclass, field

from augury.errors import Diagnostic, Source, Span


@dataclass(frozen=True, slots=True)
class Findings:
    """The diagnostics of one source, in the order of discovery.

    `unreadable` has the offsets of what the lexer refused: statements there are not read further.
    """

    source: Source
    diagnostics: list[Diagnostic] = field(default_factory=list)
    unreadable: list[int] = field(default_factory=list)

    def refuse(self, code: str, span: Span, message: str, hint: str = "") -> None:
        """Add an error at `span`."""
        self.diagnostics.append(Diagnostic(code, message, span, self.source, hint))

    def in_order(self) -> tuple[Diagnostic, ...]:
        """Return all diagnostics in the order of the text."""
        return tuple(sorted(self.diagnostics, key=lambda d: (d.span.start, d.span.end, d.code)))
