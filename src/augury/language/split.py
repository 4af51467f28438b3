"""A script to statements: cut the tokens at each `;` that ends one.

Each statement is read on its own, so that an error in one hides nothing of the others. A `;` is not
an end between the BEGIN and the END of a rule, nor where it is Lahar's sequence sign (inside a
Lahar body, in front of what looks like a subgoal) or P-ToPSS's (after SUBSCRIPTION, in front of a
primitive), nor in front of GROUP BY (DPCEP prints one there). CREATE STREAM and the like, outside
all brackets, begin a statement even if the `;` before was forgotten; that is refused, and reading
goes on. The EVENT of `WITHIN 1 EVENT` is read as EVENTS.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from augury.language import codes
from augury.language.findings import Findings
from augury.language.keywords import CLAUSES
from augury.language.lexer import Token
from augury.language.tables import END

_OPENING = frozenset({"LPAR", "LSQB", "LBRACE"})
_CLOSING = frozenset({"RPAR", "RSQB", "RBRACE"})
_CREATES = frozenset({"CREATE", "create", "Create"})
# Words that open a clause of a forecast, after a horizon in events.
_FORECAST_CLAUSES = frozenset({"OF", "SMOOTHING", "LEARN", "ONLINE", "BY", "ARRIVALS"})
_CREATED = frozenset(
    {"STREAM", "TABLE", "QUERY", "GAPS", "MODEL", "CORRELATION", "FORECAST", "STORE", "RULE", "OR"}
)
_STARTS = frozenset({"CREATE", "EXPLAIN", "WRITE", "PATTERN", "SEQUENCE", "EVENT", "SUBSCRIPTION"})
# What may come after a primitive of a subscription.
_AFTER_A_PRIMITIVE = frozenset(
    {"SEMICOLON", "COMMA", "RPAR", "ATSIGN", "AND", "OR", "DONE", END, "MINUS"}
)
# Clauses whose keyword stands in front of a parenthesis, as a relation's name does.
_CALLED_CLAUSES = frozenset({"OPTIONS", "APPROXIMATE", "SEQUENCE"})


def split(tokens: Iterable[Token], findings: Findings) -> Iterator[list[Token]]:
    """Yield the tokens of each statement, with an end token as the last.

    Statements are yielded as soon as they are complete, so that a long script is never held whole.
    """
    collected: list[Token] = []
    depth = 0
    for token, following, second in _with_two_ahead(tokens):
        kind = token.kind
        if _counts_one_event(collected, token, following):
            token = token._replace(text="EVENTS")  # noqa: PLW2901
        if kind == "SEMICOLON":
            if _upper(following) == "GROUP" and _upper(second) == "BY":
                continue
            goes_on = _opens_subgoal(following, second) and _in_lahar_body(collected)
            goes_on = goes_on or (_is_primitive(following, second) and _subscribes(collected))
            if not goes_on and not _in_changes(collected):
                yield from _ended(collected, Token(END, "", token.start, token.end))
                collected, depth = [], 0
                continue
        elif kind in _OPENING:
            depth += 1
        elif kind in _CLOSING:
            depth = max(0, depth - 1)
        elif depth == 0 and collected and _forgets_semicolon(collected[-1], token, following):
            message = "the statement before this CREATE is not ended"
            findings.refuse(codes.SYNTAX, token.span, message, "write ; before it")
            yield from _ended(collected, Token(END, "", token.start, token.start))
            collected = []
        collected.append(token)
    last = len(findings.source.text)
    yield from _ended(collected, Token(END, "", last, last))


def _in_changes(tokens: Sequence[Token]) -> bool:
    """Tell whether the statement so far is a rule whose BEGIN has no END yet; CASE has its own."""
    dots = [False, *(token.kind == "DOT" for token in tokens)]
    words = ["" if dot else _upper(t) for t, dot in zip(tokens, dots, strict=False)]
    if words[:1] != ["CREATE"] or "RULE" not in words[1:4] or "BEGIN" not in words:
        return False
    after = words[words.index("BEGIN") + 1 :]
    return after.count("END") - after.count("CASE") < 1


def _with_two_ahead(tokens: Iterable[Token]) -> Iterator[tuple[Token, Token, Token]]:
    nothing = Token(END, "", 0, 0)
    stream = chain(tokens, (nothing, nothing))
    first, second = next(stream), next(stream)
    for third in stream:
        yield first, second, third
        first, second = second, third


def _forgets_semicolon(before: Token, token: Token, following: Token) -> bool:
    created = token.kind == "WORD" and token.text in _CREATES
    return created and before.kind != "DOT" and _upper(following) in _CREATED


def _counts_one_event(before: Sequence[Token], token: Token, following: Token) -> bool:
    """Tell whether EVENT is the unit of a window, `WITHIN 1 EVENT`, and not DPCEP's keyword."""
    if _upper(token) != "EVENT" or len(before) < 2 or before[-1].kind != "INT":
        return False
    word = _upper(following)
    ended = following.kind in {END, "SEMICOLON", "DOT"} or word in CLAUSES | _FORECAST_CLAUSES
    return ended and _upper(before[-2]) in {"WITHIN", "EVERY"}


def _ended(tokens: list[Token], end: Token) -> Iterator[list[Token]]:
    tokens = _without_full_stop(tokens)
    if tokens:
        yield [*tokens, end]


def _without_full_stop(tokens: list[Token]) -> list[Token]:
    """Drop the full stop that DPCEP puts after its queries."""
    if len(tokens) > 1 and tokens[-1].kind == "DOT" and any(_upper(t) == "EVENT" for t in tokens):
        return tokens[:-1]
    return tokens


def _upper(token: Token) -> str:
    return token.text.upper() if token.kind == "WORD" else ""


def _opens_subgoal(token: Token, following: Token) -> bool:
    if token.kind in {"SIGMA", "LPAR"}:
        return True
    named = token.kind in {"WORD", "QUOTED"} and _upper(token) not in _STARTS
    return named and following.kind == "LPAR"


def _is_primitive(token: Token, following: Token) -> bool:
    """Tell whether a primitive of a subscription may stand here, or a bracket around some."""
    if token.kind == "LPAR":
        return True
    named = token.kind in {"WORD", "QUOTED"}
    ends = following.kind in _AFTER_A_PRIMITIVE or _upper(following) in CLAUSES | {"WITH"}
    return named and ends and _upper(token) not in CLAUSES


def _subscribes(tokens: Sequence[Token]) -> bool:
    """Tell whether the last clause so far is a SUBSCRIPTION, with no WITH yet."""
    depth = 0
    for token in reversed(tokens):
        if token.kind in _CLOSING:
            depth += 1
        elif token.kind in _OPENING:
            depth = max(0, depth - 1)
        elif not depth and (_upper(token) == "WITH" or _upper(token) in CLAUSES):
            return _upper(token) == "SUBSCRIPTION"
    return False


def _in_lahar_body(tokens: Sequence[Token]) -> bool:
    """Tell whether the statement so far is a Lahar body, with or without CREATE QUERY before it."""
    start = body_start(tokens)
    if start + 1 >= len(tokens) or not _opens_subgoal(tokens[start], tokens[start + 1]):
        return False
    return not _has_clause(tokens[start:])


def body_start(tokens: Sequence[Token]) -> int:
    """Return where the body may begin: after CREATE QUERY name, ON and its streams, and AS."""
    words = [_upper(token) for token in tokens[:3]]
    if words[:2] != ["CREATE", "QUERY"]:
        return 0
    at = _after_name(tokens, 2)
    if at < len(tokens) and _upper(tokens[at]) == "ON":
        at = _after_name(tokens, at + 1)
        while at < len(tokens) and tokens[at].kind == "COMMA":
            at = _after_name(tokens, at + 1)
    return at + 1 if at < len(tokens) and _upper(tokens[at]) == "AS" else at


def _after_name(tokens: Sequence[Token], at: int) -> int:
    """Return the place after the name at `at`, which may be hyphenated."""
    at += 1
    while at + 1 < len(tokens) and tokens[at].kind == "MINUS":
        at += 2
    return at


def _has_clause(body: Sequence[Token]) -> bool:
    """Tell whether a clause begins outside all brackets, where a Lahar body has relations only."""
    depth = 0
    for at, token in enumerate(body):
        if token.kind in _OPENING:
            depth += 1
        elif token.kind in _CLOSING:
            depth -= 1
        elif depth <= 0 and _upper(token) in CLAUSES:
            called = at + 1 < len(body) and body[at + 1].kind == "LPAR"
            if not called or _upper(token) in _CALLED_CLAUSES:
                return True
    return False
