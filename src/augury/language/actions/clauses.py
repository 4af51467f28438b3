"""Clauses: what each one contributes to its statement, and how they are put together.

A clause is read on its own into a `Clause`; `gather` merges those of a statement in any order and
refuses one whose fields were already given.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from augury.errors import Span
from augury.language import codes
from augury.language.actions.words import Parts
from augury.language.findings import Findings
from augury.language.machine import Action


@dataclass(frozen=True, slots=True)
class Clause:
    """The fields that a clause sets, under the keyword that users know it by."""

    keyword: str
    fields: dict[str, Any]
    span: Span


@dataclass(frozen=True, slots=True)
class Gathered:
    """All fields of a statement, and the place of each clause by its keyword."""

    fields: dict[str, Any]
    places: tuple[tuple[str, Span], ...]


def clause(keyword: str, field: str, value: Any) -> Action:
    """Return the action of a clause that always sets `field` to `value`."""
    return lambda parts, span, findings: Clause(keyword, {field: value}, span)


def name_clause(keyword: str, *fields: str) -> Action:
    """Return the action of a clause of names, one for each field; later ones may be left out."""

    def action(parts: Parts, span: Span, findings: Findings) -> Clause:
        given = zip(fields, parts, strict=False)
        return Clause(keyword, {field: token.text for field, token in given}, span)

    return action


def value_clause(keyword: str, field: str) -> Action:
    """Return the action of a clause whose one part is already the value of `field`."""
    return lambda parts, span, findings: Clause(keyword, {field: parts[0]}, span)


def gather(clauses: Iterable[Clause], findings: Findings) -> Gathered:
    """Merge clauses; the first of two that set one field stands, the second is refused."""
    fields: dict[str, Any] = {}
    places: dict[str, Span] = {}
    owners: dict[str, str] = {}
    for given in clauses:
        taken = next((owners[field] for field in given.fields if field in fields), None)
        if taken is not None:
            _refuse(given, taken, findings)
            continue
        fields |= given.fields
        owners |= dict.fromkeys(given.fields, given.keyword)
        places[given.keyword] = given.span
    return Gathered(fields, tuple(places.items()))


def _refuse(given: Clause, taken: str, findings: Findings) -> None:
    head = Span(given.span.start, min(given.span.end, given.span.start + len(given.keyword)))
    if taken == given.keyword:
        findings.refuse(codes.TWICE, head, f"{taken} is given twice", "keep one of them")
    else:
        message = f"{given.keyword} says again what {taken} has said"
        findings.refuse(codes.TWICE, head, message, "keep one of them")
