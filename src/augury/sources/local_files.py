"""Files, folders and standard input as rows of a stream, in blocks, without Spark.

CSV, JSON and Parquet by the rules of `sources.files`: headers are matched without regard to case,
files that are no data are skipped, what is wrong with a row becomes its fault. A block begins and
ends with a whole row, and tells where the next one begins, so that a run goes on where it was.
"""

from __future__ import annotations

import codecs
import glob as globbing
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa
import pyarrow.parquet as pq

from augury.errors import DataError
from augury.language.tree import External
from augury.sources.csv_lines import CsvForm, header_of, read_lines
from augury.sources.declared import (
    DeclaredStream,
    DeclaredTable,
    header_advice,
    kinds,
    needed,
)
from augury.sources.json_lines import read_texts
from augury.sources.rows import Declaration, conform
from augury.sources.strays import own_files, warn_of_strays
from augury.sources.time_forms import Forms

STANDARD_INPUT = "-"
BLOCK = 2**23
# What is read here of the options of Spark's readers; others are for Spark.
_OPTIONS = {
    "csv": {"header", "sep", "delimiter", "quote", "escape", "nullvalue", "timestampformat"}
    | {"dateformat", "encoding", "charset", "multiline"},
    "json": {"timestampformat", "dateformat", "encoding", "charset", "multiline"},
    "parquet": set[str](),
}


@dataclass(frozen=True)
class LocalFiles:
    """Where the rows of a stream or table lie; `roles` are the columns that a row must have.

    `fields` are the columns of a file without a header, where they are not those declared.
    """

    declared: DeclaredTable
    source: External
    roles: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()

    @classmethod
    def of(cls, declared: DeclaredTable | DeclaredStream) -> LocalFiles:
        """Return the files of a declaration; raise where its rows lie elsewhere."""
        source = declared.source
        if source is None:
            raise DataError(
                f"stream {declared.name} has no FROM; add one, bind its rows from Python, or name "
                f"its place with --source {declared.name}=parquet:PATH"
            )
        roles = tuple(needed(cast("DeclaredStream", declared))) if hasattr(declared, "time") else ()
        found = cls(declared, source, roles)
        reason = why_not_local(source)
        if reason is not None:
            raise DataError(f"{declared.name} is read from {reason}; use --engine spark")
        found.refuse_unread()
        return found

    def refuse_unread(self) -> None:
        """Raise for times that are written in a form that is not read in this process."""
        self._forms.refuse_unread(self.declared.name)

    @property
    def is_standard_input(self) -> bool:
        """Whether rows are read as they come in."""
        return self.source.path == STANDARD_INPUT

    @cached_property
    def root(self) -> str:
        """The path, without a scheme."""
        path = self.source.path or ""
        return path.removeprefix("file://") if path.startswith("file:///") else path

    def files(self) -> list[str]:
        """Return the files of the format that are there now, in the order of their names."""
        if self.is_standard_input:
            return [STANDARD_INPUT]
        every = self._every()
        own, strays = own_files(self.source.format, every)
        if strays:
            warn_of_strays(self.declared.name, self.source.format, self.root, strays)
        return own

    def _every(self) -> list[str]:
        if os.path.isfile(self.root):
            return [self.root]
        if os.path.isdir(self.root):
            return sorted(str(p) for p in Path(self.root).rglob("*") if _is_data(p, self.root))
        found = [path for path in globbing.glob(self.root) if os.path.isfile(path)]
        if found:
            return sorted(found)
        raise DataError(
            f"{self.declared.name} comes from {self.source.format} {self.source.path!r}, which "
            "does not exist; create the folder, correct the path after FROM, or name another one "
            f"with --source {self.declared.name}={self.source.format}:PATH"
        )

    def size(self) -> int:
        """Return how many bytes there are; 0 of what comes in."""
        return 0 if self.is_standard_input else sum(map(os.path.getsize, self.files()))

    # Reading ----------------------------------------------------------------------------------

    @property
    def has_plain_bytes(self) -> bool:
        """Whether places in a file that is not compressed are those of its lines."""
        is_utf8 = self._setting("encoding", self._setting("charset")) is None
        return self.source.format != "parquet" and is_utf8

    def blocks(
        self, file: str, begin: int = 0, *, takes_rest: bool = True
    ) -> Iterator[tuple[pa.Table, int]]:
        """Yield the rows of a file from a place on, and where what follows begins.

        A last line without its end is one, unless the rest is left (`takes_rest`).
        """
        if self.source.format == "parquet":
            yield from self._groups(file, begin)
            return
        with self.opened(file) as stream:
            yield from self.lines(stream, file, begin, takes_rest=takes_rest)

    def lines(
        self, stream: BinaryIO, file: str, begin: int = 0, *, takes_rest: bool = True
    ) -> Iterator[tuple[pa.Table, int]]:
        """Yield the rows of lines in blocks, and how many bytes were read up to then."""
        texts = Lines(stream, takes_rest=takes_rest)
        form = None
        if self.source.format == "csv":
            first = texts.line() if self._has_header else b"\n"
            if not (takes_rest or first.endswith(b"\n")):
                return
            form = self.csv_form(first, file)
        if self._is_whole:
            whole = texts.rest()
            if whole.strip() and takes_rest and not begin:
                yield self._rows([whole], None), len(whole)
            return
        texts.skip_to(begin)
        while block := texts.block():
            yield self.table_of(block, form), texts.at

    def table_of(self, block: bytes, form: CsvForm | None) -> pa.Table:
        """Return the rows of a block of whole lines."""
        if form is not None:
            return read_lines(block, form, self.columns)
        return self._rows([line for line in block.split(b"\n") if line.strip()], form)

    def _rows(self, texts: list[bytes], form: CsvForm | None) -> pa.Table:
        return read_texts(texts, self.columns, self.roles, self._forms)

    @cached_property
    def columns(self) -> dict[str, str]:
        """The declared columns, and their types by name."""
        return kinds(self.declared)

    def _groups(self, file: str, begin: int) -> Iterator[tuple[pa.Table, int]]:
        own = f"{self.declared.name} in {file}"
        declared = Declaration(own, self.columns, time="")
        try:
            with pq.ParquetFile(file, coerce_int96_timestamp_unit="us") as stored:
                for group in range(begin, stored.num_row_groups):
                    yield conform(stored.read_row_group(group), declared), group + 1
        except (OSError, UnicodeError, pa.ArrowException) as problem:
            raise DataError(f"{own} cannot be read as Parquet ({problem})") from problem

    def opened(self, file: str) -> Any:
        """Open a file as bytes of UTF-8, whatever it is compressed by or encoded in."""
        try:
            raw = pa.input_stream(file, compression="detect", buffer_size=2**16)
        except OSError as problem:
            raise DataError(f"{self.declared.name} cannot be read: {problem}") from problem
        encoding = self._setting("encoding", self._setting("charset"))
        if encoding is None or self._known(encoding) == "utf-8":
            return raw
        return _Decoded(raw, encoding)

    def _known(self, encoding: str) -> str:
        """Return the name of an encoding as Python has it; raise where there is none."""
        try:
            "".encode(encoding)
            return codecs.lookup(encoding).name
        except (LookupError, ValueError) as problem:
            raise DataError(
                f"{self.declared.name} cannot be read: there is no encoding {encoding!r}; write "
                "that of the file, such as OPTIONS (encoding = 'windows-1252')"
            ) from problem

    def csv_form(self, first: bytes, file: str) -> CsvForm:
        """Return how the lines of a file are read, whose first line is given."""
        base = self._plain_form
        if not self._has_header:
            return base
        names = header_of(first, base) if first.strip() else tuple(self.columns)
        known = {name.lower() for name in names}
        for name in self.columns:
            if name.lower() not in known:
                raise DataError(
                    f"{self.declared.name} declares column {name}, which {file} does not have; "
                    f"{self._other_header(names)}"
                )
        return replace(base, names=names)

    @property
    def _has_header(self) -> bool:
        return (self._setting("header") or "true").lower() == "true"

    @cached_property
    def _plain_form(self) -> CsvForm:
        return CsvForm(
            self.fields or tuple(self.columns),
            _mark(self._setting("sep", self._setting("delimiter", ",")) or ","),
            self._setting("quote", '"') or "",
            self._setting("escape", "\\") or "",
            self._setting("nullvalue", "") or "",
            self._forms,
            self._setting("encoding", self._setting("charset")) is None,
        )

    def _other_header(self, names: tuple[str, ...]) -> str:
        is_utf8 = self._plain_form.is_utf8
        if is_utf8 and any("\ufffd" in name or "\0" in name for name in names):
            return "its text is not UTF-8: say what it is, as in OPTIONS (encoding = 'UTF-16')"
        return header_advice(names)

    @property
    def _forms(self) -> Forms:
        return Forms(self._setting("timestampformat"), self._setting("dateformat"))

    @property
    def _is_whole(self) -> bool:
        is_wanted = (self._setting("multiline") or "").lower() == "true"
        return self.source.format == "json" and is_wanted

    def _setting(self, name: str, otherwise: str | None = None) -> str | None:
        return _lowered(self.source).get(name, otherwise)


class Lines:
    """Whole lines of a stream of bytes, with how far they go; a mark of UTF-8 is passed over.

    What is behind the last end of a line is one, too, if they take the rest.
    """

    def __init__(self, stream: BinaryIO, *, takes_rest: bool = True) -> None:
        self.stream, self.at, self.takes_rest = stream, 0, takes_rest
        self._held = stream.read(3)
        if self._held == codecs.BOM_UTF8:
            self._held, self.at = b"", 3

    def line(self) -> bytes:
        """Return the next line, with its end."""
        while b"\n" not in self._held:
            more = self.stream.read(2**16)
            if not more:
                break
            self._held += more
        found, mark, self._held = self._held.partition(b"\n")
        self.at += len(found) + len(mark)
        return found + mark

    def skip_to(self, place: int) -> None:
        """Pass over what lies before a place."""
        left = place - self.at
        if left <= 0:
            return
        held, self._held = self._held, self._held[left:]
        left -= len(held)
        while left > 0 and (found := self.stream.read(min(left, BLOCK))):
            left -= len(found)
        self.at = place

    def block(self) -> bytes:
        """Return the next lines, at most about `BLOCK` bytes; nothing at the end."""
        parts, size = [self._held], len(self._held)
        while size < BLOCK or b"\n" not in parts[-1]:
            more = self.stream.read(BLOCK)
            if not more:
                found = b"".join(parts)
                end = len(found) if self.takes_rest else found.rfind(b"\n") + 1
                self._held, self.at = b"", self.at + end
                return found[:end]
            parts.append(more)
            size += len(more)
        found = b"".join(parts)
        end = found.rfind(b"\n") + 1
        self._held, self.at = found[end:], self.at + end
        return found[:end]

    def rest(self) -> bytes:
        """Return all that is left."""
        found, self._held = self._held + self.stream.read(), b""
        return found


class _Decoded:
    """Bytes of another encoding as UTF-8."""

    def __init__(self, raw: Any, encoding: str) -> None:
        self._raw, self._held, self._encoding = raw, b"", encoding
        self._decoder = codecs.getincrementaldecoder(encoding)(errors="replace")

    def _decoded(self, found: bytes) -> bytes:
        try:
            return self._decoder.decode(found, final=not found).encode(errors="replace")
        except UnicodeError as problem:
            # Without the mark of their order UTF-16 and UTF-32 have the higher byte first.
            if "BOM" not in str(problem):
                raise DataError(
                    f"a file is not in the encoding {self._encoding}: {problem}"
                ) from None
            self._decoder = codecs.getincrementaldecoder(f"{self._encoding}-be")(errors="replace")
            return self._decoded(found)

    def read(self, count: int = -1) -> bytes:
        while count < 0 or len(self._held) < count:
            found = self._raw.read(BLOCK if count < 0 else max(count, 2**16))
            self._held += self._decoded(bytes(found))
            if not found:
                break
        end = len(self._held) if count < 0 else count
        given, self._held = self._held[:end], self._held[end:]
        return given

    def __enter__(self) -> _Decoded:
        return self

    def __exit__(self, *_: object) -> None:
        self._raw.close()


def why_not_local(source: External) -> str | None:
    """Return what of a source only Spark reads; None where it can be read in this process."""
    if source.format not in _OPTIONS:
        return f"{source.format}, which Spark reads"
    path = source.path or ""
    if "://" in path and not path.startswith("file:///"):
        return f"{path!r}, which is not on this machine"
    for name, value in _lowered(source).items():
        if name not in _OPTIONS[source.format]:
            return f"a place with the option {name}, which Spark knows"
        is_mark = len(_mark(value)) <= 1 and value.isascii()
        if name in ("sep", "delimiter", "quote", "escape") and not is_mark:
            return f"a place with {name} = {value!r}, which Spark knows"
        if source.format == "csv" and name == "multiline" and value.lower() == "true":
            return "CSV with fields over several lines, which Spark reads"
    return None


def _mark(text: str) -> str:
    r"""Return a mark between fields; `\t` is a tab, as Spark has it."""
    return "\t" if text == r"\t" else text


def _lowered(source: External) -> Mapping[str, str]:
    return {key.lower(): str(value) for key, value in source.settings.items()}


def _is_data(path: Path, root: str) -> bool:
    """Whether a file of a folder is one of the user's: readers pass over _ and . as Spark does."""
    below = path.relative_to(root).parts
    return path.is_file() and not any(p[:1] in ("_", ".") and "=" not in p for p in below)


def rows_of_files(files: LocalFiles) -> pa.Table:
    """Return all rows of a place, with the texts and faults of bad ones."""
    parts = [rows for file in files.files() for rows, _ in files.blocks(file)]
    if not parts:
        declared = Declaration(files.declared.name, files.columns, time="")
        return conform(pa.table({}), declared)
    return pa.concat_tables(parts, promote_options="default")
