"""`augury why` and `augury why-not`: how a match came about, and what one lacks that did not."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from augury.cli import findings
from augury.cli.scripts import bind, script_errors, session_of
from augury.errors import AuguryError


@click.command(short_help="Show why a match was found.")
@click.argument("file")
@click.argument("match_id")
@click.argument("data", nargs=-1)
@click.option("--query", help="The query that found it; all are looked through otherwise.")
@click.option("--json", "as_json", is_flag=True, help="The same as one JSON object.")
@click.pass_context
def why(
    ctx: click.Context,
    file: str,
    match_id: str,
    data: tuple[str, ...],
    query: str | None,
    as_json: bool,
) -> None:
    """Show why a match was found: events, conditions, and the sum of its confidence.

    FILE is a script; each of DATA a Parquet, CSV or JSON file (a row a line) whose name, up to the
    first dot, is that of a stream or table. What the script reads FROM files is taken from there.

    \b
    augury why store.sql 3c82057e7fe0539b489f4e4cfc0d16c4 reads.csv
    """
    with script_errors(ctx), _quietly():
        ag = session_of(file)
        bind(data, ag)
        explanation = ag.why(match_id, query)
    click.echo(_json(explanation.as_dict()) if as_json else findings.printable(str(explanation)))


@click.command("why-not", short_help="Show why there is none, and what would change that.")
@click.argument("file")
@click.argument("query")
@click.argument("data", nargs=-1)
@click.option("--key", "keys", multiple=True, help="Of which object: COLUMN=VALUE, or VALUE.")
@click.option("--around", help="A time, as 2026-01-01T12:00, or a tick.")
@click.option("--json", "as_json", is_flag=True, help="The same as one JSON object.")
@click.pass_context
def why_not(  # noqa: PLR0913, PLR0917 - what the command line takes
    ctx: click.Context,
    file: str,
    query: str,
    data: tuple[str, ...],
    keys: tuple[str, ...],
    around: str | None,
    as_json: bool,
) -> None:
    """Show why a query has no match: the nearest miss, and the least that lets one through.

    FILE and DATA are as in `augury why`.

    \b
    augury why-not store.sql theft reads.csv --key t1 --around 2026-01-01T12:00
    """
    with script_errors(ctx), _quietly():
        ag = session_of(file)
        bind(data, ag)
        explanation = ag.why_not(query, key=_key(keys), around=around)
    click.echo(_json(explanation.as_dict()) if as_json else findings.printable(str(explanation)))


def _key(keys: Sequence[str]) -> object:
    if not keys:
        return None
    if len(keys) == 1 and "=" not in keys[0]:
        return keys[0]
    pairs = [each.partition("=") for each in keys]
    if not all(name for name, _, _ in pairs):
        raise AuguryError("--key names no column; write COLUMN=VALUE, as in --key tag=t1")
    if any(not sign for _, sign, _ in pairs):
        raise AuguryError("several keys need their columns: --key tag=t1 --key door=2")
    return {name: value for name, _, value in pairs}


@contextmanager
def _quietly() -> Iterator[None]:
    """Leave out what only rows tell about other queries."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _json(value: object) -> str:
    return json.dumps(value, default=str)
