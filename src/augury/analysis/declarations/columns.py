"""Columns of streams and tables: type names, duplicates, and finding one by name."""

from __future__ import annotations

from augury.analysis.declarations.catalog import Column, DataType
from augury.analysis.findings import Findings, listing, suggest
from augury.language.tree import ColumnDefinition

TYPE_NAMES: dict[str, DataType] = {
    "BOOLEAN": DataType.BOOLEAN,
    "BOOL": DataType.BOOLEAN,
    "INT": DataType.LONG,
    "INTEGER": DataType.LONG,
    "BIGINT": DataType.LONG,
    "LONG": DataType.LONG,
    "FLOAT": DataType.DOUBLE,
    "REAL": DataType.DOUBLE,
    "DOUBLE": DataType.DOUBLE,
    "STRING": DataType.STRING,
    "VARCHAR": DataType.STRING,
    "TEXT": DataType.STRING,
    "TIMESTAMP": DataType.TIMESTAMP,
    "DATE": DataType.DATE,
}

_TYPES = "the types are BOOLEAN, LONG, DOUBLE, STRING, TIMESTAMP and DATE"


def read_columns(
    owner: str, written: tuple[ColumnDefinition, ...], findings: Findings
) -> tuple[Column, ...]:
    """Return the columns that could be read; the others are reported."""
    columns: dict[str, Column] = {}
    for definition in written:
        type_ = TYPE_NAMES.get(definition.type.upper())
        if type_ is None:
            _report_type(definition, findings)
        elif definition.name.lower() in columns:
            _report_twice(owner, definition, findings)
        # A column of unknown type still exists: naming it elsewhere is no second mistake.
        columns.setdefault(definition.name.lower(), Column(definition.name, type_ or DataType.NULL))
    return tuple(columns.values())


def _report_type(definition: ColumnDefinition, findings: Findings) -> None:
    findings.error(
        "A014",
        f"column {definition.name} has type {definition.type}, which is unknown",
        definition.span,
        suggest(definition.type, TYPE_NAMES, _TYPES),
    )


def _report_twice(owner: str, definition: ColumnDefinition, findings: Findings) -> None:
    findings.error(
        "A015",
        f"{owner} has two columns named {definition.name}",
        definition.span,
        "rename or remove one; case does not count",
    )


def names_of(columns: tuple[Column, ...]) -> list[str]:
    """Return the names, in order."""
    return [c.name for c in columns]


def column_hint(name: str, columns: tuple[Column, ...]) -> str:
    """Return the nearest column, or the list of them."""
    return suggest(name, names_of(columns), f"the columns are {listing(names_of(columns))}")
