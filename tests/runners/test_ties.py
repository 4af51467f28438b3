"""Events of equal time are in no sequence without ORDER BY, and it is said how many there are."""

from __future__ import annotations

import warnings
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury import Session
from cli.terminal import augury

STREAM = "CREATE STREAM s (id LONG, tag STRING, kind STRING, t LONG) ID id TIME t TYPE kind;"
ORDERED = STREAM.replace("TIME t", "TIME t ORDER BY id")
PAIRS = "CREATE QUERY q ON s PATTERN SEQ(A a, B b) {} WITHIN 9;"
TOLD = [("u", "A", 1), ("u", "B", 1), ("v", "B", 1), ("u", "A", 2), ("u", "A", 2), ("u", "C", 3),
        ("v", "A", 3), ("v", "B", 4)]  # fmt: skip
ROWS = [{"id": k, "tag": tag, "kind": kind, "t": t} for k, (tag, kind, t) in enumerate(TOLD)]


def bound(script: str) -> Session:
    ag = Session(engine="local")
    ag.sql(script)
    ag.bind("s", ROWS)
    return ag


def notices(script: str, query: str = "q") -> list[str]:
    """Return what is said with an answer; the same whether rows are bound or pushed."""
    with warnings.catch_warnings(record=True) as by_table:
        warnings.simplefilter("always")
        bound(script).table(query)
    pushing = Session(engine="local")
    pushing.sql(script)
    with warnings.catch_warnings(record=True) as by_finish:
        warnings.simplefilter("always")
        pushing.push("s", ROWS)
        pushing.finish()
    assert [str(w.message) for w in by_table] == [str(w.message) for w in by_finish]
    return [str(w.message) for w in by_table]


def test_tied_events_are_counted_and_told_what_to_write() -> None:
    assert notices(STREAM + PAIRS.format("")) == [
        "query q: 3 events of s share their time with another, and events of equal time are in no "
        "sequence; order them by a column: TIME t ORDER BY ..."
    ]


def test_only_those_that_a_match_could_hold_together_are_tied() -> None:
    (told,) = notices(STREAM + PAIRS.format("WHERE [tag]"))
    assert told.startswith("query q: 2 events of s share")


@pytest.mark.parametrize(
    "script",
    [
        ORDERED + PAIRS.format(""),
        STREAM + "CREATE QUERY q ON s PATTERN AND(A a, B b) WITHIN 9;",
        STREAM + "CREATE QUERY q ON s PATTERN SEQ(A a, D d) WITHIN 9;",
        STREAM + "CREATE QUERY q ON s PATTERN SEQ(A a (a.t > 2), B b (b.t > 2)) WITHIN 9;",
    ],
    ids=["order by", "no order asked", "types apart", "filtered"],
)
def test_where_nothing_is_lost_nothing_is_said(script: str) -> None:
    assert notices(script) == []


def test_a_repetition_orders_events_of_one_type() -> None:
    (told,) = notices(STREAM + "CREATE QUERY q ON s PATTERN SEQ(A+ a, C c) WHERE [tag] WITHIN 9;")
    assert told.startswith("query q: 2 events of s share")


def test_it_is_said_once() -> None:
    ag = bound(STREAM + PAIRS.format(""))
    with pytest.warns(UserWarning, match="3 events of s share their time"):
        ag.table("q")
    with warnings.catch_warnings(record=True) as again:
        warnings.simplefilter("always")
        ag.table("q")
    assert again == []


def test_each_query_below_says_it_for_itself() -> None:
    above = "CREATE QUERY u ON q PATTERN SEQ(q a, q b) WITHIN 9;"
    (told,) = notices(STREAM + PAIRS.format("") + above, "u")
    assert told.startswith("query q: 3 events of s share")


def test_probabilities_say_it_too() -> None:
    script = "CREATE QUERY q ON s PATTERN SEQ(A a, B b) RETURN PROBABILITY BY TIME;"
    (told,) = notices(STREAM + script)
    assert told.startswith("query q: 3 events of s share")


SCHEMA = pa.schema(
    [("id", pa.int64()), ("tag", pa.string()), ("kind", pa.string()), ("t", pa.int64())]
)
ROW = st.tuples(st.sampled_from("uv"), st.sampled_from("ABC"), st.integers(0, 4))


@given(told=st.lists(ROW, max_size=12), by_tag=st.booleans())
def test_the_number_is_that_of_all_pairs(told: list[tuple[str, str, int]], by_tag: bool) -> None:
    def beside(tag: str, t: int) -> set[str]:
        return {kind for own, kind, at in told if at == t and (own == tag or not by_tag)}

    tied = sum(kind != "C" and beside(tag, t) >= {"A", "B"} for tag, kind, t in told)
    rows = [{"id": k, "tag": tag, "kind": kind, "t": t} for k, (tag, kind, t) in enumerate(told)]
    rows.sort(key=lambda row: row["t"])
    script = STREAM + PAIRS.format("WHERE [tag]" if by_tag else "")
    pushing, binding = Session(engine="local"), Session(engine="local")
    for ag in (pushing, binding):
        ag.sql(script)
    binding.bind("s", pa.Table.from_pylist(rows, SCHEMA))
    for ask in (lambda: binding.table("q"), lambda: (pushing.push("s", rows), pushing.finish())):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            ask()
        texts = [str(each.message).split(" events")[0] for each in said]
        assert texts == ([f"query q: {tied}"] if tied else [])


@pytest.mark.spark
@pytest.mark.parametrize("how", ["--batch", "--once"])
def test_a_run_says_it_at_its_end(how: str, tmp_path: Path) -> None:
    lines = [",".join(map(str, row.values())) for row in ROWS]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "rows.csv").write_text("\n".join(["id,tag,kind,t", *lines]))
    script = STREAM.removesuffix(";") + f" FROM csv '{tmp_path / 'in'}' OPTIONS (header = 'true');"
    (tmp_path / "q.sql").write_text(script + PAIRS.format("WHERE [tag]"))
    arguments = [
        "run",
        str(tmp_path / "q.sql"),
        "--engine",
        "spark",
        how,
        "--checkpoint",
        str(tmp_path / "state"),
    ]
    shown = augury(*arguments)
    assert shown.exit_code == 0, shown.output
    assert "warning: query q: 2 events of s share their time with another" in shown.output
