"""`augury run` gives the same on both engines: answers, firings, what is kept, rejected rows."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.terminal import augury
from docs.markdown import ROOT
from stores.hooks import SECRET, hook

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

# Every rule of rows: numbers, times, quotes, lines of another length, values that are missing.
LINES = """\
id,k,who,t,p
1,A,"x, 1",2026-01-01T00:00:01Z,1
2.0,A,y"q,2026-01-01 00:00:02,0.5
3,B,"x, 1",2026-01-01T02:00:03+02:00,0.9
x,B,y,2026-01-01T00:00:04Z,1
5,B,"un,2026-01-01T00:00:05Z,1
6,B
7,B,"a""b",2026-01-01T00:00:07Z,1,9

8,B,y"q,2026-02-30T00:00:08Z,1
9,B,y"q,2026-01-01,1.5
10,,,,
11,B,y"q,2026-01-01T00:00:20Z,1e0
11,B,y"q,2026-01-01T00:00:21Z, 1
 12 ,B,,2026-01-01T00:00:22Z,1
13,A,h\u00e9,2026-01-01T00:00:23Z,NaN
14,D,z,2026-01-01T00:09:00Z,1
"""
SCRIPT = """\
CREATE STREAM s (id LONG, k STRING, who STRING, t TIMESTAMP, p DOUBLE)
ID id KEY who TIME t TYPE k PROBABILITY p;
CREATE QUERY ab ON s PATTERN SEQ(A a, B b) WHERE [who] WITHIN 1 MINUTE RETURN b.t - a.t AS apart;
CREATE QUERY any ON s PATTERN SEQ(A a, A b) WITHIN 1 MINUTE;
CREATE STORE ward AT 'sqlite:///ward.db';
CREATE TABLE seen (who STRING, n LONG) KEY who STORE ward;
CREATE RULE note ON ab DO INSERT INTO seen VALUES (new.who, 1);
"""


def test_both_engines_write_equal_answers_and_equal_rejected_rows(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    Path("in/s.csv").write_text(LINES)
    monkeypatch.setenv("WARD_SECRET", SECRET)
    found = {}
    for engine in ("local", "spark"):
        with hook("forgets") as heard:
            hooked = f"WRITE note TO webhook '{heard.url}' OPTIONS (secret = '${{WARD_SECRET}}');"
            Path("q.sql").write_text(SCRIPT + hooked)
            found[engine] = run(engine, tmp_path)
        found[engine].append(heard.rows("rule", "who", "ts", "confidence"))
        assert (heard.forged, len(heard.requests)) == (0, 3)
    assert [len(each) for each in found["local"]][:3] == [2, 1, 2]
    assert found["local"] == found["spark"]


def run(engine: str, tmp_path: Path) -> list[Any]:
    """Return what a run on one engine has written, and what it said last."""
    for database in Path().glob("ward.db*"):
        database.unlink()
    sinks = [f"{name}=parquet:{tmp_path}/{engine}-{name}" for name in ("ab", "any", "note")]
    given = [each for sink in sinks for each in ("--sink", sink)]
    shown = augury(
        *("run", "q.sql", "--engine", engine, "--source", f"s=csv:{tmp_path}/in"),
        *("--side-tables", f"{tmp_path}/{engine}-aside", *given),
    )
    assert shown.exit_code == 0, shown.output
    folders = (f"{engine}-ab", f"{engine}-any", f"{engine}-note", f"{engine}-aside/rejected/s")
    found: list[Any] = [rows_of(folder) for folder in folders]
    return [*found, [shown.stderr.splitlines()[-1].partition(";")[2]]]


def rows_of(folder: str) -> list[str]:
    parts = [
        pq.read_table(file, partitioning=None) for file in Path(folder).glob("batch=*/*.parquet")
    ]
    if not parts:
        return []
    table = pa.concat_tables([each.cast(parts[0].schema) for each in parts])
    found = [{name: plain(value) for name, value in row.items()} for row in table.to_pylist()]
    return sorted(json.dumps(row, default=str, sort_keys=True) for row in found)


def plain(value: Any) -> Any:
    if isinstance(value, timedelta):
        # Spark's intervals are microseconds in files.
        return value // timedelta(microseconds=1)
    if isinstance(value, datetime):
        # Spark writes moments without their zone.
        return value.replace(tzinfo=None)
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list) else value


# Scripts of examples/ and what of them is asked for.
EXAMPLES = {
    "hygiene.sql": ("violation", "unmasked", "spree", "warned", "turn_yellow", "alarm"),
    "store.sql": ("theft_rate",),
}


@pytest.mark.rotating(2)
@pytest.mark.parametrize("name", EXAMPLES)
def test_both_engines_write_equal_answers_of_the_examples(
    name: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    stream = {"hygiene.sql": "behaviour", "store.sql": "reads"}[name]
    place = tmp_path / f"{stream}.json"
    place.write_text("".join(json.dumps(row) + "\n" for row in EXAMPLE_ROWS[name]()))
    found = {}
    for engine in ("local", "spark"):
        given = [
            "--source",
            f"{stream}=json:{place}",
            "--side-tables",
            f"{tmp_path}/{engine}-aside",
        ]
        for asked in EXAMPLES[name]:
            given += ["--sink", f"{asked}=parquet:{tmp_path}/{engine}-{asked}"]
        shown = augury("run", str(ROOT / "examples" / name), "--engine", engine, *given)
        assert shown.exit_code == 0, shown.output
        found[engine] = {asked: rounded(f"{engine}-{asked}") for asked in EXAMPLES[name]}
    assert any(found["local"].values())
    assert found["local"] == found["spark"]


def rounded(folder: str) -> list[str]:
    """Return rows whose probabilities may be off by the order in which they were summed up."""
    return sorted(
        re.sub(r"\d\.\d{9}\d*", lambda n: f"{float(n[0]):.9f}", row) for row in rows_of(folder)
    )


def at_a_ward() -> Iterator[dict[str, Any]]:
    rng = random.Random(3)
    for k in range(400):
        yield {
            "worker": f"w{k % 5}",
            "room": f"r{rng.randrange(3)}",
            "action": rng.choice(["ENTER", "EXIT", "SANITIZE", "MASK"]),
            "at": f"2026-01-01T{k * 7 // 3600:02d}:{k * 7 // 60 % 60:02d}:{k * 7 % 60:02d}Z",
            "seq": k,
            "p": rng.choice([0.6, 0.9, 1.0]),
        }


def in_a_store() -> Iterator[dict[str, Any]]:
    rng = random.Random(3)
    for k in range(120):
        yield {
            "id": k,
            "tag": f"t{k % 9}",
            "reader": rng.choice(["SHELF", "SHELF", "COUNTER", "EXIT"]),
            "door": "front",
            "at": f"2026-01-01T{k // 12:02d}:{k % 12 * 5:02d}:00Z",
            "seq": k,
            "p": 1.0,
        }


EXAMPLE_ROWS = {"hygiene.sql": at_a_ward, "store.sql": in_a_store}
