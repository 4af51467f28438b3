"""Random damage to valid scripts: what people do to text by accident, one to four times over."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from random import Random

QUERIES = Path(__file__).resolve().parents[1] / "queries"
VALID = sorted((QUERIES / "valid").glob("*.sql"))
PARSES = sorted((QUERIES / "parses").glob("*.sql"))

_PIECE = re.compile(r"\s+|\w+|.", re.DOTALL)
_CHARACTERS = "();,.[]{}<>!=+-*/%'`\"_?:#@&|~^\\ \n\t0a\N{GREEK SMALL LETTER SIGMA}\N{EMPTY SET}\0"
_WORDS = (
    *("CREATE", "QUERY", "STREAM", "PATTERN", "SEQ", "AND", "NOT", "WHERE", "WITHIN", "RETURN"),
    *("LAST(", "CASE WHEN", "IN", "IS", "NULL", "ON", ";", "(", ")", "[", "]", "--", "/*", "*/"),
    *("99999999999999999999", "1e999", "0", "INTERVAL 5", "''", "`", "skip-till-next-match"),
    *("SIGMA_{", "+<{", "}>"),
)


def mutate(text: str, rng: Random) -> str:
    """Return `text` with one to four pieces or characters deleted, swapped, doubled or inserted."""
    for _ in range(rng.randint(1, 4)):
        text = rng.choice(_DAMAGES)(text, rng)
    return text


def excerpt(text: str, rng: Random) -> str:
    """Return one statement of a script, or two neighbours: damage shows best in short texts."""
    statements = text.split(";\n")
    at = rng.randrange(len(statements))
    return ";\n".join(statements[at : at + rng.randint(1, 2)])


def _on_pieces(change: Callable[[list[str], int, Random], None]) -> Callable[[str, Random], str]:
    def damage(text: str, rng: Random) -> str:
        pieces = _PIECE.findall(text)
        if pieces:
            change(pieces, rng.randrange(len(pieces)), rng)
        return "".join(pieces)

    return damage


def _delete(pieces: list[str], at: int, rng: Random) -> None:
    del pieces[at : at + rng.randint(1, 3)]


def _double(pieces: list[str], at: int, rng: Random) -> None:
    pieces[at:at] = pieces[at : at + rng.randint(1, 6)]


def _swap(pieces: list[str], at: int, rng: Random) -> None:
    other = rng.randrange(len(pieces))
    pieces[at], pieces[other] = pieces[other], pieces[at]


def _insert(pieces: list[str], at: int, rng: Random) -> None:
    pieces.insert(at, f" {rng.choice(_WORDS)} ")


def _replace_character(text: str, rng: Random) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(_CHARACTERS) + text[at + rng.randint(0, 1) :]


def _cut_off(text: str, rng: Random) -> str:
    return text[: rng.randrange(len(text) + 1)]


_DAMAGES = (
    _on_pieces(_delete),
    _on_pieces(_double),
    _on_pieces(_swap),
    _on_pieces(_insert),
    _replace_character,
    _replace_character,
    _cut_off,
)
