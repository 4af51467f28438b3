"""Text to tokens, and soft keywords."""

from __future__ import annotations

import pytest

from augury.errors import Source
from augury.language.expressions import Attribute
from augury.language.findings import Findings
from augury.language.keywords import KEYWORDS
from augury.language.lexer import Token, scan
from augury.language.tree import Component, CreateStream
from language.reading import read_one, read_query, refusal, refusals


def tokens(text: str) -> list[tuple[str, str]]:
    findings = Findings(Source("test.sql", text))
    found = [(token.kind, token.text) for token in scan(findings)]
    assert findings.diagnostics == []
    return found


def test_tokens_know_where_they_stand() -> None:
    found = list(scan(Findings(Source("test.sql", "a  'b''c'\n`d e`"))))
    assert found == [
        Token("WORD", "a", 0, 1),
        Token("STRING", "b'c", 3, 9),
        Token("QUOTED", "d e", 10, 15),
    ]


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("12", "INT", "12"),
        ("0.80", "DECIMAL", "0.80"),
        (".5", "DECIMAL", ".5"),
        ("1e-05", "DECIMAL", "1e-05"),
        ("1.5E3", "DECIMAL", "1.5E3"),
        ("Room#", "WORD", "Room#"),
        ("`a``b`", "QUOTED", "a`b"),
        ("''", "STRING", ""),
        ("'two\nlines'", "STRING", "two\nlines"),
        ("skip-till-next-match", "STRATEGY", "skip-till-next-match"),
        ("Skip_Till_Any_Match", "STRATEGY", "Skip_Till_Any_Match"),
        ("partition-contiguity", "STRATEGY", "partition-contiguity"),
        ("strict-contiguity", "STRATEGY", "strict-contiguity"),
        ("<>", "NE", "<>"),
        ("!=", "NE", "!="),
        ("==", "EQUAL", "=="),
        ("||", "CONCAT", "||"),
        ("\N{NOT EQUAL TO}", "NE", "\N{NOT EQUAL TO}"),
        ("\N{LESS-THAN OR EQUAL TO}", "LE", "\N{LESS-THAN OR EQUAL TO}"),
        ("\N{GREATER-THAN OR EQUAL TO}", "GE", "\N{GREATER-THAN OR EQUAL TO}"),
        ("\N{LOGICAL AND}", "AND", "\N{LOGICAL AND}"),
        ("\N{LOGICAL OR}", "OR", "\N{LOGICAL OR}"),
        ("\N{EMPTY SET}", "EMPTYSET", "\N{EMPTY SET}"),
    ],
)
def test_one_token_of_each_kind(text: str, kind: str, value: str) -> None:
    assert tokens(text) == [(kind, value)]


def test_comments_and_space_are_no_tokens() -> None:
    assert tokens("a -- to the end\n/* and\nthis */ b -- last") == [("WORD", "a"), ("WORD", "b")]


def test_the_full_stop_after_a_number_is_not_part_of_it() -> None:
    assert tokens("0.8.") == [("DECIMAL", "0.8"), ("DOT", ".")]


def test_sigma_is_a_sign_only_in_front_of_a_bracket() -> None:
    sigma = "\N{GREEK SMALL LETTER SIGMA}"
    assert tokens(f"{sigma}_{{")[0] == ("SIGMA", f"{sigma}_")
    assert tokens("SIGMA_{")[0] == ("SIGMA", "SIGMA_")
    assert tokens("sigma x")[0] == ("WORD", "sigma")


@pytest.mark.parametrize("word", sorted(KEYWORDS))
def test_every_keyword_can_name_a_stream_a_column_and_a_component(word: str) -> None:
    stream = read_one(f"CREATE STREAM {word} ({word} LONG) ID {word} KEY {word} TIME {word}")
    assert isinstance(stream, CreateStream)
    assert (stream.name, stream.id, stream.key, stream.time) == (word, word, (word,), word)
    query = read_query(
        f"CREATE QUERY {word} ON {word} PATTERN SEQ({word} {word}, B b) GROUP BY {word}.{word}"
    )
    assert (query.name, query.streams) == (word, (word,))
    assert query.pattern.parts[0] == Component(word, word)
    assert query.group_by == (Attribute(word, word),)


@pytest.mark.parametrize("word", sorted(KEYWORDS))
def test_every_keyword_can_be_an_attribute_and_its_owner(word: str) -> None:
    query = read_query(
        f"PATTERN SEQ(A {word}, B b) WHERE {word}.{word} = b.{word} RETURN {word}.{word}"
    )
    assert query.where.left == Attribute(word, word)
    assert query.returns.columns[0].value == Attribute(word, word)


def test_keywords_have_no_case_and_names_keep_theirs() -> None:
    lower = read_query(
        "create query Q on S pattern seq(A a, B b) where a.X is not null within 5 Sec"
    )
    upper = read_query(
        "CREATE QUERY Q ON S PATTERN SEQ(A a, B b) WHERE a.X IS NOT NULL WITHIN 5 SEC"
    )
    assert lower == upper
    assert lower.name == "Q"


def test_hyphenated_names_are_read_where_nothing_can_be_subtracted() -> None:
    query = read_query("CREATE QUERY q ON event-history PATTERN SEQ(A-1 a, B b) WHERE [HCW-ID]")
    assert query.streams == ("event-history",)
    assert query.where.attributes == ("HCW-ID",)
    assert query.pattern.parts[0].word == "A-1"


def test_a_hyphen_that_may_be_a_minus_is_refused() -> None:
    found = refusal("PATTERN SEQ(A a, B b) RETURN a.HCW-ID")
    assert found.code == "A008"
    assert found.hint == "write a.`HCW-ID`, or put spaces around the minus"


def test_minus_between_attributes_needs_no_spaces() -> None:
    query = read_query("PATTERN SEQ(A a, B b) WHERE b.at-a.at < 5 AND b.x-1 > 0 AND b.x - y > 0")
    assert query.where.operands[0].left.operator == "-"


@pytest.mark.parametrize(
    ("text", "code", "hint"),
    [
        ("EXPLAIN 'x", "A003", "end it with '"),
        ("EXPLAIN `x", "A003", "end it with `"),
        ("EXPLAIN x /* y", "A003", "end it with */"),
        ('EXPLAIN "x"', "A002", "write 'text' for a string, `name` for a name"),
        ("EXPLAIN $x", "A002", "put names with other characters in backquotes"),
        ("PATTERN SEQ(A a) WHERE a.x & b.y", "A002", "write AND"),
        (
            "PATTERN SEQ(A a) WHERE a.x \N{APPROXIMATELY EQUAL TO} 1",
            "A008",
            "write = ; uncertainty is in the stream",
        ),
    ],
)
def test_what_is_no_token_is_refused_with_a_way_out(text: str, code: str, hint: str) -> None:
    first = refusals(text)[0]
    assert (first.code, first.hint) == (code, hint)


def test_a_row_of_bad_characters_is_one_finding_a_piece() -> None:
    assert refusal("EXPLAIN x @@@@").message == "the character @ has no meaning here"


@pytest.mark.parametrize(
    ("number", "code"), [("9223372036854775808", "A004"), ("1" * 5000, "A004"), ("1e999", "A004")]
)
def test_numbers_that_no_column_can_hold_are_refused(number: str, code: str) -> None:
    assert refusal(f"PATTERN SEQ(A a) WHERE a.x = {number}").code == code


def test_the_largest_whole_number_is_read() -> None:
    assert read_query("PATTERN SEQ(A a) WITHIN 9223372036854775807").within.length == 2**63 - 1
