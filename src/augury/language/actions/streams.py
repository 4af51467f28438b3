"""Actions of CREATE STREAM, CREATE TABLE and CREATE STORE."""

from __future__ import annotations

from typing import Any

from augury.errors import Span
from augury.language.actions.clauses import Clause, clause, gather, name_clause, value_clause
from augury.language.actions.words import Parts, whole
from augury.language.findings import Findings
from augury.language.machine import Action
from augury.language.tree import (
    ColumnDefinition,
    CreateStore,
    CreateStream,
    CreateTable,
    External,
    MissRate,
    Option,
    Rate,
)


def _create_stream(parts: Parts, span: Span, findings: Findings) -> CreateStream:
    name, *others = parts
    columns = tuple(part for part in others if isinstance(part, ColumnDefinition))
    given = gather((part for part in others if isinstance(part, Clause)), findings)
    return CreateStream(name.text, columns, **given.fields, span=span)


def _create_table(parts: Parts, span: Span, findings: Findings) -> CreateTable:
    name, *others = parts
    columns = tuple(part for part in others if isinstance(part, ColumnDefinition))
    given = gather((part for part in others if isinstance(part, Clause)), findings)
    return CreateTable(name.text, columns, **given.fields, span=span)


def _create_store(parts: Parts, span: Span, findings: Findings) -> CreateStore:
    return CreateStore(parts[0].text, parts[1].text, span=span)


def _column(parts: Parts, span: Span, findings: Findings) -> ColumnDefinition:
    return ColumnDefinition(parts[0].text, parts[1], span=span)


def _miss_rate(parts: Parts, span: Span, findings: Findings) -> Clause:
    return Clause("MISS RATE", {"miss_rate": MissRate(float(parts[0]), span=span)}, span)


def _miss_rate_by(parts: Parts, span: Span, findings: Findings) -> Clause:
    by, *rates = parts
    rate = MissRate(None, by.text, tuple(rates), span=span)
    return Clause("MISS RATE", {"miss_rate": rate}, span)


def _rate(parts: Parts, span: Span, findings: Findings) -> Rate:
    return Rate(parts[0].text, float(parts[1]), span=span)


def _lateness_ticks(parts: Parts, span: Span, findings: Findings) -> Clause:
    return Clause("LATENESS", {"lateness": whole(parts[0], findings)}, span)


def _source(parts: Parts, span: Span, findings: Findings) -> External:
    form, *path = parts
    return External(form.text.lower(), path[0].text if path else None, span=span)


def _source_with_options(parts: Parts, span: Span, findings: Findings) -> External:
    form, *path, given = parts
    return External(form.text.lower(), path[0].text if path else None, given, span=span)


def _options(parts: Parts, span: Span, findings: Findings) -> tuple[Option, ...]:
    return tuple(parts)


def _option(parts: Parts, span: Span, findings: Findings) -> Option:
    return Option(parts[0], parts[1], span=span)


def _option_key(parts: Parts, span: Span, findings: Findings) -> str:
    return ".".join(token.text for token in parts)


def _text_value(parts: Parts, span: Span, findings: Findings) -> str:
    value: Any = parts[0].text
    return str(value)


def _negative_value(parts: Parts, span: Span, findings: Findings) -> int | float:
    value: int | float = parts[0]
    return -value


ACTIONS: dict[str, Action] = {
    "create_stream": _create_stream,
    "create_table": _create_table,
    "create_store": _create_store,
    "store_clause": name_clause("STORE", "store"),
    "uncertain_clause": clause("UNCERTAIN", "uncertain", value=True),
    "column": _column,
    "id_clause": name_clause("ID", "id"),
    "key_clause": value_clause("KEY", "key"),
    "time_clause": name_clause("TIME", "time", "order_by"),
    "type_clause": name_clause("TYPE", "type"),
    "probability_clause": name_clause("PROBABILITY", "probability"),
    "alternatives_clause": value_clause("ALTERNATIVES", "alternatives"),
    "markov_clause": name_clause("MARKOV", "markov"),
    "miss_rate_clause": _miss_rate,
    "miss_rate_by_clause": _miss_rate_by,
    "value_rate": _rate,
    "component_rate": _rate,
    "lateness_clause": value_clause("LATENESS", "lateness"),
    "lateness_ticks_clause": _lateness_ticks,
    "idle_clause": value_clause("IDLE AFTER", "idle"),
    "source_clause": value_clause("FROM", "source"),
    "source": _source,
    "source_with_options": _source_with_options,
    "options": _options,
    "option": _option,
    "option_key": _option_key,
    "text_value": _text_value,
    "negative_value": _negative_value,
    "true_value": lambda parts, span, findings: True,
    "false_value": lambda parts, span, findings: False,
}
