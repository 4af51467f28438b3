"""The depth guard: trees are walked by recursion later, so that none may be deeper than `LIMIT`.

Reading itself never recurses. Few statements have enough brackets and operators to be too deep;
only those are measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from itertools import product
from operator import itemgetter
from typing import Any

from augury.errors import Span
from augury.language import codes
from augury.language.expressions import Node
from augury.language.findings import Findings
from augury.language.lexer import Token

LIMIT = 100
# Brackets around one part add no depth to the tree, so some more of them are fine.
MOST_BRACKETS = 1000

_DEEPENING = frozenset(
    {"LPAR", "LSQB", "PLUS", "MINUS", "STAR", "SLASH", "PERCENT", "CONCAT", "BANG", "NOTSIGN"}
)
# In every mixture of cases, so that a look-up needs no conversion.
_DEEPENING_WORDS = frozenset(
    "".join(letters)
    for word in ("NOT", "CASE")
    for letters in product(*zip(word, word.lower(), strict=True))
)
_kind, _text = itemgetter(0), itemgetter(1)


def may_be_deep(tokens: Sequence[Token]) -> bool:
    """Tell whether a statement has enough tokens that nest to be too deep."""
    if len(tokens) <= LIMIT:
        return False
    signs = sum(map(_DEEPENING.__contains__, map(_kind, tokens)))
    words = sum(map(_DEEPENING_WORDS.__contains__, map(_text, tokens)))
    return signs + words > LIMIT // 2


def refuse_brackets(tokens: Sequence[Token], findings: Findings) -> bool:
    """Refuse brackets far beyond the limit before anything is read; tell whether there were.

    The machine keeps a copy of its stack for messages, so that deep stacks take it long.
    """
    depth = 0
    for token in tokens:
        if token.kind in ("LPAR", "LSQB"):
            depth += 1
            if depth > MOST_BRACKETS:
                message = f"more than {MOST_BRACKETS} brackets are open here"
                place = Span(token.start, token.end)
                findings.refuse(codes.TOO_DEEP, place, message, "remove brackets, or regroup")
                return True
        elif token.kind in ("RPAR", "RSQB"):
            depth -= 1
    return False


def refuse_deep(statement: Node, findings: Findings) -> bool:
    """Refuse a tree that is too deep, at the first part beyond the limit; tell whether it was."""
    place = _too_deep(statement)
    if place is None:
        return False
    message = f"this is nested more than {LIMIT} levels deep"
    findings.refuse(codes.TOO_DEEP, place, message, "name a part as a query of its own, or regroup")
    return True


def _too_deep(root: Node) -> Span | None:
    waiting = [(root, 0)]
    while waiting:
        node, depth = waiting.pop()
        if depth > LIMIT:
            return node.span
        waiting.extend((child, depth + 1) for child in _children(node))
    return None


def _children(node: Node) -> Iterator[Node]:
    waiting: list[Any] = [getattr(node, slot.name) for slot in fields(node)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Node):
            yield value
        elif type(value) is tuple:
            waiting.extend(value)
