"""FROM on Spark: folders of Parquet, CSV and JSON, what is wrong with a row, what with a folder."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from augury.errors import DataError
from sources.declaring import stream, table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from augury.analysis.declarations.catalog import StreamSchema

pytestmark = pytest.mark.spark

ALL = "tag STRING, n LONG, p DOUBLE, ok BOOLEAN, at TIMESTAMP, day DATE"
GOOD = {
    "tag": "a",
    "n": 7,
    "p": 0.5,
    "ok": True,
    "at": "2026-01-31T12:00:00Z",
    "day": "2026-01-31",
}
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def rows(spark: SparkSession, schema: StreamSchema) -> list[dict[str, Any]]:
    from augury.sources.spark_sources import read

    found = read(spark, schema, False).toArrow().to_pylist()
    return [dict(row) for row in found]


def faults(spark: SparkSession, schema: StreamSchema) -> list[str | None]:
    return [row["_augury_fault"] for row in rows(spark, schema)]


def json_folder(folder: Path, *lines: Any) -> str:
    folder.mkdir(exist_ok=True)
    texts = (each if isinstance(each, str) else json.dumps(each) for each in lines)
    (folder / "part.json").write_text("\n".join(texts) + "\n")
    return f"json '{folder}'"


def test_json_objects_have_the_declared_types(spark: SparkSession, tmp_path: Path) -> None:
    schema = stream(ALL, origin=json_folder(tmp_path / "in", GOOD))
    (row,) = rows(spark, schema)
    assert row.pop("_augury_raw") == json.dumps(GOOD)
    assert row == {
        **GOOD,
        "at": NOON,
        "day": date(2026, 1, 31),
        "_augury_fault": None,
    }


def test_what_is_wrong_with_a_json_row_is_said(spark: SparkSession, tmp_path: Path) -> None:
    lines = (
        GOOD,
        '{"tag": "a", "n": 7',
        "[1, 2]",
        "7",
        "null",
        GOOD | {"n": "seven"},
        GOOD | {"n": 1.5},
        GOOD | {"p": "0.5"},
        GOOD | {"ok": "yes"},
        GOOD | {"at": 1769860800},
        GOOD | {"at": "noon"},
        GOOD | {"at": "12:00:00"},
        GOOD | {"day": "2026-02-30"},
        {key: value for key, value in GOOD.items() if key != "tag"},
        GOOD | {"tag": None},
        GOOD | {"price": 3},
    )
    clauses = "KEY tag PROBABILITY p"
    schema = stream(ALL, origin=json_folder(tmp_path / "in", *lines), clauses=clauses)
    no_object = "the text is not a JSON object"
    expected = "; expected ISO text such as 2026-01-31T12:00:00Z"
    assert faults(spark, schema) == [
        None,
        no_object,
        no_object,
        no_object,
        no_object,
        "n is declared LONG, but is seven",
        "n is declared LONG, but is 1.5",
        "p is declared DOUBLE, but is 0.5",
        "ok is declared BOOLEAN, but is yes",
        f"at is declared TIMESTAMP, but is 1769860800{expected}",
        f"at is declared TIMESTAMP, but is noon{expected}",
        f"at is declared TIMESTAMP, but is 12:00:00{expected}",
        "day is declared DATE, but is 2026-02-30; expected ISO text such as 2026-01-31",
        "column tag is missing",
        None,
        None,
    ]


def test_what_follows_an_object_is_not_lost_in_silence(spark: SparkSession, tmp_path: Path) -> None:
    one = '{"tag": "a } { b", "at": "2026-01-31", "n": 1}'
    lines = (
        one,
        f"{one}  ",
        f"{one} junk",
        f"{one}{one}",
        f"{one}, {one}",
        one.replace("1}", "1,}"),
    )
    schema = stream(ALL, origin=json_folder(tmp_path / "in", *lines))
    more = "the text goes on after its JSON object"
    bad = "the text is not a JSON object"
    assert faults(spark, schema) == [None, None, more, more, more, bad]


def test_a_bad_row_keeps_its_text(spark: SparkSession, tmp_path: Path) -> None:
    schema = stream(ALL, origin=json_folder(tmp_path / "in", "{oops"))
    assert [row["_augury_raw"] for row in rows(spark, schema)] == ["{oops"]


def test_bytes_that_are_no_text_are_a_fault(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "part.json").write_bytes(b'{"tag": "\xff\xfe", "at": "2026-01-31"}\n')
    schema = stream(ALL, origin=f"json '{tmp_path}'")
    (row,) = rows(spark, schema)
    assert row["_augury_fault"] == "the text is not UTF-8"
    assert "\N{REPLACEMENT CHARACTER}" in row["_augury_raw"]


@pytest.mark.parametrize(
    ("text", "hour"),
    [
        ("2026-01-31T12:00:00Z", 12),
        ("2026-01-31 12:00:00", 12),
        ("2026-01-31T12:00", 12),
        ("2026-01-31T12:00:00+02:00", 10),
        ("2026-01-31T12:00:00.000000", 12),
        ("2026-01-31", 0),
    ],
)
def test_times_are_iso_texts_in_utc(
    spark: SparkSession, tmp_path: Path, text: str, hour: int
) -> None:
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        schema = stream("at TIMESTAMP", origin=json_folder(tmp_path / "in", {"at": text}))
        (row,) = rows(spark, schema)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert row["_augury_fault"] is None
    assert row["at"] == datetime(2026, 1, 31, hour, tzinfo=UTC)


def test_csv_columns_are_found_by_their_header(spark: SparkSession, tmp_path: Path) -> None:
    text = "extra,AT,n,tag\n1,2026-01-31 12:00:00,7,a\n2,2026-01-31T12:00:00Z,,\n"
    (tmp_path / "part.csv").write_text(text)
    schema = stream("tag STRING, n LONG, at TIMESTAMP", origin=f"csv '{tmp_path}'")
    found = rows(spark, schema)
    assert [(row["tag"], row["n"], row["at"]) for row in found] == [
        ("a", 7, NOON),
        (None, None, NOON),
    ]
    assert [row["_augury_fault"] for row in found] == [None, None]


def test_what_is_wrong_with_a_csv_row_is_said(spark: SparkSession, tmp_path: Path) -> None:
    text = "tag,n,at\na,seven,2026-01-31\na,7,noon\na,7\na,7,2026-01-31,more\na,7,2026-01-31\n"
    (tmp_path / "part.csv").write_text(text)
    schema = stream("tag STRING, n LONG, at TIMESTAMP", origin=f"csv '{tmp_path}'")
    found = rows(spark, schema)
    length = "the line has too many or too few fields"
    assert [row["_augury_fault"] for row in found] == [
        "n is declared LONG, but is seven",
        "at is declared TIMESTAMP, but is noon; expected ISO text such as 2026-01-31T12:00:00Z",
        length,
        length,
        None,
    ]
    assert [row["_augury_raw"] for row in found] == [
        "a,seven,2026-01-31",
        "a,7,noon",
        "a,7",
        "a,7,2026-01-31,more",
        None,
    ]


def test_csv_options_go_to_the_reader(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "part.csv").write_text("tag;at\na;2026-01-31\n")
    origin = f"csv '{tmp_path}' OPTIONS (sep = ';')"
    (row,) = rows(spark, stream("tag STRING, at TIMESTAMP", origin=origin))
    assert row["tag"] == "a"


def test_parquet_brings_its_own_types(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql("SELECT 'a' AS tag, TIMESTAMP '2026-01-31 12:00:00' AS at").write.parquet(
        str(tmp_path / "in")
    )
    schema = stream("tag STRING, at TIMESTAMP", origin=f"parquet '{tmp_path / 'in'}'")
    assert rows(spark, schema) == [{"tag": "a", "at": NOON}]


@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
@pytest.mark.parametrize("streaming", [False, True])
def test_a_folder_that_does_not_exist_is_named(
    spark: SparkSession, tmp_path: Path, form: str, streaming: bool
) -> None:
    from augury.sources.spark_sources import read

    schema = stream("tag STRING, at TIMESTAMP", origin=f"{form} '{tmp_path}/nowhere'")
    with pytest.raises(DataError, match=r"nowhere', which does not exist; create the folder"):
        read(spark, schema, streaming)


@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
def test_a_file_does_not_arrive(spark: SparkSession, tmp_path: Path, form: str) -> None:
    from augury.sources.spark_sources import read

    (tmp_path / "one").write_text("tag,at\n")
    for path in (tmp_path / "one", f"file://{tmp_path}/one"):
        schema = stream("tag STRING, at TIMESTAMP", origin=f"{form} '{path}'")
        with pytest.raises(DataError, match=f"is a file, .* name the folder '{tmp_path}', or run"):
            read(spark, schema, True)


def test_a_column_that_the_header_lacks_is_named(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "part.csv").write_text("tag,time\na,2026-01-31\n")
    schema = stream("tag STRING, at TIMESTAMP", origin=f"csv '{tmp_path}'")
    with pytest.raises(DataError, match="its header has tag, time: rename one"):
        rows(spark, schema)


def test_a_stream_without_from_is_an_error(spark: SparkSession) -> None:
    from augury.analysis.script import check_text
    from augury.sources.spark_sources import read

    schema = check_text("CREATE STREAM s (at TIMESTAMP) TIME at;").catalog.streams["s"]
    with pytest.raises(DataError, match="stream s has no FROM; add one"):
        read(spark, schema, False)


@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
def test_files_that_arrive_are_rows_of_a_stream(
    spark: SparkSession, tmp_path: Path, form: str
) -> None:
    from augury.sources.spark_sources import read

    folder = tmp_path / "in"
    folder.mkdir()
    origin = f"{form} '{folder}'"
    arriving = read(spark, stream("tag STRING, at TIMESTAMP", origin=origin), True)
    text = "'a' AS tag, TIMESTAMP '2026-01-31 12:00:00' AS at"
    writer = spark.sql(f"SELECT {text}").write.mode("append").format(form)
    writer.option("header", "true").save(str(folder))
    name = f"arriving_{form}"
    query = arriving.select("tag", "at").writeStream.format("memory").queryName(name)
    query.trigger(availableNow=True).start().awaitTermination(120)
    found = spark.table(name).toArrow().to_pylist()
    assert found == [{"tag": "a", "at": NOON}]


def test_tables_are_read_once(spark: SparkSession, tmp_path: Path) -> None:
    from augury.sources.spark_sources import read_table

    (tmp_path / "part.csv").write_text("place,floor\nhall,1\n")
    schema = table("place STRING, floor LONG", f"csv '{tmp_path}'")
    (row,) = read_table(spark, schema).toArrow().to_pylist()
    assert (row["place"], row["floor"]) == ("hall", 1)


def test_kafka_without_servers_is_an_error(spark: SparkSession) -> None:
    from augury.sources.spark_sources import read

    schema = stream("at TIMESTAMP", origin="kafka 'reads'")
    with pytest.raises(DataError, match="stream s uses Kafka but says no servers"):
        read(spark, schema, True)


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo"])
def test_a_time_without_a_zone_is_in_utc_whatever_the_session_says(
    spark: SparkSession, zone: str
) -> None:
    from augury.runners.spark.catalyst_rows import declared_rows

    texts = ("2026-01-01 10:00:00.123456", "2026-03-08 02:30:00", "1960-05-05 00:00:00.5")
    schema = stream("at TIMESTAMP", origin="json 'nowhere'")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        values = ", ".join(f"(TIMESTAMP_NTZ '{text}')" for text in texts)
        rows = declared_rows(spark.sql(f"SELECT * FROM VALUES {values} AS v(at)"), schema)
        found = [row[0] for row in rows.selectExpr("unix_micros(at)").collect()]
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    moments = [datetime.fromisoformat(f"{text}+00:00") for text in texts]
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    assert found == [(moment - epoch) // timedelta(microseconds=1) for moment in moments]
