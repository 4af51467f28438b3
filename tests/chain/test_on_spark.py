"""Subsets of the stages on Spark, in batch and in a stream: one job, and what this process says."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from augury import DataError, QueryError, Session
from augury.runners.request import request_of
from augury.runners.spark.combined import combined
from chain.test_subsets import IN_STREAMS, PARTS, SUBSETS, heard_of, opened, rows_of
from oracles.chain import Small, small
from rotation import rotation

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings(
        "ignore:.*stream known", "ignore:.*without KEY", "ignore:.*sequence"
    ),
]
END = 5000
# What is refused, by the words with which it says so: what comes next hangs on who it was.
REFUSED = {"identify", "forecast"}
WHY = "the owners of known"


def asked_of(stages: frozenset[str]) -> list[str]:
    """Return what is asked for: all that the stages give."""
    named = {
        "identify": ["known"],
        "infer": ["is_x"],
        "rules": ["warn", "more", "counts"],
        "forecast": ["soon"],
        "hierarchy": ["twice"],
    }
    return ["unwashed", *(name for stage in sorted(stages) for name in named.get(stage, []))]


def parts_of(*, streaming: bool) -> dict[str, str]:
    return IN_STREAMS if streaming else PARTS


def on_spark(spark: Any, ward: Small, stages: frozenset[str], folder: Path | None) -> Session:
    """Return a session over the rows of a ward: bounded, or in two micro-batches from a folder."""
    ag = opened(ward, stages, Session(spark, shards=2), parts_of(streaming=folder is not None))
    source = "doors" if "identify" in stages else "known"
    kinds = [("id", pa.int64()), *((n, pa.string()) for n in ("person", "action", "room"))]
    rows = pa.Table.from_pylist(with_end(ward), pa.schema([*kinds, ("t", pa.int64())]))
    ag.bind(source, arriving(spark, rows, folder))
    if folder is not None and "infer" in stages:
        heard = pa.Table.from_pylist(heard_with_end(ward))
        ag.bind("readings", arriving(spark, heard, folder / "readings"))
    return ag


def arriving(spark: Any, table: pa.Table, folder: Path | None) -> Any:
    """Return rows as a DataFrame; with a folder they come in two micro-batches."""
    frame = spark.createDataFrame(table)
    if folder is None:
        return frame
    half = table.num_rows // 2
    folder.mkdir()
    for k, part in enumerate((table.slice(0, half), table.slice(half))):
        pq.write_table(part, folder / f"{k}.parquet")
        os.utime(folder / f"{k}.parquet", (10**9 + k, 10**9 + k))
    reader = spark.readStream.schema(frame.schema).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(folder))


def with_end(ward: Small) -> list[dict[str, Any]]:
    """Return the rows, and one so late that it lets all others be known."""
    end = {"id": 999, "person": "O1", "action": "NONE", "room": "H", "t": END}
    return [*rows_of(ward), end]


def heard_with_end(ward: Small) -> list[dict[str, Any]]:
    """Return what the other sensor said; the watermark of a run is the least of all streams."""
    end = {"person": "O1", "said": "x", "t": END}
    return [*sorted(heard_of(ward), key=lambda each: each["t"]), end]


def given(ag: Session, names: list[str], folder: Path | None, *, audits: bool) -> dict[str, Any]:
    """Return what one job gives for some names, and the log of the policy."""
    runner, declared = ag._bound.runner(), ag._declared
    request = request_of(
        declared.catalog,
        declared.checked_queries,
        names,
        streaming=folder is not None,
        audits=audits,
    )
    job = combined(runner, request)  # type: ignore[arg-type]
    found: dict[str, Any] = {name: [] for name in (*names, *(["audit discreet"] if audits else []))}

    def take(answers: Any, _: int = 0) -> None:
        kept = answers.persist()
        for name, rows in found.items():
            rows.extend(job.rows(kept, *request.place(name)).toArrow().to_pylist())
        kept.unpersist()

    if folder is None:
        take(job.answers)
    else:
        writer = job.answers.writeStream.trigger(availableNow=True).foreachBatch(take)
        writer.option("checkpointLocation", str(folder)).start().awaitTermination()
    return found


def local(
    ward: Small, stages: frozenset[str], names: list[str], *, streaming: bool
) -> dict[str, Any]:
    """Return the same of the local engine."""
    ag = opened(ward, stages, parts=parts_of(streaming=streaming))
    ag.bind("doors" if "identify" in stages else "known", with_end(ward))
    if streaming and "infer" in stages:
        ag.bind("readings", heard_with_end(ward))
    found = {}
    for name in names:
        is_told_again = "identify" in stages and name in ("known", "unwashed", "twice")
        if name == "counts":
            table = ag.changes(name)
        elif streaming and is_told_again:
            table = ag.revisions(name)
        else:
            table = ag.table(name)
        found[name] = table.to_pylist()
        if streaming and name == "is_x":
            # What a silence meant is told when it is over.
            last = max(t for _, t, _ in ward.heard)
            found[name] = [row for row in found[name] if row["ts"] <= last]
    if "suppress" in stages:
        found["audit discreet"] = ag.audit("discreet").to_pylist()
    return found


def before_the_end(rows: list[dict[str, Any]]) -> list[str]:
    """Return rows that are not of the last one, in some order, alike up to 1e-9.

    As rows come, groups of probability 0 are left out.
    """
    times = ("as_of", "ts", "end_ts", "t")
    own = [
        row
        for row in rows
        if next((row[n] for n in times if n in row), None) != END and row.get("probability") != 0.0
    ]
    return sorted(repr({n: _rounded(value) for n, value in sorted(row.items())}) for row in own)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 9) + 0.0
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list) else value


@pytest.mark.rotating(22)
@pytest.mark.parametrize("stages", SUBSETS, ids=lambda stages: "+".join(sorted(stages)) or "none")
def test_a_subset_of_the_stages_is_one_job_on_spark(
    spark: Any, tmp_path: Path, stages: frozenset[str]
) -> None:
    seed = rotation() or 1
    ward = small(seed, unread=0.35 if "identify" in stages else 0.0)
    names = asked_of(stages)
    for streaming in (False, True):
        folder = tmp_path / "in" if streaming else None
        ag = on_spark(spark, ward, stages, folder)
        state = tmp_path / "state" if streaming else None
        if stages >= REFUSED:
            with pytest.raises(QueryError, match=WHY):
                given(ag, names, state, audits="suppress" in stages)
            continue
        found = given(ag, names, state, audits="suppress" in stages)
        expected = local(ward, stages, names, streaming=streaming)
        for name, rows in expected.items():
            assert before_the_end(found[name]) == before_the_end(rows), (name, streaming, seed)


def test_rows_that_end_and_rows_that_do_not_are_not_asked_for_in_one_run(
    spark: Any, tmp_path: Path
) -> None:
    stages = frozenset({"infer", "rules"})
    ag = on_spark(spark, small(1, unread=0.0), stages, tmp_path / "in")
    ag.bind("readings", [{"person": "O1", "said": "x", "t": 1}])
    with pytest.raises(DataError, match="rows that have an end"):
        given(ag, asked_of(stages), tmp_path / "state", audits=False)
