"""Actions of the smallest parts: names, numbers, durations, comparison signs, column types."""

from __future__ import annotations

import math
from typing import Any

from augury.errors import Span
from augury.language import codes
from augury.language.expressions import Duration
from augury.language.findings import Findings
from augury.language.keywords import UNITS
from augury.language.lexer import Token
from augury.language.machine import Action

Parts = list[Any]

_LARGEST = 2**63 - 1
_COMPARATORS = {
    "EQUAL": "=",
    "NE": "<>",
    "LESSTHAN": "<",
    "LE": "<=",
    "MORETHAN": ">",
    "GE": ">=",
}


def whole(token: Token, findings: Findings) -> int:
    """Return the value of an INT token; one that does not fit 64 bits is refused and read as 0."""
    digits = token.text.lstrip("0") or "0"
    if len(digits) <= 19 and int(digits) <= _LARGEST:
        return int(digits)
    message = "the number is too large; whole numbers go up to 9223372036854775807"
    findings.refuse(codes.NUMBER, token.span, message, "write it with a decimal point")
    return 0


def _integer(parts: Parts, span: Span, findings: Findings) -> int:
    return whole(parts[0], findings)


def _decimal(parts: Parts, span: Span, findings: Findings) -> float:
    value = float(parts[0].text)
    if math.isfinite(value):
        return value
    findings.refuse(codes.NUMBER, span, "the number is too large for a DOUBLE")
    return 0.0


def _duration(parts: Parts, span: Span, findings: Findings) -> Duration:
    return Duration(parts[0], UNITS[parts[1].text.upper()], span=span)


def _names(parts: Parts, span: Span, findings: Findings) -> tuple[str, ...]:
    return tuple(token.text for token in parts)


def _comparator(parts: Parts, span: Span, findings: Findings) -> str:
    return _COMPARATORS[parts[0].kind]


def _type_name(parts: Parts, span: Span, findings: Findings) -> str:
    name, *sizes = (token.text.upper() for token in parts)
    return f"{name}({','.join(sizes)})" if sizes else name


ACTIONS: dict[str, Action] = {
    "integer": _integer,
    "decimal": _decimal,
    "duration": _duration,
    "names": _names,
    "comparator": _comparator,
    "at_least": _comparator,
    "type": _type_name,
}
