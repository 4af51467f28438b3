"""The stored tables, the keywords and the actions fit the grammar."""

from __future__ import annotations

import subprocess
import sys

from augury.language.actions import ACTIONS
from augury.language.generate import generate
from augury.language.keywords import CONTENDED, KEYWORDS, UNITS
from augury.language.tables import END, GRAMMAR, STORED, load_tables

SIGNS = {
    *("LPAR", "RPAR", "LSQB", "RSQB", "LBRACE", "RBRACE", "COMMA", "DOT", "SEMICOLON", "PLUS"),
    *("MINUS", "STAR", "SLASH", "PERCENT", "QMARK", "BANG", "EQUAL", "LESSTHAN", "MORETHAN"),
    *("NE", "LE", "GE", "CONCAT", "EMPTYSET", "SIGMA", "STRATEGY", "UNIT", "STRING", "INT"),
    *("DECIMAL", "NAME", "RELATION", "ATSIGN", "COLON", "DOLLAR", END),
}


def test_the_stored_tables_are_those_of_the_grammar() -> None:
    assert STORED.exists()
    assert load_tables() == generate(GRAMMAR.read_text(encoding="utf-8"))


def test_the_keywords_are_the_words_of_the_grammar() -> None:
    terminals = {terminal for row in load_tables().rows for terminal in row}
    assert terminals - SIGNS == set(KEYWORDS)


def test_contended_words_are_those_that_meet_a_name_in_some_state() -> None:
    met = {word for row in load_tables().rows if "NAME" in row for word in row if word in KEYWORDS}
    assert met == CONTENDED


def test_every_action_belongs_to_an_alternative() -> None:
    used = {production.action for production in load_tables().productions} - {None}
    assert used == set(ACTIONS)


def test_no_unit_is_a_keyword() -> None:
    assert set(UNITS).isdisjoint(KEYWORDS)


def test_reading_does_not_import_lark() -> None:
    program = (
        "import sys\nfrom augury.errors import Source\nfrom augury.language.parser import parse\n"
        "parse(Source('x', 'EXPLAIN q'))\nprint('lark' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "False"
