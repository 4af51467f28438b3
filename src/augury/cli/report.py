"""`augury report`: a page about one's own script and rows."""

from __future__ import annotations

import warnings
from pathlib import Path

import click

from augury.cli.scripts import bind, script_errors, session_of
from augury.errors import AuguryError


@click.command(short_help="Write a page about a script, its rows and answers.")
@click.argument("file")
@click.argument("data", nargs=-1)
@click.option("--out", default="report.html", show_default=True, help="Where the page goes.")
@click.option("--truth", help="The column that says whether an answer is right.")
@click.option("--title", help="What stands above; the name of the script unless given.")
@click.pass_context
def report(
    ctx: click.Context,
    file: str,
    data: tuple[str, ...],
    out: str,
    truth: str | None,
    title: str | None,
) -> None:
    """Write a page about a script and its rows: what was asked, rows, answers, and why.

    FILE is a script; each of DATA a Parquet, CSV or JSON file (a row a line) whose name, up to the
    first dot, is that of a stream or table. What the script reads FROM files is taken from there.
    The page needs nothing else: no network, no other file.

    \b
    augury report store.sql reads.csv --truth stolen
    """
    with script_errors(ctx), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ag = session_of(file)
        if not ag.streams:
            raise AuguryError(f"{file} declares no stream; there is nothing to report on")
        bind(data, ag)
        page = ag.report(title=title or Path(file).stem, truth=truth)
    click.echo(f"wrote {write(Path(out), page)}")


def write(path: Path, page: str) -> Path:
    """Write a page to a file; return where."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise AuguryError(f"{path} cannot be written: {error.strerror}") from error
    return path
