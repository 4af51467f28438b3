"""What `bind` takes: whatever gives its columns to Arrow, and files of text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from augury import DataError, Session

ROWS = pa.table({"kind": ["A", "B"], "t": [1, 2], "p": [0.5, 0.5]})
CSV = "kind,t,p\nA,1,0.5\nB,2,0.5\n"
LINES = '{"kind": "A", "t": 1, "p": 0.5}\n\n{"kind": "B", "t": 2, "p": 0.5}\n'


def confidences(data: Any) -> list[float]:
    ag = Session(engine="local")
    ag.sql("CREATE STREAM s (kind STRING, t LONG, p DOUBLE) TIME t TYPE kind PROBABILITY p;")
    ag.sql("CREATE QUERY ab ON s PATTERN SEQ(A a, B b) WITHIN 10;")
    ag.bind("s", data)
    found: list[float] = ag.table("ab").column("confidence").to_pylist()
    return found


class Exported:
    """Rows of another library, of which only the stream for Arrow is known."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("kind", [pa.string(), pa.string_view(), pa.large_string(), "codes"])
def test_whatever_exports_its_columns_is_bound(kind: Any) -> None:
    texts = ROWS.column("kind").cast(pa.string() if kind == "codes" else kind)
    if kind == "codes":
        texts = texts.dictionary_encode()
    assert confidences(Exported(ROWS.set_column(0, "kind", texts))) == [0.25]


def test_codes_for_views_are_texts() -> None:
    views = pa.array(["A", "B"], pa.string_view())
    codes = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.uint32()), views)
    assert confidences(Exported(ROWS.set_column(0, "kind", codes))) == [0.25]


@pytest.mark.parametrize(("name", "text"), [("s.csv", CSV), ("s.json", LINES), ("s.jsonl", LINES)])
def test_files_of_text_are_bound_by_their_paths(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert confidences(tmp_path / name) == [0.25]
    assert confidences(str(tmp_path / name)) == [0.25]


@pytest.mark.parametrize(("name", "text"), [("s.json", "{"), ("s.csv", ""), ("gone.csv", None)])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str, text: str | None) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=f"the rows of s cannot be read from .*{name}"):
        confidences(tmp_path / name)
