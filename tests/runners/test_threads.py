"""A query over many rows is answered in threads, and the answer is that of one."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury import DataError, Session
from augury.evaluation.evaluator import Evaluator
from augury.runners.local import threads
from contracts.live_cases import comparable
from runners.test_scanning import KEYED, TIMED, network_of, with_faults
from spark.queries import NAMES, events, local, script


@pytest.fixture(autouse=True)
def few_rows_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "MANY", 10)
    monkeypatch.setattr(threads, "FEW", 7)
    monkeypatch.setattr(threads, "ROWS", 13)
    monkeypatch.setattr(threads, "LEAST_PART", 5)


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return how many rows were answered in threads, each time."""
    found: list[int] = []
    answer = threads.InThreads.answer

    def counted(self: threads.InThreads, rows: pa.Table) -> pa.Table:
        found.append(rows.num_rows)
        return answer(self, rows)

    monkeypatch.setattr(threads.InThreads, "answer", counted)
    return found


def in_one(rows: pa.Table) -> list[dict[str, Any]]:
    ag = Session(engine="local")
    ag.sql(script())
    queries = {name: query for name, (query, _) in ag._declared.queries.items()}
    runner = Evaluator(ag._declared.catalog, queries, {"s": rows})
    return [row for name in NAMES for row in runner.table(name).to_pylist()]


def test_what_key_or_time_cuts_is_answered_in_threads(cut: list[int]) -> None:
    rows = with_faults(events(80))
    rows = rows.take(pa.array(sorted(range(86), key=lambda k: rows["t"][k].as_py() or 0)))
    assert comparable(local(rows)) == comparable(in_one(rows))
    assert len(cut) == len({*KEYED, *TIMED})


@given(seed=st.integers(0, 2**20), shards=st.integers(1, 5), n=st.integers(1, 60))
def test_shards_do_not_show(seed: int, shards: int, n: int) -> None:
    rows = events(n, seed)
    for name in ("plain", "greedy", "trailing", "repeated", "anywhere"):
        found = threads.InThreads(network_of(name), shards).answer(rows)
        wanted = [row for row in in_one(rows) if row["query"] == name]
        assert comparable(found.to_pylist()) == comparable(wanted)


@given(
    name=st.sampled_from(sorted({*KEYED, *TIMED} - {"middle"})),
    seed=st.integers(0, 2**20),
    count=st.integers(1, 9),
    n=st.integers(60, 300),
    coded=st.booleans(),
)
def test_stretches_of_time_do_not_show(
    name: str, seed: int, count: int, n: int, coded: bool
) -> None:
    rows, network = events(n, seed), network_of(name)
    texts = rows.column("kind")
    given_rows = rows.set_column(2, "kind", texts.dictionary_encode()) if coded else rows
    with pytest.MonkeyPatch.context() as patched:
        # However much they share.
        patched.setattr(threads, "MOST_TWICE", 1000)
        found = threads.InThreads(network, count).answer(given_rows)
    wanted = [row for row in in_one(rows) if row["query"] == name]
    assert comparable(found.to_pylist()) == comparable(wanted)


@given(
    runs=st.lists(st.integers(1, 25), min_size=10, max_size=16),
    count=st.integers(1, 5),
    window=st.integers(1, 3),
)
def test_a_time_may_be_that_of_more_rows_than_a_part(
    runs: list[int], count: int, window: int
) -> None:
    times = [t for t, n in enumerate(runs) for _ in range(n)]
    rows = pa.table(
        {
            "id": range(len(times)),
            "tag": ["x"] * len(times),
            "kind": ["AB"[t % 2] for t in times],
            "t": times,
            "tie": [0] * len(times),
            "p": [1.0] * len(times),
            "v": [0] * len(times),
        }
    )
    ag = session(f"SEQ(A a, B b) WHERE [tag] WITHIN {window}", rows)
    pairs = [
        (a, b)
        for a, start in enumerate(times)
        for b, end in enumerate(times)
        if start < end <= start + window and start % 2 == 0 and end % 2 == 1
    ]
    with pytest.MonkeyPatch.context() as patched:
        for name, value in (("ROWS", 5), ("MOST_TWICE", 1000), ("cores", lambda: count)):
            patched.setattr(threads, name, value)
        assert ag.table("q").num_rows == len(pairs)


@pytest.mark.parametrize(("window", "by_time"), [(9, True), (70, False), (5000, False)])
@pytest.mark.parametrize("has_key", [True, False])
def test_rows_of_long_windows_are_cut_by_key(window: int, by_time: bool, has_key: bool) -> None:
    lines = list[threads.ThreadInput]()
    matches = threads.InThreads._matches

    def noted(self: Any, line: threads.ThreadInput, step: int) -> list[pa.Table]:
        lines.append(line)
        return matches(self, line, step)

    key = "WHERE [tag]" if has_key else ""
    query = f"SEQ(A a, B b) {key} USING SKIP TILL NEXT MATCH WITHIN {window}"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(threads.InThreads, "_matches", noted)
        patched.setattr(threads, "cores", lambda: 3)
        assert session(query, events(400)).table("q").num_rows
    # What neither can cut is one line.
    assert len(lines) == (3 if has_key or by_time else 1)
    assert [line.since > threads.NEVER_YET for line in lines[1:]] == [by_time] * (len(lines) - 1)


def session(query: str, rows: pa.Table) -> Session:
    ag = Session(engine="local")
    ag.sql(script().split("CREATE QUERY")[0] + f"CREATE QUERY q ON s PATTERN {query};")
    ag.bind("s", rows)
    return ag


@pytest.mark.parametrize(
    "query",
    [
        "SEQ(A a, C c) WITHIN 9 EVENTS",
        "SEQ(A a, B b) WHERE [tag] WITHIN 9 RETURN COUNT",
        "SEQ(A a, B b) WHERE [tag] WITHIN 9 RETURN PROBABILITY",
    ],
)
def test_what_cannot_be_cut_is_answered_in_one(cut: list[int], query: str) -> None:
    assert session(query, events(60)).table("q").num_rows
    assert not cut


def test_rows_out_of_order_are_answered_in_one(cut: list[int]) -> None:
    query = "SEQ(A a, B b) WHERE [tag] WITHIN 9"
    found = session(query, events(60)).table("q").to_pylist()
    backwards = events(60).take(pa.array(range(59, -1, -1)))
    assert comparable(session(query, backwards).table("q").to_pylist()) == comparable(found)
    assert cut == [60]


def test_types_that_are_read_stay_texts(cut: list[int]) -> None:
    query = "SEQ(A a, B b) WHERE [tag] AND LOWER(b.kind) = 'b' WITHIN 9 RETURN a.kind AS k"
    assert set(session(query, events(60)).table("q").column("k").to_pylist()) == {"A"}
    assert cut


def test_texts_that_come_as_codes_are_the_same_texts(cut: list[int]) -> None:
    rows = events(60)
    coded = rows
    for k in (1, 2):
        coded = coded.set_column(k, rows.column_names[k], rows.column(k).dictionary_encode())
    query = "SEQ(A a, B b) WHERE [tag] AND b.v > 0 WITHIN 9 RETURN a.tag AS x, LOWER(b.tag) AS y"
    found = [session(query, each).table("q").to_pylist() for each in (rows, coded)]
    assert comparable(found[0]) == comparable(found[1])
    assert len(cut) == 2


def test_dictionaries_may_have_null_among_their_texts(cut: list[int]) -> None:
    rows = events(60)
    kinds = rows.column("kind").combine_chunks()
    kinds = pc.if_else(pc.equal(kinds, "X"), None, kinds)
    coded = pa.chunked_array(
        [part.dictionary_encode("encode") for part in (kinds[:20], kinds[20:])]
    )
    query = "SEQ(A a, B b) WHERE [tag] WITHIN 9"
    found = [session(query, rows.set_column(2, "kind", each)) for each in (kinds, coded)]
    one, other = (comparable(ag.table("q").to_pylist()) for ag in found)
    assert one == other
    assert len(cut) == 2


@pytest.mark.parametrize("coded", [False, True])
def test_values_of_miss_rate_that_no_row_has_are_told(cut: list[int], coded: bool) -> None:
    ag = Session(engine="local")
    ag.sql(
        "CREATE STREAM s (id LONG, tag STRING, kind STRING, t LONG) ID id KEY tag TIME t TYPE kind "
        "MISS RATE BY kind ('A' 0.1, 'Bee' 0.2);"
        "CREATE QUERY q ON s PATTERN SEQ(A a, B b) WHERE [tag] WITHIN 9 ALLOW 1 MISSED OF (b);"
        "CREATE GAPS g ON q (a TO b EXPONENTIAL(4));"
    )
    rows = events(60).select(["id", "tag", "kind", "t"])
    kinds = rows.column("kind").dictionary_encode() if coded else rows.column("kind")
    ag.bind("s", rows.set_column(2, "kind", kinds))
    with pytest.warns(UserWarning, match="gives a rate to 'Bee', which no row has"):
        ag.table("q")
    assert cut


def test_an_answer_without_matches_has_its_columns(cut: list[int]) -> None:
    found = session("SEQ(A a, NONE b) WHERE [tag] WITHIN 9 RETURN a.v AS v", events(60)).table("q")
    assert found.num_rows == 0
    assert found.column_names[-1] == "v"
    assert cut


def test_a_limit_of_matches_is_counted_in_one(cut: list[int]) -> None:
    rows = pa.table(
        {
            "id": range(60),
            "tag": ["x"] * 60,
            "kind": ["A"] + ["B"] * 59,
            "t": range(60),
            "tie": [0] * 60,
            "p": [1.0] * 60,
            "v": [0] * 60,
        }
    )
    ag = session("SEQ(A a, B b) WHERE [tag] WITHIN 100 MATCH LIMIT 20", rows)
    with pytest.raises(DataError, match="more than 20 matches begin with one event"):
        ag.table("q")
    assert not cut


def test_what_goes_wrong_in_a_thread_is_told(
    cut: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUGURY_MATCH_LIMIT", "2")
    ag = session("SEQ(A a, B b) WHERE [tag] WITHIN 900", events(200))
    with pytest.raises(DataError, match="more than 2 matches begin with one event"):
        ag.table("q")
    assert cut


def test_without_a_window_all_is_one_step(cut: list[int]) -> None:
    query = "SEQ(A a, B b) WHERE [tag] USING SKIP TILL NEXT MATCH"
    steps: list[int] = []
    advance = threads.Executor.advance

    def counted(self: Any, state: Any, batch: Any, horizon: int) -> Any:
        steps.append(horizon)
        return advance(self, state, batch, horizon)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(threads.Executor, "advance", counted)
        assert session(query, events(80)).table("q").num_rows
    assert cut
    assert len(steps) == threads.cores()
