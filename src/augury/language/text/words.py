"""How names, numbers, strings and durations are written so that they read back as themselves."""

from __future__ import annotations

import re

from augury.language.expressions import Duration
from augury.language.keywords import CONTENDED, KEYWORDS

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_STRATEGY = re.compile(r"(?i:skip_till_(next|any)_match|(partition|strict)_contiguity)")


# Words by which the changes of a rule are told from what follows them.
_BLOCKS = frozenset({"BEGIN", "END", "CASE", "IF"})
# Keywords that need what no printed name is followed by (a parenthesis, a string) leave it alone.
_READ_AS_KEYWORD = frozenset(
    word for word in CONTENDED if KEYWORDS[word].before.isdisjoint({"LPAR", "STRING"})
)


def name_text(name: str) -> str:
    """Return a name, in backquotes if it could be read as something else."""
    plain = is_plain(name) and name.upper() not in _READ_AS_KEYWORD | _BLOCKS
    return name if plain else _quoted(name)


def called_text(name: str) -> str:
    """Return a name that stands in front of a parenthesis."""
    return _quoted(name) if name.upper() in CONTENDED else name_text(name)


def relation_text(name: str) -> str:
    """Return the name of a Lahar relation, which may stand where a statement or clause begins."""
    return _quoted(name) if name.upper() in KEYWORDS else name_text(name)


def member_text(name: str) -> str:
    """Return a name that follows a dot, where no keyword can stand."""
    return name if is_plain(name) else _quoted(name)


def names_text(names: tuple[str, ...]) -> str:
    """Return names with commas between them."""
    return ", ".join(map(name_text, names))


def is_plain(name: str) -> bool:
    """Tell whether a name has ordinary characters and is no strategy."""
    return _PLAIN.fullmatch(name) is not None and not _STRATEGY.fullmatch(name)


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def string_text(value: str) -> str:
    """Return a string in quotes."""
    return f"'{value.replace(chr(39), chr(39) * 2)}'"


def value_text(value: bool | int | float | str | None) -> str:
    """Return a constant."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return string_text(value) if isinstance(value, str) else repr(value)


def length_text(length: Duration | int | float) -> str:
    """Return a length of time: `12 HOURS`, or bare ticks."""
    if not isinstance(length, Duration):
        return repr(length)
    plural = "" if length.amount == 1 else "S"
    return f"{length.amount!r} {length.unit}{plural}"
