"""The cases of the original SASE engine, in its own spelling, come out exactly.

`stock` matches every type that starts so, and `stock1` is symbol 1: each stream is declared with
the type that its query asks for.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import csv

from augury import Session

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "conformance" / "sase"
NAMES = [
    *("Q1", "Q2", "te50", "te100", "ds500", "ds1000", "ds10000"),
    *("tw10k", "tw40k", "tw60k", "tw100k", "s2-p1", "s3-p1", "s3-p2"),
]
STREAM = """
    CREATE STREAM stocks (id LONG, ts LONG, symbol LONG, price LONG, volume LONG, type STRING)
    ID id KEY symbol TIME ts TYPE type;
"""


@pytest.fixture(scope="module")
def cases() -> dict[str, Any]:
    if not FOLDER.is_dir():
        pytest.skip(f"{FOLDER} is absent: the conformance cases are kept beside the project")
    return {case["name"]: case for case in json.loads((FOLDER / "cases.json").read_text())}


def stocks(case: dict[str, Any]) -> pa.Table:
    with gzip.open(FOLDER / case["stream_file"]) as file:
        table = csv.read_csv(file)
    kinds: Any = pa.repeat("stock", table.num_rows)
    if "stock1" in case["query"]:
        kinds = pc.binary_join_element_wise("stock", table.column("symbol").cast(pa.string()), "")
    return table.set_column(table.column_names.index("type"), "type", kinds)


def found(case: dict[str, Any]) -> list[list[int]]:
    ag = Session(engine="local")
    ag.sql(f"{STREAM} CREATE QUERY q ON stocks {case['query']};")
    ag.bind("stocks", stocks(case))
    events = ag.table("q").column("events").to_pylist()
    return [[int(event["event_id"]) for event in match] for match in events]


def test_no_case_is_left_out(cases: dict[str, Any]) -> None:
    assert list(cases) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_sase_and_augury_find_the_same(name: str, cases: dict[str, Any]) -> None:
    assert sorted(found(cases[name])) == sorted(cases[name]["matches"])
