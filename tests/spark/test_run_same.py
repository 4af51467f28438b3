"""`augury run` gives the same on both engines: answers, firings, what is kept, rejected rows."""

from __future__ import annotations

import json
import random
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from augury.analysis.script import check_text
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


EXAMPLES = sorted((ROOT / "examples").glob("*.sql"))
# What is wrong with these rows is told in the same words.
BAD = ["{oops", "[1, 2]", '{"p": "much"}']


@pytest.mark.rotating(4)
@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_both_engines_write_equal_answers_of_the_examples(
    script: Path, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    checked = check_text(script.read_text(encoding="utf-8"))
    (told,) = json.loads(augury("check", str(script), "--json").stdout)["files"]
    queries = [q.name for q in checked.queries if q.name not in told["not_evaluated"]]
    asked = [*queries, *checked.catalog.rules]
    sources = list[str]()
    for name, rows in EXAMPLE_ROWS[script.stem]().items():
        place = tmp_path / f"{name}.json"
        bad = [*BAD, json.dumps(rows[0] | {"p": 1.5})] if name in checked.catalog.streams else []
        place.write_text("\n".join([*map(json.dumps, rows), *bad]) + "\n")
        sources += ["--source", f"{name}=json:{place}"]
    found = {}
    for engine in ("local", "spark"):
        sinks = [f"--sink={name}=parquet:{tmp_path}/{engine}-{name}" for name in asked]
        aside = f"{tmp_path}/{engine}-aside"
        given = [*sources, *sinks, "--side-tables", aside]
        shown = augury("run", str(script), "--engine", engine, *given)
        assert shown.exit_code == 0, shown.output
        found[engine] = {name: rounded(f"{engine}-{name}") for name in asked}
        for stream in EXAMPLE_ROWS[script.stem]().keys() & checked.catalog.streams.keys():
            found[engine][f"rejected {stream}"] = rounded(f"{aside}/rejected/{stream}")
    assert min(map(len, found["local"].values())) > 0, found["local"]
    assert found["local"] == found["spark"]


def rounded(folder: str) -> list[str]:
    """Return rows whose probabilities may be off by the order in which they were summed up."""
    return sorted(
        re.sub(r"\d\.\d{9}\d*", lambda n: f"{float(n[0]):.9f}", row) for row in rows_of(folder)
    )


Rows = dict[str, list[dict[str, Any]]]


def moment(seconds: int) -> str:
    return (datetime(2026, 1, 1) + timedelta(seconds=seconds)).isoformat() + "Z"


def at_a_ward() -> Rows:
    rng = random.Random(3)
    return {
        "behaviour": [
            {
                "worker": f"w{k % 5}",
                "room": f"r{rng.randrange(3)}",
                "action": rng.choice(["ENTER", "EXIT", "SANITIZE", "MASK"]),
                "at": moment(7 * k),
                "seq": k,
                "p": rng.choice([0.6, 0.9, 1.0]),
            }
            for k in range(400)
        ]
    }


def in_a_store() -> Rows:
    rng = random.Random(3)
    return {
        "reads": [
            {
                "id": k,
                "tag": f"t{k // 4}",
                "reader": rng.choice(["SHELF", "SHELF", "COUNTER", "EXIT", "EXIT"]),
                "door": "front",
                "at": moment(20 * k),
                "seq": k,
                "p": 1.0,
            }
            for k in range(120)
        ]
    }


def on_the_road() -> Rows:
    rng = random.Random(3)
    return {
        "overspeed": [
            {
                "vehicle": f"v{k % 4}",
                "kind": ["car", "lorry"][k % 2],
                "location": rng.choice(["LA", "SF"]),
                "at": moment(1800 * k),
                "p": rng.choice([0.9, 1.0]),
            }
            for k in range(12)
        ],
        "accident": [
            {"location": rng.choice(["LA", "SF"]), "at": moment(4000 * k + 1), "p": 0.4}
            for k in range(5)
        ],
        "passing": [
            {"vehicle": f"v{k % 4}", "gate": "ABD"[k // 4 % 3], "at": moment(900 * k + 2), "p": 1.0}
            for k in range(24)
        ],
    }


def for_coffee() -> Rows:
    places, rng = ("220", "a", "c"), random.Random(3)
    at, moves = list[dict[str, Any]](), list[dict[str, Any]]()
    for person in ("Joe", "Sue"):
        chances = [0.5, 0.3, 0.2]
        for t in range(6):
            here = zip(places, chances, strict=True)
            at += [{"person": person, "place": place, "t": t, "p": p} for place, p in here]
            chances = [0.0] * 3
            for k, each in enumerate(at[-3:] if t < 5 else []):
                weights = [rng.randrange(1, 5) for _ in places]
                for to, weight in enumerate(weights):
                    p = weight / sum(weights)
                    chances[to] += each["p"] * p
                    way = {"place_from": places[k], "place_to": places[to]}
                    moves.append({"person": person, "t": t, **way, "p": p})
    return {
        "at": at,
        "moves": moves,
        "coffee_room": [{"place": "c"}],
        "hallway": [{"place": "a"}],
        "office": [{"person": "Joe", "place": "220"}, {"person": "Sue", "place": "220"}],
    }


EXAMPLE_ROWS = {
    "coffee": for_coffee,
    "hygiene": at_a_ward,
    "store": in_a_store,
    "traffic": on_the_road,
}
