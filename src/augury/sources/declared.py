"""What a source must know of a declaration: its columns, their roles, and what stands after FROM.

The schemas of the catalog have these attributes; a protocol keeps sources apart from analysis.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from augury.language.tree import External

# Columns that a source adds to the declared ones: the text of a row, and why it cannot be read.
RAW, FAULT = "_augury_raw", "_augury_fault"


class Named(Protocol):
    """A type with a name, such as `LONG`."""

    @property
    def value(self) -> str: ...


class DeclaredColumn(Protocol):
    """A column as it was declared."""

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> Named: ...


class DeclaredTable(Protocol):
    """A relation: its name, its columns, and where its rows come from."""

    @property
    def name(self) -> str: ...
    @property
    def columns(self) -> Sequence[DeclaredColumn]: ...
    @property
    def source(self) -> External | None: ...


class DeclaredStream(DeclaredTable, Protocol):
    """A stream: also which columns its events cannot do without."""

    @property
    def id(self) -> str | None: ...
    @property
    def key(self) -> Sequence[str]: ...
    @property
    def time(self) -> str | None: ...
    @property
    def type(self) -> str | None: ...
    @property
    def probability(self) -> str | None: ...


def kinds(declared: DeclaredTable) -> dict[str, str]:
    """Return the names of the columns with the names of their types, in order."""
    return {column.name: column.type.value for column in declared.columns}


def needed(declared: DeclaredStream) -> list[str]:
    """Return the columns that must be there: without them a row is no event."""
    roles = (declared.id, *declared.key, declared.time, declared.type, declared.probability)
    return list(dict.fromkeys(name for name in roles if name is not None))


def header_advice(names: Sequence[str]) -> str:
    """Return what a header has in place of the declared columns, and what to do.

    >>> header_advice(["tag;at"])
    "its header is tag;at: if ; parts the fields, say so, as in OPTIONS (sep = ';')"
    >>> header_advice(["tag", "time"])
    'its header has tag, time: rename one, or change the declaration'
    """
    other = next((mark for mark in ";\t|" if len(names) == 1 and mark in names[0]), None)
    if other is not None:
        mark = "\\t" if other == "\t" else other
        return (
            f"its header is {names[0]}: if {mark} parts the fields, say so, "
            f"as in OPTIONS (sep = '{mark}')"
        )
    return f"its header has {', '.join(names)}: rename one, or change the declaration"
