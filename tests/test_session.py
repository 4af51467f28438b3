"""The session: scripts are taken as a whole or not at all, and explained."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from augury import AuguryError, QueryError, Session

STREAM = (
    "CREATE STREAM reads (tag STRING, reader STRING, at TIMESTAMP) KEY tag TIME at TYPE reader;"
)
QUERY = "CREATE QUERY theft ON reads PATTERN SEQ(SHELF x, EXIT z) WHERE [tag] WITHIN 1 HOUR;"


@pytest.fixture
def session() -> Session:
    ag = Session(engine="local")
    ag.sql(STREAM)
    return ag


def test_statements_add_up_over_scripts(session: Session) -> None:
    session.sql(QUERY)
    assert session.streams == ("reads",)
    assert session.queries == ("theft",)


def test_every_error_of_a_script_is_raised_at_once(session: Session) -> None:
    with pytest.raises(QueryError) as caught:
        session.sql(QUERY.replace("reads", "raeds") + "CREATE TABEL t (a LONG);", name="a.sql")
    assert [(d.line, d.source.name) for d in caught.value.diagnostics] == [(1, "a.sql")] * 2


def test_a_script_with_an_error_leaves_the_catalog_as_it_was(session: Session) -> None:
    with pytest.raises(QueryError):
        session.sql(QUERY + "CREATE QUERY theft2 ON nothing PATTERN SEQ(A a, B b);")
    assert session.queries == ()
    session.sql(QUERY)
    assert session.queries == ("theft",)


def test_a_name_cannot_be_declared_twice(session: Session) -> None:
    with pytest.raises(QueryError, match="already taken"):
        session.sql(STREAM)


def test_the_output_of_a_query_is_no_declared_stream(session: Session) -> None:
    session.sql(QUERY)
    session.sql("CREATE QUERY again ON theft PATTERN SEQ(theft a, theft b) WITHIN 1 DAY;")
    assert session.streams == ("reads",)
    assert session.queries == ("theft", "again")


def test_warnings_are_kept(session: Session) -> None:
    session.sql(QUERY.replace("WITHIN 1 HOUR", ""), name="a.sql")
    assert [(d.severity, d.source.name) for d in session.warnings] == [("warning", "a.sql")]


def test_explain_statements_give_their_explanations(session: Session) -> None:
    text, document = session.sql(QUERY + "EXPLAIN theft; EXPLAIN theft FORMAT json;")
    assert text == session.explain("theft")
    assert json.loads(document) == json.loads(session.explain("theft", format="json"))


def test_explain_finds_names_without_regard_to_case(session: Session) -> None:
    session.sql(QUERY)
    assert session.explain("THEFT") == session.explain("theft")


def test_an_unknown_query_suggests_a_near_one(session: Session) -> None:
    session.sql(QUERY)
    with pytest.raises(QueryError, match=r"did you mean theft\?"):
        session.explain("thfet")


def test_an_unknown_format_names_the_known_ones(session: Session) -> None:
    session.sql(QUERY)
    with pytest.raises(AuguryError, match="text, json, svg, mermaid"):
        session.explain("theft", "png")  # type: ignore[arg-type]


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(AuguryError, match="there is no engine 'flink'"):
        Session(engine="flink")  # type: ignore[arg-type]


def test_a_file_is_read_with_its_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "store.sql"
    file.write_bytes(b"\xef\xbb\xbf" + (STREAM + QUERY).encode())
    ag = Session(engine="local")
    ag.run_file(file)
    assert ag.queries == ("theft",)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "stroe.sql does not exist; did you mean .*store.sql"),
        (b"\xff\xfeC\x00", "stroe.sql is UTF-16; save it as UTF-8"),
        (b"CREATE \xe9", "stroe.sql is not UTF-8: byte 0xe9 at offset 7; save it as UTF-8"),
        (b"\x00", "stroe.sql is a binary file"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error_that_says_what_to_do(
    tmp_path: Path, content: bytes | None, said: str
) -> None:
    (tmp_path / "store.sql").write_text(STREAM, encoding="utf-8")
    if content is not None:
        (tmp_path / "stroe.sql").write_bytes(content)
    with pytest.raises(AuguryError, match=said):
        Session(engine="local").run_file(tmp_path / "stroe.sql")


def test_a_folder_is_no_script(tmp_path: Path) -> None:
    with pytest.raises(AuguryError, match="is a directory; name a script"):
        Session(engine="local").run_file(tmp_path)


def test_a_pattern_that_is_too_large_is_a_query_error_with_its_place(session: Session) -> None:
    parts = ", ".join(f"T{n} c{n}" for n in range(30))
    session.sql(f"\nCREATE QUERY huge ON reads PATTERN AND({parts}) WITHIN 1 HOUR;", name="a.sql")
    with pytest.raises(QueryError) as caught:
        session.explain("huge")
    (found,) = caught.value.diagnostics
    assert (found.source.name, found.line) == ("a.sql", 2)


def test_explain_keeps_what_was_counted_and_a_declaration_does_not(session: Session) -> None:
    session.sql(QUERY)
    session._bound.sketches = {"theft": {}}
    session.sql("EXPLAIN theft;")
    assert session._bound.sketches == {"theft": {}}
    session.sql("CREATE TABLE doors (reader STRING);")
    assert session._bound.sketches == {}


READS = [
    {"tag": "x", "reader": kind, "at": datetime(2026, 1, 1, hour, 10 * k, tzinfo=UTC)}
    for hour in range(4)
    for k, kind in enumerate(["SHELF", "SHELF", "EXIT"])
]


@pytest.fixture
def bound(session: Session) -> Session:
    session.sql(QUERY)
    session.sql("CREATE QUERY many ON reads PATTERN SEQ(SHELF x) RETURN COUNT;")
    session.bind("reads", READS)
    return session


def test_columns_are_those_that_are_asked_for(bound: Session) -> None:
    columns = ["end_ts", "TAG", "match_id", "tag"]
    first = bound.table("theft", columns)
    everything = bound.table("theft")
    assert first.column_names == ["end_ts", "tag", "match_id"]
    assert first.num_rows == 8
    for found in (first, bound.table("theft", columns)):
        assert found.equals(everything.select(["end_ts", "tag", "match_id"]))
    assert bound.table("theft", (name for name in ["tag"])).column_names == ["tag"]
    assert bound.table("theft", np.array(["tag"])).column_names == ["tag"]
    assert bound.table("many", ["count"]).to_pylist() == [{"count": 8}]


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (["tag", "confidnece"], "the answer of theft has no column 'confidnece'; it has query, "),
        ("tag", r"columns is a list of names; for one, write \['tag'\]"),
        ([], "no columns of theft are asked for"),
        (5, "columns is a list of names"),
    ],
)
def test_columns_that_are_not_there_are_told(bound: Session, columns: Any, told: str) -> None:
    for _ in range(2):
        with pytest.raises(AuguryError, match=told):
            bound.table("theft", columns)
        bound.table("theft")


def test_columns_of_a_query_that_others_read(bound: Session) -> None:
    bound.sql("CREATE QUERY again ON theft PATTERN SEQ(theft a, theft b) WITHIN 1 DAY;")
    assert bound.table("theft", ["tag"]).num_rows == 8
    assert bound.table("again", ["confidence"]).num_rows == bound.table("again").num_rows > 0


KINDS = """
CREATE TABLE done (who STRING) KEY who;
CREATE STREAM s (id LONG, who STRING, kind STRING, t LONG) ID id KEY who TIME t TYPE kind;
CREATE QUERY ab ON s PATTERN SEQ(A a, B b) WHERE [who] WITHIN 10;
CREATE FORECAST f ON ab WITHIN 5 EVENTS USING MARKOV 1 LEARN FROM s;
CREATE RULE r ON OUTPUT ab DO INSERT INTO done VALUES (new.who);
"""


@pytest.mark.parametrize(
    ("method", "name", "told"),
    [
        ("table", "s", "s is a stream, and no query"),
        ("explain", "done", "done is a table, and no query"),
        ("explain", "r", "r is a rule, and no query"),
        ("gaps", "f", "f is a forecast, and no query"),
        ("revisions", "r", "r is a rule, and no query"),
        ("changes", "s", "s is a stream, and no table"),
        ("late", "ab", "ab is a query, and no stream"),
        ("rejected", "done", "done is a table, and no stream"),
        ("table", "nothing", "query nothing is not declared"),
        ("changes", "nothing", "table nothing is not declared"),
        ("late", "nothing", "stream nothing is not declared"),
    ],
)
def test_what_a_name_stands_for_is_said_where_something_else_is_needed(
    method: str, name: str, told: str
) -> None:
    ag = Session(engine="local")
    ag.sql(KINDS)
    ag.bind("s", [{"id": 1, "who": "x", "kind": "A", "t": 1}])
    with pytest.raises(QueryError, match=told):
        getattr(ag, method)(name)


def test_rows_are_bound_to_streams_and_tables(session: Session) -> None:
    ag = Session(engine="local")
    ag.sql(KINDS)
    with pytest.raises(QueryError, match="ab is a query, and no stream or table"):
        ag.bind("ab", [])
