"""Scripts read from files and from standard input, whatever bytes they hold.

Everything that can be wrong with a file becomes one `UnreadableError`, a sentence that says what to
do; nothing that a user can name on the command line ends in a traceback.
"""

from __future__ import annotations

import codecs
import sys
from pathlib import Path

from augury.errors import AuguryError

STANDARD_INPUT = "-"


class UnreadableError(AuguryError):
    """A script cannot be read as text."""


def read(name: str) -> str:
    """Return the text of a file, or of standard input if `name` is `-`."""
    return decode(_bytes_of(name), shown_name(name))


def shown_name(name: str) -> str:
    """Return the name that diagnostics show.

    >>> shown_name("-")
    '<stdin>'
    """
    return "<stdin>" if name == STANDARD_INPUT else name


def decode(data: bytes, name: str) -> str:
    """Return UTF-8 `data` as text, without a byte order mark.

    >>> decode(b"\\xef\\xbb\\xbfCREATE", "store.sql")
    'CREATE'
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise UnreadableError(f"{name} is UTF-16; save it as UTF-8")
    if b"\0" in data:
        raise UnreadableError(f"{name} is a binary file; expected a script in UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        where = f"byte 0x{data[error.start]:02x} at offset {error.start}"
        raise UnreadableError(f"{name} is not UTF-8: {where}; save it as UTF-8") from error


def _bytes_of(name: str) -> bytes:
    if name == STANDARD_INPUT:
        return sys.stdin.buffer.read()
    path = Path(name)
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise UnreadableError(f"{name} does not exist; {_neighbours(path)}") from error
    except IsADirectoryError as error:
        raise UnreadableError(f"{name} is a directory; {_scripts_in(path)}") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UnreadableError(f"{name} cannot be read: {reason}") from error


def _neighbours(path: Path) -> str:
    if not path.parent.is_dir():
        return f"neither does the directory {path.parent}"
    from difflib import get_close_matches

    near = get_close_matches(path.name, [p.name for p in path.parent.iterdir()], n=1)
    return f"did you mean {path.parent / near[0]}?" if near else "check the path"


def _scripts_in(path: Path) -> str:
    scripts = sorted(path.glob("*.sql"))
    return f"name a script, such as {scripts[0]}" if scripts else "name a script"
