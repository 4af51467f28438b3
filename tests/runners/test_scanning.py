"""Workers that read Parquet themselves find what the local engine finds in the same rows."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury import Session
from augury.evaluation import row_filter as wanting
from augury.evaluation.answers.schemas import network_schema
from augury.evaluation.executor import Executor, steps_of
from augury.evaluation.network import Network
from augury.evaluation.packing import SHARD, Packer
from augury.evaluation.row_filter import RowFilter, shard_numbers
from augury.evaluation.sharding import sharding_of
from augury.matching.matcher import ALWAYS
from augury.operator import NEVER_YET
from augury.runners.spark import scanning
from augury.runners.spark.scanning import (
    Scan,
    ScanPacker,
    ScanTask,
    held_at_once,
    in_time,
    most_reached,
    reached,
    shared,
    spans_of,
)
from augury.runners.spark.tasks import BoundedTask, blobs_of
from augury.sources.parquet_files import Group, file_groups
from contracts.live_cases import comparable
from spark.queries import NAMES, SCHEMA, events, local, script


def network_of(name: str, text: str = "") -> Network:
    ag = Session(engine="local")
    ag.sql(text or script())
    return Network.of(
        [name], {n: query for n, (query, _) in ag._declared.queries.items()}, ag._declared.catalog
    )


def scan_of(network: Network, paths: list[Path], shards: int) -> Scan:
    stream = network.bases["s"]
    packer = Packer(stream, Executor(network).schemas["s"])
    read = [file_groups(str(path), pq.read_metadata(path), "t") for path in paths]
    groups = tuple(group for own in read for group in own)
    names = tuple((name, name) for name in packer.columns)
    cut_by = dict(sharding_of(network, bounded=True).columns).get("s", ())
    return Scan(packer, groups, names, cut_by, shards)


def numbers(n: int) -> list[pa.RecordBatch]:
    return [pa.record_batch([pa.array(range(n))], ["id"])]


def written(rows: pa.Table, folder: Path, files: int, group: int, seed: int) -> list[Path]:
    """Write rows in some order to some files with small groups of rows."""
    order = np.random.default_rng(seed).permutation(rows.num_rows) if seed else None
    rows = rows if order is None else rows.take(pa.array(order))
    size, paths = -(-rows.num_rows // files), []
    for k in range(files):
        paths.append(folder / f"{k} part.parquet")
        pq.write_table(rows.slice(k * size, size), paths[-1], row_group_size=group)
    return paths


def with_faults(rows: pa.Table) -> pa.Table:
    """Return rows with some more that have a fault each, and one without a type, which has none."""
    good = {"id": 900, "tag": "x", "kind": "A", "t": 3, "tie": 1, "p": 0.5, "v": 1}
    bad = [{"tag": None}, {"t": None}, {"id": None}, {"p": None}, {"p": 1.5}, {"kind": None}]
    more = [good | {"id": 900 + k} | fault for k, fault in enumerate(bad)]
    return pa.concat_tables([rows, pa.Table.from_pylist(more, SCHEMA)])


def queries_cut_by(kind: str) -> list[str]:
    """Return the queries over the stream that are cut by key, or by time where no key does."""
    networks = {name: network_of(name) for name in NAMES}
    flat = {name: network for name, network in networks.items() if network.is_flat}
    return [name for name in flat if sharding_of(flat[name], bounded=True).kind == kind]


KEYED, TIMED = queries_cut_by("key"), queries_cut_by("time")


def test_the_queries_are_not_few() -> None:
    assert len(KEYED) > 8
    assert len(TIMED) > 2


@pytest.mark.parametrize("name", KEYED)
@pytest.mark.parametrize(("files", "group", "seed"), [(1, 1000, 0), (3, 7, 0), (2, 5, 1)])
def test_each_shard_reads_its_own(
    tmp_path: Path, name: str, files: int, group: int, seed: int
) -> None:
    rows = with_faults(events(60))
    paths = written(rows, tmp_path, files, group, seed)
    network = network_of(name)
    task = ScanTask(network, (scan_of(network, paths, 3),), network_schema(network, name))
    found = [row for batch in task(numbers(3)) for row in batch.to_pylist()]
    wanted = [row for row in local(rows) if row["query"] == name]
    assert comparable(found) == comparable(wanted)


@pytest.mark.parametrize("few", [0, 256])
def test_types_of_any_number(tmp_path: Path, few: int) -> None:
    """Texts that are codes stay the codes they are, or become those of the query."""
    rows = with_faults(events(60))
    paths = written(rows, tmp_path, 2, 5, 0)
    network = network_of("plain")
    task = ScanTask(network, (scan_of(network, paths, 1),), network_schema(network, "plain"))
    with patch.object(wanting, "FEW_TEXTS", few):
        found = [row for batch in task(numbers(1)) for row in batch.to_pylist()]
    assert comparable(found) == comparable([r for r in local(rows) if r["query"] == "plain"])


def answered(task: ScanTask, tasks: int) -> list[dict[str, Any]]:
    """Return what the tasks find, each in a call of its own."""
    ones = [[pa.record_batch([pa.array([k])], ["id"])] for k in range(tasks)]
    return [row for one in ones for batch in task(one) for row in batch.to_pylist()]


@pytest.mark.parametrize("columns", ["kind STRING, t LONG", "t LONG, kind STRING"])
def test_columns_may_be_declared_in_any_order(tmp_path: Path, columns: str) -> None:
    text = f"""
    CREATE STREAM s (id LONG, tag STRING, {columns}) ID id KEY tag TIME t TYPE kind;
    CREATE QUERY q ON s PATTERN SEQ(A a, B b) WHERE [tag] WITHIN 7;
    """
    rows = events(60).select(["id", "tag", "kind", "t"]).sort_by("t")
    network = network_of("q", text)
    paths, spans = written(rows, tmp_path, 2, 9, 0), ((NEVER_YET, 15), (15, 25), (25, ALWAYS))
    task = ScanTask(network, (scan_of(network, paths, 1),), network_schema(network, "q"), spans)
    ag = Session(engine="local")
    ag.sql(text)
    ag.bind("s", rows)
    assert comparable(answered(task, 3)) == comparable(ag.table("q").to_pylist())


@given(
    name=st.sampled_from([name for name in KEYED + TIMED if network_of(name).memory is not None]),
    seed=st.integers(0, 2**20),
    files=st.tuples(st.integers(1, 3), st.integers(1, 30), st.booleans()),
    starts=st.sets(st.integers(-1, 80), max_size=5),
    step=st.integers(1, 40),
)
def test_spans_of_time_are_one(
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    seed: int,
    files: tuple[int, int, bool],
    starts: set[int],
    step: int,
) -> None:
    rows, network = with_faults(events(50, seed)), network_of(name)
    count, group, mixed = files
    paths = written(rows, tmp_path_factory.mktemp("rows"), count, group, int(mixed))
    spans = tuple(pairwise([NEVER_YET, *sorted(starts), ALWAYS]))
    schema = network_schema(network, name)
    task = ScanTask(network, (scan_of(network, paths, 1),), schema, spans, step)
    found = answered(task, len(spans))
    wanted = [row for row in local(rows) if row["query"] == name]
    assert comparable(found) == comparable(wanted)


def test_a_repeat_is_known_though_the_first_is_of_another_span(tmp_path: Path) -> None:
    text = """
    CREATE STREAM s (id LONG, tag STRING, kind STRING, t LONG) ID id KEY tag TIME t TYPE kind;
    CREATE QUERY q ON s PATTERN SEQ(A a, B b) WHERE [tag] WITHIN 20;
    """
    # The second A is a repeat of the first, so that the second B ends nothing.
    times = {"id": [1, 7, 1, 8], "kind": list("ABAB"), "t": [100, 101, 119, 122]}
    rows = pa.table({**times, "tag": ["x"] * 4})
    network, ag = network_of("q", text), Session(engine="local")
    paths = written(rows, tmp_path, 1, 1, 0)
    spans = ((NEVER_YET, 121), (121, ALWAYS))
    scans = (scan_of(network, paths, 1),)
    task = ScanTask(network, scans, network_schema(network, "q"), spans)
    ag.sql(text)
    ag.bind("s", rows)
    found = [row["end_ts"] for row in answered(task, 2)]
    assert found == ag.table("q").column("end_ts").to_pylist() == [101]


@pytest.fixture
def at_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "LEAST", 1)


def test_spans_have_as_many_rows_each(at_any_size: None) -> None:
    network = network_of("plain")
    assert network.memory is not None
    far = 100 * network.memory
    (scan,) = grouped(*((k * far, (k + 1) * far - 1) for k in range(12)))
    spans = spans_of(network, [scan], 3)
    assert spans == ((NEVER_YET, 4 * far), (4 * far, 8 * far), (8 * far, ALWAYS))
    assert [len(reached(in_time([scan]), span, network)) for span in spans] == [4, 5, 5]


@given(
    times=st.lists(st.tuples(st.integers(-40, 400), st.integers(0, 60)), min_size=1, max_size=12),
    starts=st.sets(st.integers(-40, 400), min_size=1, max_size=4),
)
def test_rows_of_spans_are_counted_at_once(times: list[tuple[int, int]], starts: set[int]) -> None:
    network = network_of("plain")
    groups = in_time(grouped(*((first, first + wide) for first, wide in times)))
    spans = tuple(pairwise([NEVER_YET, *sorted(starts), ALWAYS]))
    each = [sum(g.rows for _, g in reached(groups, span, network)) for span in spans]
    assert most_reached([group for _, group in groups], spans, network) == max(each)


ALTERNATIVES = """
CREATE STREAM s (id LONG, tag STRING, kind STRING, t LONG, p DOUBLE)
ID id KEY tag TIME t TYPE kind ALTERNATIVES kind PROBABILITY p;
CREATE QUERY q ON s PATTERN SEQ(A a, B b) WHERE [tag] WITHIN 7;
"""
LIMITED = """
CREATE STREAM s (id LONG, tag STRING, kind STRING, t LONG) ID id KEY tag TIME t TYPE kind;
CREATE QUERY q ON s PATTERN SEQ(A a, B b) WHERE [tag] WITHIN 7 MATCH LIMIT 4;
"""


@pytest.mark.parametrize("text", [ALTERNATIVES, LIMITED])
def test_what_hangs_together_over_time_is_not_cut_by_it(text: str, at_any_size: None) -> None:
    groups = grouped(*((k * 1000, k * 1000 + 999) for k in range(12)))
    assert len(spans_of(network_of("plain"), groups, 3)) == 3
    network = network_of("q", text)
    assert network.memory is not None
    assert spans_of(network, groups, 3) == ()
    assert steps_of(network, 10, 0, 12_000) == ALWAYS


def test_few_rows_are_not_cut_by_time() -> None:
    assert spans_of(network_of("plain"), grouped((0, 999), (1000, 1999)), 2) == ()


def test_groups_that_span_the_whole_time_are_not_cut_by_it(at_any_size: None) -> None:
    network = network_of("plain")
    assert spans_of(network, grouped(*((k, 10_000 + k) for k in range(12))), 3) == ()
    assert spans_of(network, grouped((0, 10_000)), 3) == ()
    assert spans_of(network, grouped((0, 9), (10, 19)), 1) == ()


@given(seed=st.integers(0, 2**20), group=st.integers(1, 40), shards=st.integers(1, 4))
def test_steps_of_any_size_are_one(
    tmp_path_factory: pytest.TempPathFactory, seed: int, group: int, shards: int
) -> None:
    rows, network = events(50, seed), network_of("plain")
    paths = written(rows, tmp_path_factory.mktemp("rows"), 2, group, seed % 3)
    task = ScanTask(
        network, (scan_of(network, paths, shards),), network_schema(network, "plain"), step=group
    )
    found = [row for batch in task(numbers(shards)) for row in batch.to_pylist()]
    wanted = [row for row in local(rows) if row["query"] == "plain"]
    assert comparable(found) == comparable(wanted)


@pytest.mark.parametrize("name", ["plain", "trailing", "repeated", "contiguous"])
def test_packed_rows_are_those_that_spark_would_pack(tmp_path: Path, name: str) -> None:
    rows, network = with_faults(events(60)), network_of(name)
    paths = written(rows, tmp_path, 3, 7, 0)
    scan = scan_of(network, paths, 4)
    packer = ScanPacker(network, scan, shared(scan.groups, 2))
    blobs = sorted(blobs_of(packer(numbers(len(packer.tasks)))), key=lambda blob: blob.first)
    task = BoundedTask(network, sharding_of(network, bounded=True))
    found = [
        row
        for _, answers in task.steps(iter(blobs))
        for table in answers.found.values()
        for row in table.to_pylist()
    ]
    wanted = [row for row in local(rows) if row["query"] == name]
    assert comparable(found) == comparable(wanted)


def test_groups_are_dealt_out_once() -> None:
    groups = [Group("f", k, 10) for k in range(23)]
    for tasks in (1, 2, 5, 23, 40):
        dealt = shared(groups, tasks)
        assert [group for own in dealt for group in own] == groups
        assert len(dealt) == min(tasks, 23)
    assert len(shared([Group("f", k, 3_000_000) for k in range(8)], 2)) == 6


def grouped(*spans: tuple[int | None, int | None]) -> Any:
    groups = tuple(Group("f", k, 10, *span) for k, span in enumerate(spans))
    return [Scan(None, groups, (), (), 1)]  # type: ignore[arg-type]


def test_what_must_wait_is_known_beforehand() -> None:
    assert held_at_once(grouped((0, 4), (5, 9), (10, 14))) == 10
    assert held_at_once(grouped((10, 14), (0, 5), (5, 9))) == 20
    assert held_at_once(grouped((0, 99), (1, 2), (3, 4))) == 20
    assert held_at_once(grouped((0, 99), (1, 99), (2, 99))) == 30
    assert held_at_once(grouped((0, 4), (None, None))) is None


def numbered(column: Any, kind: Any, shards: int) -> Any:
    return shard_numbers(pa.table({"k": column}), ["k"], shards, {"k": kind})


def test_equal_keys_share_a_shard_however_they_are_stored() -> None:
    texts = pa.array(["a", "bc", None, "a", ""])
    coded = texts.dictionary_encode()
    for column in (texts, coded, pa.chunked_array([texts.slice(0, 2), texts.slice(2)])):
        found = numbered(column, pa.string(), 1000)
        assert found[0] == found[3]
    assert (numbered(texts, pa.string(), 97) == numbered(coded, pa.string(), 97)).all()
    zeros = numbered(pa.array([0.0, -0.0]), pa.float64(), 1000)
    assert zeros[0] == zeros[1]
    ways = [pa.int8(), pa.int32(), pa.int64(), pa.float32(), pa.float64()]
    found = [numbered(pa.array([1, 2, 90], way), pa.float64(), 1000).tolist() for way in ways]
    assert len({tuple(own) for own in found}) == 1
    both = {"k": pa.int64(), "l": pa.int64()}
    spread = shard_numbers(pa.table({"k": range(4000), "l": [1] * 4000}), ["k", "l"], 4, both)
    assert np.bincount(spread).min() > 900
    assert not shard_numbers(pa.table({"k": [1, 2]}), [], 4, {}).any()


def test_streams_that_store_one_key_in_two_types_meet(tmp_path: Path) -> None:
    text = """
    CREATE STREAM s (id LONG, k DOUBLE, t LONG) ID id KEY k TIME t;
    CREATE STREAM r (id LONG, k DOUBLE, t LONG) ID id KEY k TIME t;
    CREATE QUERY q ON s, r PATTERN SEQ(s a, r b) WHERE [k] WITHIN 9;
    """
    network, scans, ag = network_of("q", text), [], Session(engine="local")
    ag.sql(text)
    for name, kind in (("s", pa.int32()), ("r", pa.float64())):
        keys = pa.array([k % 5 for k in range(40)], kind)
        rows = pa.table({"id": range(40), "k": keys, "t": range(40)})
        pq.write_table(rows, tmp_path / name, row_group_size=6)
        ag.bind(name, rows)
        packer = Packer(network.bases[name], Executor(network).schemas[name])
        groups = tuple(file_groups(str(tmp_path / name), pq.read_metadata(tmp_path / name), "t"))
        names = tuple((column, column) for column in packer.columns)
        scans.append(Scan(packer, groups, names, ("k",), 3))
    task = ScanTask(network, tuple(scans), network_schema(network, "q"))
    found = [row for batch in task(numbers(3)) for row in batch.to_pylist()]
    wanted = ag.table("q").to_pylist()
    assert len(wanted) > 30
    assert comparable(found) == comparable(wanted)


def test_alternatives_that_add_up_to_more_than_one_are_left_out(tmp_path: Path) -> None:
    text = """
    CREATE STREAM s (tag STRING, kind STRING, t LONG, p DOUBLE)
    KEY tag TIME t TYPE kind ALTERNATIVES kind PROBABILITY p;
    CREATE QUERY q ON s PATTERN SEQ(A a, A b) WHERE [tag] WITHIN 9;
    """
    rows = pa.table(
        {
            "tag": ["x"] * 6,
            "kind": ["A", "B", "A", "B", "A", "B"],
            "t": [1, 1, 2, 2, 3, 3],
            "p": [0.5, 0.4, 0.7, 0.6, 0.5, 0.5],
        }
    )
    paths, network = written(rows, tmp_path, 1, 100, 0), network_of("q", text)
    task = ScanTask(network, (scan_of(network, paths, 1),), network_schema(network, "q"))
    found = [row for batch in task(numbers(1)) for row in batch.to_pylist()]
    assert [row["confidence"] for row in found] == [0.25]


def test_a_footer_is_read_once_for_each_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths, network = written(events(60), tmp_path, 2, 3, 0), network_of("plain")
    task = ScanTask(network, (scan_of(network, paths, 1),), network_schema(network, "plain"))
    read: list[str] = []
    footer = pq.read_metadata
    monkeypatch.setattr(pq, "read_metadata", lambda path: read.append(path) or footer(path))
    assert list(task(numbers(1)))
    assert len(read) == 2


def test_rows_that_cannot_play_are_left_out() -> None:
    network = network_of("threshold")
    rows = events(200).append_column(SHARD, pa.array([0] * 200))
    found = RowFilter(network, network.bases["s"]).of(rows)
    assert set(found.column("kind").to_pylist()) == {"A", "B"}
    assert min(found.column("p").to_pylist()) == 0.5
