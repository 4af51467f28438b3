"""A script with its words marked, for a page."""

from __future__ import annotations

import re
from html import escape

from augury.language.keywords import KEYWORDS

_TOKEN = re.compile(
    r"(?P<comment>--[^\n]*)|(?P<text>'[^'\n]*')|(?P<number>\b\d[\d.]*)|(?P<word>\w+)"
)
_TYPES = {"STRING", "LONG", "DOUBLE", "TIMESTAMP", "BOOLEAN"}
_WORDS = {*KEYWORDS, *_TYPES, "SEQ", "HOURS", "MINUTES"}


def marked(script: str) -> str:
    """Return a script as HTML.

    >>> marked("TIME at -- when")
    '<b>TIME</b> at <i>-- when</i>'
    """
    pieces, end = [], 0
    for found in _TOKEN.finditer(script):
        pieces += [escape(script[end : found.start()]), _token(found)]
        end = found.end()
    return "".join(pieces) + escape(script[end:])


def _token(found: re.Match[str]) -> str:
    shown = escape(found.group(), quote=False)
    if found.lastgroup == "comment":
        return f"<i>{shown}</i>"
    if found.lastgroup == "word":
        is_keyword = found.group().isupper() and found.group() in _WORDS
        return f"<b>{shown}</b>" if is_keyword else shown
    return f"<u>{shown}</u>"
