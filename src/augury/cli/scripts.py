"""Scripts that the command line names, `-` for standard input, and files of rows for them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from augury.cli import findings
from augury.errors import AuguryError, QueryError

if TYPE_CHECKING:
    from augury.analysis.declarations.catalog import StreamSchema, TableSchema
    from augury.session import Session

STANDARD_INPUT = "-"
# By their names files hold rows, in these formats.
ROWS = {".parquet": "parquet", ".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json"}


def read(name: str) -> str:
    """Return the text of a file, or of standard input if `name` is `-`."""
    from augury.language import script_file

    if name == STANDARD_INPUT:
        return script_file.decode(sys.stdin.buffer.read(), shown_name(name))
    if Path(name).suffix in ROWS and Path(name).is_file():
        raise AuguryError(
            f"{name} holds rows, by its name; name a script, such as store.sql, which reads it "
            f"FROM {ROWS[Path(name).suffix]} '{name}'"
        )
    return script_file.read(name)


def shown_name(name: str) -> str:
    """Return the name that diagnostics show.

    >>> shown_name("-")
    '<stdin>'
    """
    return "<stdin>" if name == STANDARD_INPUT else name


class script_errors:  # noqa: N801 - it is used as a statement
    """Print the findings of a wrong script, and exit with 2."""

    def __init__(self, ctx: click.Context) -> None:
        self.ctx = ctx

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, QueryError):
            findings.show(error.diagnostics, err=True)
            click.echo(findings.counted(error.diagnostics), err=True)
            self.ctx.exit(2)


def session_of(file: str) -> Session:
    """Return a local session of a script."""
    from augury.session import Session

    ag = Session(engine="local")
    ag.sql(read(file), name=shown_name(file))
    return ag


def bind(data: Iterable[str], *sessions: Session, named: Mapping[str, str] | None = None) -> None:
    """Give sessions the rows that scripts and the command line name.

    `named` has the places of rows by the names of their streams, whatever the files are called.
    """
    from augury.analysis.findings import listing, suggest

    given = {Path(each).name.partition(".")[0].lower(): each for each in data}
    known = sorted({name for ag in sessions for name in _names(ag)})
    for name, place in given.items():
        if name not in known:
            hint = suggest(name, known, f"the script has {listing(known) or 'none'}")
            raise AuguryError(
                f"{place} is named after no stream or table of the script; the name of a file, up "
                f"to its first dot, says whose rows it has: {hint}"
            )
    given |= named or {}
    for ag in sessions:
        own = {name: place for name, place in given.items() if name in _names(ag)}
        for name, place in (dict(_declared(ag, own)) | own).items():
            ag.bind(name, rows_of(place))


def _names(ag: Session) -> set[str]:
    return {*(name.lower() for name in ag.streams), *ag._declared.catalog.tables}


def _declared(ag: Session, given: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    """Yield the files that a script reads FROM, but for those that are given."""
    declared: dict[str, StreamSchema | TableSchema] = {
        **ag._declared.catalog.streams,
        **ag._declared.catalog.tables,
    }
    for name, each in declared.items():
        source = each.source
        if source is None or name in given:
            continue
        if source.format not in ("parquet", "csv", "json") or source.path is None:
            raise AuguryError(
                f"{each.name} is read FROM {source.format}; give its rows as a file, {name}.parquet"
            )
        yield name, source.path


def rows_of(place: str) -> Any:
    """Return the rows of a file as `Session.bind` takes them."""
    path = Path(place)
    if not path.exists():
        raise AuguryError(f"there is no file {place}")
    if path.is_dir() or path.suffix in ROWS:
        return str(path)
    raise AuguryError(f"{place} is no file of Parquet, CSV or JSON by its name")
