"""The LALR machine: tokens in, values of actions out, keywords decided by the state.

lark generates the tables (`augury.language.tables`); the loop over them is our own, because it
must look at the state before it names a token's terminal, must know the place of each part, and
must be quick for scripts of a thousand queries. It never recurses.

Soft keywords: a word is a keyword if the state accepts it and a name could not stand there; where
both could, `Keyword.before` and `Keyword.unless` look at the token that follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from augury.errors import Span
from augury.language.findings import Findings
from augury.language.keywords import KEYWORDS, PATTERN_WORDS, UNITS, Keyword
from augury.language.lexer import Token
from augury.language.tables import END, Production, Tables

Action = Callable[[list[Any], Span, Findings], Any]


@dataclass(frozen=True, slots=True)
class Stuck:
    """The machine cannot go on at `token`.

    `states` is its stack in front of that token, `states_before` in front of the previous one.
    """

    token: Token
    states: list[int]
    previous: Token | None
    states_before: list[int]


@dataclass(frozen=True, slots=True)
class _Step:
    """A production, ready to run: `passes` is the part that passes through, or -1."""

    origin: str
    size: int
    picks: tuple[int, ...]
    splices: frozenset[int]
    action: Action | None
    passes: int


# Token kinds, beside WORD, whose terminal depends on the state.
_CHOSEN = frozenset({"QUOTED", "STRATEGY", "SIGMA", "NOTSIGN", "BANG"})


class Machine:
    """The tables with their actions bound; one machine reads any number of statements."""

    def __init__(self, tables: Tables, actions: dict[str, Action]) -> None:
        self.tables = tables
        self._steps = tuple(_bind(production, actions) for production in tables.productions)
        self._climbed: dict[tuple[int, int, str], int] = {}

    def run(self, tokens: Sequence[Token], findings: Findings) -> Any:
        """Return the value of the one statement that `tokens` spell, or `Stuck`.

        The last token has the kind `END`.
        """
        rows, gotos, steps, end = self.tables.rows, self.tables.gotos, self._steps, self.tables.end
        states = [self.tables.start]
        values: list[Any] = []
        starts: list[int] = []
        earlier, before, at, last_end = states, states, 0, 0
        while True:
            token = tokens[at]
            earlier, before = before, states.copy()
            terminal = token.kind
            if terminal == "WORD":
                terminal = self._word_terminal(token, tokens[at + 1], states)
            elif terminal in _CHOSEN:
                terminal = self._terminal(token, tokens[at + 1], states)
            while (code := rows[states[-1]].get(terminal, 0)) < 0:
                step = steps[-code - 1]
                size = step.size
                if step.passes == 0 and size == 1:
                    states[-1] = self._climb(states[-2], states[-1], terminal)
                    continue
                parts = values[-size:]
                del values[-size:], states[-size:]
                if size > 1:
                    del starts[1 - size :]
                if step.passes >= 0:
                    values.append(parts[step.passes])
                else:
                    value = _pick(step, parts)
                    if step.action:
                        value = step.action(value, _span(starts[-1], last_end), findings)
                    values.append(value)
                states.append(gotos[states[-1]][step.origin])
            if code == 0:
                if states[-1] == end and terminal == END:
                    return values[-1]
                return Stuck(token, before, tokens[at - 1] if at else None, earlier)
            if terminal == "NAME" and "MINUS" == tokens[at + 1].kind not in rows[code - 1]:
                token, at = _hyphenated(tokens, at)
            states.append(code - 1)
            values.append(token)
            starts.append(token.start)
            last_end = token.end
            at += 1

    def _climb(self, below: int, top: int, terminal: str) -> int:
        """Return the state after all steps that only rename the top value, as sum to comparison."""
        key = (below, top, terminal)
        reached = self._climbed.get(key)
        if reached is None:
            reached = top
            while (code := self.tables.rows[reached].get(terminal, 0)) < 0:
                step = self._steps[-code - 1]
                if step.passes < 0 or step.size > 1:
                    break
                reached = self.tables.gotos[below][step.origin]
            self._climbed[key] = reached
        return reached

    def accepts(self, states: Sequence[int], terminal: str) -> bool:
        """Tell whether `terminal` can be shifted from the stack `states`, after any reductions."""
        stack = list(states)
        while (code := self.tables.rows[stack[-1]].get(terminal, 0)) < 0:
            step = self._steps[-code - 1]
            del stack[-step.size :]
            stack.append(self.tables.gotos[stack[-1]][step.origin])
            if terminal == END and stack[-1] == self.tables.end:
                return True
        return code > 0

    def accepted(self, states: Sequence[int]) -> Iterator[str]:
        """Yield every terminal that can come next."""
        return (name for name in self.tables.rows[states[-1]] if self.accepts(states, name))

    def _terminal(self, token: Token, following: Token, states: list[int]) -> str:
        row = self.tables.rows[states[-1]]
        kind = token.kind
        if kind in {"NOTSIGN", "BANG"}:
            return "NOT" if "NOT" in row else "BANG"
        hyphenated = kind == "STRATEGY" and "-" in token.text  # never a name
        if kind in row or hyphenated:
            return kind
        return "RELATION" if "RELATION" in row and following.kind == "LPAR" else "NAME"

    def _word_terminal(self, token: Token, following: Token, states: list[int]) -> str:
        row = self.tables.rows[states[-1]]
        terminal, keyword = _keyword(token.text)
        code = row.get(terminal, 0)
        if code:
            if "NAME" not in row:
                return terminal
            # A lookahead of a reduction may belong to another context of the same state.
            if _reads_as_keyword(keyword, following) and (
                code > 0 or self.accepts(states, terminal)
            ):
                return terminal
        if "RELATION" in row and following.kind == "LPAR" and terminal not in PATTERN_WORDS:
            return "RELATION"
        return "NAME"


@lru_cache(maxsize=8192)
def _keyword(word: str) -> tuple[str, Keyword | None]:
    upper = word.upper()
    if upper in UNITS:
        return "UNIT", None
    keyword = KEYWORDS.get(upper)
    return (upper, keyword) if keyword else ("", None)


def _reads_as_keyword(keyword: Keyword | None, following: Token) -> bool:
    """Tell whether the token after a word lets it be a keyword where a name could stand."""
    if keyword is None or following.kind == "DOT":
        return keyword is None
    seen = {following.kind}
    if following.kind == "WORD":
        seen.add(following.text.upper())
    is_due = not keyword.before or not keyword.before.isdisjoint(seen)
    return is_due and keyword.unless.isdisjoint(seen)


def _bind(production: Production, actions: dict[str, Action]) -> _Step:
    action = actions[production.action] if production.action else None
    passes = production.picks[0] if action is None and not production.listed else -1
    splices = frozenset(production.splices)
    return _Step(production.origin, production.size, production.picks, splices, action, passes)


def _pick(step: _Step, parts: list[Any]) -> list[Any]:
    """Return the values that the action receives, with lists taken apart."""
    if not step.splices:
        return parts if len(step.picks) == step.size else [parts[at] for at in step.picks]
    if step.picks[0] in step.splices:  # a list that grows: appended to, never copied
        picked: list[Any] = parts[step.picks[0]]
        _extend(picked, step, parts, step.picks[1:])
    else:
        picked = []
        _extend(picked, step, parts, step.picks)
    return picked


_new_span = partial(object.__new__, Span)
_set_start, _set_end = (vars(Span)[slot].__set__ for slot in ("start", "end"))


def _span(start: int, end: int) -> Span:
    """Make a Span without the detour of a frozen class; there is one for every node."""
    span = _new_span()
    _set_start(span, start)
    _set_end(span, end)
    return span


def _extend(picked: list[Any], step: _Step, parts: list[Any], picks: tuple[int, ...]) -> None:
    for at in picks:
        if at in step.splices:
            picked.extend(parts[at])
        else:
            picked.append(parts[at])


def _hyphenated(tokens: Sequence[Token], at: int) -> tuple[Token, int]:
    """Join `HCW-ID`, written without spaces, into one name; return it and where it ends."""
    name = tokens[at]
    while (
        tokens[at + 1].kind == "MINUS"
        and tokens[at + 2].kind in {"WORD", "INT"}
        and name.end == tokens[at + 1].start
        and tokens[at + 1].end == tokens[at + 2].start
    ):
        name = Token("WORD", f"{name.text}-{tokens[at + 2].text}", name.start, tokens[at + 2].end)
        at += 2
    return name, at
