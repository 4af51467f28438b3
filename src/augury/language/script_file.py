"""Script files as text, whatever bytes they hold.

Everything that can be wrong with a file becomes one `UnreadableError`, a sentence that says what to
do; no name of a file, and no content, ends in a traceback.
"""

from __future__ import annotations

import codecs
from difflib import get_close_matches
from pathlib import Path

from augury.errors import UnreadableError


def read(name: str | Path) -> str:
    """Return the text of a file."""
    return decode(_bytes_of(Path(name)), str(name))


def decode(data: bytes, name: str) -> str:
    r"""Return UTF-8 `data` as text, without a byte order mark.

    >>> decode(b"\xef\xbb\xbfCREATE", "store.sql")
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


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise UnreadableError(f"{path} does not exist; {_neighbours(path)}") from error
    except IsADirectoryError as error:
        raise UnreadableError(f"{path} is a directory; {_scripts_in(path)}") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UnreadableError(f"{path} cannot be read: {reason}") from error


def _neighbours(path: Path) -> str:
    if not path.parent.is_dir():
        return f"neither does the directory {path.parent}"
    near = get_close_matches(path.name, [p.name for p in path.parent.iterdir()], n=1)
    return f"did you mean {path.parent / near[0]}?" if near else "check the path"


def _scripts_in(path: Path) -> str:
    scripts = sorted(path.glob("*.sql"))
    return f"name a script, such as {scripts[0]}" if scripts else "name a script"
