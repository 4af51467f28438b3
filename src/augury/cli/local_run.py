"""A run in this process: what is read, evaluated and written without Java."""

from __future__ import annotations

import re
import uuid
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from augury.cli import findings, scripts
from augury.cli.progress import Reporter
from augury.cli.signals import ending_on_signals, stopping_on_signals
from augury.cli.summing_up import measure, sum_up, tell_ties
from augury.errors import DataError, RowsWarning
from augury.planning.graph import stage_of
from augury.planning.refusal import PlanError
from augury.runners.local.committing import Committing
from augury.runners.local.delivery import (
    AuditFile,
    LocalDelivery,
    LocalFolder,
    LocalSink,
    ShownRows,
    StandardOutput,
)
from augury.runners.local.file_run import FileRun
from augury.runners.local.parts import Declared, parts_of
from augury.runners.local.saved import Saved
from augury.runners.request import Request, request_of
from augury.sinks.checkpoint import LOCAL, Identity, claim
from augury.sinks.committed import Owner
from augury.sinks.local_store import LocalStore
from augury.sources.local_files import LocalFiles, rows_of_files

if TYPE_CHECKING:
    from augury.cli.job import Flags, Job

_UNITS = {"millisecond": 0.001, "second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86_400.0}


def run_here(job: Job, flags: Flags, given: Mapping[str, Any], reporter: Reporter) -> None:
    """Run a job in this process."""
    with warnings.catch_warnings(record=True) as caught, ending_on_signals(reporter):
        warnings.simplefilter("always", RowsWarning)
        run = _prepared(job, flags, given, reporter)
        _say(caught, reporter)
        run.delivery.metrics = reporter.metrics
        run.delivery.open()
        reporter.in_ticks = any(stream.time_is_ticks for stream in job.streams.values())
        reporter.tell("start", queries=list(job.queries), streaming=job.streaming)
        try:
            _carry_out(run, job, flags, given, reporter)
        finally:
            if run.commits is not None:
                run.commits.close()
            _say(caught, reporter)
    reporter.flush()
    sum_up(run.delivery, flags.aside(streaming=job.streaming), reporter)
    tell_ties(run.delivery, job, reporter)
    if not job.streaming:
        _tell_of_nothing(run, job, reporter)
    _refuse_nothing_but_bad_rows(run)


def _say(caught: list[warnings.WarningMessage], reporter: Reporter) -> None:
    """Say what files are skipped as this command says things, and not as a warning of Python."""
    for each in caught:
        reporter.announce(str(each.message))
    caught.clear()


def _prepared(job: Job, flags: Flags, given: Mapping[str, Any], reporter: Reporter) -> FileRun:
    catalog = job.checked.catalog
    queries = {query.name.lower(): query for query in job.checked.queries}
    forecasts = {each.name.lower(): each for each in job.checked.forecasts}
    run_id = _claimed(job, flags)
    try:
        request = request_of(
            catalog,
            queries,
            job.queries,
            streaming=job.streaming,
            audits=given["audit"] is not None,
        )
        bound = _bound(job)
        declared = Declared(catalog, queries, forecasts, bound)
        commits = _commits(declared, request)
        parts = parts_of(declared, request, streaming=job.streaming)
    except PlanError as error:
        raise job.blamed(error) from error
    read = dict.fromkeys(name for part in parts for name in part.network.bases)
    files = {name: LocalFiles.of(job.streams[name]) for name in read}
    measure(reporter, job, request, given["metrics"])
    delivery = LocalDelivery(_sinks(job, flags, given, request, run_id, reporter))
    return FileRun(parts, files, delivery, reporter.say, commits)


def _claimed(job: Job, flags: Flags) -> str:
    """Return the id of the run; a bounded one keeps no state and may be repeated at will."""
    if not job.streaming:
        return "batch"
    from augury.cli.job import texts_of
    from augury.evaluation.executor import FORMAT

    texts = texts_of(job) | {LOCAL: str(FORMAT.version)}
    store = LocalStore(flags.checkpoint)
    # The state has rows in it that wait, under a policy those that nobody may read.
    store.make_private()
    return claim(store, flags.checkpoint, Identity(texts, FORMAT.version))


def _bound(job: Job) -> dict[str, Any]:
    """Return the rows of all tables and histories that lie in files."""
    catalog = job.checked.catalog
    found = {name: rows_of_files(LocalFiles.of(table)) for name, table in job.tables.items()}
    for name, stream in catalog.streams.items():
        if name not in job.streams and stream.source is not None:
            found[name] = rows_of_files(LocalFiles.of(stream))
    return found


def _commits(declared: Declared, request: Request) -> Committing | None:
    """Return who writes the tables that lie in stores; None where none does."""
    if "written" not in request.asked:
        return None
    from augury.evaluation.acting.opened import opened

    stores = opened(declared.catalog, request.acting.world.tables)
    assert stores is not None
    stores.claim()
    stores.load()
    # What is made again is not the same batch: its number counts from this start on.
    return Committing(stores, uuid.uuid4().hex, stores.moments())


def _sinks(
    job: Job,
    flags: Flags,
    given: Mapping[str, Any],
    request: Request,
    run_id: str,
    reporter: Reporter,
) -> dict[tuple[str, str], list[LocalSink]]:
    found: dict[tuple[str, str], list[LocalSink]] = {}
    for name, targets in job.targets.items():
        sinks = found.setdefault(request.place(name), [])
        for each in targets:
            if each.format == "console":
                sinks.append(ShownRows(name, reporter.row, reporter.flush))
            elif each.path == "-":
                sinks.append(StandardOutput(each.format))
            else:
                sinks.append(LocalFolder(each.path or "", each.format, Owner(run_id, name)))
    for kind in ("late", "rejected"):
        for name in job.streams:
            if name not in job.checked.catalog.guarded:
                path = f"{flags.aside(streaming=job.streaming)}/{kind}/{name}"
                found[kind, name] = [LocalFolder(path, "parquet", Owner(run_id, name))]
    for asked in request.asked.values():
        if asked.kind == "audit":
            place = ("match", asked.key.lower())
            found[place] = [AuditFile(given["audit"], is_new=not job.streaming)]
    return found


def _carry_out(
    run: FileRun, job: Job, flags: Flags, given: Mapping[str, Any], reporter: Reporter
) -> None:
    if not job.streaming:
        run.run_bounded()
        return
    saved = Saved(LocalStore(flags.checkpoint))
    with stopping_on_signals(run.delivery, reporter):
        run.follow(
            saved,
            once=given["once"],
            pause=_seconds(given["trigger"]),
            by_clock=given["wall_clock"],
        )


def _seconds(interval: str | None) -> float | None:
    """Return an interval in seconds.

    >>> _seconds("1 minute 30 seconds")
    90.0
    """
    if interval is None:
        return None
    found = re.findall(r"(\d+)\s+([a-z]+?)s?\b", interval.lower())
    return sum(int(count) * _UNITS[unit] for count, unit in found)


def _tell_of_nothing(run: FileRun, job: Job, reporter: Reporter) -> None:
    """Say which streams have no rows at all: who asks rarely means that."""
    for name, files in run.files.items():
        is_empty = name not in run.greatest and not run.delivery.totals.get(("rejected", name))
        if is_empty and name not in job.checked.catalog.guarded:
            place = "standard input" if files.is_standard_input else files.source.path
            reporter.announce(
                f"warning: {files.declared.name} has no rows: there are none in {place}"
            )
    # Standard input has been read, and is not there to be asked again.
    if reporter.is_terminal and run.greatest and job.name != scripts.shown_name("-"):
        _say_who_knows(run, job, reporter)


def _say_who_knows(run: FileRun, job: Job, reporter: Reporter) -> None:
    """Say what tells why a query has no match."""
    for query in job.checked.queries:
        is_asked = query.name in job.queries
        is_asked = is_asked and stage_of(query, job.checked.catalog).lists_matches
        if is_asked and not run.delivery.totals.get(("match", query.name.lower())):
            command = f"augury why-not {job.name} {query.name}"
            reporter.note(f"no match of {query.name}; {command} says what comes nearest")


def _refuse_nothing_but_bad_rows(run: FileRun) -> None:
    """Raise where rows came, and none of them could be used."""
    delivery = run.delivery
    bad = [name for kind, name in delivery.totals if kind == "rejected"]
    if not bad or delivery.total("late") or run.greatest:
        return
    rows = findings.number(delivery.total("rejected"), "row")
    first = delivery.first_reasons.get(("rejected", bad[0]), "")
    raise DataError(f"every row was rejected, of {rows} that came; the first: {first}")
