"""ON: which streams and earlier queries a pattern reads."""

from __future__ import annotations

from collections.abc import Iterator

from augury.analysis.declarations.catalog import StreamSchema
from augury.analysis.declarations.misnamed import misnamed
from augury.analysis.draft import Draft
from augury.analysis.findings import listing
from augury.language import tree


def read_streams(draft: Draft) -> None:
    """Fill the draft's streams; the only stream is meant where ON is missing."""
    names = draft.statement.streams or _meant(draft)
    found: dict[str, StreamSchema] = {}
    for name in names:
        stream = draft.ledger.readable(name)
        if stream is not None:
            found.setdefault(stream.name, stream)
        else:
            draft.complete = False
            _report_unknown(draft, name)
    draft.streams = tuple(found.values())
    _check_time_kinds(draft)


def _meant(draft: Draft) -> tuple[str, ...]:
    """Return the only stream, or the streams that all words of the pattern name."""
    streams = draft.ledger.streams
    if len(streams) == 1:
        return (next(iter(streams.values())).name,)
    words = list(dict.fromkeys(_words(draft.statement.pattern)))
    if words and all(draft.ledger.readable(w) for w in words):
        return tuple(words)
    draft.complete = False
    if not draft.ledger.failed:
        _report_missing(draft)
    return ()


def _words(pattern: tree.Pattern) -> Iterator[str]:
    match pattern:
        case tree.Component(word=word):
            yield word
        case tree.Group(parts=parts):
            for part in parts:
                yield from _words(part)
        case tree.Not(part=part) | tree.Edge(component=part):
            yield from _words(part)


def _report_missing(draft: Draft) -> None:
    known = [s.name for s in draft.ledger.streams.values()]
    message = f"query {draft.name} does not say which stream it is on"
    if known:
        message += f", and there are {len(known)}"
        hint = f"add ON with {listing(known[:5], 'or')}"
    else:
        message += ", and none is declared"
        hint = "declare one with CREATE STREAM"
    draft.findings.error("A025", message, draft.clause("PATTERN"), hint)


def _report_unknown(draft: Draft, name: str) -> None:
    ledger = draft.ledger
    if ledger.has_failed(name):
        return
    span = draft.word("ON", name)
    if name.lower() in ledger.queries:
        message = f"query {name} returns no matches, so it cannot be a stream"
        draft.findings.error("A027", message, span, "read a query that returns matches")
    elif name.lower() in ledger.tables:
        message = f"{name} is a table; ON needs a stream or a query"
        draft.findings.error("A011", message, span, "test it with IN, or declare it as a stream")
    elif name.lower() in ledger.later:
        message = f"{name} is declared later in the script"
        draft.findings.error("A011", message, span, "move its declaration before this query")
    else:
        known = [s.name for s in (*ledger.streams.values(), *ledger.outputs.values())]
        message, hint = misnamed(name, "stream", ledger, known, "declare it with CREATE STREAM")
        draft.findings.error("A011", message, span, hint)


def _check_time_kinds(draft: Draft) -> None:
    ticks = [s.name for s in draft.streams if s.time_is_ticks]
    stamps = [s.name for s in draft.streams if not s.time_is_ticks]
    if ticks and stamps:
        draft.complete = False
        draft.findings.error(
            "A026",
            f"{listing(stamps)} has TIMESTAMP time and {listing(ticks)} has LONG ticks, "
            "so their events have no common order",
            draft.clause("ON"),
            "give all streams of a query one kind of time",
        )
