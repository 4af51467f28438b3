"""Which engine a run takes: this process where the rows are here and fit, otherwise Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from augury.config import value_of
from augury.sinks.checkpoint import LOCAL

if TYPE_CHECKING:
    from augury.cli.job import Job

_SPARKS_OWN = ("master", "conf", "packages", "jars", "kafka_jars")
_OWN = ("wall_clock",)
_WRITTEN_HERE = ("csv", "json", "parquet", "console")


def chosen(job: Job, given: Mapping[str, Any]) -> tuple[str, str]:
    """Return the engine, and why it was taken where nobody has named it."""
    asked: str = given["engine"]
    if asked == "spark" and any(given[name] for name in _OWN):
        raise click.UsageError("--wall-clock is for the local engine; add --engine local")
    if asked == "local" and any(given[name] for name in _SPARKS_OWN):
        names = ", ".join(f"--{n.replace('_', '-')}" for n in _SPARKS_OWN if given[n])
        raise click.UsageError(f"{names} is for Spark; add --engine spark, or leave it out")
    if asked != "auto":
        reason = next(_only_spark(job), None) if asked == "local" else None
        if reason is not None:
            raise click.UsageError(f"--engine local cannot run this: {reason}; use --engine spark")
        return asked, ""
    if any(given[name] for name in _SPARKS_OWN):
        return "spark", "its options are given"
    if any(given[name] for name in _OWN):
        return "local", "time is to pass by the clock"
    reason = next(_only_spark(job), None)
    if reason is not None:
        return "spark", reason
    return _by_size(job, given)


def _only_spark(job: Job) -> Iterator[str]:
    """Yield what of a run only Spark can do."""
    from augury.sources.local_files import why_not_local

    for stream in job.streams.values():
        if stream.source is not None and (why := why_not_local(stream.source)) is not None:
            yield f"{stream.name} is read from {why}"
    for name, targets in job.targets.items():
        for each in targets:
            if each.format not in _WRITTEN_HERE:
                yield f"{name} is written to {each.format}"
            elif "://" in (each.path or "") and not (each.path or "").startswith("file:///"):
                yield f"{name} is written to {each.path}, which is not on this machine"
            elif {key.lower() for key in each.settings} - {"revisions"}:
                yield f"{name} is written with options of Spark"


def _by_size(job: Job, given: Mapping[str, Any]) -> tuple[str, str]:
    from augury.sources.local_files import LocalFiles

    if any(s.source is not None and s.source.path == "-" for s in job.streams.values()):
        return "local", "rows come by standard input"
    if job.streaming:
        return _of_checkpoint(job, given)
    if any(stream.source is None for stream in job.streams.values()):
        return "local", "a stream has no place to be read from"
    size = sum(LocalFiles.of(stream).size() for stream in job.streams.values())
    # How much came is not told of a stream under a policy.
    secret = job.checked.catalog.policies
    shown = "the rows" if secret else f"{_size(size)} of rows"
    if size <= value_of("local_input_bytes"):
        return "local", f"{shown} fit"
    if find_spec("pyspark") is None:
        return "local", "Spark is not installed"
    return "spark", f"{shown} are more than the setting local_input_bytes"


def _size(count: int) -> str:
    """Return a number of bytes for people.

    >>> _size(90), _size(29_690), _size(50_000_000)
    ('90 bytes', '29.7 KB', '50.0 MB')
    """
    if count < 1_000:
        return f"{count} bytes"
    return f"{count / 1e6:,.1f} MB" if count >= 1e6 else f"{count / 1e3:,.1f} KB"


def _of_checkpoint(job: Job, given: Mapping[str, Any]) -> tuple[str, str]:
    """Return who goes on with a streaming run: whoever began it, or Spark where it is."""
    place = Path(given["checkpoint"] or "") / "augury.json"
    if given["checkpoint"] and place.is_file():
        began = LOCAL in json.loads(place.read_text(encoding="utf-8")).get("texts", {})
        return ("local" if began else "spark"), "it began the checkpoint"
    if find_spec("pyspark") is None:
        return "local", "Spark is not installed"
    return "spark", "rows arrive in folders without an end"
