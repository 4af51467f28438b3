"""WRITE: where the answers of a query go; every format with what it needs, no place twice."""

from __future__ import annotations

from augury.analysis import places
from augury.analysis.declarations import check_options
from augury.analysis.findings import Findings, listing, suggest
from augury.errors import Span
from augury.language.tree import External, Write

FORMATS = ("parquet", "csv", "json", "kafka", "console")


def check_write(statement: Write, earlier: list[Write], findings: Findings) -> None:
    """Report what is wrong with a target, and note it among the earlier ones of the script."""
    target = statement.target
    span = places.word(findings.source, target.span, target.format)
    if target.format not in FORMATS:
        hint = suggest(target.format, FORMATS, f"the formats are {listing(FORMATS)}")
        findings.error("A080", f"target format {target.format} is unknown", span, hint)
        return
    _check_place(target, span, findings)
    check_options(target, "A080", findings)
    if any(_collide(statement, other) for other in earlier):
        message = f"{target.format} {target.path or ''}".rstrip() + " is written to already"
        findings.error("A080", message, span, "write to another place, or once")
    earlier.append(statement)


def _check_place(target: External, span: Span, findings: Findings) -> None:
    keys = {option.key.lower() for option in target.options}
    if target.format == "console":
        if target.path is not None:
            findings.error("A080", "the console has no path", span, "write TO console")
    elif target.format == "kafka":
        if not target.path and "topic" not in keys:
            hint = "write TO kafka 'topic' OPTIONS (servers = 'host:9092')"
            findings.error("A080", "TO kafka says no topic", span, hint)
    elif not target.path:
        message = f"TO {target.format} says no path"
        findings.error("A080", message, span, f"write TO {target.format} 'path/'")


def _collide(one: Write, other: Write) -> bool:
    """Whether two targets spoil each other: a folder belongs to one query, a topic takes many."""
    first, second = one.target, other.target
    if one.query.lower() != other.query.lower() and first.format in ("kafka", "console"):
        return False
    kinds = {first.format, second.format}
    is_same_kind = len(kinds) == 1 or not kinds & {"kafka", "console"}
    return is_same_kind and _place(first) == _place(second)


def _place(target: External) -> str:
    topic = (str(o.value) for o in target.options if o.key.lower() == "topic")
    return (target.path or next(topic, "")).rstrip("/")
