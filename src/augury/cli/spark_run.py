"""A run on Spark: its session, the pass over all rows, and where answers go."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from augury.cli import findings
from augury.cli.progress import Reporter
from augury.cli.signals import ending_on_signals, stopping_on_signals
from augury.cli.summing_up import sum_up, tell_ties
from augury.errors import DataError, RowsWarning

if TYPE_CHECKING:
    from augury.cli.job import Flags, Job
    from augury.runners.process.running import Trigger
    from augury.sinks.delivery import Delivery
    from augury.sinks.sink import Sink


def run_on_spark(job: Job, flags: Flags, given: Mapping[str, Any], reporter: Reporter) -> None:
    """Run a job on Spark: on the session that is there, or on one that is started for it."""
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
    with ending_on_signals(reporter), readable_failures():
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
    with stopping_on_signals(delivery, reporter):
        if job.streaming:
            watch = lambda progress: reporter.progress(progress, delivery)  # noqa: E731
            run_stream(pipeline.answers, delivery, flags.checkpoint, trigger, watch)
        else:
            run_batch(pipeline.answers, delivery)
    sum_up(delivery, flags.aside(streaming=job.streaming), reporter)
    tell_ties(delivery, job, reporter)
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
    from augury.sinks.store import Store

    store = Store(spark, flags.checkpoint)
    return claim(store, flags.checkpoint, Identity(texts_of(job), FORMAT.version))


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
