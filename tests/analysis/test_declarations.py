"""Streams and tables: what a declaration becomes."""

from __future__ import annotations

import pytest

from analysis.checking import codes
from augury.analysis.declarations.catalog import DataType, StreamSchema
from augury.analysis.script import check_text


def stream(text: str) -> StreamSchema:
    checked = check_text(text)
    assert checked.diagnostics == ()
    return next(iter(checked.catalog.streams.values()))


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("BOOLEAN", DataType.BOOLEAN),
        ("int", DataType.LONG),
        ("INTEGER", DataType.LONG),
        ("BIGINT", DataType.LONG),
        ("LONG", DataType.LONG),
        ("FLOAT", DataType.DOUBLE),
        ("REAL", DataType.DOUBLE),
        ("double", DataType.DOUBLE),
        ("STRING", DataType.STRING),
        ("VARCHAR", DataType.STRING),
        ("TEXT", DataType.STRING),
        ("TIMESTAMP", DataType.TIMESTAMP),
        ("DATE", DataType.DATE),
    ],
)
def test_type_names_mean_the_types_of_sql(written: str, meant: DataType) -> None:
    column = stream(f"CREATE STREAM s (a {written}, t LONG) TIME t;").column("A")
    assert column is not None
    assert column.type is meant


def test_clauses_take_the_declared_spelling_of_columns() -> None:
    s = stream(
        "CREATE STREAM s (Id LONG, Tag STRING, At TIMESTAMP, Seq LONG, Kind STRING, P DOUBLE)"
        " ID id KEY tag TIME at ORDER BY seq TYPE kind PROBABILITY p;"
    )
    assert (s.id, s.key, s.time, s.order_by, s.type, s.probability) == (
        "Id",
        ("Tag",),
        "At",
        "Seq",
        "Kind",
        "P",
    )


def test_lateness_is_in_microseconds_or_ticks() -> None:
    assert (
        stream("CREATE STREAM s (at TIMESTAMP) TIME at LATENESS 10 SECONDS;").lateness == 10_000_000
    )
    assert stream("CREATE STREAM s (t LONG) TIME t LATENESS 10;").lateness == 10


def test_an_uncertain_key_needs_an_id() -> None:
    columns = "CREATE STREAM s (id LONG, owner STRING, t LONG, p DOUBLE) KEY owner TIME t"
    uncertain = " ALTERNATIVES owner PROBABILITY p"
    assert codes(f"{columns}{uncertain};", streams="") == ["A018"]
    assert stream(f"{columns} ID id{uncertain};").alternatives == ("owner",)


def test_a_markov_table_may_come_from_python() -> None:
    text = (
        "CREATE STREAM s (k STRING, v STRING, t LONG, p DOUBLE) KEY k TIME t "
        "ALTERNATIVES v PROBABILITY p MARKOV moves;"
    )
    checked = check_text(text)
    assert [(d.code, d.hint) for d in checked.diagnostics] == [("W012", "")]
    assert checked.catalog.streams["s"].markov == "moves"


@pytest.mark.parametrize("source", ["parquet 'a/'", "csv 'a.csv'", "json 'a/'", "kafka 'topic'"])
def test_known_sources_are_accepted(source: str) -> None:
    assert stream(f"CREATE STREAM s (t LONG) TIME t FROM {source};").source is not None


def test_the_output_of_a_deterministic_query_is_certain() -> None:
    text = "CREATE STREAM s (t LONG) TIME t; CREATE QUERY q ON s PATTERN SEQ(s a, s b) WITHIN 10;"
    output = check_text(text).catalog.readable("q")
    assert output is not None
    assert not output.is_uncertain
