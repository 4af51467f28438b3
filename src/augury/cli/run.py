"""`augury run`: the queries of a script on Spark, from their sources to their targets."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import click

from augury.cli import findings, scripts
from augury.cli.progress import Reporter
from augury.errors import AuguryError, DataError, QueryError, RowsWarning

if TYPE_CHECKING:
    from augury.cli.job import Flags, Job
    from augury.runners.process.running import Trigger
    from augury.sinks.delivery import Delivery
    from augury.sinks.sink import Sink


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
@click.option("--query", "queries", multiple=True, metavar="NAME", help="Run this query only.")
@click.option("--source", "sources", multiple=True, metavar="STREAM=FORMAT:PLACE")
@click.option("--sink", "sinks", multiple=True, metavar="QUERY=FORMAT:PLACE")
@click.option("--checkpoint", metavar="DIR", help="Where a streaming run keeps its state.")
@click.option("--side-tables", metavar="DIR", help="Where late and rejected rows go.")
@click.option("--stream/--batch", "streaming", default=None, help="Go on with what arrives.")
@click.option(
    "--trigger",
    metavar="INTERVAL",
    callback=_interval,
    help="Begin a micro-batch every '2 seconds'.",
)
@click.option("--once", is_flag=True, help="Stream what is there now, then end.")
@click.option("--master", metavar="URL", help="The Spark master; local[*] unless given.")
@click.option("--conf", multiple=True, metavar="KEY=VALUE", callback=_pairs, help="Spark setting.")
@click.option("--packages", multiple=True, metavar="COORDINATES", callback=_listed)
@click.option("--jars", multiple=True, metavar="PATHS", callback=_listed)
@click.option("--kafka-jars", metavar="DIR", help="A folder with the jars of the Kafka connector.")
@click.option("--json", "as_json", is_flag=True, help="Progress and answers as JSON lines.")
@click.pass_context
def run(ctx: click.Context, /, file: str, as_json: bool, **given: Any) -> None:
    """Run the queries of a script on Spark.

    FILE is a script; - reads standard input. Rows come from where FROM says, answers go to where
    WRITE says; --source and --sink take their place. Queries without a target are printed. A run
    is streaming where a source is Kafka, or with --stream. Ctrl-C finishes the batch under way.

    \b
    augury run store.sql
    augury run store.sql --source reads=csv:in/ --sink theft=parquet:hits/
    augury run store.sql --stream --checkpoint state/ --master spark://host:7077
    """
    if given["once"] and given["trigger"]:
        raise click.UsageError("--once and --trigger exclude each other; give one of them")
    from augury.cli.job import make_job, read_flags

    flags = read_flags(file, given)
    try:
        job = make_job(scripts.read(file), scripts.shown_name(file), flags)
        _run(job, flags, given, Reporter(as_json))
    except QueryError as error:
        _refuse(error, as_json)
        ctx.exit(2)
    except AuguryError as error:
        Reporter(as_json).tell("error", message=str(error))
        raise


def _refuse(error: QueryError, as_json: bool) -> None:
    if as_json:
        document = {"event": "error", "diagnostics": [d.as_dict() for d in error.diagnostics]}
        click.echo(json.dumps(document))
    else:
        findings.show(error.diagnostics, err=True)
        click.echo(findings.counted(error.diagnostics), err=True)


# Running it ---------------------------------------------------------------------------------------


def _run(job: Job, flags: Flags, given: Mapping[str, Any], reporter: Reporter) -> None:
    from augury.runners.process.failures import readable_failures
    from augury.runners.process.launch import Launch, spark_session

    launch = Launch(
        given["master"],
        given["conf"],
        given["packages"],
        given["jars"],
        job.uses_kafka,
        given["kafka_jars"],
    )
    with _ending_on_signals(reporter), readable_failures():
        spark, is_ours = spark_session(launch)
        try:
            _deliver(spark, job, flags, _trigger(given), reporter)
        finally:
            if is_ours:
                spark.stop()


def _trigger(given: Mapping[str, Any]) -> Trigger:
    from augury.runners.process.running import Trigger

    return Trigger(given["trigger"], given["once"])


def _deliver(spark: Any, job: Job, flags: Flags, trigger: Trigger, reporter: Reporter) -> None:
    from augury.runners.process.running import run_batch, run_stream
    from augury.sinks.delivery import Delivery

    with _said(reporter):
        pipeline = _pipeline(spark, job)
    run_id = _claimed(spark, job, flags)
    delivery = Delivery(pipeline, _sinks(spark, job, flags, run_id, reporter))
    delivery.open()
    reporter.in_ticks = any(stream.time_is_ticks for stream in job.streams.values())
    reporter.tell("start", queries=list(job.queries), streaming=job.streaming)
    with _stopping_on_signals(delivery, reporter):
        if job.streaming:
            watch = lambda progress: reporter.progress(progress, delivery)  # noqa: E731
            run_stream(pipeline.answers, delivery, flags.checkpoint, trigger, watch)
        else:
            run_batch(pipeline.answers, delivery)
    _sum_up(delivery, flags.aside(streaming=job.streaming), reporter)
    _tell_ties(delivery, job, reporter)
    _refuse_nothing_but_bad_rows(spark, job, delivery)


@contextlib.contextmanager
def _said(reporter: Reporter) -> Iterator[None]:
    """Say what files are skipped as this command says things, and not as a warning of Python."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RowsWarning)
        yield
    for each in caught:
        if issubclass(each.category, RowsWarning):
            reporter.announce(str(each.message))
        else:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)


def _pipeline(spark: Any, job: Job) -> Any:
    from augury.session import Session
    from augury.sources import spark_sources

    session = Session(spark)
    session.sql(job.text, name=job.name)
    for stream in job.streams.values():
        session.bind(stream.name, spark_sources.read(spark, stream, job.streaming))
    return session.pipeline(job.queries, tells_faults=True)


def _claimed(spark: Any, job: Job, flags: Flags) -> str:
    """Return the id of the run; a bounded one keeps no state and may be repeated at will."""
    if not job.streaming:
        return "batch"
    from augury.cli.job import texts_of
    from augury.evaluation.executor import FORMAT
    from augury.sinks.checkpoint import Identity, claim

    return claim(spark, flags.checkpoint, Identity(texts_of(job), FORMAT.version))


def _sinks(
    spark: Any, job: Job, flags: Flags, run_id: str, reporter: Reporter
) -> dict[tuple[str, str], list[Sink]]:
    from augury.evaluation.answers.revisions import floor_of
    from augury.sinks.choice import Choice
    from augury.sinks.folder import FolderSink, Owner

    floors = {query.name.lower(): floor_of(query.having) for query in job.checked.queries}
    choice = Choice(spark, run_id, flags.checkpoint, reporter.row, floors)
    found = {
        ("match", query): [choice.sink(query, target) for target in targets]
        for query, targets in job.targets.items()
    }
    for kind in ("late", "rejected"):
        for name in job.streams:
            path = f"{flags.aside(streaming=job.streaming)}/{kind}/{name}"
            found[kind, name] = [FolderSink(spark, path, "parquet", Owner(run_id, name))]
    return found


Stop = Callable[[int, Any], None]
_STANDARD_ERROR = 2


@contextlib.contextmanager
def _on_signals(stop: Stop) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {each: signal.signal(each, stop) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


@contextlib.contextmanager
def _ending_on_signals(reporter: Reporter) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end what has not begun to deliver, and Java with it."""
    with _on_signals(lambda number, _: _end(number, reporter, "stopped before the first batch")):
        yield


@contextlib.contextmanager
def _stopping_on_signals(delivery: Delivery, reporter: Reporter) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM finish the batch under way; a second Ctrl-C ends the run at once."""

    def stop(number: int, _: object) -> None:
        if delivery.stopping.is_set() and number == signal.SIGINT:
            _end(number, reporter, "stopped at once; a batch that was under way is not whole")
        delivery.stopping.set()
        reporter.note("stopping once the batch under way is done; Ctrl-C again stops at once")

    with _on_signals(stop):
        yield


def _end(number: int, reporter: Reporter, why: str) -> NoReturn:
    """End this process and its Java, with the exit code that shells give to a signal."""
    from augury.runners.process.java_process import JAVA

    if not JAVA.is_ours:
        raise KeyboardInterrupt
    reporter.note(why)
    sys.stdout.flush()
    # Threads that wait for Java would each tell that it has gone.
    os.dup2(os.open(os.devnull, os.O_WRONLY), _STANDARD_ERROR)
    JAVA.end()
    os._exit(128 + number)


def _sum_up(delivery: Delivery, aside: str, reporter: Reporter) -> None:
    counts = {kind: delivery.total(kind) for kind in ("match", "late", "rejected")}
    reporter.tell("end", matches=counts["match"], late=counts["late"], rejected=counts["rejected"])
    if reporter.is_terminal:
        reporter.note(findings.number(counts["match"], "match"))
    for (kind, name), count in sorted(delivery.totals.items()):
        if kind in ("late", "rejected") and count:
            rows, first = findings.number(count, "row"), delivery.first_reasons.get((kind, name))
            place = f"{aside}/{kind}/{name}"
            reporter.announce(f"{rows} of {name} {kind}: see {place}; the first: {first}")


def _refuse_nothing_but_bad_rows(spark: Any, job: Job, delivery: Delivery) -> None:
    """Raise where rows came, and none of them could be used."""
    bad = [name for kind, name in delivery.totals if kind == "rejected"]
    if not bad or delivery.total("late") or (job.streaming and delivery.total("match")):
        return
    from augury.runners.spark.catalyst_rows import has_good_row
    from augury.sources.spark_sources import read

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RowsWarning)
        # What is read here is what is there now, all of it; one good row ends it.
        if any(has_good_row(read(spark, each, False), each) for each in job.streams.values()):
            return
    rows = findings.number(delivery.total("rejected"), "row")
    first = delivery.first_reasons.get(("rejected", bad[0]), "")
    raise DataError(f"every row was rejected, of {rows} that came; the first: {first}")


def _tell_ties(delivery: Delivery, job: Job, reporter: Reporter) -> None:
    """Say of each query how many of its events are in no sequence, for want of a tie-breaker."""
    from augury.evaluation.ties import tie_notice

    for query in job.checked.queries:
        count = delivery.totals.get(("tied", query.name.lower()), 0)
        if count:
            reporter.tell("tied", query=query.name, events=count)
            reporter.note(f"warning: {tie_notice(query, count)}")
