"""Text to statements: the one entry of the language layer.

`parse` never raises on any text. Each statement is read on its own; what is wrong becomes a
diagnostic, and the statements that could be read come back with it.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cache
from typing import Any

from augury.errors import Diagnostic, Source
from augury.language import codes
from augury.language.actions import ACTIONS
from augury.language.expected import refuse_syntax
from augury.language.findings import Findings
from augury.language.lexer import Token, scan
from augury.language.machine import Machine, Stuck
from augury.language.nesting import may_be_deep, refuse_brackets, refuse_deep
from augury.language.split import split
from augury.language.tables import load_tables
from augury.language.tree import Statement


@dataclass(frozen=True, slots=True)
class Parsed:
    """The statements that could be read, and every finding in the order of the text.

    `unread` has the names that unreadable CREATE statements would have declared, so that later
    phases do not call them unknown.
    """

    statements: tuple[Statement, ...]
    diagnostics: tuple[Diagnostic, ...] = ()
    unread: tuple[str, ...] = ()


def parse(source: Source) -> Parsed:
    """Read a script."""
    findings = Findings(source)
    statements: list[Statement] = []
    unread: list[str] = []
    for part in split(scan(findings), findings):
        statement = None if _has_any(part, findings.unreadable) else _read(part, findings)
        if statement is not None:
            statements.append(statement)
        else:
            unread.extend(_declared(part))
    return Parsed(tuple(statements), findings.in_order(), tuple(unread))


@cache
def _machine() -> Machine:
    return Machine(load_tables(), ACTIONS)


def _read(tokens: list[Token], findings: Findings) -> Statement | None:
    deep = may_be_deep(tokens)
    if deep and refuse_brackets(tokens, findings):
        return None
    if refuse_if(tokens, findings):
        return None
    result: Any = _machine().run(tokens, findings)
    if isinstance(result, Stuck):
        refuse_syntax(result, _machine(), tokens, findings)
        return None
    if result is None or (deep and refuse_deep(result, findings)):
        return None
    statement: Statement = result
    return statement


def _has_any(tokens: list[Token], offsets: list[int]) -> bool:
    """Tell whether one of the sorted `offsets` lies in the statement.

    Where the lexer refused something, errors of syntax would only mislead.
    """
    at = bisect_left(offsets, tokens[0].start)
    return at < len(offsets) and offsets[at] <= tokens[-1].end


# What a statement may declare: the word after CREATE, which may be misspelt itself.
_KINDS = {"STREAM", "TABLE", "QUERY", "MODEL", "CORRELATION", "FORECAST", "STORE", "RULE", "POLICY"}


def _declared(tokens: list[Token]) -> list[str]:
    words = [token.text.upper() for token in tokens[:2]]
    created = len(tokens) > 3 and (words[0] == "CREATE" or words[1] in _KINDS)
    at = 4 if created and tokens[1].text.upper() == "OR" and len(tokens) > 5 else 2
    return [tokens[at].text] if created and tokens[at].kind in {"WORD", "QUOTED"} else []


def refuse_if(tokens: list[Token], findings: Findings) -> bool:
    """Refuse the thesis's `IF condition AND BEGIN` of a rule; return whether it stands there."""
    words = [token.text.upper() if token.kind == "WORD" else "" for token in tokens]
    if words[:1] != ["CREATE"] or "RULE" not in words[1:4]:
        return False
    at = next((k for k, word in enumerate(words) if word in ("IF", "WHEN", "DO", "BEGIN")), 0)
    if words[at] != "IF" or words[at - 1] == "AS":
        return False
    hint = "write WHEN condition BEGIN, without an AND before BEGIN"
    findings.refuse(codes.SPELLING, tokens[at].span, "the condition of a rule is its WHEN", hint)
    return True
