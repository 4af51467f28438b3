"""A line of CSV, whatever it holds, is a row, and spoils no row but its own."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from augury.language.tree import External, Option
from augury.sources.csv_lines import CsvForm, read_lines
from augury.sources.declared import FAULT
from augury.sources.local_files import why_not_local

COLUMNS = {"a": "STRING", "b": "LONG", "c": "DOUBLE"}
FORM = CsvForm(("a", "b", "c"))
PARTS = st.sampled_from(
    [b"x,1,2.5\n", b"a", b"1", b",", b'"', b"\\", b"\r", b"\n", b"\0", b" ", b"\xff", b"\xc3\xa9"]
)


@given(st.lists(PARTS, max_size=24))
def test_every_line_that_is_not_empty_is_a_row(parts: list[bytes]) -> None:
    block = b"".join(parts)
    lines = [line for line in block.replace(b"\r", b"\n").split(b"\n") if line]
    assert read_lines(block, FORM, COLUMNS).num_rows == len(lines)


def test_a_return_ends_a_line() -> None:
    rows = read_lines(b"x,1,2\ry,2,3\r\nz,3\rw,4,5\n", FORM, COLUMNS).to_pylist()
    assert [(row["a"], row["b"], row[FAULT] is None) for row in rows] == [
        ("x", 1, True),
        ("y", 2, True),
        ("z", 3, False),
        ("w", 4, True),
    ]


def test_a_number_with_a_great_exponent_is_no_long() -> None:
    (row,) = read_lines(b"x,1e999999999,2\n", FORM, COLUMNS).to_pylist()
    assert str(row[FAULT]).startswith("b is declared LONG")


def test_fields_apart_by_what_is_no_ascii_are_for_spark() -> None:
    options = (Option("sep", "\u00a7"),)
    assert why_not_local(External("csv", "a.csv", options)) is not None
