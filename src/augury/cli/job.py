"""What `augury run` is to do: a checked script, its queries, their sources and their targets.

Flags take the place of what the script says about sources and targets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from augury.analysis.declarations.catalog import StreamSchema
from augury.analysis.declarations.targets import HOOK, collide, overlap
from augury.analysis.script import Checked, check_text
from augury.cli import places, scripts
from augury.errors import QueryError, Source
from augury.language.parser import parse
from augury.language.printer import to_text
from augury.language.tree import (
    CreateForecast,
    CreateQuery,
    CreateRule,
    CreateStream,
    External,
    IdentifyStream,
    Write,
)
from augury.planning.refusal import refuse_policies

_CONSOLE = External("console")


@dataclass(frozen=True)
class Flags:
    """What the command line says, apart from Spark's own flags."""

    queries: tuple[str, ...]
    sources: Mapping[str, list[External]]
    targets: Mapping[str, list[External]]
    checkpoint: str
    side_tables: str | None
    streaming: bool | None

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
    targets: Mapping[str, list[External]]
    streaming: bool

    @property
    def uses_kafka(self) -> bool:
        origins = [stream.source for stream in self.streams.values()]
        every = [*origins, *(each for found in self.targets.values() for each in found)]
        return any(each is not None and each.format == "kafka" for each in every)


def read_flags(file: str, given: Mapping[str, Any]) -> Flags:
    """Return what the options of the command say, with its defaults."""
    stem = "stdin" if file == scripts.STANDARD_INPUT else Path(file).stem
    checkpoint = (given["checkpoint"] or f"augury-checkpoints/{stem}").rstrip("/")
    streaming = True if given["once"] or given["trigger"] else given["streaming"]
    if streaming and given["streaming"] is False:
        raise click.UsageError("--once and --trigger are for streams; leave --batch out")
    if Path(checkpoint).is_file():
        raise click.UsageError(f"--checkpoint {checkpoint} is a file; give a folder")
    sources = _by_name(places.source_place(each) for each in given["sources"])
    targets = _by_name(places.target_place(each) for each in given["sinks"])
    side = (given["side_tables"] or "").rstrip("/") or None
    return Flags(given["queries"], sources, targets, checkpoint, side, streaming)


def _by_name(found: Iterable[places.Place]) -> dict[str, list[External]]:
    by_name: dict[str, list[External]] = {}
    for place in found:
        by_name.setdefault(place.name, []).append(place.external)
    return by_name


def make_job(text: str, name: str, flags: Flags) -> Job:
    """Check a script and choose what of it is run; raise `QueryError` where it is wrong."""
    checked = check_text(text, name)
    if checked.has_errors:
        raise QueryError(checked.diagnostics)
    _refuse_what_only_sessions_do(checked, Source(name, text))
    refuse_policies(checked.catalog, "on Spark")
    targets = _targets(text, name, checked, flags)
    queries = _queries(checked, flags, targets)
    streams = _streams(checked, queries, flags)
    is_kafka = any(s.source is not None and s.source.format == "kafka" for s in streams.values())
    streaming = is_kafka if flags.streaming is None else flags.streaming
    chosen = {query.lower(): targets.get(query.lower(), [_CONSOLE]) for query in queries}
    _keep_apart(chosen, streams)
    return Job(text, name, checked, queries, streams, chosen, streaming)


def _refuse_what_only_sessions_do(checked: Checked, source: Source) -> None:
    """Raise for rules, forecasts and owners: without them a run would do less than is said."""
    from augury.planning.refusal import NOT_EVALUATED, PlanError

    catalog = checked.catalog
    found: list[tuple[CreateRule | CreateForecast | IdentifyStream, str]] = []
    found += [(rule, f"rule {rule.name} does not act") for rule in catalog.rules.values()]
    found += [(each, f"forecast {each.name} is not made") for each in catalog.forecasts.values()]
    owners = (each.statement for each in catalog.identified.values())
    found += [(each, f"stream {each.name} is not identified") for each in owners]
    for statement, what in found:
        hint = "push events into a Session(engine='local'), or bind them there"
        raise PlanError(NOT_EVALUATED, f"{what} on Spark yet", hint).at(source, statement.span)


def _targets(text: str, name: str, checked: Checked, flags: Flags) -> dict[str, list[External]]:
    """Return the targets of each query: those of the flags, or else those of the script."""
    found: dict[str, list[External]] = {}
    for statement in parse(Source(name, text)).statements:
        # Webhooks are told from the outbox of a store.
        if isinstance(statement, Write) and statement.target.format != HOOK:
            found.setdefault(statement.query.lower(), []).append(statement.target)
    given = places.known(flags.targets, "--sink", [query.name for query in checked.queries])
    for query, chosen in given.items():
        own = {each.format: each for each in found.get(query, [])}
        found[query] = [places.with_options_of(each, own.get(each.format)) for each in chosen]
    return found


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


def _queries(
    checked: Checked, flags: Flags, targets: Mapping[str, list[External]]
) -> tuple[str, ...]:
    """Return the queries to run: those named, or those with a target, or all."""
    names = {query.name.lower(): query.name for query in checked.queries}
    if not names:
        raise click.UsageError("the script has no query to run")
    places.known({name: [] for name in flags.queries}, "--query", list(names.values()))
    wanted = [name.lower() for name in flags.queries] or list(targets) or list(names)
    return tuple(names[name] for name in dict.fromkeys(wanted))


def _streams(checked: Checked, queries: Sequence[str], flags: Flags) -> dict[str, StreamSchema]:
    """Return the declared streams that the queries read, with the sources of the flags."""
    by_name = {query.name.lower(): query for query in checked.queries}
    read = [stream for name in _reached(checked, queries) for stream in by_name[name].streams]
    found = {stream.name.lower(): stream for stream in read if stream.query is None}
    declared = [s.name for s in checked.catalog.streams.values()]
    for name, given in places.known(flags.sources, "--source", declared).items():
        if name in found:
            source = places.with_options_of(given[-1], found[name].source)
            found[name] = replace(found[name], source=source)
    return found


def _reached(checked: Checked, queries: Sequence[str]) -> list[str]:
    """Return the queries that are run, and those that they read, in lower case."""
    by_name = {query.name.lower(): query for query in checked.queries}
    found = [name.lower() for name in queries]
    for name in found:
        lower = [stream.query.lower() for stream in by_name[name].streams if stream.query]
        found += [each for each in dict.fromkeys(lower) if each not in found]
    return found


def texts_of(job: Job) -> dict[str, str]:
    """Return what the state depends on: the streams with their places, and the queries run."""
    texts: dict[str, str] = {}
    run = _reached(job.checked, job.queries)
    for statement in parse(Source(job.name, job.text)).statements:
        if isinstance(statement, CreateStream) and statement.name.lower() in job.streams:
            source = job.streams[statement.name.lower()].source
            place = None if source is None else replace(source, options=())
            texts[statement.name] = to_text(replace(statement, source=place))
        elif isinstance(statement, CreateQuery) and (statement.name or "").lower() in run:
            assert statement.name is not None
            texts[statement.name] = to_text(statement)
    return texts
