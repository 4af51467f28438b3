"""A step makes no more matches than it may, whichever way they are made, and says so in words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from augury import Session
from augury.analysis.script import check_text
from augury.errors import DataError
from augury.evaluation.evaluator import Evaluator
from augury.matching import find

STREAM = "CREATE STREAM s (kind STRING, t LONG, p DOUBLE) TIME t TYPE kind PROBABILITY p;"
# Each is evaluated another way: followed, searched, counted by listing, from lineage, as a stream.
WAYS = {
    "followed": "CREATE QUERY q ON s PATTERN SEQ(A a, B b);",
    "searched": "CREATE QUERY q ON s PATTERN SEQ(A a, B b) WHERE a.t + b.t >= 0;",
    "repeated": "CREATE QUERY q ON s PATTERN SEQ(A+ a, B b) WITHIN 9;",
    "negated": "CREATE QUERY q ON s PATTERN SEQ(A a, !C c, B b) WHERE a.t + b.t >= 0;",
    "counted": "CREATE QUERY q ON s PATTERN SEQ(A a, B b, A c) WHERE a.t + c.t >= 0 RETURN COUNT;",
    "lineage": "CREATE QUERY q ON s PATTERN SEQ(A a, !SEQ(B b, C c), B d)"
    " WITHIN 5000 RETURN PROBABILITY;",
    "below": "CREATE QUERY q ON s PATTERN SEQ(A a, B b); CREATE QUERY r ON q PATTERN q x;",
}


def rows(n: int, p: float = 0.5) -> list[dict[str, Any]]:
    return [{"kind": "AB"[k % 2], "t": k, "p": p} for k in range(n)]


def asked(script: str, n: int, name: str = "q") -> Any:
    ag = Session(engine="local")
    ag.sql(STREAM + script)
    ag.bind("s", rows(n))
    return ag.table(name)


@pytest.mark.parametrize("way", WAYS)
def test_more_matches_than_a_step_may_make_are_refused(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUGURY_STEP_MATCH_LIMIT", "1000")
    name = "r" if way == "below" else "q"
    with pytest.raises(DataError) as error:
        asked(WAYS[way], 400, name)
    text = str(error.value)
    assert text.startswith("query q: more than 1,000 matches in one step")
    for advice in ("WITHIN", "HAVING CONFIDENCE", "MATCH LIMIT", "AUGURY_STEP_MATCH_LIMIT"):
        assert advice in text


@pytest.mark.parametrize("way", WAYS)
def test_more_memory_than_a_step_may_take_is_refused(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUGURY_STEP_BYTE_LIMIT", str(2**20))
    with pytest.raises(DataError) as error:
        asked(WAYS[way], 400, "r" if way == "below" else "q")
    assert str(error.value).startswith("query q: ")
    assert "more than 0.0 GiB in one step" in str(error.value)
    assert "AUGURY_STEP_BYTE_LIMIT" in str(error.value)


def test_what_a_step_may_make_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUGURY_STEP_MATCH_LIMIT", "210")
    for way in ("followed", "searched"):
        assert asked(WAYS[way], 40).num_rows == 210


def test_a_larger_match_limit_of_the_query_takes_the_place_of_the_setting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AUGURY_STEP_MATCH_LIMIT", "100")
    for clause in ("", "WHERE a.t + b.t >= 0"):
        query = f"CREATE QUERY q ON s PATTERN SEQ(A a, B b) {clause} MATCH LIMIT 210;"
        assert asked(query, 40).num_rows == 210


def test_variants_with_missed_components_count_together(monkeypatch: pytest.MonkeyPatch) -> None:
    ag = Session(engine="local")
    ag.sql(
        "CREATE STREAM s (kind STRING, t LONG, p DOUBLE) TIME t TYPE kind PROBABILITY p"
        " MISS RATE 0.1; CREATE QUERY q ON s PATTERN SEQ(A a, B b, C c) ALLOW 1 MISSED WITHIN 100;"
        "CREATE GAPS g ON q (a TO b EXPONENTIAL(10), b TO c EXPONENTIAL(10));"
    )
    ag.bind("s", [{"kind": kind, "t": k, "p": 1.0} for k, kind in enumerate("ABCACCAC")])
    missed = ag.table("q").column("n_missed").to_pylist()
    assert set(missed) == {0, 1}
    monkeypatch.setenv("AUGURY_STEP_MATCH_LIMIT", str(len(missed) - 1))
    ag.bind("s", [{"kind": kind, "t": k, "p": 1.0} for k, kind in enumerate("ABCACCAC")])
    with pytest.raises(DataError, match="in one step"):
        ag.table("q")


def test_queries_that_share_a_pass_are_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUGURY_STEP_MATCH_LIMIT", "1000")
    few = "CREATE QUERY few ON s PATTERN SEQ(A a, B b) WITHIN 1;"
    checked = check_text(STREAM + WAYS["followed"] + few)
    queries = {query.name: query for query in checked.queries}
    evaluator = Evaluator(checked.catalog, queries, {"s": pa.Table.from_pylist(rows(400))})
    with pytest.raises(DataError, match="query q: more than 1,000 matches in one step"):
        evaluator.run_all()


def test_pushed_events_are_refused_in_the_same_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUGURY_STEP_MATCH_LIMIT", "1000")
    ag = Session(engine="local")
    ag.sql(STREAM + "CREATE QUERY q ON s PATTERN SEQ(A a, B b) WITHIN 10000;")
    with pytest.raises(DataError, match="query q: more than 1,000 matches in one step"):
        ag.push("s", rows(400))


def test_a_join_that_takes_too_much_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUGURY_STEP_BYTE_LIMIT", str(2**20))
    ag = Session(engine="local")
    ag.sql(
        "CREATE STREAM o (k LONG, v LONG, t LONG, p DOUBLE) TIME t PROBABILITY p;"
        "CREATE STREAM x (k LONG, v LONG, t LONG, p DOUBLE) TIME t PROBABILITY p;"
        "CREATE QUERY q ON o, x PATTERN AND(o, x) WHERE o.v < x.v WITHIN 100000 RETURN PROBABILITY;"
    )
    for name in "ox":
        ag.bind(name, [{"k": 1, "v": k, "t": k, "p": 0.5} for k in range(400)])
    with pytest.raises(DataError, match=r"query q: a join of [\d,]+ pairs of rows"):
        ag.table("q")


def test_the_end_of_memory_is_told_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(*_: Any) -> Any:
        raise MemoryError("Unable to allocate 13.4 GiB for an array")

    monkeypatch.setattr(find, "event_rows", exhausted)
    with pytest.raises(DataError, match=r"query q: one step needs more memory than there is"):
        asked(WAYS["searched"], 10)


def test_sixty_thousand_events_without_a_window_end_in_words() -> None:
    n = 60_000
    ag = Session(engine="local")
    ag.sql(
        "CREATE STREAM s (kind STRING, t TIMESTAMP) TIME t TYPE kind;"
        "CREATE QUERY q ON s PATTERN SEQ(A a, B b);"
    )
    kinds = pa.DictionaryArray.from_arrays(np.arange(n, dtype=np.int32) % 2, pa.array(["A", "B"]))
    times = pa.array(np.arange(n) * 10**6).cast(pa.timestamp("us", "UTC"))
    ag.bind("s", pa.table({"kind": kinds.cast(pa.string()), "t": times}))
    with pytest.raises(DataError, match=r"query q: more than 20,000,000 matches in one step"):
        ag.table("q")
