"""How planning refuses a query that the checker let pass: a diagnostic, never a traceback.

The checker judges what a query means; a few things are found only while a plan is built, such as an
automaton that would be too large, or an expression that no compiler can carry over to a kernel.
Codes start with P.
"""

from __future__ import annotations

from dataclasses import dataclass

from augury.errors import NOWHERE, Diagnostic, QueryError, Source, Span

TOO_MANY_STATES = "P001"
CANNOT_COMPILE = "P002"
NOT_EVALUATED = "P003"
NEEDS_A_WINDOW = "P004"
UNREACHABLE = "P005"
OUT_OF_REACH = "P006"
NO_HISTORY = "P007"
NEVER_MET = "P008"
DECIDED_ALREADY = "P009"


@dataclass(frozen=True, slots=True)
class Refused:
    """What a query uses that is not evaluated, as the end of `it uses ...`, and what to do."""

    what: str
    hint: str = "docs/status.md lists what can be evaluated"


class PlanError(QueryError):
    """A planning error; `at` puts the same finding into the source text it came from."""

    def __init__(self, code: str, message: str, hint: str = "", span: Span = NOWHERE) -> None:
        self.code, self.message, self.hint, self.span = code, message, hint, span
        super().__init__([_diagnostic(self, Source("query", ""))])

    def at(self, source: Source, span: Span = NOWHERE) -> QueryError:
        """Return the error with its place in `source`; `span` serves where none was known."""
        place = self.span if self.span != NOWHERE else span
        return QueryError([Diagnostic(self.code, self.message, place, source, self.hint)])


def _diagnostic(refusal: PlanError, source: Source) -> Diagnostic:
    # Without the text there is no place to point at, so the caret stands at its start.
    return Diagnostic(refusal.code, refusal.message, NOWHERE, source, refusal.hint)
