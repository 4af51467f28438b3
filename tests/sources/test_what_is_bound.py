"""What `bind` takes: whatever gives its columns to Arrow, and files of text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from augury import DataError, Session
from cli.terminal import augury

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


@pytest.mark.parametrize("name", ["gone.csv", "gone.jsonl"])
def test_a_file_that_is_not_there_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(
        DataError, match=f"the rows of s cannot be read from .*{name}: it is no file"
    ):
        confidences(tmp_path / name)


@pytest.mark.parametrize("text", ["", "kind,t,p\n"])
def test_a_file_without_rows_has_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "s.csv").write_text(text)
    assert confidences(tmp_path / "s.csv") == []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "s.csv",
            "\ufeffid,t,kind,p,truth\r\n007,1,A,0.5,yes\r\n008,2,B,x,no\r\nbroken\r\n09,3,B,.5,no",
        ),
        (
            "s.json",
            '{"id": "007", "t": 1, "kind": "A", "p": 0.5, "truth": true}\n{oops\n'
            '{"id": "08", "t": 2, "kind": "B", "p": "x"}\n'
            '{"id": "09", "t": 3, "kind": "B", "p": 0.5, "truth": false}\n',
        ),
    ],
)
def test_a_file_is_bound_by_the_rules_by_which_runs_read_it(
    tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    script = (
        "CREATE STREAM s (id STRING, kind STRING, t LONG, p DOUBLE)\n"
        f"ID id TIME t TYPE kind PROBABILITY p FROM {name.partition('.')[2]} '{tmp_path / name}';\n"
        "CREATE QUERY ab ON s PATTERN SEQ(A a, B b) WITHIN 10;"
    )
    ag = Session(engine="local")
    ag.sql(script)
    ag.bind("s", tmp_path / name)
    assert ag.rejected("s").num_rows == 2
    (row,) = ag.table("ab").to_pylist()
    shown = augury("run", "-", "--side-tables", str(tmp_path / "aside"), stdin=script)
    assert json.loads(shown.stdout)["match_id"] == row["match_id"]
    assert [each["event_id"] for each in row["events"]] == ["007", "09"]
    assert "precision" in ag.report(truth="truth")
