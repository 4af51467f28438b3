"""Scripts that the command line names: files, and `-` for standard input."""

from __future__ import annotations

import sys

from augury.language import script_file
from augury.language.script_file import UnreadableError, decode

__all__ = ["STANDARD_INPUT", "UnreadableError", "read", "shown_name"]

STANDARD_INPUT = "-"


def read(name: str) -> str:
    """Return the text of a file, or of standard input if `name` is `-`."""
    if name == STANDARD_INPUT:
        return decode(sys.stdin.buffer.read(), shown_name(name))
    return script_file.read(name)


def shown_name(name: str) -> str:
    """Return the name that diagnostics show.

    >>> shown_name("-")
    '<stdin>'
    """
    return "<stdin>" if name == STANDARD_INPUT else name
