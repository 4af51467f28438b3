"""A run on Spark: its session, the pass over all rows, and where answers go."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from augury.cli import findings
from augury.cli.progress import Reporter
from augury.cli.signals import ending_on_signals, stopping_on_signals
from augury.cli.summing_up import measure, sum_up, tell_ties
from augury.errors import DataError, RowsWarning
from augury.planning.refusal import PlanError

if TYPE_CHECKING:
    from augury.cli.job import Flags, Job
    from augury.evaluation.acting.stores import Stores
    from augury.runners.process.running import Trigger
    from augury.runners.request import Request
    from augury.runners.spark.combined import Combined
    from augury.runners.spark.pulses import Pulses
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
        job.uses_delta,
    )
    with ending_on_signals(reporter), readable_failures():
        spark, is_ours = spark_session(launch)
        try:
            _deliver(spark, job, flags, given, reporter)
        finally:
            if is_ours:
                spark.stop()


def _trigger(given: Mapping[str, Any]) -> Trigger:
    from augury.runners.process.running import Trigger

    return Trigger(given["trigger"], given["once"])


def _deliver(
    spark: Any, job: Job, flags: Flags, given: Mapping[str, Any], reporter: Reporter
) -> None:
    from augury.runners.process.running import run_batch, run_stream
    from augury.runners.request import WRITTEN
    from augury.runners.spark.combined import StoreSink
    from augury.sinks.delivery import Delivery

    run_id = _claimed(spark, job, flags)
    pulses = _pulses(spark, job, flags)
    with _said(reporter):
        request, stores, pipeline = _asked(spark, job, pulses, audits=given["audit"] is not None)
    measure(reporter, job, request, given["metrics"])
    sinks = _sinks(spark, job, flags, run_id, reporter, request)
    _add_asked(sinks, job, given, request)
    if stores is not None:
        run = run_id if job.streaming else uuid4().hex
        sinks["match", WRITTEN.key] = [StoreSink(stores, run)]
    delivery = Delivery(pipeline, sinks, _revised(job, request), metrics=reporter.metrics)
    try:
        delivery.open()
        reporter.tells_raw = not job.checked.catalog.policies
        reporter.in_ticks = any(stream.time_is_ticks for stream in job.streams.values())
        reporter.tell("start", queries=list(job.queries), streaming=job.streaming)
        with stopping_on_signals(delivery, reporter):
            if job.streaming:
                watch = lambda progress: reporter.progress(progress, delivery)  # noqa: E731
                trigger = _trigger(given)
                run_stream(pipeline.answers, delivery, flags.checkpoint, trigger, watch, pulses)
            else:
                run_batch(pipeline.answers, delivery)
    finally:
        if pulses is not None:
            pulses.close()
        if stores is not None:
            with _said(reporter):
                stores.release()
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


def _pulses(spark: Any, job: Job, flags: Flags) -> Pulses | None:
    """Return what lets the time of silent streams go on, where some are not waited for."""
    from augury.runners.spark.pulses import Pulses, are_wanted
    from augury.sinks.store import Store

    if not job.streaming or not are_wanted(job.streams.values()):
        return None
    return Pulses(spark, Store(spark, flags.checkpoint))


def _asked(
    spark: Any, job: Job, pulses: Pulses | None, *, audits: bool
) -> tuple[Request, Stores | None, Combined]:
    """Return what is asked for, and the pass that gives it; stores are claimed for it."""
    from augury.evaluation.acting.opened import opened
    from augury.runners.request import request_of
    from augury.runners.spark.combined import combined
    from augury.runners.spark.runner import SparkRunner
    from augury.sources import spark_sources

    catalog = job.checked.catalog
    queries = {query.name.lower(): query for query in job.checked.queries}
    forecasts = {each.name.lower(): each for each in job.checked.forecasts}
    try:
        request = request_of(catalog, queries, job.queries, streaming=job.streaming, audits=audits)
        stores = opened(catalog, request.acting.world.tables)
        if stores is not None:
            stores.claim()
            stores.load()
        bound = {
            name: spark_sources.read(spark, stream, job.streaming)
            for name, stream in job.streams.items()
        }
        bound |= {n: spark_sources.read_table(spark, each) for n, each in job.tables.items()}
        runner = SparkRunner(spark, catalog, queries, bound, forecasts=forecasts, pulses=pulses)
        return request, stores, combined(runner, request)
    except PlanError as error:
        raise job.blamed(error) from error


def _claimed(spark: Any, job: Job, flags: Flags) -> str:
    """Return the id of the run; a bounded one keeps no state and may be repeated at will."""
    if not job.streaming:
        return "batch"
    from augury.cli.job import texts_of
    from augury.evaluation.executor import FORMAT
    from augury.sinks.checkpoint import Identity, claim
    from augury.sinks.store import Store

    store = Store(spark, flags.checkpoint)
    # The state has rows in it that wait, under a policy those that nobody may read.
    store.make_private()
    return claim(store, flags.checkpoint, Identity(texts_of(job), FORMAT.version))


def _sinks(
    spark: Any, job: Job, flags: Flags, run_id: str, reporter: Reporter, request: Request
) -> dict[tuple[str, str], list[Sink]]:
    from augury.evaluation.answers.revisions import floor_of
    from augury.sinks.choice import Choice
    from augury.sinks.folder import FolderSink, Owner

    floors = {query.name.lower(): floor_of(query.having) for query in job.checked.queries}
    choice = Choice(spark, run_id, flags.checkpoint, reporter.row, floors)
    found = {
        request.place(query): [choice.sink(query, target) for target in targets]
        for query, targets in job.targets.items()
    }
    for kind in ("late", "rejected"):
        for name in job.streams:
            path = f"{flags.aside(streaming=job.streaming)}/{kind}/{name}"
            found[kind, name] = [FolderSink(spark, path, "parquet", Owner(run_id, name))]
    return found


def _revised(job: Job, request: Request) -> set[tuple[str, str]]:
    """Return the places of matches that may come again under their ids."""
    from augury.planning.graph import stage_of

    catalog, run = job.checked.catalog, {name.lower() for name in job.queries}
    queries = [query for query in job.checked.queries if query.name.lower() in run]
    return {request.place(query.name) for query in queries if stage_of(query, catalog).revises}


def _add_asked(
    sinks: dict[tuple[str, str], list[Sink]], job: Job, given: Mapping[str, Any], request: Request
) -> None:
    """Add where the decisions of policies go; of their streams nothing else is told."""
    from augury.runners.local.delivery import AuditFile
    from augury.runners.spark.combined import ArrowSink

    for each in request.asked.values():
        if each.kind == "audit":
            file = AuditFile(given["audit"], is_new=not job.streaming)
            sinks["match", each.key.lower()] = [ArrowSink(file)]
    for kind, name in list(sinks):
        if kind != "match" and name in job.checked.catalog.guarded:
            del sinks[kind, name]


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
