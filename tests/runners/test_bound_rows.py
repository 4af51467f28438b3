"""What users bind: every kind of table, and what is wrong with one said in a sentence."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from augury import DataError, Session
from augury.sources.tables import arrow_table

DECLARED = """
CREATE STREAM s (id LONG, ty STRING, x LONG, at TIMESTAMP) ID id TIME at TYPE ty;
CREATE TABLE moments (x TIMESTAMP);
CREATE TABLE numbers (x LONG);
"""
ROWS = [
    {"id": 1, "ty": "A", "x": 1, "at": datetime(2026, 1, 1, 1)},
    {"id": 2, "ty": "B", "x": 2, "at": datetime(2026, 1, 1, 2)},
    {"id": 3, "ty": "B", "x": 3, "at": datetime(2026, 1, 1, 3)},
]


def answer(query: str, **tables: Any) -> list[list[str]]:
    ag = Session(engine="local")
    ag.sql(f"{DECLARED} CREATE QUERY q ON s {query};")
    ag.bind("s", ROWS)
    for name, rows in tables.items():
        ag.bind(name, rows)
    return [[e["event_id"] for e in row["events"]] for row in ag.table("q").to_pylist()]


def test_membership_compares_moments_of_tables() -> None:
    moments = [{"x": datetime(2026, 1, 1, 2)}]
    assert answer("PATTERN SEQ(A a, B b) WHERE b.at IN moments", moments=moments) == [["1", "2"]]
    assert answer("PATTERN SEQ(A a, B b) WHERE b.at NOT IN moments", moments=moments) == [
        ["1", "3"]
    ]


def test_columns_of_tables_are_found_without_regard_to_case() -> None:
    assert answer("PATTERN SEQ(A a, B b) WHERE b.x IN numbers", numbers={"X": [2]}) == [["1", "2"]]


def test_no_rows_are_an_empty_table() -> None:
    assert answer("PATTERN SEQ(A a, B b) WHERE b.x IN numbers", numbers=[]) == []


def test_a_table_of_another_type_than_declared_is_refused() -> None:
    with pytest.raises(DataError, match="x of table numbers is declared LONG"):
        answer("PATTERN SEQ(A a, B b) WHERE b.x IN numbers", numbers={"x": ["2"]})


@pytest.mark.parametrize("rows", [[(1, 2)], [None], [1], 7])
def test_what_is_no_table_is_refused_in_a_sentence(rows: Any) -> None:
    with pytest.raises(DataError, match="cannot be read as a table"):
        answer("PATTERN SEQ(A a, B b)", numbers=rows)


def test_parquet_files_are_bound_by_their_path(tmp_path: Path) -> None:
    table = arrow_table("s", ROWS).append_column("more", pa.array(["x"] * 3))
    pq.write_table(table.rename_columns(["ID", "ty", "x", "at", "more"]), tmp_path / "a.parquet")
    pq.write_table(arrow_table("numbers", [{"x": 2}]), tmp_path / "a.parquet.numbers")
    ag = Session(engine="local")
    ag.sql(f"{DECLARED} CREATE QUERY q ON s PATTERN SEQ(A a, B b) WHERE b.x IN numbers;")
    ag.bind("numbers", str(tmp_path / "a.parquet.numbers"))
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.parquet").rename(tmp_path / "folder" / "a.parquet")
    for path in (tmp_path / "folder", str(tmp_path / "folder" / "a.parquet")):
        ag.bind("s", path)
        (row,) = ag.table("q").to_pylist()
        assert [event["event_id"] for event in row["events"]] == ["1", "2"]


def test_types_in_any_encoding_are_read(tmp_path: Path) -> None:
    encoding = {"use_dictionary": False, "column_encoding": {"ty": "DELTA_BYTE_ARRAY"}}
    pq.write_table(arrow_table("s", ROWS), tmp_path / "a.parquet", **encoding)
    ag = Session(engine="local")
    ag.sql(f"{DECLARED} CREATE QUERY q ON s PATTERN SEQ(A a, B b);")
    ag.bind("s", tmp_path / "a.parquet")
    assert ag.table("q").num_rows == 2


def test_what_cannot_be_read_from_a_path_is_told(tmp_path: Path) -> None:
    (tmp_path / "rows.txt").write_text("id,ty\n1,A\n")
    ag = Session(engine="local")
    ag.sql(f"{DECLARED} CREATE QUERY q ON s PATTERN SEQ(A a, B b);")
    with pytest.raises(DataError, match=r"stream s cannot be read from .*rows\.txt. .*Parquet"):
        ag.bind("s", tmp_path / "rows.txt")
    (tmp_path / "empty").mkdir()
    for name in ("nowhere", "empty"):
        with pytest.raises(DataError, match=f"read from '.*{name}' .no Parquet file is there"):
            ag.bind("s", tmp_path / name)
    pq.write_table(arrow_table("s", ROWS).drop_columns("ty"), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"declares column ty, .*a\.parquet does.* has id, x, at"):
        ag.bind("s", tmp_path / "a.parquet")


def stored(tmp_path: Path, *parts: pa.Table) -> list[list[str]]:
    for k, part in enumerate(parts):
        pq.write_table(part, tmp_path / f"{k}.parquet", use_deprecated_int96_timestamps=True)
    ag = Session(engine="local")
    ag.sql(f"{DECLARED} CREATE QUERY q ON s PATTERN SEQ(A a, B b);")
    ag.bind("s", tmp_path)
    return [[e["event_id"] for e in row["events"]] for row in ag.table("q").to_pylist()]


def test_files_of_a_folder_may_spell_columns_and_count_in_their_own_way(tmp_path: Path) -> None:
    table = arrow_table("s", ROWS)
    narrow = table.set_column(2, "x", table.column("x").cast(pa.int32()))
    narrow = narrow.set_column(3, "at", table.column("at").cast(pa.timestamp("ms", "UTC")))
    first, second = table.slice(0, 1), narrow.slice(1).rename_columns(["ID", "TY", "X", "At"])
    assert stored(tmp_path, first, second) == [["1", "2"], ["1", "3"]]


def test_files_of_a_folder_do_not_differ_in_kind(tmp_path: Path) -> None:
    table = arrow_table("s", ROWS)
    texts = table.set_column(2, "x", table.column("x").cast(pa.string()))
    with pytest.raises(DataError, match=r"x of stream s in .*1\.parquet is declared LONG, but"):
        stored(tmp_path, table.slice(0, 1), texts.slice(1))


def test_times_of_96_bits_may_be_far_away(tmp_path: Path) -> None:
    rows = [row | {"at": datetime(3000, 1, row["id"])} for row in ROWS]
    assert stored(tmp_path, arrow_table("s", rows)) == [["1", "2"], ["1", "3"]]


def test_folders_may_be_columns_of_the_declared_type(tmp_path: Path) -> None:
    for name, ids in (("007", [1]), ("7", [2, 3]), ("__HIVE_DEFAULT_PARTITION__", [4])):
        (tmp_path / f"k={name}").mkdir()
        times = pa.array(ids)
        table = pa.table({"id": ids, "ty": ["AB"[n % 2] for n in ids], "t": times})
        pq.write_table(table, tmp_path / f"k={name}" / "part.parquet")
    ag = Session(engine="local")
    ag.sql(
        "CREATE STREAM s (id LONG, k STRING, ty STRING, t LONG) ID id KEY k TIME t TYPE ty;"
        "CREATE QUERY q ON s PATTERN SEQ(A a, B b) WHERE [k] WITHIN 9;"
    )
    ag.bind("s", tmp_path)
    assert ag.table("q").select(["k", "start_ts", "end_ts"]).to_pylist() == [
        {"k": "7", "start_ts": 2, "end_ts": 3}
    ]
    assert ag.rejected("s").select(["id", "reason"]).to_pylist() == [
        {"id": 4, "reason": "k is null"}
    ]


def test_numbers_are_no_moments() -> None:
    ag = Session(engine="local")
    ag.sql(f"{DECLARED} CREATE QUERY q ON s PATTERN SEQ(A a, B b);")
    ag.bind("s", [{"id": 1, "ty": "A", "x": 1, "at": 1_767_225_600}])
    with pytest.raises(DataError, match="at of stream s is declared TIMESTAMP"):
        ag.table("q")


def test_a_later_row_may_have_more_columns_than_the_first() -> None:
    ag = Session(engine="local")
    ag.sql(f"{DECLARED} CREATE QUERY q ON s PATTERN SEQ(A a, B b);")
    first = {name: value for name, value in ROWS[0].items() if name != "x"}
    ag.bind("s", [first, *ROWS[1:]])
    assert ag.table("q").num_rows == 2


def test_the_second_event_of_a_repetition_is_judged_once_it_is_there() -> None:
    assert answer("PATTERN SEQ(A a, B+ b) WHERE b[2].x > 2 WITHIN 9 HOURS") == [["1", "2", "3"]]


def test_too_many_matches_are_refused_before_they_fill_memory() -> None:
    ag = Session(engine="local")
    ag.sql(
        f"{DECLARED} CREATE QUERY q ON s PATTERN SEQ(A a, B+ b) WITHIN 9 HOURS MATCH LIMIT 1000;"
    )
    rest = [{"id": k, "ty": "B", "x": 1, "at": datetime(2026, 1, 1, 2, k)} for k in range(2, 42)]
    ag.bind("s", [ROWS[0], *rest])
    with pytest.raises(DataError, match="more than 1000 matches begin with one event"):
        ag.table("q")


def test_streams_may_have_columns_of_one_name_and_several_types() -> None:
    ag = Session(engine="local")
    ag.sql("""
        CREATE STREAM a (v LONG, t LONG) TIME t; CREATE STREAM b (v DOUBLE, t LONG) TIME t;
        CREATE STREAM c (v STRING, t LONG) TIME t;
        CREATE QUERY q ON a, b, c PATTERN SEQ(a x, b y, c z) WITHIN 9
        RETURN x.v AS x, y.v AS y, z.v AS z;
    """)
    ag.bind("a", [{"v": 2**60 + 1, "t": 1}])
    ag.bind("b", [{"v": 1.5, "t": 2}])
    ag.bind("c", [{"v": "s", "t": 3}])
    (row,) = ag.table("q").to_pylist()
    assert (row["x"], row["y"], row["z"]) == (2**60 + 1, 1.5, "s")
