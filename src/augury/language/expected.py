"""Syntax errors in words: what stood there, what could have stood there, what was likely meant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from augury.errors import Span
from augury.language import codes
from augury.language.findings import Findings
from augury.language.keywords import CLAUSES, KEYWORDS, PATTERN_WORDS, UNITS
from augury.language.lexer import SIGNS, SUBSCRIPTION_SIGNS, Token
from augury.language.machine import Machine, Stuck
from augury.language.nearest import nearest
from augury.language.split import body_start
from augury.language.tables import END

_PHRASES: dict[str, str] = {
    "NAME": "a name",
    "RELATION": "a relation, as in At('joe', l)",
    "STRING": "a string",
    "INT": "a whole number",
    "DECIMAL": "a number",
    "UNIT": "a unit of time",
    "STRATEGY": "a strategy",
    "SIGMA": "SIGMA_{...}",
    "EMPTYSET": '"{}"',
    END: "the end of the statement",
    **{kind: f'"{sign}"' for sign, kind in reversed(SIGNS.items()) if sign.isascii()},
    **{SUBSCRIPTION_SIGNS[sign]: f'"{sign}"' for sign in "@:$"},
}

# Sets of terminals that one phrase stands for, tried in this order.
_FAMILIES: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"CREATE", "EXPLAIN", "WRITE", "PATTERN"}), "CREATE, EXPLAIN, WRITE or a query"),
    (frozenset({"STREAM", "TABLE", "QUERY", "GAPS"}), "STREAM, TABLE, QUERY, GAPS"),
    (frozenset({"RELATION", "SIGMA", "LPAR"}), "a subgoal as in At('joe', l)"),
    (frozenset({"NAME", "STRING", "INT", "DECIMAL", "NULL", "CASE", "LPAR"}), "an expression"),
    (frozenset({"SEQ", "NEXT", "NAME", "BANG"}), "a pattern"),
    (frozenset({"WHERE", "WITHIN", "RETURN", "HAVING"}), "another clause"),
    (frozenset({"ID", "KEY", "TIME", "TYPE", "LATENESS"}), "another clause"),
    (frozenset({"PLUS", "STAR", "EQUAL", "IN", "LIKE"}), "an operator"),
    (frozenset({"EQUAL", "NE", "LESSTHAN"}), "a comparison"),
    (frozenset({"PLUS", "STAR", "QMARK", "LBRACE"}), "a repetition"),
    (frozenset({"PLUS", "STAR", "SLASH"}), "an operator"),
    (frozenset({"INT", "DECIMAL"}), "a number"),
)
_SUBGOAL = frozenset({"RELATION", "SIGMA", "LPAR"})
_START = _SUBGOAL | {
    *("CREATE", "EXPLAIN", "WRITE", "PATTERN", "SEQUENCE", "EVENT", "SUBSCRIPTION")
}
_EXPRESSION = frozenset(
    {
        *("NAME", "STRING", "INT", "DECIMAL", "NULL", "TRUE", "FALSE", "CASE", "CAST", "INTERVAL"),
        *("TIMESTAMP", "DATE", "FIRST", "LAST", "NOT", "LPAR", "LSQB", "MINUS", "SELECT"),
        "STRATEGY",
    }
)
_PATTERN = frozenset({"SEQ", "NEXT", "AND", "OR", "ANY", "FIRST", "LAST", "NAME", "BANG", "LPAR"})
_STREAM_CLAUSES = frozenset(
    {
        "ID",
        "KEY",
        "TIME",
        "TYPE",
        "PROBABILITY",
        "ALTERNATIVES",
        "MARKOV",
        "MISS",
        "LATENESS",
        "FROM",
    }
)
_COMPARISONS = frozenset({"EQUAL", "NE", "LESSTHAN", "LE", "MORETHAN", "GE"})
_OPERATORS = _COMPARISONS | {
    *("PLUS", "MINUS", "STAR", "SLASH", "PERCENT", "CONCAT"),
    *("IS", "IN", "NOT", "BETWEEN", "LIKE", "AND", "OR"),
}
_COVERED: dict[str, frozenset[str]] = {
    "CREATE, EXPLAIN, WRITE or a query": _START,
    "STREAM, TABLE, QUERY, GAPS": frozenset({"STREAM", "TABLE", "QUERY", "GAPS"}),
    "a subgoal as in At('joe', l)": _SUBGOAL,
    "an expression": _EXPRESSION,
    "a pattern": _PATTERN,
    "another clause": CLAUSES | _STREAM_CLAUSES,
    "an operator": _OPERATORS,
    "a comparison": _COMPARISONS,
    "a repetition": frozenset({"PLUS", "STAR", "QMARK", "LBRACE"}),
    "a number": frozenset({"INT", "DECIMAL"}),
}
_BODIES = frozenset({"PATTERN", "SEQUENCE", "EVENT", "SUBSCRIPTION"})
_MOST = 4
# Words that people put where none of them belongs.
_TICKS = "where TIME is a LONG, a bare number counts ticks"
_MISPLACED: dict[str, str] = {
    "TICK": _TICKS,
    "TICKS": _TICKS,
    "OVER": "OVER ends a RETURN: RETURN PROBABILITY BY TIME OVER ...",
}


def refuse_syntax(
    stuck: Stuck, machine: Machine, tokens: Sequence[Token], findings: Findings
) -> None:
    """Add the diagnostic for where the machine stopped while it read `tokens`."""
    accepted = frozenset(machine.accepted(stuck.states))
    token, meant = _suspect(stuck, machine, tokens, accepted)
    expected = phrase_list(accepted) if token is stuck.token else "a keyword"
    message = f"{_shown(token, findings)} is not expected here; expected {expected}"
    hint = f"did you mean {meant}?" if meant else _hint(token, tokens, accepted)
    findings.refuse(codes.SYNTAX, _place(token, stuck), message, hint)


def _suspect(
    stuck: Stuck, machine: Machine, tokens: Sequence[Token], accepted: frozenset[str]
) -> tuple[Token, str | None]:
    """Return the token that is wrong, and what was meant by it.

    A misspelled keyword may pass for a name, or at the start of a body for a Lahar relation; the
    machine is stuck only later.
    """
    at = min(body_start(tokens), len(tokens) - 1)
    candidates = [(stuck.token, accepted)]
    if stuck.previous is not None:
        candidates.append((stuck.previous, frozenset(machine.accepted(stuck.states_before))))
    candidates.append((tokens[at], _BODIES))
    for token, known in candidates:
        meant = _meant(token, known)
        if meant:
            return token, meant
    return stuck.token, None


def _meant(token: Token, accepted: frozenset[str]) -> str | None:
    """Return the keyword or unit that a misspelled word most likely stands for."""
    if token.kind != "WORD" or token.text.upper() in KEYWORDS:
        return None
    known = sorted(name for name in accepted if name in KEYWORDS)
    if "UNIT" in accepted:
        known += UNITS
    found = nearest(token.text.upper(), known)
    return found if found != token.text.upper() else None


def _hint(token: Token, tokens: Sequence[Token], accepted: frozenset[str]) -> str:
    """Return the way out of a mistake that people are likely to make."""
    word = token.text.upper() if token.kind == "WORD" else ""
    if word in PATTERN_WORDS and "RELATION" in accepted:
        return f"write PATTERN {token.text}(...)"
    if token.kind == "STRATEGY":
        return "a strategy stands first in WHERE, or in USING"
    if word in _MISPLACED:
        return _MISPLACED[word]
    if word and "NAME" in accepted:
        return f"{token.text} is a keyword here; to use it as a name, write `{token.text}`"
    at = tokens.index(token)
    if word and at > 1 and tokens[at - 2].text.upper() == "NOT":
        return "in a pattern, write ! in front of what must not happen"
    return ""


def _shown(token: Token, findings: Findings) -> str:
    if token.kind == END:
        return "the end of the statement"
    written = findings.source.text[token.start : token.end]
    first = written.split("\n", 1)[0]
    return first if len(first) <= 40 else f"{first[:37]}..."


def _place(token: Token, stuck: Stuck) -> Span:
    """Return where the caret goes: after the last token where the end has no sign of its own."""
    if token.kind == END and token.end == token.start and stuck.previous is not None:
        return Span(stuck.previous.end, stuck.previous.end)
    return token.span


def phrase_list(accepted: Iterable[str]) -> str:
    """Return what is accepted, in words and at most a few of them."""
    left = set(accepted)
    phrases: list[str] = []
    for family, phrase in _FAMILIES:
        if family <= left:
            phrases.append(phrase)
            left -= _COVERED[phrase]
    phrases += sorted({_phrase(terminal) for terminal in left}, key=_signs_last)
    phrases = list(dict.fromkeys(phrases))
    if len(phrases) > _MOST:
        return ", ".join(phrases[:_MOST]) + " and the like"
    return _joined(phrases)


def _joined(phrases: list[str]) -> str:
    return phrases[0] if len(phrases) == 1 else f"{', '.join(phrases[:-1])} or {phrases[-1]}"


def _phrase(terminal: str) -> str:
    return _PHRASES.get(terminal, terminal)


def _signs_last(phrase: str) -> tuple[bool, str]:
    return not phrase[0].isalpha(), phrase
