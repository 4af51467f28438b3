"""What `augury run` is to do: a checked script, its queries, their sources and their targets.

Flags take the place of what the script says about sources and targets.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import click

from augury.analysis.declarations.catalog import StreamSchema, TableSchema
from augury.analysis.declarations.targets import HOOK, collide, overlap
from augury.analysis.script import Checked, check_text
from augury.cli import places, scripts
from augury.errors import QueryError, Source
from augury.language.parser import parse
from augury.language.printer import to_text
from augury.language.tree import (
    CreateForecast,
    CreatePolicy,
    CreateQuery,
    CreateRule,
    CreateStream,
    External,
    IdentifyStream,
    Statement,
    Write,
)
from augury.planning.acting.whom import acting_names
from augury.planning.base_streams import base_streams
from augury.planning.refusal import PlanError

_CONSOLE = External("console")
# Of these, lines can come and go by standard input and output.
_IN_LINES = ("csv", "json", "kafka")


@dataclass(frozen=True)
class Flags:
    """What the command line says, apart from Spark's own flags."""

    queries: tuple[str, ...]
    sources: Mapping[str, list[External]]
    targets: Mapping[str, list[External]]
    checkpoint: str
    side_tables: str | None
    streaming: bool | None
    has_place: bool = True
    """Whether the state has a place of its own: a script of standard input has no name."""

    def aside(self, *, streaming: bool) -> str:
        """Return where late and rejected rows go: a bounded run leaves those of a stream alone."""
        kind = "" if streaming else "-batch"
        return self.side_tables or f"{self.checkpoint}{kind}-side-tables"


@dataclass(frozen=True)
class Job:
    """A checked script and what of it is to be run, from where, to where."""

    text: str
    name: str
    checked: Checked
    queries: tuple[str, ...]
    streams: Mapping[str, StreamSchema]
    tables: Mapping[str, TableSchema]
    targets: Mapping[str, list[External]]
    streaming: bool

    def blamed(self, error: PlanError) -> QueryError:
        """Return an error with its place in the script: at the latest that of what is run."""
        run = {name.lower() for name in self.queries}
        spans = [each.span for each in self.checked.queries if each.name.lower() in run]
        return error.at(Source(self.name, self.text), *spans[:1])

    @property
    def uses_delta(self) -> bool:
        return any(each.format == "delta" for found in self.targets.values() for each in found)

    @property
    def uses_pipes(self) -> bool:
        """Whether something is read from standard input or written to standard output."""
        return any(each.path == "-" for each in self._places)

    @property
    def uses_kafka(self) -> bool:
        return any(each.format == "kafka" for each in self._places)

    @property
    def _places(self) -> list[External]:
        """All places that are read and written."""
        origins = [stream.source for stream in self.streams.values() if stream.source is not None]
        return [*origins, *(each for found in self.targets.values() for each in found)]


def read_flags(file: str, given: Mapping[str, Any]) -> Flags:
    """Return what the options of the command say, with its defaults."""
    has_name = file != scripts.STANDARD_INPUT
    stem = Path(file).stem if has_name else "stdin"
    checkpoint = (given["checkpoint"] or f"augury-checkpoints/{stem}").rstrip("/")
    streaming = True if given["once"] or given["trigger"] else given["streaming"]
    if streaming and given["streaming"] is False:
        raise click.UsageError("--once and --trigger are for streams; leave --batch out")
    if Path(checkpoint).is_file():
        raise click.UsageError(f"--checkpoint {checkpoint} is a file; give a folder")
    sources = _by_name(places.source_place(each) for each in given["sources"])
    targets = _by_name(places.target_place(each) for each in given["sinks"])
    side = (given["side_tables"] or "").rstrip("/") or None
    has_place = has_name or given["checkpoint"] is not None
    return Flags(given["queries"], sources, targets, checkpoint, side, streaming, has_place)


@contextmanager
def own_checkpoint(job: Job, flags: Flags) -> Iterator[Flags]:
    """Return flags with the checkpoint of a run; where it has no place, it ends with the run."""
    if flags.has_place or not job.streaming:
        yield flags
        return
    # Another script would come by the same name, and could not go on with this one's state.
    folder = f"{flags.checkpoint}-{uuid4().hex[:8]}"
    try:
        yield replace(flags, checkpoint=folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _by_name(found: Iterable[places.NamedExternal]) -> dict[str, list[External]]:
    by_name: dict[str, list[External]] = {}
    for place in found:
        by_name.setdefault(place.name, []).append(place.external)
    return by_name


def make_job(text: str, name: str, flags: Flags) -> Job:
    """Check a script and choose what of it is run; raise `QueryError` where it is wrong."""
    checked = check_text(text, name)
    if checked.has_errors:
        raise QueryError(checked.diagnostics)
    targets = _targets(text, name, checked, flags)
    queries = _queries(checked, flags, targets)
    streams = _streams(checked, queries, flags)
    streaming = any(map(_has_no_end, streams.values()))
    if flags.streaming is not None:
        streaming = flags.streaming
    chosen = {query.lower(): targets.get(query.lower(), [_CONSOLE]) for query in queries}
    _refuse_files_as_standard(chosen, streams)
    _keep_apart(chosen, streams)
    tables = _tables(checked, flags)
    return Job(text, name, checked, queries, streams, tables, chosen, streaming)


def _has_no_end(stream: StreamSchema) -> bool:
    """Whether rows of a stream come as time goes on, for all that is known."""
    source = stream.source
    return source is not None and (source.format == "kafka" or source.path == "-")


def _targets(text: str, name: str, checked: Checked, flags: Flags) -> dict[str, list[External]]:
    """Return the targets of each query: those of the flags, or else those of the script."""
    found: dict[str, list[External]] = {}
    for statement in parse(Source(name, text)).statements:
        # Webhooks are told from the outbox of a store.
        if isinstance(statement, Write) and statement.target.format != HOOK:
            found.setdefault(statement.query.lower(), []).append(statement.target)
    given = places.known(flags.targets, "--sink", list(_names(checked).values()))
    for query, chosen in given.items():
        own = {each.format: each for each in found.get(query, [])}
        found[query] = [places.with_options_of(each, own.get(each.format)) for each in chosen]
    return found


def _refuse_files_as_standard(
    targets: Mapping[str, list[External]], streams: Mapping[str, StreamSchema]
) -> None:
    """Refuse standard input and output for formats that are no lines."""
    for name, found in targets.items():
        for each in found:
            if each.path == "-" and each.format not in _IN_LINES:
                raise click.UsageError(
                    f"{name} cannot be written to standard output as {each.format}, which is no "
                    f"text; write {name}=csv:- or {name}=jsonl:-, or name a folder, as in "
                    f"{name}={each.format}:hits/"
                )
    for stream in streams.values():
        source = stream.source
        if source is not None and source.path == "-" and source.format not in _IN_LINES:
            raise click.UsageError(
                f"{stream.name} cannot be read from standard input as {source.format}; give "
                f"{stream.name}=csv:- or {stream.name}=jsonl:-, or name a file"
            )


def _keep_apart(targets: Mapping[str, list[External]], streams: Mapping[str, StreamSchema]) -> None:
    """Refuse a target where other answers are written, or where a stream is read."""
    taken: list[tuple[str, External]] = []
    for own in [(query, target) for query, found in targets.items() for target in found]:
        query, target = own
        place = f"{target.format} {target.path or ''}".rstrip()
        for other in taken:
            if collide(own, other):
                users = query if query == other[0] else f"{other[0]} and {query}"
                raise click.UsageError(
                    f"{users} would be written twice to {place}; give every target a place of its "
                    "own, and no folder inside of another's"
                )
        for stream in streams.values():
            if stream.source is not None and overlap(target, stream.source):
                raise click.UsageError(
                    f"{query} would be written to {place}, where stream {stream.name} is read; "
                    "write to another place"
                )
        taken.append(own)


def _names(checked: Checked) -> dict[str, str]:
    """Return all that can be asked for by name, as it is written, by its name in lower case."""
    catalog = checked.catalog
    changed = {c.table.lower() for rule in catalog.rules.values() for c in rule.changes}
    found = [query.name for query in checked.queries]
    found += [each.name for each in checked.forecasts]
    found += [rule.name for rule in catalog.rules.values()]
    made = {**catalog.identified, **catalog.suppressed}
    found += [catalog.streams[name].name for name in made if catalog.is_history(name) is None]
    found += [table.name for name, table in catalog.tables.items() if name in changed]
    return {name.lower(): name for name in found if catalog.is_private(name) is None}


def _queries(
    checked: Checked, flags: Flags, targets: Mapping[str, list[External]]
) -> tuple[str, ...]:
    """Return what to run: what is named, or has a target, or all that answers by itself."""
    names = _names(checked)
    places.known({name: [] for name in flags.queries}, "--query", list(names.values()))
    chosen = [name.lower() for name in flags.queries] or list(targets)
    listed = chosen or _by_itself(checked, names)
    if not listed:
        raise click.UsageError("the script has no query to run")
    return tuple(names[name] for name in dict.fromkeys(listed))


def _by_itself(checked: Checked, names: Mapping[str, str]) -> list[str]:
    """Return queries, forecasts and rules; of a script without these, the streams it makes."""
    catalog = checked.catalog
    own = [name for name in names if name not in {*catalog.streams, *catalog.tables}]
    return own or [name for name in names if name in catalog.streams]


def _streams(checked: Checked, names: Sequence[str], flags: Flags) -> dict[str, StreamSchema]:
    """Return the declared streams that are read, with the sources of the flags."""
    found = {each.name.lower(): each for each in _read(checked, names)}
    for name, given in _sources(checked, flags).items():
        if name in found:
            source = places.with_options_of(given[-1], found[name].source)
            found[name] = replace(found[name], source=source)
    return found


def _sources(checked: Checked, flags: Flags) -> dict[str, list[External]]:
    """Return where flags say that rows lie, of streams and of tables."""
    catalog = checked.catalog
    declared = [each.name for each in catalog.streams.values()]
    declared += [each.name for each in catalog.tables.values()]
    return places.known(flags.sources, "--source", declared)


def _tables(checked: Checked, flags: Flags) -> dict[str, TableSchema]:
    """Return the tables that have rows to be read, with the sources of the flags."""
    found = dict(checked.catalog.tables)
    for name, given in _sources(checked, flags).items():
        if name in found:
            source = places.with_options_of(given[-1], found[name].source)
            found[name] = replace(found[name], source=source)
    return {name: table for name, table in found.items() if table.source is not None}


def _read(checked: Checked, names: Sequence[str]) -> list[StreamSchema]:
    """Return the streams that must have rows for some names, and for rules, to be answered."""
    catalog, by_name = checked.catalog, {query.name.lower(): query for query in checked.queries}
    forecasts = {each.name.lower(): each.query for each in checked.forecasts}
    read = [s for name in _reached(checked, names) for s in by_name[name].streams if not s.query]
    lowered = [name.lower() for name in names]
    lowered += [rule.query.lower() for rule in catalog.rules.values()]
    read += [s for name in lowered if name in forecasts for s in forecasts[name].streams]
    read += [catalog.streams[name] for name in lowered if name in catalog.streams]
    return [base for stream in read for base in base_streams(stream, catalog).values()]


def _reached(checked: Checked, names: Sequence[str]) -> list[str]:
    """Return the queries that are run, and those that they read, in lower case."""
    by_name = {query.name.lower(): query for query in checked.queries}
    found = [name.lower() for name in names if name.lower() in by_name]
    if checked.catalog.rules:
        found += [name for name in acting_names(checked.catalog, by_name) if name in by_name]
    found = list(dict.fromkeys(found))
    for name in found:
        lower = [stream.query.lower() for stream in by_name[name].streams if stream.query]
        found += [each for each in dict.fromkeys(lower) if each not in found]
    return found


def texts_of(job: Job) -> dict[str, str]:
    """Return what the state depends on: the streams with their places, and what is run."""
    texts: dict[str, str] = {}
    run = {*_reached(job.checked, job.queries), *(name.lower() for name in job.queries)}
    for statement in parse(Source(job.name, job.text)).statements:
        name = getattr(statement, "name", None) or ""
        if isinstance(statement, CreateStream) and name.lower() in job.streams:
            source = job.streams[name.lower()].source
            place = None if source is None else replace(source, options=())
            texts[name] = to_text(replace(statement, source=place))
        elif _matters(statement, name.lower() in run):
            texts[name] = to_text(statement)
    return texts


def _matters(statement: Statement, is_run: bool) -> bool:
    """Whether what a run remembers depends on a statement; `is_run` says that it is asked for."""
    if isinstance(statement, CreateQuery | CreateForecast):
        return is_run
    return isinstance(statement, CreateRule | CreatePolicy | IdentifyStream)
