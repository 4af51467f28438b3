"""`augury run`: what a script asks, from its sources to its targets, here or on Spark."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from augury.cli import findings, scripts
from augury.cli.progress import Reporter
from augury.errors import AuguryError, QueryError


def _pairs(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    for each in given:
        if "=" not in each:
            raise click.BadParameter(f"{each!r} is not KEY=VALUE")
    return dict(each.split("=", 1) for each in given)


def _listed(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> list[str]:
    return [part for each in given for part in each.split(",") if part]


_INTERVAL = re.compile(r"\s*(\d+\s+(millisecond|second|minute|hour|day)s?\s*)+", re.IGNORECASE)


def _interval(_: click.Context, __: click.Parameter, given: str | None) -> str | None:
    if given is not None and not _INTERVAL.fullmatch(given):
        raise click.BadParameter(f"{given!r} is no interval; expected one such as '2 seconds'")
    return given


@click.command()
@click.argument("file")
@click.option(
    "--engine",
    type=click.Choice(["auto", "local", "spark"]),
    default="auto",
    help="Where it runs; auto takes this process where the rows fit.",
)
@click.option(
    "--query",
    "queries",
    multiple=True,
    metavar="NAME",
    help="Run only this query, forecast, rule or made stream.",
)
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="STREAM=FORMAT:PLACE",
    help="Read a stream from there: csv, jsonl, parquet or kafka.",
)
@click.option(
    "--sink",
    "sinks",
    multiple=True,
    metavar="QUERY=FORMAT:PLACE",
    help="Write an answer there.",
)
@click.option("--checkpoint", metavar="DIR", help="Where a streaming run keeps its state.")
@click.option("--side-tables", metavar="DIR", help="Where late and rejected rows go.")
@click.option("--stream/--batch", "streaming", default=None, help="Go on with what arrives.")
@click.option(
    "--trigger",
    metavar="INTERVAL",
    callback=_interval,
    help="Begin a micro-batch every '2 seconds'.",
)
@click.option("--wall-clock", is_flag=True, help="Let time pass without events, as clocks show it.")
@click.option("--audit", metavar="FILE", help="Where the decisions of policies go, as JSON lines.")
@click.option("--metrics", metavar="[HOST:]PORT", help="Serve numbers for Prometheus at /metrics.")
@click.option("--log", metavar="FILE", help="What happens, as JSON lines with the time.")
@click.option("--table", is_flag=True, help="Answers as a table, also where they are piped.")
@click.option("--wide", is_flag=True, help="All columns, where answers are shown as a table.")
@click.option("--once", is_flag=True, help="Stream what is there now, then end.")
@click.option("--master", metavar="URL", help="The Spark master; local[*] unless given.")
@click.option("--conf", multiple=True, metavar="KEY=VALUE", callback=_pairs, help="Spark setting.")
@click.option(
    "--packages",
    multiple=True,
    metavar="COORDINATES",
    callback=_listed,
    help="Packages of Maven for Spark.",
)
@click.option("--jars", multiple=True, metavar="PATHS", callback=_listed, help="Jars for Spark.")
@click.option("--kafka-jars", metavar="DIR", help="A folder with the jars of the Kafka connector.")
@click.option("--json", "as_json", is_flag=True, help="Progress and answers as JSON lines.")
@click.pass_context
def run(ctx: click.Context, /, file: str, as_json: bool, **given: Any) -> None:
    """Run what a script asks, in this process or on Spark.

    FILE is a script; - reads standard input. Rows come from where FROM says, answers go to where
    WRITE says; --source and --sink take their place, and - is standard input or output. What has
    no target is printed. A run is streaming where a source is Kafka or standard input, or with
    --stream. Ctrl-C finishes the batch under way.

    \b
    augury run store.sql --source reads=csv:reads.csv
    tail -f auth.log.jsonl | augury run watch.sql --source logins=jsonl:-
    augury run store.sql --stream --checkpoint state/ --master spark://host:7077
    """
    if given["once"] and given["trigger"]:
        raise click.UsageError("--once and --trigger exclude each other; give one of them")
    from augury.cli.job import make_job, own_checkpoint, read_flags

    flags = read_flags(file, given)
    try:
        job = make_job(scripts.read(file), scripts.shown_name(file), flags)
        _check_audit(job, given["audit"])
        with own_checkpoint(job, flags) as own:
            _run(job, own, given, _reporter(as_json, given))
    except QueryError as error:
        _refuse(error, as_json)
        ctx.exit(2)
    except AuguryError as error:
        Reporter(as_json).tell("error", message=str(error))
        raise


def _check_audit(job: Any, place: str | None) -> None:
    """Refuse a file for decisions that nobody takes, or that cannot be written."""
    if place is None:
        return
    if not job.checked.catalog.policies:
        raise click.UsageError(
            "--audit writes the decisions of policies, and the script has none; leave it out"
        )
    if Path(place).is_dir():
        raise click.UsageError(f"--audit {place} is a folder; name a file")
    if not Path(place).parent.is_dir():
        raise click.UsageError(
            f"--audit {place}: there is no folder {Path(place).parent}; make it, or name another "
            "file"
        )


def _reporter(as_json: bool, given: dict[str, Any]) -> Reporter:
    from augury.cli.tables import Tables

    reporter = Reporter(as_json, wide=given["wide"], log=given["log"])
    if given["table"] and not as_json:
        reporter.tables = Tables()
    return reporter


def _refuse(error: QueryError, as_json: bool) -> None:
    if as_json:
        document = {"event": "error", "diagnostics": [d.as_dict() for d in error.diagnostics]}
        click.echo(json.dumps(document))
    else:
        findings.show(error.diagnostics, err=True)
        click.echo(findings.counted(error.diagnostics), err=True)


def _run(job: Any, flags: Any, given: dict[str, Any], reporter: Reporter) -> None:
    from augury.cli.engine import chosen

    engine, why = chosen(job, given)
    if why:
        reporter.note(f"engine: {engine}, because {why}")
    if engine == "local":
        from augury.cli.local_run import run_here

        run_here(job, flags, given, reporter)
        return
    if job.uses_pipes:
        raise click.UsageError(
            "Spark reads and writes no standard input and output; name files or folders, or "
            "console as a target, or add --engine local"
        )
    if find_spec("py4j") is None:
        raise AuguryError(
            "Spark is not installed: pip install 'augury[spark]', or see: augury doctor"
        )
    from augury.cli.spark_run import run_on_spark

    run_on_spark(job, flags, given, reporter)
