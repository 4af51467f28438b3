"""Scripts that the command line names: files, and `-` for standard input."""

from __future__ import annotations

import sys

STANDARD_INPUT = "-"


def read(name: str) -> str:
    """Return the text of a file, or of standard input if `name` is `-`."""
    from augury.language import script_file

    if name == STANDARD_INPUT:
        return script_file.decode(sys.stdin.buffer.read(), shown_name(name))
    return script_file.read(name)


def shown_name(name: str) -> str:
    """Return the name that diagnostics show.

    >>> shown_name("-")
    '<stdin>'
    """
    return "<stdin>" if name == STANDARD_INPUT else name
