"""Whoever reads a stream under a policy reads what was kept: one test per way to read."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from augury import AuguryError, QueryError, Session
from augury.errors import DataError, RowsWarning
from augury.runners.local import threads
from privacy.wards import SHAPE, Row, row, session

# What a suppressed event holds; it must be nowhere but in the log of decisions.
SECRET = "s3cret"
SCRIPT = """
CREATE QUERY q1 ON s PATTERN SEQ(A a, B b) WITHIN 9 RETURN a.k AS ak, b.k AS bk;
CREATE QUERY private_one ON s PATTERN SEQ(A a, C b) WITHIN 9;
CREATE QUERY some ON s PATTERN SEQ(A a, C+ b) WITHIN 9 RETURN *;
CREATE QUERY any_c ON s PATTERN C a WITHIN 9 RETURN a.k AS k, a.t AS t;
CREATE QUERY upper ON any_c, s PATTERN SEQ(B b, any_c c) WITHIN 9;
CREATE QUERY many ON s PATTERN SEQ(B a, C b) WITHIN 9 RETURN COUNT;
CREATE QUERY whether ON s PATTERN SEQ(B a, C b) WITHIN 9 RETURN PROBABILITY;
CREATE QUERY along ON s PATTERN SEQ(B a, C b) RETURN PROBABILITY BY TIME;
CREATE POLICY pol ON s PUBLIC q1 PRIVATE private_one NEVER USING GREEDY;
CREATE STREAM pub AS SUPPRESS s USING pol;
CREATE QUERY on_pub ON pub PATTERN SEQ(B a, C b) WITHIN 9 RETURN b.k AS k;
"""
READABLE = ("q1", "some", "any_c", "upper", "many", "whether", "along", "on_pub", "pub")
# c3 would complete a private match and goes; c30 stands alone and is kept.
ROWS = [row("a1"), row("b2"), row(f"c3 k={SECRET}"), row("b29"), row("c30"), row("b40")]
KEPT = ["a1", "b2", "b29", "c30", "b40"]


def guarded(rows: list[Row] = ROWS) -> Session:
    ag = session(SCRIPT)
    ag.bind("s", rows)
    return ag


def raw() -> Session:
    """Return a session that reads the kept rows, and knows of no policy."""
    ag = Session(engine="local")
    script = SCRIPT.replace("CREATE POLICY", "-- ").replace("CREATE STREAM pub AS", "-- ")
    ag.sql(SHAPE.format("s", "", "") + SHAPE.format("pub", "", "") + script)
    kept = [each for each in ROWS if each["id"] in KEPT]
    ag.bind("s", kept)
    ag.bind("pub", kept)
    return ag


def test_the_event_is_suppressed_and_only_the_log_of_decisions_tells() -> None:
    log = {each["event_id"]: each for each in guarded().audit("pol").to_pylist()}
    assert [name for name, each in log.items() if each["kept"]] == KEPT
    assert log["c3"]["rule"] == "never"


@pytest.mark.parametrize("name", READABLE)
def test_a_table_is_that_of_the_kept_rows(name: str) -> None:
    found = guarded().table(name)
    assert SECRET not in str(found.to_pylist())
    if name != "pub":
        expected = raw().table(name)
        assert sorted(map(str, found.to_pylist())) == sorted(map(str, expected.to_pylist()))
    else:
        assert found.column("id").to_pylist() == KEPT


def test_some_columns_of_a_table_are_those_of_the_kept_rows() -> None:
    assert guarded().table("any_c", ["k", "t"]).to_pylist() == [{"k": "k", "t": 30}]
    assert guarded().table("pub", ["id"]).column("id").to_pylist() == KEPT


def test_pushed_rows_give_the_matches_of_the_kept_ones() -> None:
    ag, found = session(SCRIPT), list[dict[str, Any]]()
    for each in ROWS:
        found += ag.push("s", each)
    found += ag.finish()
    assert SECRET not in str(found)
    assert {each["query"] for each in found} >= {*READABLE} - {"some", "pub"}
    assert "private_one" not in {each["query"] for each in found}
    for name in ("q1", "some", "any_c", "upper", "on_pub"):
        expected = guarded().table(name).column("match_id").to_pylist()
        assert sorted(each["match_id"] for each in found if each["query"] == name) == sorted(
            expected
        )


def test_what_is_measured_is_measured_of_the_kept_rows() -> None:
    assert SECRET not in guarded().explain("any_c", analyze=True)
    rows = [*ROWS, row("c60") | {"p": 7.0}]
    stages = json.loads(guarded(rows).explain("any_c", "json", analyze=True))["measured"]
    assert [(each["rows_in"], each["rows_out"]) for each in stages] == [(5, 5), (5, 1)]


def test_threads_read_the_kept_rows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(threads, "MANY", 1)
    assert guarded().table("any_c").column("t").to_pylist() == [30]
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "s")
    ag = session(SCRIPT)
    ag.bind("s", tmp_path / "s")
    assert ag.table("any_c").column("t").to_pylist() == [30]
    assert ag.table("q1").num_rows == raw().table("q1").num_rows


def test_a_repeated_id_does_not_bring_back_what_was_suppressed() -> None:
    ag = guarded([*ROWS, row("c3") | {"t": 50, "k": SECRET}])
    assert ag.table("any_c").column("t").to_pylist() == [30]
    assert ag.rejected("s").column("t").to_pylist() == [50]


def test_bad_rows_are_shown_to_their_owner_and_kept_ones_are_not_among_them() -> None:
    ag = guarded([*ROWS, row("c60") | {"p": 7.0}])
    assert ag.rejected("s").column("id").to_pylist() == ["c60"]


READS: dict[str, Callable[[Session], Any]] = {
    "table": lambda ag: ag.table("private_one"),
    "columns": lambda ag: ag.table("private_one", ["match_id"]),
    "measures": lambda ag: ag.explain("private_one", analyze=True),
    "gaps": lambda ag: ag.gaps("private_one"),
    "write": lambda ag: ag.sql("WRITE private_one TO console;"),
    "explain analyze": lambda ag: ag.sql("EXPLAIN ANALYZE private_one;"),
    "query": lambda ag: ag.sql("CREATE QUERY z ON private_one PATTERN private_one a WITHIN 9;"),
    "upper case": lambda ag: ag.table("PRIVATE_ONE"),
    "expired": lambda ag: ag.expired("private_one"),
    "write expired": lambda ag: ag.sql("WRITE private_one_without_b TO console;"),
    "rule on expired": lambda ag: ag.sql(
        "CREATE TABLE t (id STRING); CREATE RULE r ON OUTPUT private_one_without_b "
        "DO INSERT INTO t VALUES (new.match_id);"
    ),
    "gaps on": lambda ag: ag.sql("CREATE GAPS g ON private_one (a TO b EXPONENTIAL(5));"),
}


@pytest.mark.parametrize("how", READS)
def test_a_private_query_is_refused_by_name_and_without_data(how: str) -> None:
    with pytest.raises(QueryError, match=r"A124.*private_one") as refused:
        READS[how](guarded())
    assert SECRET not in str(refused.value)


def test_a_private_query_is_explained_without_data() -> None:
    assert "SEQ" in guarded().explain("private_one")


def test_a_policy_is_explained_with_its_bound_types_and_who_binds_them() -> None:
    ag = session(SCRIPT + "CREATE QUERY o ON s PATTERN SEQ(A a, !D d, B b) WITHIN 9;")
    assert "D: by o, it is negated" in ag.explain("pol")
    assert ag.sql("EXPLAIN pol;") == (ag.explain("pol"),)


PUSHED = SCRIPT.replace("RETURN COUNT", "").replace("RETURN PROBABILITY;", ";")


def test_an_error_about_rows_tells_nothing_of_them() -> None:
    ag = guarded([{**each, "t": SECRET} for each in ROWS])
    with pytest.raises(DataError) as refused:
        ag.table("q1")
    assert SECRET not in str(refused.value)
    assert refused.value.__suppress_context__


def test_nothing_is_announced_of_rows_that_were_put_aside() -> None:
    bad = row("c60") | {"p": 7.0}
    with warnings.catch_warnings():
        warnings.simplefilter("error", RowsWarning)
        guarded([*ROWS, bad]).table("any_c")
        ag = session(PUSHED)
        for each in (*ROWS, bad, row("c1")):
            ag.push("s", each)
        ag.finish()
    assert (ag.rejected("s").num_rows, ag.late("s").num_rows) == (1, 1)


def test_the_stream_of_kept_events_takes_no_rows() -> None:
    ag = guarded()
    with pytest.raises(AuguryError, match="bind the rows of s"):
        ag.bind("pub", ROWS)
    with pytest.raises(AuguryError, match="push rows of s"):
        ag.push("pub", ROWS[0])


LEARNERS = {
    "gaps": "CREATE QUERY o ON s PATTERN SEQ(A a, B b) WITHIN 9 ALLOW 1 MISSED OF (b);"
    " CREATE GAPS g ON o LEARN FROM s;",
    "correlation": "CREATE CORRELATION c LEARN FROM s;",
}


@pytest.mark.parametrize("learner", LEARNERS)
def test_what_is_learned_or_inferred_from_a_stream_binds_every_type(learner: str) -> None:
    weighted = SCRIPT.replace("NEVER", "WEIGHT 5").split("CREATE QUERY on_pub")[0]
    ag = session(weighted + LEARNERS[learner])
    assert ag._declared.catalog.policies["pol"].bound_types is None
    ag.bind("s", ROWS)
    assert ag.table("pub").num_rows == len(ROWS)
    with pytest.raises(QueryError, match="A123"):
        session(weighted.replace("WEIGHT 5", "NEVER") + LEARNERS[learner])


def test_an_inferred_stream_binds_every_type_of_its_readings() -> None:
    ag = Session(engine="local")
    ag.sql("""
CREATE STREAM s (who STRING, type STRING, t LONG) KEY who TIME t TYPE type;
CREATE TABLE st (z STRING);
CREATE TABLE tr (z_from STRING, z_to STRING, p DOUBLE);
CREATE TABLE em (z STRING, type STRING, p DOUBLE);
CREATE MODEL m HMM (STATES st, TRANSITION tr, EMISSION em);
CREATE QUERY private_one ON s PATTERN SEQ(A a, C b) WITHIN 9;
CREATE POLICY pol ON s PRIVATE private_one WEIGHT 5 USING GREEDY;
CREATE STREAM now AS FILTER s USING m;
""")
    assert ag._declared.catalog.policies["pol"].bound_types is None


def test_a_history_is_read_by_its_policy_alone() -> None:
    policy = "CREATE POLICY pol ON s PRIVATE private_one USING TYPES LEARN FROM h;"
    ag = session(SCRIPT.split("CREATE POLICY", maxsplit=1)[0] + policy)
    ag.bind("h", [row(f"c1 k={SECRET}"), row("a2"), row("c3")])
    ag.bind("s", ROWS)
    assert ag.table("any_c").num_rows == 2
    with pytest.raises(QueryError, match="A125"):
        ag.sql("CREATE QUERY z ON h PATTERN C a WITHIN 9;")
    with pytest.raises(QueryError, match="A125"):
        ag.sql("CREATE CORRELATION z LEARN FROM h;")
    with pytest.raises(QueryError):
        ag.table("h")
    assert ag.rejected("h").num_rows == 0


def test_a_query_that_binds_more_is_refused_once_rows_were_read() -> None:
    binding = "CREATE QUERY o ON s PATTERN SEQ(A a, !C c, B b) WITHIN 9;"
    weighted = SCRIPT.replace("NEVER", "WEIGHT 5")
    early = session(weighted)
    early.sql(binding)
    for reads in (lambda ag: ag.table("q1"), lambda ag: ag.push("s", ROWS[1])):
        ag = session(PUSHED.replace("NEVER", "WEIGHT 5"))
        ag.bind("s", ROWS)
        reads(ag)
        with pytest.raises(QueryError, match="P009"):
            ag.sql(binding)
        ag.sql("CREATE QUERY fine ON s PATTERN SEQ(A a, C c) WITHIN 9;")


def test_a_policy_is_declared_before_rows_are_pushed() -> None:
    before, policy = SCRIPT.split("CREATE POLICY")
    ag = session(before.replace("RETURN COUNT", "").replace("RETURN PROBABILITY;", ";"))
    ag.push("s", ROWS[0])
    with pytest.raises(QueryError, match="P009"):
        ag.sql("CREATE POLICY" + policy)


def test_a_policy_is_in_force_from_then_on() -> None:
    before, policy = SCRIPT.split("CREATE POLICY")
    ag = session(before)
    ag.bind("s", ROWS)
    assert ag.table("any_c").num_rows == 2
    ag.sql("CREATE POLICY" + policy)
    assert ag.table("any_c").column("t").to_pylist() == [30]
    with pytest.raises(QueryError, match="A124"):
        ag.table("private_one")


def test_a_policy_says_what_it_cannot_promise_and_what_is_not_decided() -> None:
    ag = session("""
CREATE QUERY q1 ON s PATTERN SEQ(A a, B b) WHERE a.v <= b.v WITHIN 9;
CREATE QUERY p1 ON s PATTERN SEQ(A a, C c) WHERE [k] WITHIN 9;
CREATE QUERY p2 ON s PATTERN SEQ(A a, D d, E e) WITHIN 9;
CREATE QUERY o ON s PATTERN SEQ(A a, !E e, B b) WITHIN 9;
CREATE POLICY pol ON s PUBLIC q1 PRIVATE p1 WEIGHT 3, p2 USING HYBRID RATES LEARN FROM h;
""")
    text = ag.explain("pol")
    assert "never put together: p2 is stopped at its D" in text
    assert "counts as true by rates until decided: a.v <= b.v, in q1" in text
    assert "in p1" not in text
    assert "not promised: that p1 cannot be put together" in text


def test_the_owner_is_told_what_was_learned_and_how_much_was_suppressed() -> None:
    script = SCRIPT.replace("NEVER USING GREEDY", "WEIGHT 9 USING HYBRID RATES LEARN FROM h")
    ag = session(script)
    ag.bind("h", [row(f"{kind}{at}") for at, kind in enumerate("abcabcab", -20)])
    ag.bind("s", ROWS)
    text = ag.explain("pol", analyze=True)
    assert "learned from 8 events" in text
    assert f"decided about {len(ROWS)} events; suppressed: " in text
    assert ag.sql("EXPLAIN ANALYZE pol;") == (text,)
    with pytest.raises(AuguryError, match="as text"):
        ag.explain("pol", "json", analyze=True)
