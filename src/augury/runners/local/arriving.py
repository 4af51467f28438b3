"""Rows as they arrive: new files of a folder, what is appended to a file, standard input.

Every source remembers how far it was read, so that a run goes on there; of standard input there is
nothing to go back to.
"""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import UnsupportedOperation
from itertools import islice
from typing import Any, Protocol

import pyarrow as pa

from augury.sources.csv_lines import CsvForm
from augury.sources.local_files import STANDARD_INPUT, LocalFiles

# Rows that are taken in one step, about.
STEP = 250_000
# Who writes a file may stop within a line, and goes on; so long after it is a line without an end.
SETTLED_S = 10.0
_COMPRESSED = (".gz", ".bz2", ".zst", ".lz4", ".br")
_AT_ONCE = 2**20


class Arriving(Protocol):
    """Where rows of a stream come from."""

    def take(self) -> list[pa.Table]:
        """Return what is new, up to about `STEP` rows."""
        ...

    @property
    def has_ended(self) -> bool:
        """Whether nothing will come any more."""
        ...


def arriving(files: LocalFiles, seen: dict[str, Any], *, once: bool = False) -> Arriving:
    """Return how the rows of a place arrive; `seen` is how far it was read, and kept up to date.

    Who reads `once` takes the last line of a file for a line, whether it has an end or not.
    """
    return StandardInput(files) if files.is_standard_input else Folder(files, seen, once)


@dataclass
class Folder:
    """Files that appear in a folder, or grow; `seen` has of each how far and up to which size.

    Of one whose last line has no end, `rest` says that it may be half a line.
    """

    files: LocalFiles
    seen: dict[str, Any]
    once: bool = False
    has_ended: bool = False

    def take(self) -> list[pa.Table]:
        found, rows = list[pa.Table](), 0
        for file in self.files.files():
            size, known = os.path.getsize(file), self.seen.get(file)
            if known is not None and size < known["at"] and self._has_plain_bytes(file):
                # What is shorter than what was read of it was begun anew.
                known = None
            takes_rest = self._is_settled(file)
            waits = known is not None and known.get("rest", False)
            if known is not None and known["size"] == size and not (waits and takes_rest):
                continue
            begin = 0 if known is None else known["at"]
            for table, at in self.files.blocks(file, begin, takes_rest=takes_rest):
                found.append(table)
                rows += table.num_rows
                begin = at
                if rows >= STEP:
                    break
            else:
                self.seen[file] = {"at": begin, "size": size}
                if not takes_rest and begin < size:
                    self.seen[file]["rest"] = True
                continue
            # There may be more: a size that no file has.
            self.seen[file] = {"at": begin, "size": -1}
            break
        return found

    def _is_settled(self, file: str) -> bool:
        """Whether a last line without an end is one: nobody has written to the file for long."""
        if self.once or not self._has_plain_bytes(file):
            return True
        return time.time() - os.path.getmtime(file) >= SETTLED_S

    def _has_plain_bytes(self, file: str) -> bool:
        """Whether places in a file are those of its lines."""
        return self.files.has_plain_bytes and not file.lower().endswith(_COMPRESSED)


@dataclass
class StandardInput:
    """What comes in by standard input, as soon as there is a whole line of it."""

    files: LocalFiles
    has_ended: bool = False
    _held: bytes = b""
    _form: CsvForm | None = None
    _blocks: Iterator[tuple[pa.Table, int]] | None = field(default=None, repr=False)

    def take(self) -> list[pa.Table]:
        if self.has_ended:
            return []
        number = _descriptor()
        if number is None:
            return self._whole()
        found = list[pa.Table]()
        while select.select([number], [], [], 0)[0]:
            read = os.read(number, _AT_ONCE)
            self._held += read
            if not read:
                self.has_ended = True
                break
            if len(self._held) > _AT_ONCE:
                break
        end = len(self._held) if self.has_ended else self._held.rfind(b"\n") + 1
        lines, self._held = self._held[:end], self._held[end:]
        if lines:
            found += self._rows(lines)
        return found

    def _rows(self, lines: bytes) -> list[pa.Table]:
        if self.files.source.format == "csv" and self._form is None:
            first, _, lines = lines.partition(b"\n")
            self._form = self.files.csv_form(first, "standard input")
        return [self.files.table_of(lines, self._form)] if lines.strip() else []

    def _whole(self) -> list[pa.Table]:
        """Return the rows of what is no file of the system, block by block."""
        if self._blocks is None:
            self._blocks = self.files.lines(sys.stdin.buffer, "standard input")
        found = [rows for rows, _ in islice(self._blocks, 1)]
        self.has_ended = not found
        return found


def _descriptor() -> int | None:
    try:
        return sys.stdin.fileno()
    except (UnsupportedOperation, AttributeError, ValueError):
        return None


def bounded_blocks(files: LocalFiles) -> Iterator[pa.Table]:
    """Yield all rows of a place."""
    for file in files.files():
        if file == STANDARD_INPUT:
            for rows, _ in files.lines(sys.stdin.buffer, "standard input"):
                yield rows
        else:
            for rows, _ in files.blocks(file):
                yield rows
