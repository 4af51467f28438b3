"""`augury explain`: how the queries of a script will be evaluated, as text, JSON or a picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from augury.cli import findings, scripts
from augury.errors import AuguryError, QueryError

if TYPE_CHECKING:
    from augury.session import Format, Session

FORMATS: tuple[Format, ...] = ("text", "json", "svg", "mermaid")


@click.command()
@click.argument("file")
@click.argument("query", required=False)
@click.option(
    "--format",
    "shape",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="Text for people, JSON for tools, SVG and Mermaid for a picture of the automaton.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("-o", "--output", "out", metavar="OUT", help="Write to a file.")
@click.pass_context
def explain(
    ctx: click.Context, file: str, query: str | None, shape: Format, as_json: bool, out: str | None
) -> None:
    """Show how the queries of a script will be evaluated, and why.

    FILE is a script; - reads standard input. Without QUERY, every query of it is explained.

    \b
    augury explain store.sql
    augury explain store.sql shoplifting --format svg -o shoplifting.svg
    """
    text = scripts.read(file)
    form: Format = "json" if as_json else shape
    try:
        shown = _explanation(_session(text, scripts.shown_name(file)), query, form)
    except QueryError as error:
        _refuse(error, form)
        ctx.exit(2)
    _deliver(shown, out)


def _refuse(error: QueryError, shape: Format) -> None:
    """Print the findings: as JSON on standard output where JSON is asked for, else as text."""
    if shape == "json":
        document = {"ok": False, "diagnostics": [d.as_dict() for d in error.diagnostics]}
        click.echo(json.dumps(document, indent=2))
    else:
        findings.show(error.diagnostics, err=True)
        click.echo(findings.counted(error.diagnostics), err=True)


def _session(text: str, name: str) -> Session:
    from augury.session import Session

    session = Session(engine="local")
    session.sql(text, name=name)
    return session


def _explanation(session: Session, query: str | None, shape: Format) -> str:
    names = (query,) if query is not None else session.queries
    if not names:
        raise click.UsageError("the script has no query to explain")
    if shape in ("svg", "mermaid") and len(names) > 1:
        raise click.UsageError(f"a picture shows one query; name one of: {', '.join(names)}")
    shown = [session.explain(name, shape) for name in names]
    if shape == "json" and query is None:
        return json.dumps([json.loads(each) for each in shown], indent=2)
    return "\n\n".join(each.rstrip("\n") for each in shown)


def _deliver(shown: str, out: str | None) -> None:
    if out is None:
        click.echo(shown)
        return
    try:
        Path(out).write_text(shown + "\n", encoding="utf-8")
    except OSError as error:
        raise AuguryError(f"{out} cannot be written: {error.strerror}") from error
    click.echo(f"wrote {out}", err=True)
