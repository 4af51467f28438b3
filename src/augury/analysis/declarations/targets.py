"""WRITE: where the answers of a query go; every format with what it needs, no place twice.

Two options are the language's own, and say what a target gets of a match that is told again:
`revisions` (the latest, or the log of all) and, for topics, `retract`.
"""

from __future__ import annotations

import os
import posixpath
import re

from augury.analysis import places
from augury.analysis.declarations.ledger import Ledger
from augury.analysis.declarations.streams import check_options
from augury.analysis.findings import Findings, listing, suggest
from augury.errors import Span
from augury.language.tree import External, Option, Write

FORMATS = ("parquet", "csv", "json", "kafka", "delta", "console")
# For the firings of a rule: what a run delivers from the outbox of a store, and not as a table.
HOOK = "webhook"
_REVISIONS = ("latest", "log")
_RETRACTIONS = ("message", "tombstone")
# They take the answers of many queries.
_OPEN = {"kafka", "console", HOOK}
_URI = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?P<host>//[^/]*)?(?P<path>.*)", re.DOTALL)
# A query and where its answers go.
Taken = tuple[str, External]


def check_write(statement: Write, earlier: list[Write], findings: Findings) -> None:
    """Report what is wrong with a target, and note it among the earlier ones of the script."""
    target = statement.target
    span = places.word(findings.source, target.span, target.format)
    known = (*FORMATS, HOOK)
    if target.format not in known:
        hint = suggest(target.format, known, f"the formats are {listing(known)}")
        findings.error("A080", f"target format {target.format} is unknown", span, hint)
        return
    _check_place(target, span, findings)
    check_options(target, "A080", findings)
    _check_revisions(target, findings)
    taken = [(other.query, other.target) for other in earlier]
    if any(collide((statement.query, target), other) for other in taken):
        message = f"{target.format} {target.path or ''}".rstrip() + " is written to already"
        findings.error("A080", message, span, "write to another place, or once")
    earlier.append(statement)


def _check_place(target: External, span: Span, findings: Findings) -> None:
    keys = {option.key.lower() for option in target.options}
    if target.format == "console":
        if target.path is not None:
            findings.error("A080", "the console has no path", span, "write TO console")
    elif target.format == HOOK:
        _check_hook(target, span, findings)
    elif target.format == "kafka":
        if not target.path and "topic" not in keys:
            hint = "write TO kafka 'topic' OPTIONS (servers = 'host:9092')"
            findings.error("A080", "TO kafka says no topic", span, hint)
    elif not target.path:
        message = f"TO {target.format} says no path"
        findings.error("A080", message, span, f"write TO {target.format} 'path/'")


def _check_hook(target: External, span: Span, findings: Findings) -> None:
    path = target.path or ""
    if not path.lower().startswith(("http://", "https://")):
        hint = "write TO webhook 'https://host/path'"
        findings.error("A080", "TO webhook says no address", span, hint)
    for option in target.options:
        if option.key.lower() != "secret":
            message = f"a webhook has no option {option.key}"
            findings.error("A080", message, option.span, "it has secret = '${NAME}'")
        elif not re.fullmatch(r"\$\{[^}]+\}", str(option.value)):
            message = "the secret of a webhook would stand in the script"
            hint = "name a variable of the environment: secret = '${WARD_SECRET}'"
            findings.error("A080", message, option.span, hint)


def check_hooked(statement: Write, ledger: Ledger, findings: Findings) -> bool:
    """Return whether a webhook can hear of something: of a rule that writes tables in a store."""
    rule = ledger.rules.get(statement.query.lower())
    span = places.word(findings.source, statement.span, statement.query)
    if rule is None:
        message = f"a webhook hears of firings, and {statement.query} is no rule declared before"
        findings.error("A080", message, span, "name a rule, after CREATE RULE")
        return False
    if not any(ledger.tables[change.table.lower()].store for change in rule.changes):
        message = f"rule {rule.name} writes no table in a STORE, where its letters could lie"
        hint = "put a table that it writes into a STORE: they are written in one transaction"
        findings.error("A080", message, span, hint)
        return False
    return True


def _check_revisions(target: External, findings: Findings) -> None:
    given = {option.key.lower(): option for option in target.options}
    revisions, retract = given.get("revisions"), given.get("retract")
    if revisions is not None:
        _check_value(revisions, _REVISIONS, findings)
        if target.format == "console" and revisions.value == "latest":
            message = "the console cannot take back what it has shown"
            hint = "write revisions = 'log', or to a folder or a topic"
            findings.error("A080", message, revisions.span, hint)
    if retract is None:
        return
    _check_value(retract, _RETRACTIONS, findings)
    if target.format != "kafka":
        message = f"TO {target.format} has no messages to retract with"
        hint = "leave it out: a row with the next revision takes a match back"
        findings.error("A080", message, retract.span, hint)
    elif retract.value == "tombstone" and revisions is not None and revisions.value == "log":
        message = "a tombstone erases the log of its match"
        findings.error("A080", message, retract.span, "keep one of revisions and retract")


def _check_value(option: Option, known: tuple[str, ...], findings: Findings) -> None:
    if option.value not in known:
        message = f"option {option.key} has no such value"
        otherwise = f"it is {' or '.join(repr(each) for each in known)}"
        hint = suggest(str(option.value), known, otherwise)
        findings.error("A080", message, option.span, hint)


def collide(one: Taken, other: Taken) -> bool:
    """Whether two targets spoil each other: a folder belongs to one query, a topic takes many."""
    if one[0].lower() != other[0].lower() and one[1].format in _OPEN:
        return False
    return overlap(one[1], other[1])


def overlap(one: External, other: External) -> bool:
    """Whether two places are one, or one lies inside of the other."""
    kinds = {one.format, other.format}
    if kinds & _OPEN:
        return len(kinds) == 1 and _topic(one) == _topic(other)
    first, second = (f"{_folder(each.path or '')}/" for each in (one, other))
    return first.startswith(second) or second.startswith(first)


def _topic(place: External) -> tuple[str, str]:
    """Return the topic and where it is; the console is no topic anywhere."""
    given = {option.key.lower(): str(option.value) for option in place.options}
    servers = given.get("servers", given.get("kafka.bootstrap.servers", ""))
    return place.path or given.get("topic", ""), servers


def _folder(path: str) -> str:
    """Return a path in one spelling: Spark takes one without a scheme for a local one."""
    found = _URI.fullmatch(path)
    if found is None or found["scheme"].lower() == "file":
        return os.path.abspath(path if found is None else found["path"])
    return f"{found['scheme']}:{found['host'] or ''}{posixpath.normpath(found['path'] or '/')}"
