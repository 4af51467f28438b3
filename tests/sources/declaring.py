"""Declared streams and tables for tests of sources."""

from __future__ import annotations

from augury.analysis.declarations.catalog import StreamSchema, TableSchema
from augury.analysis.script import check_text


def stream(columns: str, *, origin: str, clauses: str = "") -> StreamSchema:
    """Return stream `s` with the columns and what stands after FROM; its time is `at`."""
    found = check_text(f"CREATE STREAM s ({columns}) TIME at {clauses} FROM {origin};")
    assert found.diagnostics == ()
    schema = found.catalog.stream("s")
    assert schema is not None
    return schema


def table(columns: str, origin: str) -> TableSchema:
    """Return table `t` with the columns and what stands after FROM."""
    found = check_text(f"CREATE TABLE t ({columns}) FROM {origin};")
    assert found.diagnostics == ()
    schema = found.catalog.table("t")
    assert schema is not None
    return schema
