"""Pages that are decoded here say what Arrow says of them; what is unusual is left to Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from augury.kernels.parquet.memory import SLACK
from augury.kernels.parquet.pages import CURSOR, REST, read_codes, read_words
from augury.sources.parquet_columns import Choice, Columns, RowGroup
from augury.sources.parquet_files import Files, file_groups

NAMES = ["grow", "few", "noise", "real", "when", "small", "tiny", "day", "kind"]
# What the writer of a file may choose.
OPTIONS = st.fixed_dictionaries(
    {
        "row_group_size": st.integers(200, 4000),
        "compression": st.sampled_from(["snappy", "snappy", "none", "zstd"]),
        "data_page_version": st.sampled_from(["1.0", "2.0"]),
        "use_dictionary": st.sampled_from([True, ["kind"], ["kind", "few"], False]),
        "data_page_size": st.sampled_from([64, 1000, 2**20]),
        "dictionary_pagesize_limit": st.sampled_from([300, 2000, 2**20]),
        "write_batch_size": st.sampled_from([10, 1000]),
        "use_deprecated_int96_timestamps": st.booleans(),
    }
)


def table_of(rng: np.random.Generator, n: int, missing: float = 0) -> pa.Table:
    """Return columns that are packed in every way: literals, copies near and far, runs, codes."""
    texts = [f"type {k} " * (k % 4) for k in range(int(rng.integers(1, 40)))]
    columns = {
        "grow": np.cumsum(rng.integers(0, 3, n)) + int(rng.integers(-(2**62), 2**62)),
        "few": rng.integers(0, int(rng.integers(1, 3000)), n),
        "noise": rng.integers(-(2**63), 2**63 - 1, n, dtype=np.int64),
        "real": np.round(rng.normal(size=n), int(rng.integers(0, 4))),
        "when": np.sort(rng.integers(-(10**15), 10**16, n)).astype("datetime64[us]"),
        "small": rng.integers(-(2**31), 2**31, n, dtype=np.int32),
        "tiny": rng.integers(-128, 128, n, dtype=np.int8),
        "day": rng.integers(-9999, 9999, n).astype("datetime64[D]"),
        "kind": np.array(texts)[rng.integers(0, len(texts), n)],
    }
    return pa.table(
        {name: pa.array(each, mask=rng.random(n) < missing) for name, each in columns.items()}
    )


def written(path: Path, rows: pa.Table, **options: Any) -> pq.FileMetaData:
    pq.write_table(rows, path, **options)
    return pq.read_metadata(path)


def all_rows(path: Path, footer: pq.FileMetaData, size: int, choice: Choice | None) -> pa.Table:
    """Return what workers read of a file, with texts in place of codes."""
    files, groups = Files(), file_groups(str(path), footer, "grow")
    read = [each for group in groups for each in files.batches(group, NAMES, size, choice)]
    found = pa.Table.from_batches(read).select(NAMES)
    place = NAMES.index("kind")
    return found.set_column(place, "kind", found.column("kind").cast(pa.string()))


def decoded(path: Path, names: Sequence[str] = NAMES) -> int:
    """Return how many values are decoded here, of groups of whole hundreds of rows."""
    texts = [each.name for each in pq.read_schema(path) if pa.types.is_string(each.type)]
    done = 0
    with pa.OSFile(str(path)) as source:
        file = pq.ParquetFile(source, read_dictionary=texts, coerce_int96_timestamp_unit="us")
        for group in range(file.num_row_groups):
            columns = Columns(RowGroup(source, file, group), names)
            for _ in range(0, file.metadata.row_group(group).num_rows, 100):
                columns.take(100)
                done += 100 * (len(names) - len(columns.by_arrow))
    return done


def odd_places(batch: pa.RecordBatch) -> np.ndarray:
    """Return the places of odd numbers below fifty."""
    few = np.asarray(batch.column("few").fill_null(0))
    return np.flatnonzero((few % 2 == 1) & (few < 50)).astype(np.int32)


def odd_places_in_order(batch: pa.RecordBatch) -> np.ndarray:
    """Return the same, of columns that come as they are asked for, not as the file has them."""
    assert batch.schema.names == ["few", "grow"]
    return odd_places(batch)


@settings(max_examples=200, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(1, 5000),
    missing=st.sampled_from([0, 0, 0, 0, 0.001, 0.5]),
    choice=st.sampled_from([None, Choice(("few", "grow"), odd_places_in_order)]),
    options=OPTIONS,
)
def test_all_rows_are_those_that_arrow_reads(
    tmp_path_factory: pytest.TempPathFactory,
    seed: int,
    n: int,
    missing: float,
    choice: Choice | None,
    options: dict[str, Any],
) -> None:
    rng, path = np.random.default_rng(seed), tmp_path_factory.mktemp("f") / "f"
    rows = table_of(rng, n, missing)
    if not missing and rng.random() < 0.5:
        rows = rows.cast(pa.schema([field.with_nullable(False) for field in rows.schema]))
    found = all_rows(path, written(path, rows, **options), int(rng.integers(100, 5000)), choice)
    wanted = pq.read_table(path, coerce_int96_timestamp_unit="us")
    if choice is not None:
        wanted = wanted.take(odd_places(wanted.combine_chunks().to_batches()[0]))
    assert found.equals(wanted.cast(found.schema))


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["snappy", "none"])
@pytest.mark.parametrize("nullable", [True, False])
@pytest.mark.parametrize("old_times", [True, False])
def test_usual_files_are_decoded_here(
    tmp_path: Path, version: str, compression: str, nullable: bool, old_times: bool
) -> None:
    rows = table_of(np.random.default_rng(1), 300_000)
    written(
        tmp_path / "f",
        rows.cast(pa.schema([field.with_nullable(nullable) for field in rows.schema])),
        compression=compression,
        data_page_version=version,
        row_group_size=200_000,
        use_deprecated_int96_timestamps=old_times,
    )
    assert decoded(tmp_path / "f") == 300_000 * len(NAMES)


@pytest.mark.parametrize(
    ("values", "options"),
    [
        (pa.array([1, None] * 50), {}),
        (pa.array([1, 2] * 50), {"compression": "zstd"}),
        (pa.array([1, 2] * 50), {"column_encoding": "DELTA_BINARY_PACKED"}),
        (pa.array([1.0, 2.0] * 50), {"column_encoding": "BYTE_STREAM_SPLIT"}),
        (pa.array([1, 2] * 50, pa.uint64()), {}),
        (pa.array([1, 2] * 50, pa.float32()), {}),
        (pa.array([[1], [2]] * 50), {}),
        (pa.array(["a", "b"] * 50), {"use_dictionary": False}),
        (pa.array(["a", None] * 50), {"column_encoding": "DELTA_BYTE_ARRAY"}),
        (pa.array(["a", "b"] * 50), {"column_encoding": "DELTA_LENGTH_BYTE_ARRAY"}),
        (pa.array([b"a", b"b"] * 50), {}),
        (pa.array([b"ab", b"bc"] * 50, pa.binary(2)), {}),
        (pa.array([True, False] * 50), {}),
    ],
)
def test_the_rest_is_left_to_arrow(tmp_path: Path, values: pa.Array, options: Any) -> None:
    if "column_encoding" in options:
        ways = {"x": options["column_encoding"]}
        options = {"column_encoding": ways, "use_dictionary": False}
    rows = pa.table({"x": values, "grow": range(100)})
    footer = written(tmp_path / "f", rows, **options)
    assert decoded(tmp_path / "f", ["x"]) == 0
    (group,) = file_groups(str(tmp_path / "f"), footer, "grow")
    (found,) = Files().batches(group, ["x", "grow"], 100)
    assert found.to_pylist() == rows.to_pylist()


def test_parts_of_a_column_are_not_taken_for_another(tmp_path: Path) -> None:
    nested = pa.array([{"b": 7}] * 3, pa.struct([pa.field("b", pa.int64(), nullable=False)]))
    rows = pa.table([nested, [1, 2, 3]], ["a", "a.b"])
    footer = written(tmp_path / "f", rows)
    (group,) = file_groups(str(tmp_path / "f"), footer, "a.b")
    (found,) = Files().batches(group, ["a.b"], 3)
    assert found.column("a.b").to_pylist() == [1, 2, 3]


def test_texts_that_outgrow_their_dictionary_go_on_by_arrow(tmp_path: Path) -> None:
    rows = pa.table({"kind": [f"text {k}" for k in range(5000)], "grow": range(5000)})
    footer = written(tmp_path / "f", rows, dictionary_pagesize_limit=1000, data_page_size=1000)
    assert 0 < decoded(tmp_path / "f", ["kind"]) < 5000
    (group,) = file_groups(str(tmp_path / "f"), footer, "grow")
    found = [
        row for batch in Files().batches(group, ["kind", "grow"], 50) for row in batch.to_pylist()
    ]
    assert found == rows.to_pylist()


def test_arrow_tells_of_a_file_that_has_shrunk(tmp_path: Path) -> None:
    path = tmp_path / "f"
    footer = written(path, table_of(np.random.default_rng(1), 1000))
    (group,) = file_groups(str(path), footer, "grow")
    files = Files()
    list(files.batches(group, NAMES, 1000))
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises((OSError, pa.ArrowException)):
        list(files.batches(group, NAMES, 1000))


def test_a_file_that_is_replaced_stays_what_it_was(tmp_path: Path) -> None:
    path, rows = tmp_path / "f", pa.table({"grow": range(20)})
    first, second = file_groups(str(path), written(path, rows, row_group_size=10), "grow")
    files = Files()
    list(files.batches(first, ["grow"], 10))
    written(tmp_path / "g", pa.table({"grow": range(500, 520)}), row_group_size=10)
    (tmp_path / "g").replace(path)
    (found,) = files.batches(second, ["grow"], 10)
    assert found.column("grow").to_pylist() == list(range(10, 20))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_damage_is_kept_within_the_buffers(tmp_path: Path, name: str, version: str) -> None:
    rng = np.random.default_rng(5)
    path = tmp_path / "f"
    footer = written(
        path,
        table_of(rng, 400).select([name]),
        data_page_size=500,
        data_page_version=version,
        use_deprecated_int96_timestamps=True,
    )
    chunk = footer.row_group(0).column(0)
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    sound = np.frombuffer(path.read_bytes(), np.uint8)[start : start + chunk.total_compressed_size]
    assert _read(sound, chunk, name) is not None
    for _ in range(2000):
        damaged = sound.copy()
        places = rng.integers(0, len(sound), int(rng.integers(1, 4)))
        damaged[places] = rng.integers(0, 256, len(places))
        _read(damaged, chunk, name)


@pytest.mark.parametrize("damaged", [b"\x08" + b"\x80" * 12, b"\x00", b"\x15\x06\x15", b""])
def test_headers_that_are_none(tmp_path: Path, damaged: bytes) -> None:
    chunk = written(tmp_path / "f", pa.table({"few": range(9)})).row_group(0).column(0)
    assert _read(np.frombuffer(damaged, np.uint8), chunk, "few") is None


def test_a_second_dictionary_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "f"
    chunk = written(path, pa.table({"few": [1, 2, 3]})).row_group(0).column(0)
    start, n = chunk.dictionary_page_offset, chunk.data_page_offset - chunk.dictionary_page_offset
    pages = np.frombuffer(path.read_bytes(), np.uint8)[start : start + chunk.total_compressed_size]
    assert _read(pages, chunk, "few") is not None
    assert _read(np.concatenate([pages[:n], pages]), chunk, "few") is None


def _read(pages: np.ndarray, chunk: Any, name: str) -> np.ndarray | None:
    """Read the pages of a column; what is behind the buffers must stay."""
    bytes_ = np.concatenate([pages, np.zeros(SLACK, np.uint8)])
    size, n = chunk.total_uncompressed_size + SLACK, chunk.num_values
    cursor = np.zeros(CURSOR, np.int64)
    cursor[REST] = n
    guarded = [
        np.full(length + 64, 77, kind)
        for length, kind in (
            (size, np.uint8),
            (n, np.int32),
            (size, np.uint8),
            (n, np.int64 if name != "kind" else np.int32),
        )
    ]
    page, codes, known, out = (each[:-64] for each in guarded)
    reader = read_codes if name == "kind" else read_words
    width = {"INT32": 4, "INT96": 12}.get(chunk.physical_type, 8)
    wanted = (out,) if name == "kind" else (width, n, np.empty(0, np.int32), True, out)
    there = reader(bytes_, True, True, cursor, page, codes, known, *wanted)
    assert all((each[-64:] == 77).all() for each in guarded)
    return out if there else None
