"""`augury score`: a forecast learns from its history, and rows that it never saw judge it."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from augury.cli import findings
from augury.cli.scripts import bind, script_errors, session_of
from augury.errors import AuguryError

if TYPE_CHECKING:
    from augury.evaluation.learning.forecast_scores import ForecastScore
    from augury.session import Session


@click.command(short_help="Say how good a forecast is, on rows that are kept apart.")
@click.argument("file")
@click.argument("forecast")
@click.argument("data", nargs=-1)
@click.option("--history", metavar="ROWS", help="What the forecast learns from.")
@click.option("--rows", metavar="ROWS", help="What judges it: later rows of its stream.")
@click.option("--json", "as_json", is_flag=True, help="The score as one JSON object.")
@click.pass_context
def score(  # noqa: PLR0913, PLR0917 - what the command line takes
    ctx: click.Context,
    file: str,
    forecast: str,
    data: tuple[str, ...],
    history: str | None,
    rows: str | None,
    as_json: bool,
) -> None:
    """Train a forecast, and say how good it is against always saying how often it happens.

    FILE is a script; each of DATA a Parquet, CSV or JSON file (a row a line) whose name, up to the
    first dot, is that of a stream or table. What the script reads FROM files is taken from there,
    unless --history or --rows say otherwise.

    \b
    augury score logins.sql break_in --history may.csv --rows june.csv
    """
    with script_errors(ctx):
        ag = session_of(file)
        bind(data, ag, named=_named(ag, forecast, history, rows))
        found = ag.score(forecast)
    click.echo(_json(forecast, found) if as_json else findings.printable(_text(forecast, found)))


def _named(ag: Session, name: str, history: str | None, rows: str | None) -> dict[str, str]:
    """Return the places of the rows that teach and of those that judge, by their streams."""
    forecast, _ = ag._declared.forecast(name)
    named = dict[str, str]()
    if history is not None:
        if forecast.learn_from is None:
            raise AuguryError(f"forecast {forecast.name} learns from no history: leave --history")
        named[forecast.learn_from.lower()] = history
    if rows is not None:
        stream = forecast.query.streams[0].name.lower()
        kept = ag._declared.catalog.suppressed.get(stream)
        named[stream if kept is None else kept.stream.lower()] = rows
    return named


def _json(forecast: str, found: ForecastScore) -> str:
    return json.dumps({"forecast": forecast, **asdict(found), "skill": found.skill})


def _text(forecast: str, found: ForecastScore) -> str:
    rows = findings.number(found.judged, "row")
    left = f", {found.unjudged} left out, whose horizon is not over" if found.unjudged else ""
    # What says how often it happens is never wrong where it always or never does.
    saved = f" ({found.skill:+.1%} of its log loss)" if found.base_log_loss else ""
    is_better = found.log_loss < found.base_log_loss
    lines = [
        f"forecast {forecast}: {rows} judged{left}; it came true after {found.base_rate:.1%}",
        f"{'better' if is_better else 'no better'} than always saying so{saved}",
        "",
        f"{'':20}{'forecast':>10}{'base rate':>12}",
        f"{'log loss':20}{found.log_loss:10.4f}{found.base_log_loss:12.4f}",
        f"{'Brier score':20}{found.brier:10.4f}{found.base_brier:12.4f}",
        f"{'calibration error':20}{found.calibration_error:10.4f}",
        "",
        f"{'claimed':>10}{'came true':>12}{'rows':>10}",
    ]
    lines += [f"{b.claimed:10.3f}{b.happened:12.3f}{b.count:10}" for b in found.reliability]
    return "\n".join(lines)
