"""Sources and targets on the command line: `reads=csv:in/`, `theft=kafka:alarms@host:9092`.

They take the place of what the script says; options that the script gives for the same format stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import click

from augury.analysis.declarations.streams import FORMATS as SOURCES
from augury.analysis.declarations.targets import FORMATS as TARGETS
from augury.analysis.findings import listing, suggest
from augury.language.tree import External, Option

# Other names of formats.
_NAMES = {"jsonl": "json", "ndjson": "json"}
_SHAPE = "expected NAME=FORMAT:PLACE, for example"


@dataclass(frozen=True)
class NamedExternal:
    """What a flag says about one stream or query."""

    name: str
    external: External


def source_place(text: str) -> NamedExternal:
    """Read `--source`.

    >>> source_place("reads=csv:in/").external.path
    'in/'
    """
    return _place(text, "--source", SOURCES, f"{_SHAPE} reads=parquet:reads/")


def target_place(text: str) -> NamedExternal:
    """Read `--sink`.

    >>> target_place("theft=kafka:alarms@localhost:9092").external.settings
    {'servers': 'localhost:9092'}
    """
    return _place(text, "--sink", TARGETS, f"{_SHAPE} theft=parquet:hits/")


def _place(text: str, flag: str, formats: Sequence[str], shape: str) -> NamedExternal:
    name, equals, rest = text.partition("=")
    form, _, path = rest.partition(":")
    form = _NAMES.get(form.lower(), form.lower())
    if not (name and equals and form) or (form != "console" and not path):
        raise click.UsageError(f"{flag} {text!r} says no place; {shape}")
    if form not in formats:
        hint = suggest(form, formats, f"the formats are {listing(formats)}")
        raise click.UsageError(f"{flag} {text!r} has the unknown format {form}; {hint}")
    if form != "kafka":
        return NamedExternal(name, External(form, path or None))
    topic, _, servers = path.partition("@")
    return NamedExternal(
        name, External(form, topic, (Option("servers", servers),) if servers else ())
    )


def known(
    given: Mapping[str, list[External]], flag: str, names: Sequence[str]
) -> dict[str, list[External]]:
    """Return the places by lower-case name; a name that the script lacks is a usage error."""
    by_lower = {name.lower() for name in names}
    for name in given:
        if name.lower() not in by_lower:
            hint = suggest(name, names, f"the script has {listing(names) or 'none'}")
            raise click.UsageError(f"{flag} names {name}, which the script lacks; {hint}")
    return {name.lower(): found for name, found in given.items()}


def with_options_of(place: External, script: External | None) -> External:
    """Return the place with the script's options for the same format, where it gives none."""
    if script is None or script.format != place.format:
        return place
    given = {_long(option.key) for option in place.options}
    inherited = tuple(o for o in script.options if _long(o.key) not in given | {"topic"})
    return replace(place, options=(*inherited, *place.options))


def _long(key: str) -> str:
    return "kafka.bootstrap.servers" if key.lower() == "servers" else key.lower()
