"""The tables from the grammar, by lark: `python -m augury.language.generate` stores them.

The numbers of states and productions depend on the grammar alone, so that equal grammars give equal
files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from lark import Lark
from lark.lexer import Lexer
from lark.parsers.lalr_analysis import Shift

from augury.language.tables import GRAMMAR, STORED, Production, Tables, digest


class _NoLexer(Lexer):
    """Stands in for lark's lexer, whose place `augury.language.lexer` takes."""

    __future_interface__ = True

    def __init__(self, _conf: object) -> None: ...

    def lex(self, *_: object) -> Iterator[Any]:
        return iter(())


def generate(grammar: str) -> Tables:
    """Let lark compute the tables of `grammar`."""
    made = Lark(grammar, parser="lalr", lexer=_NoLexer, maybe_placeholders=False)
    frontend: Any = made.parser
    table = frontend.parser._parse_table
    (start,), (end,) = table.start_states.values(), table.end_states.values()
    rules = sorted(made.rules, key=_rule_key)
    order = {rule: number for number, rule in enumerate(rules)}
    numbers = _numbered(start, table.states)
    rows, gotos = [], []
    for state in numbers:
        row, goto = _split_row(table.states[state], numbers, order)
        rows.append(row)
        gotos.append(goto)
    productions = tuple(_production(rule) for rule in rules)
    return Tables(
        digest(grammar), numbers[start], numbers[end], tuple(rows), tuple(gotos), productions
    )


def _rule_key(rule: Any) -> tuple[str, tuple[str, ...]]:
    return rule.origin.name, tuple(symbol.name for symbol in rule.expansion)


def _numbered(start: int, states: dict[int, dict[str, Any]]) -> dict[int, int]:
    """Return a number for each state, in the order in which they are reached from `start`."""
    numbers = {start: 0}
    for state in (queue := [start]):
        for _, (action, target) in sorted(states[state].items(), key=lambda item: item[0]):
            if action is Shift and target not in numbers:
                numbers[target] = len(numbers)
                queue.append(target)
    return numbers


def _split_row(
    actions: dict[str, Any], numbers: dict[int, int], order: dict[Any, int]
) -> tuple[dict[str, int], dict[str, int]]:
    row: dict[str, int] = {}
    goto: dict[str, int] = {}
    for symbol, (action, target) in sorted(actions.items(), key=lambda item: item[0]):
        if action is not Shift:
            row[symbol] = -order[target] - 1
        elif symbol.isupper():
            row[symbol] = numbers[target] + 1
        else:
            goto[symbol] = numbers[target]
    return row, goto


def _production(rule: Any) -> Production:
    keeps_all = rule.options.keep_all_tokens
    picks = tuple(
        at
        for at, symbol in enumerate(rule.expansion)
        if keeps_all or not (symbol.is_term and symbol.filter_out)
    )
    splices = tuple(at for at in picks if _is_list(rule.expansion[at]))
    origin = str(rule.origin.name)
    listed = _is_list(rule.origin)
    passes = rule.options.expand1 and not rule.alias and len(picks) == 1 and not splices
    action = None if listed or passes else str(rule.alias or origin)
    return Production(origin, len(rule.expansion), picks, splices, action, listed)


def _is_list(symbol: Any) -> bool:
    return not symbol.is_term and str(symbol.name).startswith("_")


def main() -> None:
    """Generate the tables and store them beside the grammar."""
    tables = generate(GRAMMAR.read_text(encoding="utf-8"))
    stored = asdict(tables)
    stored["productions"] = [list(asdict(p).values()) for p in tables.productions]
    STORED.write_text(json.dumps(stored, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
