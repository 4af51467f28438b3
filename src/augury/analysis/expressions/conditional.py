"""Tables of conditional probabilities: what MARKOV and CORRELATED BY name.

A script may leave them to be bound from Python, which is a warning; where they are declared, their
kind, columns and types must fit. MARKOV's stream may be declared after the stream that names it.
"""

from __future__ import annotations

from collections.abc import Iterator

from augury.analysis import places
from augury.analysis.declarations.catalog import Column, DataType, StreamSchema, TableSchema
from augury.analysis.declarations.ledger import Ledger
from augury.analysis.draft import Draft
from augury.analysis.expressions.comparable import comparable
from augury.analysis.findings import Findings, suggest
from augury.errors import Span
from augury.language.tree import CreateCorrelation, CreateStream

Fault = tuple[str, str]

# MARKOV ---------------------------------------------------------------------------------------


def markov_names_transitions(statement: CreateStream, ledger: Ledger, findings: Findings) -> None:
    """MARKOV names a stream of P(value at the next step | value at this one)."""
    stream = ledger.streams.get(statement.name.lower())
    name = statement.markov
    if stream is None or name is None or ledger.has_failed(name):
        return
    start = statement.columns[-1].span.end if statement.columns else statement.span.start
    span = places.word(findings.source, Span(start, statement.span.end), name, "MARKOV")
    if ledger.holder(name) is None:
        _warn_undeclared("MARKOV", name, (s.name for s in ledger.streams.values()), span, findings)
        return
    for message, hint in _transition_faults(stream, name, ledger):
        findings.error("A018", f"MARKOV of stream {stream.name} names {message}", span, hint)


def _warn_undeclared(
    clause: str, name: str, known: Iterator[str], span: Span, findings: Findings
) -> None:
    message = f"{clause} names {name}, which is not declared, so it must be bound from Python"
    findings.warning("W012", message, span, suggest(name, known))


def _transition_faults(stream: StreamSchema, name: str, ledger: Ledger) -> Iterator[Fault]:
    moves = ledger.streams.get(name.lower())
    if moves is None:
        yield (
            f"{ledger.holder(name)} {name}, but transitions are a stream: each has a time",
            "declare it with CREATE STREAM",
        )
        return
    for expected in _transition_columns(stream):
        yield from _column_fault(moves, expected)
    if moves.time_is_ticks != stream.time_is_ticks:
        kind = "LONG" if stream.time_is_ticks else "TIMESTAMP"
        yield f"{name}, whose TIME is of another kind", f"give {name} a TIME that is a {kind}"
    if moves.probability is None:
        yield f"{name}, which has no PROBABILITY", f"declare PROBABILITY on {name}"


def _transition_columns(stream: StreamSchema) -> Iterator[Column]:
    for key in stream.key:
        yield Column(key, _type(stream, key))
    for name in stream.alternatives:
        yield Column(f"{name}_from", _type(stream, name))
        yield Column(f"{name}_to", _type(stream, name))


def _type(stream: StreamSchema, name: str) -> DataType:
    column = stream.column(name)
    return column.type if column else DataType.NULL


def _column_fault(moves: StreamSchema, expected: Column) -> Iterator[Fault]:
    column, hint = moves.column(expected.name), f"declare {expected.name} {expected.type.value}"
    if column is None:
        yield f"{moves.name}, which has no column {expected.name}", hint
    elif not comparable(column.type, expected.type):
        what = f"whose column {column.name} is a {column.type.value}, not a {expected.type.value}"
        yield f"{moves.name}, {what}", hint


# CORRELATED BY --------------------------------------------------------------------------------


def correlation_names_pairs(draft: Draft) -> None:
    """CORRELATED BY names a table: earlier id, later id, probability."""
    name, ledger = draft.statement.correlated_by, draft.ledger
    if name is None or ledger.has_failed(name):
        return
    span = draft.word("CORRELATED BY", name)
    table = ledger.tables.get(name.lower())
    if table is not None:
        for message, hint in _pair_faults(draft, table):
            draft.findings.error("A065", f"CORRELATED BY names {message}", span, hint)
    elif (holder := ledger.holder(name) or ledger.later.get(name.lower())) is None:
        known = (t.name for t in ledger.tables.values())
        _warn_undeclared("CORRELATED BY", name, known, span, draft.findings)
    elif holder == "correlation":
        for message, hint in _history_faults(draft, ledger.correlations.get(name.lower())):
            draft.findings.error("A065", f"CORRELATED BY names {name}, {message}", span, hint)
    elif holder != "table":
        message = f"CORRELATED BY names {holder} {name}, but the pairs are a table"
        draft.findings.error("A065", message, span, "declare it with CREATE TABLE")


def history_is_declared(statement: CreateCorrelation, ledger: Ledger, findings: Findings) -> None:
    """LEARN FROM of a correlation names a stream."""
    name = statement.learn_from
    holder = ledger.holder(name) or ledger.later.get(name.lower())
    if holder == "stream" or ledger.has_failed(name):
        return
    span = places.word(findings.source, statement.span, name)
    what = f"is a {holder}" if holder else "is not declared"
    message = f"LEARN FROM names {name}, which {what}; a correlation is learned from events"
    known = [s.name for s in ledger.streams.values()]
    findings.error("A065", message, span, suggest(name, known, "declare it with CREATE STREAM"))


def _history_faults(draft: Draft, correlation: CreateCorrelation | None) -> Iterator[Fault]:
    """Yield why a correlation cannot be learned for a query, as far as it is declared."""
    if correlation is None:
        return
    if len(draft.streams) > 1:
        yield "which is learned, but the query reads several streams", "write ON one stream"
        return
    history = draft.ledger.streams.get(correlation.learn_from.lower())
    if history is None:
        return
    learned_from = f"which is learned from {history.name}"
    if history.probability is None:
        yield (
            f"{learned_from}, but that does not say what turned out to have happened",
            f"declare PROBABILITY on {history.name}: 1 for what happened, 0 for what did not",
        )
    for column in draft.streams[0].columns:
        own = history.column(column.name)
        if column.name != draft.streams[0].probability and (own is None or own.type != column.type):
            yield (
                f"{learned_from}, but that has no column {column.name} {column.type.value}",
                f"declare the columns of {draft.streams[0].name} on {history.name}",
            )


def _pair_faults(draft: Draft, table: TableSchema) -> Iterator[Fault]:
    # The runner refuses another number of columns, for tables that are not declared too.
    if len(table.columns) != 3:
        return
    *ids, chance = table.columns
    if chance.type is not DataType.DOUBLE:
        yield (
            f"table {table.name}, whose third column {chance.name} is a {chance.type.value}",
            f"declare {chance.name} DOUBLE: it is the probability",
        )
    for column in ids:
        yield from _id_fault(draft, table, column)


def _id_fault(draft: Draft, table: TableSchema, column: Column) -> Iterator[Fault]:
    kinds = {s.name: _type(s, s.id) if s.id else DataType.NULL for s in draft.streams}
    if kinds and not any(comparable(column.type, kind) for kind in kinds.values()):
        stream, kind = next(iter(kinds.items()))
        what = f"whose column {column.name} is a {column.type.value}"
        yield (
            f"table {table.name}, {what}, but the ID of {stream} is a {kind.value}",
            f"declare {column.name} {kind.value}",
        )
