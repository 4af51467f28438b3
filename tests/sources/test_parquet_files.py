"""What workers read of Parquet files is what is in them, however and wherever they are written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from augury.sources.parquet_files import UNREAD, Files, Footers, Group, address, file_groups


def written(path: Path, rows: pa.Table, **options: Any) -> list[Group]:
    pq.write_table(rows, path, **options)
    return list(file_groups(str(path), pq.read_metadata(path), "t"))


def rows_of(groups: list[Group], columns: list[str], size: int) -> list[dict[str, Any]]:
    files = Files()
    read = (batch for group in groups for batch in files.batches(group, columns, size))
    return [row for batch in read for row in batch.select(columns).to_pylist()]


@pytest.mark.parametrize("encoding", ["PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", None])
@pytest.mark.parametrize("size", [7, 100])
def test_texts_of_every_encoding_come_as_codes(
    tmp_path: Path, encoding: str | None, size: int
) -> None:
    texts = ["a", "b", None, "a longer one"] * 25
    rows = pa.table({"kind": texts, "t": range(100), "tag": [f"tag {k}" for k in range(100)]})
    coded = {"column_encoding": {"kind": encoding}, "use_dictionary": ["tag"]}
    groups = written(tmp_path / "f", rows, row_group_size=40, **(coded if encoding else {}))
    assert (
        rows_of(groups, ["t", "kind", "tag"], size) == rows.select(["t", "kind", "tag"]).to_pylist()
    )
    for batch in Files().batches(groups[0], ["kind", "tag"], size):
        assert all(pa.types.is_dictionary(kind) for kind in batch.schema.types)


def test_texts_that_outgrow_their_dictionary_go_on(tmp_path: Path) -> None:
    rows = pa.table({"kind": [f"text {k}" for k in range(5000)], "t": range(5000)})
    groups = written(tmp_path / "f", rows, dictionary_pagesize_limit=1000, data_page_size=1000)
    assert rows_of(groups, ["kind", "t"], 50) == rows.to_pylist()


def test_parts_of_a_column_are_not_taken_for_another(tmp_path: Path) -> None:
    parts = pa.array([{"a": 6, "b": 7}] * 3)
    pq.write_table(pa.table([parts, [1, 2, 3]], ["t", "t.b"]), tmp_path / "f")
    (group,) = file_groups(str(tmp_path / "f"), pq.read_metadata(tmp_path / "f"), "t.b")
    assert rows_of([group], ["t.b"], 3) == [{"t.b": 1}, {"t.b": 2}, {"t.b": 3}]
    assert group.first is None


def test_a_nested_column_does_not_hide_the_times_of_others(tmp_path: Path) -> None:
    parts = pa.array([{"a": 6, "b": 7}] * 3)
    (group,) = written(tmp_path / "f", pa.table([parts, [1, 2, 3]], ["parts", "t"]))
    assert (group.first, group.last) == (1, 3)


def test_a_file_that_has_shrunk_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "f"
    (group,) = written(path, pa.table({"t": range(1000), "kind": ["a", "b"] * 500}))
    files = Files()
    list(files.batches(group, ["t", "kind"], 1000))
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises((OSError, pa.ArrowException)):
        list(files.batches(group, ["t", "kind"], 1000))


def test_a_file_that_is_replaced_stays_what_it_was(tmp_path: Path) -> None:
    path = tmp_path / "f"
    first, second = written(path, pa.table({"t": range(20)}), row_group_size=10)
    files = Files()
    list(files.batches(first, ["t"], 10))
    written(tmp_path / "g", pa.table({"t": range(500, 520)}), row_group_size=10)
    (tmp_path / "g").replace(path)
    (found,) = files.batches(second, ["t"], 10)
    assert found.column("t").to_pylist() == list(range(10, 20))


def test_files_have_the_addresses_that_arrow_knows(tmp_path: Path) -> None:
    assert address("file:/a b/c") == address("file:///a b/c") == "/a b/c"
    assert address("s3a://bucket/a b") == "s3://bucket/a b"
    assert address("abfss://c@a.dfs.core.windows.net/x") == "abfss://c@a.dfs.core.windows.net/x"
    place = tmp_path / "100% of a, b?" / "part 0#.parquet"
    place.parent.mkdir()
    (group,) = written(place, pa.table({"t": [1, 2]}))
    far = Group(f"file://{place}", 0, 2)
    assert rows_of([far], ["t"], 2) == rows_of([group], ["t"], 2) == [{"t": 1}, {"t": 2}]


def test_workers_read_footers_only_of_the_files_that_spark_lists(tmp_path: Path) -> None:
    path = tmp_path / "f"
    groups = written(path, pa.table({"t": range(20)}), row_group_size=10)
    stat, footers = path.stat(), Footers({"t": "bigint"}, "t")
    changed = datetime.fromtimestamp(int(stat.st_mtime), UTC)

    def listed(path: Path, length: int, when: datetime) -> list[Group]:
        row = {"path": f"file:{path}", "length": length, "modificationTime": when}
        found = footers([pa.RecordBatch.from_pylist([row])])
        return [Group(**each) for batch in found for each in batch.to_pylist()]

    assert listed(path, stat.st_size, changed) == groups
    others = [
        listed(path, stat.st_size + 1, changed),
        listed(path, stat.st_size, changed + timedelta(seconds=5)),
        listed(tmp_path / "gone", 1, changed),
    ]
    assert [group.number for (group,) in others] == [UNREAD] * 3
    (tmp_path / "g").write_bytes(b"x" * 10)
    when = datetime.fromtimestamp(int((tmp_path / "g").stat().st_mtime), UTC)
    assert listed(tmp_path / "g", 10, when) == [Group(str(tmp_path / "g"), UNREAD, 0)]
    (empty,) = [listed(tmp_path / "none", *_empty(tmp_path / "none"))]
    assert empty == [Group(str(tmp_path / "none"), 0, 0)]


def _empty(path: Path) -> tuple[int, datetime]:
    pq.write_table(pa.table({"t": pa.array([], pa.int64())}), path)
    return path.stat().st_size, datetime.fromtimestamp(int(path.stat().st_mtime), UTC)


def test_files_of_other_types_are_left_to_spark(tmp_path: Path) -> None:
    groups = written(tmp_path / "f", pa.table({"t": [1], "v": pa.array([1], pa.uint64())}))
    assert Footers({"t": "bigint"}, "t").of([str(tmp_path / "f")]) == groups
    for kinds in ({"t": "int"}, {"t": "bigint", "v": "bigint"}, {"t": "bigint", "w": "bigint"}):
        assert Footers(kinds, "t").of([str(tmp_path / "f")]) is None
