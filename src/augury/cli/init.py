"""`augury init`: a folder with a script, rows, a case and a page that says what to do with them."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import click

from augury.errors import AuguryError

FILES = ("thefts.sql", "reads.csv", "thefts.test.toml", "README.md")


@click.command(short_help="Make a folder to begin with.")
@click.argument("folder", default=".")
def init(folder: str) -> None:
    """Make a folder to begin with: a script, rows, a test of it and a README.

    FOLDER is made where it is not there; files that are there already are never replaced.

    \b
    augury init shop && cd shop && augury run --engine local thefts.sql
    """
    target, starter = Path(folder), resources.files("augury.cli") / "starter"
    if target.is_file():
        raise AuguryError(f"{target} is a file; name a folder")
    there = [name for name in FILES if (target / name).exists()]
    if there:
        raise AuguryError(f"{target / there[0]} is there already; name another folder")
    try:
        target.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            (target / name).write_text((starter / name).read_text("utf-8"), encoding="utf-8")
    except OSError as error:
        raise AuguryError(f"{error.filename} cannot be written: {error.strerror}") from error
    for name in FILES:
        click.echo(target / name)
