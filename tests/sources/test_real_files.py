"""Files as people have them: other formats of times, no header, lists, encodings, a readme."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from augury import Session
from augury.errors import DataError, RowsWarning
from sources.declaring import stream, table
from sources.test_spark_sources import GOOD, NOON, rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def csv(folder: Path, text: str | bytes, options: str, columns: str) -> Any:
    folder.mkdir(exist_ok=True)
    (folder / "part.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    return stream(columns, origin=f"csv '{folder}' OPTIONS ({options})")


def values(found: list[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in (*names, "_augury_fault")) for row in found]


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
def test_times_are_read_by_the_format_that_is_given(
    spark: SparkSession, tmp_path: Path, zone: str
) -> None:
    text = "at,day\n31.01.2026 12:00,31/01/2026\n2026-01-31T12:00:00Z,1/1/2026\n"
    options = "timestampFormat = 'dd.MM.yyyy HH:mm', dateFormat = 'dd/MM/yyyy'"
    schema = csv(tmp_path, text, options, "at TIMESTAMP, day DATE")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        found = rows(spark, schema)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    odd = "at is declared TIMESTAMP, but is 2026-01-31T12:00:00Z; expected text such as dd.MM.yyyy"
    assert values(found, "at", "day") == [
        (NOON, date(2026, 1, 31), None),
        (None, None, f"{odd} HH:mm"),
    ]


def test_a_format_may_have_a_zone(spark: SparkSession, tmp_path: Path) -> None:
    options = "timestampFormat = 'dd MMM yyyy HH:mm:ss Z', sep = ';'"
    schema = csv(tmp_path, "at\n31 Jan 2026 13:00:00 +0100\n", options, "at TIMESTAMP")
    assert values(rows(spark, schema), "at") == [(NOON, None)]


def test_json_takes_the_formats_too(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "part.json").write_text('{"at": "31.01.2026 12:00"}\n{"at": 5}\n')
    origin = f"json '{tmp_path}' OPTIONS (timestampFormat = 'dd.MM.yyyy HH:mm')"
    assert values(rows(spark, stream("at TIMESTAMP", origin=origin)), "at") == [
        (NOON, None),
        (
            None,
            "at is declared TIMESTAMP, but is 5; expected text such as dd.MM.yyyy HH:mm",
        ),
    ]


def test_a_format_that_is_none_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    schema = csv(tmp_path, "at\n1\n", "timestampFormat = 'neither'", "at TIMESTAMP")
    with pytest.raises(DataError, match="s has timestampFormat = 'neither', which is no pattern"):
        rows(spark, schema)


def test_without_a_header_columns_are_in_the_declared_order(
    spark: SparkSession, tmp_path: Path
) -> None:
    text = "a,2026-01-31T12:00:00Z,1\nb,2026-01-31T12:00:00Z\n"
    schema = csv(tmp_path, text, "header = 'false'", "tag STRING, at TIMESTAMP, n LONG")
    assert values(rows(spark, schema), "tag", "at", "n") == [
        ("a", NOON, 1, None),
        ("b", NOON, None, "the line has too many or too few fields"),
    ]


def test_a_whole_number_may_be_written_with_a_point(spark: SparkSession, tmp_path: Path) -> None:
    numbers = ["1.0", "-3.00", "1e3", "1.5", "9223372036854775807.0", "9223372036854775808", "x"]
    expected = [1, -3, 1000, None, 2**63 - 1, None, None]
    text = "n,at\n" + "".join(f"{number},2026-01-31\n" for number in numbers)
    schema = csv(tmp_path / "csv", text, "sep = ','", "n LONG, at TIMESTAMP")
    found = rows(spark, schema)
    assert [row["n"] for row in found] == expected
    bad = [f"n is declared LONG, but is {numbers[k]}" for k in (3, 5, 6)]
    assert [row["_augury_fault"] for row in found if row["n"] is None] == bad
    (tmp_path / "json").mkdir()
    # A number with a point is a double there, and none above 2^53 is told from its neighbours.
    numbers[4], expected[4] = "9007199254740992.0", 2**53
    lines = [f'{{"n": {number}, "at": "2026-01-31"}}\n' for number in numbers[:-1]]
    more = ['{"n": "1", "at": "2026-01-31"}\n', '{"n": null, "at": "2026-01-31"}\n']
    (tmp_path / "json" / "part.json").write_text("".join([*lines, *more]))
    found = rows(spark, stream("n LONG, at TIMESTAMP", origin=f"json '{tmp_path / 'json'}'"))
    assert [row["n"] for row in found] == [*expected[:-1], None, None]
    assert [row["_augury_fault"] for row in found if row["n"] is None] == [
        "n is declared LONG, but is 1.5",
        "n is declared LONG, but is 9223372036854775808",
        "n is declared LONG, but is 1",
        None,
    ]


OBJECTS = [GOOD | {"n": k} for k in range(3)]
SOME = "tag STRING, n LONG, at TIMESTAMP"


def test_a_line_may_be_a_list_of_objects(spark: SparkSession, tmp_path: Path) -> None:
    lines = [json.dumps(OBJECTS[:2]), json.dumps(OBJECTS[2]), "[1, 2]", '[{"n": 1}, {oops]', "[]"]
    (tmp_path / "part.json").write_text("\n".join(lines))
    no_object = "the text is not a JSON object"
    found = rows(spark, stream(SOME, origin=f"json '{tmp_path}'"))
    assert values(found, "n") == [(0, None), (1, None), (2, None), *[(None, no_object)] * 3]
    assert found[1]["_augury_raw"] == json.dumps(OBJECTS[1], separators=(",", ":"))


@pytest.mark.parametrize("indent", [None, 2])
def test_a_file_may_be_one_list_or_one_object(
    spark: SparkSession, tmp_path: Path, indent: int | None
) -> None:
    (tmp_path / "list.json").write_text(json.dumps(OBJECTS[:2], indent=indent))
    (tmp_path / "one.json").write_text(json.dumps(OBJECTS[2], indent=indent))
    origin = f"json '{tmp_path}' OPTIONS (multiLine = 'true')"
    found = values(rows(spark, stream(SOME, origin=origin)), "n")
    assert sorted(found) == [(0, None), (1, None), (2, None)]


def test_what_goes_over_several_lines_says_what_to_write(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "part.json").write_text(json.dumps(OBJECTS, indent=2))
    first, *_ = rows(spark, stream(SOME, origin=f"json '{tmp_path}'"))
    assert first["_augury_fault"] == (
        "the text is not a JSON object; for one of several lines write OPTIONS (multiLine = 'true')"
    )


def test_text_that_is_not_utf_8_is_noticed(spark: SparkSession, tmp_path: Path) -> None:
    text = "tag,at\nGröße,2026-01-31\nplain,2026-01-31\n"
    midnight = datetime(2026, 1, 31, tzinfo=UTC)
    latin = csv(tmp_path, text.encode("latin-1"), "sep = ','", "tag STRING, at TIMESTAMP")
    assert values(rows(spark, latin), "at") == [
        (midnight, "the text is not UTF-8"),
        (midnight, None),
    ]
    for encoding in ("ISO-8859-1", "UTF-16"):
        options = f"encoding = '{encoding}'"
        given = csv(tmp_path, text.encode(encoding), options, "tag STRING, at TIMESTAMP")
        assert values(rows(spark, given), "tag") == [("Größe", None), ("plain", None)]
    other = csv(tmp_path, text.encode("UTF-16"), "sep = ','", "tag STRING, at TIMESTAMP")
    with pytest.raises(DataError, match=r"its text is not UTF-8: say what it is, as in OPTIONS"):
        rows(spark, other)


def test_a_mark_in_front_of_utf_8_is_no_part_of_a_name(spark: SparkSession, tmp_path: Path) -> None:
    text = "at\n2026-01-31T12:00:00Z\n".encode("utf-8-sig")
    assert values(rows(spark, csv(tmp_path, text, "sep = ','", "at TIMESTAMP")), "at") == [
        (NOON, None)
    ]


@pytest.mark.parametrize("encoding", ["ISO-8859-1", "UTF-16"])
def test_json_may_have_another_encoding(spark: SparkSession, tmp_path: Path, encoding: str) -> None:
    text = json.dumps(GOOD | {"tag": "Größe"}, ensure_ascii=False)
    (tmp_path / "part.json").write_bytes(text.encode(encoding))
    origin = f"json '{tmp_path}' OPTIONS (encoding = '{encoding}', multiLine = true)"
    assert values(rows(spark, stream(SOME, origin=origin)), "tag") == [("Größe", None)]


@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
def test_a_readme_among_the_files_is_skipped_with_a_word(
    spark: SparkSession, tmp_path: Path, form: str
) -> None:
    row = {"n": 1, "at": NOON}
    if form == "parquet":
        pq.write_table(pa.Table.from_pylist([row]), tmp_path / "part.parquet")
    elif form == "csv":
        (tmp_path / "part.csv").write_text("n,at\n1,2026-01-31T12:00:00Z\n")
    else:
        (tmp_path / "part.json").write_text('{"n": 1, "at": "2026-01-31T12:00:00Z"}\n')
    (tmp_path / "README.txt").write_text("These are the reads\nof last week.\n")
    with pytest.warns(RowsWarning, match=rf"README\.txt in '.*' is skipped, because .* {form} fil"):
        found = rows(spark, stream("n LONG, at TIMESTAMP", origin=f"{form} '{tmp_path}'"))
    assert [(each["n"], each["at"]) for each in found] == [(1, NOON)]


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_a_readme_among_bound_files_is_skipped_with_a_word(
    spark: SparkSession, tmp_path: Path, engine: str
) -> None:
    pq.write_table(pa.table({"n": [1], "t": [2]}), tmp_path / "part.parquet")
    (tmp_path / "README.txt").write_text("These are the reads\n")
    ag = Session(spark) if engine == "spark" else Session(engine="local")
    ag.sql("CREATE STREAM s (n LONG, t LONG) TIME t; CREATE QUERY q ON s PATTERN s a;")
    with pytest.warns(RowsWarning, match=r"README\.txt in '.*' is skipped"):
        ag.bind("s", tmp_path)
    found = ag.table("q")
    assert (found.count() if engine == "spark" else found.num_rows) == 1


def test_a_folder_without_endings_is_read_as_a_whole(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("part-0", "part-1"):
        (tmp_path / name).write_text("at\n2026-01-31T12:00:00Z\n")
    schema = stream("at TIMESTAMP", origin=f"csv '{tmp_path}'")
    assert values(rows(spark, schema), "at") == [(NOON, None)] * 2


def test_a_bad_cell_of_a_table_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "part.csv").write_text("n\n1\nmany\n")
    declared = table("n LONG", f"csv '{tmp_path}'")
    ag = Session(spark)
    ag.sql(f"""
        CREATE STREAM s (n LONG, t LONG) TIME t; CREATE TABLE t (n LONG) FROM csv '{tmp_path}';
        CREATE QUERY q ON s PATTERN s a WHERE a.n IN t;
    """)
    ag.bind("s", [{"n": 1, "t": 1}])
    assert declared.name == "t"
    with pytest.raises(DataError, match="row 2 of table t cannot be read: n is declared LONG, but"):
        ag.table("q").collect()
