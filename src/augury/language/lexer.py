"""Text to tokens: one compiled expression, one pass, no knowledge of the grammar.

A word stays a `WORD` here; whether it is a keyword is decided by the parser's state
(`augury.language.machine`). Token kinds are the terminal names of `grammar.lark`. Signs of the
papers are read as their plain twins: the conjunction sign as AND, the not-equal sign as `<>`.

Invariant: what cannot be read becomes a diagnostic and no token; nothing raises.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from augury.errors import Span
from augury.language import codes
from augury.language.findings import Findings


class Token(NamedTuple):
    """A token: `text` is its value, without quotes; the offsets cover it as written."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)


SIGNS: dict[str, str] = {
    "(": "LPAR",
    ")": "RPAR",
    "[": "LSQB",
    "]": "RSQB",
    "{": "LBRACE",
    "}": "RBRACE",
    ",": "COMMA",
    ".": "DOT",
    ";": "SEMICOLON",
    "+": "PLUS",
    "-": "MINUS",
    "\N{MINUS SIGN}": "MINUS",
    "*": "STAR",
    "/": "SLASH",
    "%": "PERCENT",
    "?": "QMARK",
    "!": "BANG",
    "=": "EQUAL",
    "==": "EQUAL",
    "<": "LESSTHAN",
    ">": "MORETHAN",
    "<>": "NE",
    "!=": "NE",
    "<=": "LE",
    ">=": "GE",
    "||": "CONCAT",
    "\N{NOT EQUAL TO}": "NE",
    "\N{LESS-THAN OR EQUAL TO}": "LE",
    "\N{GREATER-THAN OR EQUAL TO}": "GE",
    "\N{LOGICAL AND}": "AND",
    "\N{LOGICAL OR}": "OR",
    "\N{NOT SIGN}": "NOTSIGN",
    "\N{MATHEMATICAL LEFT ANGLE BRACKET}": "LESSTHAN",
    "\N{MATHEMATICAL RIGHT ANGLE BRACKET}": "MORETHAN",
    "\N{EMPTY SET}": "EMPTYSET",
}

_SIGMA = "\N{GREEK SMALL LETTER SIGMA}"
_SINGLE = "".join(re.escape(sign) for sign in SIGNS if len(sign) == 1 and sign not in "./")

# Ordered by how often each occurs; the lookaheads spare most words the rare alternatives.
_TOKEN = re.compile(
    rf"""
    (?:\s+|--[^\n]*|/\*.*?\*/)*+
    (?:
      (?P<STRATEGY>(?=[sSpP])(?i:skip[-_]till[-_](?:next|any)[-_]match|(?:partition|strict)[-_]contiguity)(?!\w))
    | (?P<SIGMA>(?=[{_SIGMA}sS])(?:{_SIGMA}_?(?=\s*[{{\[])|(?i:sigma)_?(?=[{{\[])))
    | (?P<WORD>[^\W\d]\w*\#?)
    | (?P<SIGN>[<>!=]=|<>|\|\||[{_SINGLE}]|\.(?![0-9])|/(?!\*))
    | (?P<DECIMAL>(?:[0-9]+\.[0-9]+|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)
    | (?P<INT>[0-9]+)
    | (?P<STRING>'(?:[^']|'')*')
    | (?P<QUOTED>`(?:[^`\n]|``)+`)
    | (?P<OPEN>'[^\n]*|`[^\n]*|/\*.*)
    | (?P<DONE>\Z)
    | (?P<BAD>(?P<CHAR>.)(?P=CHAR)*)
    )
    """,
    re.VERBOSE | re.DOTALL,
)

_UNCLOSED = {
    "'": ("the string is not closed", "end it with '"),
    "`": ("the quoted name is empty or not closed", "end it with `"),
    "/": ("the comment is not closed", "end it with */"),
}
_DOUBLE = "write 'text' for a string, `name` for a name"
_INSTEAD = {
    '"': _DOUBLE,
    "\N{LEFT DOUBLE QUOTATION MARK}": _DOUBLE,
    "\N{RIGHT DOUBLE QUOTATION MARK}": _DOUBLE,
    "\N{LEFT SINGLE QUOTATION MARK}": "write the straight quote '",
    "\N{RIGHT SINGLE QUOTATION MARK}": "write the straight quote '",
    "&": "write AND",
    "|": "write OR, or || to join strings",
    "#": "put names with other characters in backquotes",
    "$": "put names with other characters in backquotes",
    "@": "put names with other characters in backquotes",
    ":": "write CAST(value AS TYPE) to convert",
    "\\": "strings have no backslash escapes; write '' for a quote",
}
# Signs of P-ToPSS, which have a meaning in a statement with SUBSCRIPTION only.
SUBSCRIPTION_SIGNS: dict[str, str] = {
    "@": "ATSIGN",
    ":": "COLON",
    "$": "DOLLAR",
    "&": "AND",
    "|": "OR",
}
_SUBSCRIPTION = re.compile(r"(?i:\bSUBSCRIPTION\b)")
_CREATE = re.compile(r"(?i:\bCREATE\b)")
_CONGRUENT = "\N{APPROXIMATELY EQUAL TO}"


def scan(findings: Findings) -> Iterator[Token]:
    """Yield the tokens of the source; add a diagnostic for each stretch that is none."""
    subscriptions = _Subscriptions(findings.source.text)
    new = partial(tuple.__new__, Token)  # half the time of Token(...), and this is a hot loop
    for match in _TOKEN.finditer(findings.source.text):
        kind = match.lastgroup or "DONE"
        start, end = match.span(kind)
        text = match[kind]
        if kind == "SIGN":
            kind = SIGNS[text]
        elif kind in _SPECIAL:
            if kind == "BAD" and text in SUBSCRIPTION_SIGNS and subscriptions.hold(start):
                yield new((SUBSCRIPTION_SIGNS[text], text, start, end))
                continue
            if kind in _UNREADABLE:
                _refuse(findings, text, Span(start, end))
            if kind not in _QUOTES:
                continue
            text = text[1:-1].replace(_QUOTES[kind] * 2, _QUOTES[kind])
        yield new((kind, text, start, end))


@dataclass
class _Subscriptions:
    """Where a statement with SUBSCRIPTION stands, up to the next CREATE; looked for when asked."""

    text: str
    begins: list[int] | None = None
    creates: list[int] = field(default_factory=list)

    def hold(self, place: int) -> bool:
        """Tell whether a place is in such a statement."""
        if self.begins is None:
            self.begins = [match.start() for match in _SUBSCRIPTION.finditer(self.text)]
            self.creates = [match.start() for match in _CREATE.finditer(self.text)]
        begins, creates = bisect_right(self.begins, place), bisect_right(self.creates, place)
        if not begins:
            return False
        return not creates or self.begins[begins - 1] > self.creates[creates - 1]


_QUOTES = {"STRING": "'", "QUOTED": "`"}
_UNREADABLE = frozenset({"OPEN", "BAD"})
_SPECIAL = frozenset({*_QUOTES, *_UNREADABLE, "DONE"})


def _refuse(findings: Findings, text: str, span: Span) -> None:
    findings.unreadable.append(span.start)
    if text[0] in _UNCLOSED:
        message, hint = _UNCLOSED[text[0]]
        findings.refuse(codes.UNCLOSED, span, message, hint)
    elif text[0] == _CONGRUENT:
        message = "may-be-equal between uncertain owners has no sign in the language"
        findings.refuse(codes.SPELLING, span, message, "write = ; uncertainty is in the stream")
    else:
        message = f"the character {_shown(text[0])} has no meaning here"
        findings.refuse(codes.CHARACTER, span, message, _INSTEAD.get(text[0], ""))


def _shown(char: str) -> str:
    return char if char.isprintable() else f"U+{ord(char):04X}"
